"""What plugins are derived from, and the words they use. They mirror the contract in `wit/hook`, whose comments say what
each field means.
"""

from dataclasses import dataclass, field


class Failure(Exception):
    """Raised where a hook has no answer.

    The code is short and stable, for example `bad-settings`: it is shown and counted. The message is for the author; it
    may quote the text, and is treated like it.
    """

    def __init__(self, code, message=""):
        super().__init__(code)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class PatternSet:
    """A named set of patterns for `Window.hits`, in the syntax of Rust's regex crate."""

    name: str
    patterns: tuple
    case_insensitive: bool = False


class Plugin:
    """What every plugin is: made from its settings, able to say whether it works. Derive from one of the three below."""

    counters = ()
    """Counters it will add to with `host.count`."""

    pattern_sets = ()
    """Pattern sets the host is to compile."""

    def __init__(self, settings):
        """Gets the settings as a dict, which the host has validated against the manifest's schema. Called once for an
        instance. Raise a `Failure` if they cannot be used."""

    def self_test(self):
        """Called once when the plugin is loaded. Raise a `Failure` if it does not work."""


class Redactor(Plugin):
    """Finds what must not be shown."""

    def scan(self, context, window):
        """Looks at a window, and returns its `Findings`. Where there is no answer, the host withholds the text."""
        raise NotImplementedError


class Transformer(Plugin):
    """Changes a text before it is shown."""

    def apply(self, context, text):
        """Returns `Unchanged`, `Edits` or `Replaced`. Where there is no answer, the host shows the text as it was and
        says so."""
        raise NotImplementedError


class Notifier(Plugin):
    """Decides what wakes the agent or a person."""

    def decide(self, event):
        """Returns `Deliver`, `Rewrite` or `Suppress`. Where there is no answer, the host delivers the event."""
        raise NotImplementedError


@dataclass
class Context:
    """Where a text came from. The host's own has these fields; this one is for tests."""

    surface: str = "foreground"
    source: str = ""
    command: str = ""
    cwd: str = ""
    owner: str = ""
    exit_code: int | None = None
    signal: int | None = None
    labels: list = field(default_factory=list)


@dataclass
class Event:
    """Something that happened. The host's own has these fields; this one is for tests."""

    id: str = ""
    seq: int = 0
    kind: str = "completion"
    source: str = ""
    command: str = ""
    owner: str = ""
    at_ms: int = 0
    status: str = ""
    exit_code: int | None = None
    text: str = ""
    pattern: str | None = None
    labels: list = field(default_factory=list)


@dataclass(frozen=True)
class Unchanged:
    """The text stays as it is; nothing is copied."""


@dataclass(frozen=True)
class Edit:
    """Puts `text` in place of what stands between two indexes."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edits:
    """Edits in order of their start, not overlapping."""

    edits: list


@dataclass(frozen=True)
class Replaced:
    """A new text."""

    text: str


@dataclass(frozen=True)
class Deliver:
    """The event is delivered as it is."""


@dataclass(frozen=True)
class Rewrite:
    """The event is delivered with this text, which goes through redaction."""

    text: str


@dataclass(frozen=True)
class Suppress:
    """The event wakes nobody; the reason is recorded."""

    reason: str
