"""Tests of the plugin, without WebAssembly: `python3 -m unittest`."""

import sys
import unittest

sys.path.insert(0, "vendor")

from hermes_plugin import Context, Window

from plugin import Plugin


# ANCHOR: test
class TheRedactor(unittest.TestCase):
    def test_an_id_is_masked_and_the_words_around_it_are_not(self):
        findings = Plugin({}).scan(Context(), Window.view("user id-42 left"))
        self.assertEqual(findings.masked(), [("id-42", "id")])
# ANCHOR_END: test


if __name__ == "__main__":
    unittest.main()
