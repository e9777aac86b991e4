"""An example notifier: a command that succeeded wakes nobody, unless its program is one whose success is always told.
Everything else is delivered.
"""

from hermes_plugin import Deliver, Notifier, Suppress, export


# ANCHOR: plugin
class FailuresOnly(Notifier):
    """The plugin: the programs whose success is told as well."""

    def __init__(self, settings):
        self.always = frozenset(settings.get("always", ["deploy"]))

    def decide(self, event):
        if event.kind != "completion" or event.exit_code != 0:
            return Deliver()
        program = next(iter(event.command.split()), "")
        if program in self.always:
            return Deliver()
        return Suppress(f"{program} succeeded")


Lifecycle, Notify = export(FailuresOnly, "failures-only", "0.1.0")
# ANCHOR_END: plugin
