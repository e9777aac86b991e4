"""Suppresses completions of commands that nobody waits for: those in the settings, when they succeeded."""

from hermes_plugin import Deliver, Notifier, Suppress, export


# ANCHOR: plugin
class Plugin(Notifier):
    """The plugin. Settings are those of `plugin.toml`."""

    def __init__(self, settings):
        self.quiet = settings.get("quiet", ["sleep"])

    def decide(self, event):
        program = event.command.split()[0] if event.command.strip() else ""
        succeeded = event.kind == "completion" and event.exit_code == 0
        if succeeded and program in self.quiet:
            return Suppress(f"{program} succeeded, as it always does")
        return Deliver()
# ANCHOR_END: plugin


Lifecycle, Notify = export(Plugin, "{{name}}", "0.1.0")
