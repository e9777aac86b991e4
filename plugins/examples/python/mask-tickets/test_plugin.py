"""Tests of the plugin, without WebAssembly: `python3 -m unittest`."""

import sys
import unittest

sys.path.insert(0, "vendor")

from hermes_plugin import Context, Window

from plugin import MaskTickets


def masked(text, **settings):
    return [what for what, _ in MaskTickets(settings).scan(Context(), Window.view(text, MaskTickets)).masked()]


class TheRedactor(unittest.TestCase):
    def test_a_ticket_number_is_masked_and_the_words_around_it_are_not(self):
        self.assertEqual(masked("see ACME-12, please"), ["ACME-12"])
        self.assertEqual(masked("👋 see OTHER-12, 👋 ACME-3"), ["ACME-3"])

    def test_only_the_key_of_a_project_counts(self):
        self.assertEqual(masked("X2ACME-12ACME-3, ACME-, acme-1", projects=["ACME", "X"]), ["ACME-12", "ACME-3"])


if __name__ == "__main__":
    unittest.main()
