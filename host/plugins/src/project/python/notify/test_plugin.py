"""Tests of the plugin, without WebAssembly: `python3 -m unittest`."""

import sys
import unittest

sys.path.insert(0, "vendor")

from hermes_plugin import Deliver, Event, Suppress

from plugin import Plugin


class TheNotifier(unittest.TestCase):
    def test_a_failure_is_always_delivered(self):
        plugin = Plugin({})
        self.assertEqual(plugin.decide(Event(command="sleep 1", exit_code=1)), Deliver())
        self.assertIsInstance(plugin.decide(Event(command="sleep 1", exit_code=0)), Suppress)


if __name__ == "__main__":
    unittest.main()
