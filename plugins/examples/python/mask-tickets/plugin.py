"""An example redactor: masks ticket numbers such as `ACME-1234`.

The host looks for everything that has the form of a ticket number, at native speed; what is left to do here is to ask
whose it is. A ticket number never crosses a line break, so the last, unfinished line is all that must wait for more text.
"""

from hermes_plugin import Findings, PatternSet, Redactor, export


# ANCHOR: plugin
class MaskTickets(Redactor):
    """The plugin: the project keys it masks."""

    pattern_sets = (PatternSet("tickets", (r"[A-Z][A-Z0-9]*-[0-9]+",)),)

    def __init__(self, settings):
        self.projects = tuple(f"{project}-" for project in settings.get("projects", ["ACME"]))

    def scan(self, context, window):
        findings = Findings.whole_lines(window)
        for hit in window.hits("tickets"):
            key = window.text_of(hit).rstrip("0123456789")
            for project in self.projects:
                if key.endswith(project):
                    findings.mask_bytes(hit.start + len(key) - len(project), hit.end, "ticket")
        return findings


Lifecycle, Redact = export(MaskTickets, "mask-tickets", "0.1.0")
# ANCHOR_END: plugin
