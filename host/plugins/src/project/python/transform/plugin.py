"""Leaves out lines that say nothing: those that begin with one of the prefixes in the settings."""

from hermes_plugin import Edit, Edits, Transformer, Unchanged, export


# ANCHOR: plugin
class Plugin(Transformer):
    """The plugin. Settings are those of `plugin.toml`."""

    def __init__(self, settings):
        self.noise = tuple(settings.get("noise", ["DEBUG "]))

    def apply(self, context, text):
        edits = []
        at = 0
        # Not splitlines(): it ends lines at more than line breaks.
        for line in text.split("\n"):
            end = min(at + len(line) + 1, len(text))
            if line.startswith(self.noise):
                edits.append(Edit(at, end, ""))
            at = end
        return Edits(edits) if edits else Unchanged()
# ANCHOR_END: plugin


Lifecycle, Transform = export(Plugin, "{{name}}", "0.1.0")
