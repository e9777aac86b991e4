"""Offsets and findings, against the plain definition of UTF-8."""

import random
import unittest

from hermes_plugin import Findings, Hit, PatternSet, Redactor, Window, host
from hermes_plugin.text import END, byte_offset, byte_offsets

# One, two, three and four bytes; a combining mark; a character of several.
LETTERS = "a-\nü€e\u0301👋\U0001f468\u200d\U0001f469"


def texts(count, length=40):
    """Random texts, of ASCII and of everything."""
    seeded = random.Random(7)
    for number in range(count):
        letters = "ab\n" if number % 4 == 0 else LETTERS
        yield "".join(seeded.choice(letters) for _ in range(seeded.randrange(length)))


class Offsets(unittest.TestCase):
    def test_an_offset_is_the_length_of_what_stands_before_it(self):
        for text in texts(300):
            for index in range(len(text) + 1):
                self.assertEqual(byte_offset(text, index), len(text[:index].encode()))

    def test_many_offsets_are_the_same_as_one_by_one_in_any_order(self):
        seeded = random.Random(8)
        for text in texts(300):
            indexes = [seeded.randrange(len(text) + 1) for _ in range(10)]
            expected = {index: len(text[:index].encode()) for index in indexes}
            self.assertEqual(byte_offsets(text, indexes), expected)

    def test_a_place_outside_the_text_is_an_error_and_not_a_guess(self):
        for text in ("", "abc", "üüü"):
            for index in (-1, len(text) + 1):
                with self.assertRaises(IndexError):
                    byte_offset(text, index)


class Windows(unittest.TestCase):
    def test_fresh_text_begins_at_an_index(self):
        for text in texts(200):
            for index in range(len(text) + 1):
                window = Window(text, len(text[:index].encode()))
                self.assertEqual(window.fresh_from, index)

    def test_a_hit_is_bytes_and_its_text_is_what_stands_there(self):
        for text in texts(200):
            window = Window(text)
            for start in range(len(text)):
                hit = Hit(0, byte_offset(text, start), byte_offset(text, start + 1))
                self.assertEqual(window.text_of(hit), text[start])

    def test_without_a_host_pattern_sets_are_looked_for_with_re(self):
        class Ids(Redactor):
            pattern_sets = (PatternSet("ids", ("id-[0-9]+", "k(e|é)y"), case_insensitive=True),)

        window = Window.view("👋 KÉY ID-42", Ids)
        hits = window.hits("ids")
        self.assertEqual([(hit.pattern, window.text_of(hit)) for hit in hits], [(1, "KÉY"), (0, "ID-42")])
        with self.assertRaises(host.ScanError):
            window.hits("others")


class WhatIsFound(unittest.TestCase):
    def test_an_open_last_line_is_held_back_and_a_closed_one_is_not(self):
        for text, until in (("a\nbc", 2), ("ü\nbc", 3), ("a\nbc\n", 5), ("bc", 0)):
            self.assertEqual(Findings.whole_lines(Window(text, last=False)).in_bytes(), ([], until, until))
        self.assertEqual(Findings.whole_lines(Window("ü\nbc")).in_bytes(), ([], END, END))

    def test_holding_never_moves_forward(self):
        findings = Findings.whole_window(Window("üabcdef"))
        findings.hold(3)
        findings.hold(5)
        self.assertEqual(findings.in_bytes(), ([], 4, 4))
        findings.need(1)
        self.assertEqual(findings.in_bytes(), ([], 4, 2))

    def test_places_of_every_kind_become_bytes(self):
        seeded = random.Random(9)
        for text in texts(300):
            findings = Findings.whole_window(Window(text))
            expected = []
            for number in range(5):
                start, end = sorted(seeded.randrange(len(text) + 1) for _ in range(2))
                place = (byte_offset(text, start), byte_offset(text, end))
                findings.mask((start, end) if number % 2 else Hit(0, *place), "rule")
                if start < end:
                    expected.append((*place, "rule"))
            self.assertEqual(sorted(findings.in_bytes()[0]), sorted(expected))


if __name__ == "__main__":
    unittest.main()
