"""Tests of the plugin, without WebAssembly: `python3 -m unittest`."""

import sys
import unittest

sys.path.insert(0, "vendor")

from hermes_plugin import Context, Edit, Edits, Unchanged

from plugin import Plugin


class TheTransform(unittest.TestCase):
    def test_noise_is_left_out_and_the_rest_stays(self):
        plugin = Plugin({})
        self.assertEqual(plugin.apply(Context(), "one\nDEBUG two\nthree\n"), Edits([Edit(4, 14, "")]))
        self.assertEqual(plugin.apply(Context(), "one\nthree"), Unchanged())


if __name__ == "__main__":
    unittest.main()
