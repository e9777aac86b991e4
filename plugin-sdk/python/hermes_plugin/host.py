"""What the host offers a plugin while it is being called.

A component has only what its hook may use: log lines, counters and pattern search for all that see raw text; log lines,
counters, the clock, small stored values and requests for notifiers. Without a host, as in tests, lines go to stderr,
counters nowhere, and the rest raises `Unavailable`.
"""

import re
import sys


class Unavailable(Exception):
    """This hook, or this machine, has no such function."""


class ScanError(Exception):
    """There are no hits to return: `unknown-set`, `no-text` or `too-many-hits`."""


class StorageError(Exception):
    """A value was not read or kept: `too-large`, `quota-exceeded` or `unavailable`."""


class HttpError(Exception):
    """There is no response: `denied`, `invalid`, `timed-out`, `failed` or `too-large`."""


def _imported(name):
    """An interface of the host, or none where the component, or the machine, has none of that name."""
    try:
        return getattr(__import__(f"wit_world.imports.{name}").imports, name)
    except ImportError:
        return None


# Looked up when the component is built: what is imported later is not in it.
_log = _imported("log")
_count = _imported("count")
_scan = _imported("scan")
_clock = _imported("clock")
_storage = _imported("storage")
_http = _imported("http")

_PREFIX = re.compile(r"^(ScanError|StorageError|HttpError)_")


def is_there():
    """Whether this runs as a component."""
    return _log is not None


def log(level, message):
    """Writes a line for the author. The level is `trace`, `debug`, `info`, `warn` or `error`."""
    if _log is None:
        print(f"[{level}] {message}", file=sys.stderr)
    else:
        _log.write(_log.Level[level.upper()], message)


def count(name, by=1):
    """Adds to a counter the plugin declares."""
    if _count is not None:
        _count.add(name, by)


def find(name):
    """The matches of a pattern set in the text of the current call: `Window.hits` asks for them."""
    from .text import Hit

    hits = _call(_scan, ScanError, "find", name)
    return [Hit(hit.pattern, hit.start, hit.end) for hit in hits] if hits else []


def find_without_host(name, text, sets):
    """What stands in for the host in tests. Of several patterns the first that matches at a place wins, as there."""
    from .text import Hit, byte_offset

    for declared in sets:
        if declared.name == name:
            united = "|".join(f"(?P<hermes{index}>{pattern})" for index, pattern in enumerate(declared.patterns))
            found = re.finditer(united, text, re.IGNORECASE if declared.case_insensitive else 0)
            return [
                Hit(
                    next(i for i in range(len(declared.patterns)) if match.group(f"hermes{i}") is not None),
                    byte_offset(text, match.start()),
                    byte_offset(text, match.end()),
                )
                for match in found
            ]
    raise ScanError("unknown-set")


def unix_ms():
    """Milliseconds since 1970-01-01T00:00:00Z. For notifiers."""
    return _call(_clock, Unavailable, "unix_ms")


def sleep(ms):
    """Waits, at most for what is left of the call's own time. Returns how many milliseconds it was. For notifiers."""
    return _call(_clock, Unavailable, "sleep", ms)


def stored(key):
    """The bytes kept under a key, or none. For notifiers with the permission `storage`; raises `StorageError`."""
    return _call(_storage, StorageError, "get", key)


def store(key, value):
    """Keeps bytes under a key. For notifiers with the permission `storage`; raises `StorageError`."""
    _call(_storage, StorageError, "put", key, value)


def forget(key):
    """Removes a key, if it is there. For notifiers with the permission `storage`; raises `StorageError`."""
    _call(_storage, StorageError, "remove", key)


def send(method, url, headers=(), body=b"", timeout_ms=10_000):
    """Sends one request, and returns the response: `status`, `headers`, `body`. For notifiers with the permission
    `http:HOST`; raises `HttpError`."""
    if _http is None:
        raise Unavailable("http")
    request = _http.Request(method, url, list(headers), body, timeout_ms)
    return _call(_http, HttpError, "send", request)


def _call(interface, error, function, *arguments):
    """Calls a function of the host. What it answers in place of a value becomes an exception with its word."""
    if interface is None:
        raise Unavailable(function)
    try:
        return getattr(interface, function)(*arguments)
    except Exception as raised:
        answer = getattr(raised, "value", None)
        word = _PREFIX.sub("", type(answer).__name__)
        if answer is None or word == type(answer).__name__:
            raise
        raise error(re.sub(r"(?<!^)(?=[A-Z])", "-", word).lower()) from None
