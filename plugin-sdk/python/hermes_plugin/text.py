"""Windows of text and the places found in them. The arithmetic between indexes of a `str` and UTF-8 bytes is here, and
nowhere else.

Nothing here looks at every character in Python: a text of ASCII needs no arithmetic, and `str.encode` does the rest.
"""

import re

from . import host

END = 0xFFFF_FFFF
"""The largest offset of the contract. The host reads an offset behind the end of a text as its end."""


def byte_offset(text, index):
    """The UTF-8 offset of an index of `text`."""
    return byte_offsets(text, [index])[index]


def byte_offsets(text, indexes):
    """The UTF-8 offsets of many indexes of `text`, as a dict. Takes one walk over the text, or none where it is ASCII.

    An index outside the text is a mistake of the caller's: `IndexError`.
    """
    ordered = sorted(set(indexes))
    if ordered and not 0 <= ordered[0] <= ordered[-1] <= len(text):
        raise IndexError("a place outside the text")
    if text.isascii():
        return {index: index for index in ordered}
    offsets = {}
    seen = offset = 0
    for index in ordered:
        offset += len(text[seen:index].encode())
        seen = index
        offsets[index] = offset
    return offsets


class Hit:
    """One match of a pattern set: the index of its pattern in the set, and its place in UTF-8 bytes."""

    __slots__ = ("pattern", "start", "end")

    def __init__(self, pattern, start, end):
        self.pattern = pattern
        self.start = start
        self.end = end


class Window:
    """A text to look at: a whole view, or the newest part of a stream."""

    __slots__ = ("text", "front_cut", "last", "_fresh_bytes", "_sets", "_encoded")

    def __init__(self, text, fresh_bytes=0, front_cut=False, last=True, sets=()):
        self.text = text
        """The text: a `str` without control sequences."""
        self.front_cut = front_cut
        """Whether text before this window was dropped, so that it may begin inside a secret."""
        self.last = last
        """Whether nothing follows."""
        self._fresh_bytes = fresh_bytes
        self._sets = sets
        self._encoded = None

    @classmethod
    def view(cls, text, plugin=None):
        """A window that is a whole text, as in a reply. For tests; with a plugin's class, its pattern sets can be
        asked for."""
        return cls(text, sets=plugin.pattern_sets if plugin else ())

    @property
    def fresh_from(self):
        """The index from which the text was not seen before."""
        if self.text.isascii():
            return self._fresh_bytes
        return len(self._bytes()[: self._fresh_bytes].decode(errors="ignore"))

    def hits(self, name):
        """The matches of a pattern set in this text, in order and without overlaps. The host finds them, at native
        speed. Without a host, as in tests, `re` stands in for it, whose syntax is a little different.

        Raises `host.ScanError`.
        """
        if host.is_there():
            return host.find(name)
        return host.find_without_host(name, self.text, self._sets)

    def text_of(self, hit):
        """What a hit matched."""
        if self.text.isascii():
            return self.text[hit.start : hit.end]
        return self._bytes()[hit.start : hit.end].decode()

    def open_line(self):
        """The index at which the last line begins if more of it may follow; otherwise the end of the text."""
        return len(self.text) if self.last else self.text.rfind("\n") + 1

    def _bytes(self):
        if self._encoded is None:
            self._encoded = self.text.encode()
        return self._encoded


class Findings:
    """What a window holds: places to mask, and how far the text may be shown.

    Places are what a search gives: a match of `re`, a `Hit`, or a pair of indexes.
    """

    __slots__ = ("_window", "_places", "_spans", "_show", "_need")

    def __init__(self, window, until):
        self._window = window
        self._places = []
        self._spans = []
        self._show = self._need = until

    @classmethod
    def whole_lines(cls, window):
        """Nothing found yet, and a last line that is not complete is held back: right for a rule that never looks
        across a line break."""
        return cls(window, window.open_line())

    @classmethod
    def whole_window(cls, window):
        """Nothing found yet, and all of the window may be shown: right where the answer for a character never depends
        on later ones."""
        return cls(window, len(window.text))

    def mask(self, place, rule):
        """Adds a place to mask, and the rule that says so: lower-case letters, digits and `-`, never made from the
        text. An empty place adds nothing."""
        if isinstance(place, Hit):
            self.mask_bytes(place.start, place.end, rule)
            return
        start, end = place.span() if isinstance(place, re.Match) else place
        if start < end:
            self._places.append((start, end, rule))

    def mask_bytes(self, start, end, rule):
        """Adds a place to mask, in UTF-8 bytes: for a part of a `Hit`."""
        if start < end:
            self._spans.append((start, end, rule))

    def hold(self, index):
        """Holds back the text from this index on, and asks to see it again."""
        self._show = min(self._show, index)
        self._need = min(self._need, index)

    def need(self, index):
        """Asks to see the text from this index on again, although it may be shown."""
        self._need = min(self._need, index)

    def in_bytes(self):
        """The places as `(start, end, rule)`, and the two borders, all in UTF-8 bytes."""
        text = self._window.text
        indexes = [self._show, self._need]
        for start, end, _ in self._places:
            indexes += (start, end)
        whole = len(text)
        if self._window.last and not self._places and self._show == self._need == whole:
            # Nobody has to know how many bytes the text has.
            return self._spans, END, END
        offsets = byte_offsets(text, indexes)
        spans = self._spans + [(offsets[start], offsets[end], rule) for start, end, rule in self._places]
        return spans, offsets[self._show], offsets[self._need]

    def masked(self):
        """What is masked, and the rule that says so, in the order of the text. For tests."""
        spans, _, _ = self.in_bytes()
        encoded = self._window.text.encode()
        return [(encoded[start:end].decode(errors="replace"), rule) for start, end, rule in sorted(spans)]
