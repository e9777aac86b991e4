"""The exported classes: what goes in, what comes out, and that no exception gets away with its text."""

import json
import unittest

from hermes_plugin import (
    Context,
    Deliver,
    Edit,
    Edits,
    Event,
    Failure,
    Findings,
    Notifier,
    PatternSet,
    Redactor,
    Replaced,
    Rewrite,
    Suppress,
    Transformer,
    Unchanged,
    Window,
    export,
)
from hermes_plugin.world import Err

SECRET = "sekrit-value"


class Tells(Redactor):
    """Does what its settings say."""

    counters = ("found",)
    pattern_sets = (PatternSet("ids", ("id-[0-9]+",)),)

    def __init__(self, settings):
        if settings.get("refuse"):
            raise Failure("bad-settings", "no such project")
        self.answer = settings.get("answer", "findings")

    def scan(self, context, window):
        match self.answer:
            case "raise":
                raise ValueError(window.text)
            case "chain":
                try:
                    raise KeyError(window.text)
                except KeyError as error:
                    raise ValueError(window.text) from error
            case "deep":
                return self.scan(context, window)
            case "nothing":
                return None
        findings = Findings.whole_lines(window)
        findings.mask((1, 3), "id")
        return findings


def failure(call, *arguments):
    """The failure a call answers with."""
    try:
        call(*arguments)
    except Err as error:
        return error
    raise AssertionError("it answered")


def redactor(**settings):
    lifecycle, redact = export(Tells, "tells", "1.2.3")
    lifecycle().configure(json.dumps(settings))
    return redact()


class TheLifecycle(unittest.TestCase):
    def test_a_description_holds_what_the_class_declares(self):
        lifecycle, _ = export(Tells, "tells", "1.2.3")
        told = lifecycle().describe()
        self.assertEqual((told.name, told.version, told.counters), ("tells", "1.2.3", ["found"]))
        self.assertEqual((told.pattern_sets[0].name, told.pattern_sets[0].patterns), ("ids", ["id-[0-9]+"]))
        self.assertEqual(told.labels[0][0], "sdk")

    def test_settings_that_are_refused_are_a_failure_with_the_plugins_own_words(self):
        lifecycle, _ = export(Tells, "tells", "1.2.3")
        refused = failure(lifecycle().configure, '{"refuse": true}').value
        self.assertEqual((refused.code, refused.message), ("bad-settings", "no such project"))
        self.assertEqual(failure(lifecycle().configure, "{").value.code, "bad-settings")
        self.assertEqual(failure(lifecycle().self_test).value.code, "not-configured")
        lifecycle().configure("")
        lifecycle().self_test()

    def test_a_class_without_a_hook_is_refused_when_it_is_built(self):
        with self.assertRaises(TypeError):
            export(object, "a", "1.0.0")


class AnException(unittest.TestCase):
    def test_it_is_a_failure_with_a_code_and_its_text_is_nowhere(self):
        for answer in ("raise", "chain", "deep"):
            scan = redactor(answer=answer).scan
            error = failure(scan, Context(), Window(SECRET))
            self.assertEqual(error.value.code, "exception")
            self.assertRegex(error.value.message, r"^(ValueError|RecursionError) at test_export.py:[0-9]+$")
            self.assertIsNone(error.__context__)
            self.assertNotIn(SECRET, repr(vars(error.value)))

    def test_an_answer_of_another_kind_is_a_failure(self):
        error = failure(redactor(answer="nothing").scan, Context(), Window(SECRET))
        self.assertEqual(error.value.code, "bad-answer")

    def test_half_a_surrogate_pair_is_never_handed_to_the_host(self):
        class Halves(Transformer):
            def apply(self, context, text):
                return Replaced("half \ud83d")

        lifecycle, transform = export(Halves, "halves", "1.0.0")
        lifecycle().configure("{}")
        self.assertEqual(transform().apply(Context(), "").value, "half ?")


class TheHooks(unittest.TestCase):
    def test_places_are_answered_in_bytes(self):
        found = redactor().scan(Context(), Window("ü€👋x\nrest", last=False))
        self.assertEqual([(span.start, span.end, span.rule) for span in found.spans], [(2, 9, "id")])
        self.assertEqual((found.show_until, found.need_from), (11, 11))

    def test_every_outcome_of_a_transform_is_answered(self):
        class Answers(Transformer):
            def apply(self, context, text):
                return {"same": Unchanged(), "new": Replaced("other")}.get(text, Edits([Edit(1, 2, "x")]))

        lifecycle, transform = export(Answers, "answers", "1.0.0")
        lifecycle().configure("{}")
        apply = transform().apply
        self.assertEqual(type(apply(Context(), "same")).__name__, "Outcome_Unchanged")
        self.assertEqual(apply(Context(), "new").value, "other")
        edit = apply(Context(), "👋👋👋").value[0]
        self.assertEqual((edit.start, edit.end, edit.text), (4, 8, "x"))

    def test_every_verdict_of_a_notifier_is_answered(self):
        class Decides(Notifier):
            def decide(self, event):
                return {"a": Deliver(), "b": Rewrite("new"), "c": Suppress("why")}.get(event.text)

        lifecycle, notify = export(Decides, "decides", "1.0.0")
        lifecycle().configure("{}")
        decide = notify().decide
        self.assertEqual(type(decide(Event(text="a"))).__name__, "Verdict_Deliver")
        self.assertEqual(decide(Event(text="b")).value, "new")
        self.assertEqual(decide(Event(text="c")).value, "why")
        self.assertEqual(failure(decide, Event(text="d")).value.code, "bad-answer")


if __name__ == "__main__":
    unittest.main()
