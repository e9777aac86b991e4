"""Tests of the plugin, without WebAssembly: `python3 -m unittest`."""

import sys
import unittest

sys.path.insert(0, "vendor")

from hermes_plugin import Deliver, Event, Suppress

from plugin import FailuresOnly


def decided(command, exit_code):
    return FailuresOnly({}).decide(Event(command=command, exit_code=exit_code))


class TheNotifier(unittest.TestCase):
    def test_only_a_success_is_kept_back_and_not_every_one(self):
        self.assertEqual(decided("make test", 0), Suppress("make succeeded"))
        self.assertEqual(decided("make test", 2), Deliver())
        self.assertEqual(decided("deploy production", 0), Deliver())


if __name__ == "__main__":
    unittest.main()
