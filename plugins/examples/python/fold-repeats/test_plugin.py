"""Tests of the plugin, without WebAssembly: `python3 -m unittest`."""

import sys
import unittest

sys.path.insert(0, "vendor")

from hermes_plugin import Context, Edit, Edits, Unchanged

from plugin import FoldRepeats


def folded(text):
    return FoldRepeats({}).apply(Context(), text)


class TheTransform(unittest.TestCase):
    def test_repetitions_become_a_note_and_other_lines_stay(self):
        self.assertEqual(folded("a\nb\nb\nb\nc"), Edits([Edit(4, 8, "[repeated 3 times]\n")]))
        self.assertEqual(folded("a\nb\na\n"), Unchanged())
        self.assertEqual(folded("\n\n"), Edits([Edit(1, 2, "[repeated 2 times]\n")]))

    def test_a_last_line_without_a_break_is_the_same_line(self):
        self.assertEqual(folded("b\r\nb"), Edits([Edit(3, 4, "[repeated 2 times]")]))


if __name__ == "__main__":
    unittest.main()
