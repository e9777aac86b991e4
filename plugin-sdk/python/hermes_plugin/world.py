"""The classes componentize-py generates from the contract, or plain ones of the same shape where there is no component,
as in tests. Nothing here is for plugin authors to use.
"""

from types import SimpleNamespace

try:
    from componentize_py_types import Err
except ImportError:

    class Err(Exception):
        """The failure case of a result."""

        def __init__(self, value):
            super().__init__()
            self.value = value


def _record(*fields):
    """A class whose instances are made from these fields, in order."""
    return lambda *values: SimpleNamespace(**dict(zip(fields, values, strict=True)))


def _exported(name):
    """An exported interface of the component, or none."""
    try:
        return getattr(__import__(f"wit_world.exports.{name}").exports, name)
    except ImportError:
        return None


def _case(name):
    """A class for a case of a variant."""

    def init(self, value=None):
        self.value = value

    return type(name, (), {"__init__": init})


try:
    from wit_world.imports.types import Failure
except ImportError:
    Failure = _record("code", "message")

lifecycle = _exported("lifecycle") or SimpleNamespace(
    Descriptor=_record("name", "version", "counters", "pattern_sets", "labels"),
    PatternSet=_record("name", "patterns", "case_insensitive"),
)
redact = _exported("redact") or SimpleNamespace(
    Span=_record("start", "end", "rule"),
    Findings=_record("spans", "show_until", "need_from"),
)
transform = _exported("transform") or SimpleNamespace(
    Edit=_record("start", "end", "text"),
    Outcome_Unchanged=_case("Outcome_Unchanged"),
    Outcome_Edits=_case("Outcome_Edits"),
    Outcome_Replaced=_case("Outcome_Replaced"),
)
notify = _exported("notify") or SimpleNamespace(
    Verdict_Deliver=_case("Verdict_Deliver"),
    Verdict_Rewrite=_case("Verdict_Rewrite"),
    Verdict_Suppress=_case("Verdict_Suppress"),
)
