"""What a hermes plugin in Python is written with.

A plugin is a class and one line:

    import re
    from hermes_plugin import Findings, Redactor, export

    class MaskTickets(Redactor):
        def scan(self, context, window):
            findings = Findings.whole_lines(window)
            for match in re.finditer(r"ACME-[0-9]+", window.text):
                findings.mask(match, "ticket")
            return findings

    Lifecycle, Redact = export(MaskTickets, "mask-tickets", "0.1.0")

Texts are ordinary `str`, and places in them are ordinary indexes: this package makes UTF-8 bytes of them, which is what
the contract counts in. The class is ordinary too, so its tests run without WebAssembly.

An exception ends the call as a failure with the code `exception`. Its class, file and line reach the plugin's log; its
text does not, since it may quote what the plugin saw.
"""

from . import host
from .export import export
from .hooks import (
    Context,
    Deliver,
    Edit,
    Edits,
    Event,
    Failure,
    Notifier,
    PatternSet,
    Plugin,
    Redactor,
    Replaced,
    Rewrite,
    Suppress,
    Transformer,
    Unchanged,
)
from .text import Findings, Hit, Window

__all__ = [
    "Context",
    "Deliver",
    "Edit",
    "Edits",
    "Event",
    "Failure",
    "Findings",
    "Hit",
    "Notifier",
    "PatternSet",
    "Plugin",
    "Redactor",
    "Replaced",
    "Rewrite",
    "Suppress",
    "Transformer",
    "Unchanged",
    "Window",
    "export",
    "host",
]
