"""The glue between an exported component and the plugin's class: one instance of the plugin, its exceptions, and the
classes componentize-py looks for.

An exception would be a trap, which costs the instance and says nothing. Here it becomes a failure, without its text.
"""

import functools
import json
import os.path

from . import host, world
from .hooks import (
    Deliver,
    Edits,
    Failure,
    Notifier,
    Redactor,
    Replaced,
    Rewrite,
    Suppress,
    Transformer,
    Unchanged,
)
from .text import Findings, Window, byte_offsets

SDK = "python 0.1.1"
"""The label `sdk` of a descriptor."""


def export(plugin, name, version):
    """The classes of a component, to be called `Lifecycle` and like the hook in the module that is built:

        Lifecycle, Redact = export(MaskTickets, "mask-tickets", "0.1.0")

    A class with two hooks gives three, in the order `Lifecycle, Redact, Transform`. Name and version must be those of
    `plugin.toml`.
    """
    hooks = [hook for base, hook in _HOOKS if issubclass(plugin, base)]
    if not hooks:
        raise TypeError("a plugin is derived from Redactor, Transformer or Notifier")
    cell = _Cell(plugin)
    return (_lifecycle(cell, name, version), *(hook(cell) for hook in hooks))


class _Cell:
    """Holds the one plugin of a component. A component is single-threaded and never entered twice at once."""

    def __init__(self, plugin):
        self.plugin = plugin
        self.made = None

    def get(self):
        """The plugin."""
        if self.made is None:
            raise Failure("not-configured", "a hook was called before configure")
        return self.made


def _guarded(call):
    """Turns what a call raises into the contract's failure."""

    @functools.wraps(call)
    def guarded(*arguments):
        try:
            return call(*arguments)
        except Failure as failure:
            raised = world.Failure(_sound(failure.code), _sound(failure.message))
        except Exception as error:
            place = _place(error)
            host.log("error", place)
            raised = world.Failure("exception", place)
        # Outside of the handlers: an exception must not carry the one that held the text.
        raise world.Err(raised)

    return guarded


def _place(error):
    """The class of an exception and where it was raised: never what it says, which may quote the text."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = os.path.basename(trace.tb_frame.f_code.co_filename)
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"


def _sound(text):
    """A text UTF-8 can hold. Half a surrogate pair cannot be handed to the host."""
    text = str(text)
    return text if text.isascii() else text.encode(errors="replace").decode()


def _lifecycle(cell, name, version):
    class Lifecycle:
        """What every plugin exports."""

        def describe(self):
            """What the plugin says of itself."""
            sets = [
                world.lifecycle.PatternSet(declared.name, list(declared.patterns), declared.case_insensitive)
                for declared in cell.plugin.pattern_sets
            ]
            return world.lifecycle.Descriptor(name, version, list(cell.plugin.counters), sets, [("sdk", SDK)])

        @_guarded
        def configure(self, settings):
            """Reads the settings and makes the plugin."""
            try:
                settings = json.loads(settings or "{}")
            except ValueError:
                raise Failure("bad-settings", "the settings are no JSON") from None
            cell.made = cell.plugin(settings)

        @_guarded
        def self_test(self):
            """Whether the plugin works."""
            cell.get().self_test()

    return Lifecycle


def _redact(cell):
    class Redact:
        """Finds what must not be shown."""

        @_guarded
        def scan(self, context, window):
            """Looks at a window."""
            seen = Window(window.text, window.fresh_from, window.front_cut, window.last, cell.plugin.pattern_sets)
            findings = cell.get().scan(context, seen)
            if not isinstance(findings, Findings):
                raise Failure("bad-answer", "scan returned no Findings")
            spans, show_until, need_from = findings.in_bytes()
            span = world.redact.Span
            spans = [span(start, end, _sound(rule)) for start, end, rule in spans]
            return world.redact.Findings(spans, show_until, need_from)

    return Redact


def _transform(cell):
    class Transform:
        """Changes a text before it is shown."""

        @_guarded
        def apply(self, context, text):
            """Says what becomes of the text."""
            outcome = cell.get().apply(context, text)
            match outcome:
                case Unchanged():
                    return world.transform.Outcome_Unchanged()
                case Replaced():
                    return world.transform.Outcome_Replaced(_sound(outcome.text))
                case Edits():
                    offsets = byte_offsets(text, [at for edit in outcome.edits for at in (edit.start, edit.end)])
                    return world.transform.Outcome_Edits(
                        [
                            world.transform.Edit(offsets[edit.start], offsets[edit.end], _sound(edit.text))
                            for edit in outcome.edits
                        ]
                    )
            raise Failure("bad-answer", "apply returned none of Unchanged, Edits and Replaced")

    return Transform


def _notify(cell):
    class Notify:
        """Decides what wakes the agent or a person."""

        @_guarded
        def decide(self, event):
            """Decides about one event."""
            verdict = cell.get().decide(event)
            match verdict:
                case Deliver():
                    return world.notify.Verdict_Deliver()
                case Rewrite():
                    return world.notify.Verdict_Rewrite(_sound(verdict.text))
                case Suppress():
                    return world.notify.Verdict_Suppress(_sound(verdict.reason))
            raise Failure("bad-answer", "decide returned none of Deliver, Rewrite and Suppress")

    return Notify


_HOOKS = [(Redactor, _redact), (Transformer, _transform), (Notifier, _notify)]
