"""Masks ids such as `id-1234`. Change `PREFIX`, or the whole of `scan`, to mask what you need."""

import re

from hermes_plugin import Findings, Redactor, export

# What an id begins with, where the settings do not say.
PREFIX = "id-"


# ANCHOR: plugin
class Plugin(Redactor):
    """The plugin. Settings are those of `plugin.toml`."""

    def __init__(self, settings):
        prefix = settings.get("prefix", PREFIX)
        self.ids = re.compile(re.escape(prefix) + "[0-9]+")

    def scan(self, context, window):
        # An id never crosses a line break, so only an unfinished last line has to wait for more text.
        findings = Findings.whole_lines(window)
        for match in self.ids.finditer(window.text):
            findings.mask(match, "id")
        return findings
# ANCHOR_END: plugin


Lifecycle, Redact = export(Plugin, "{{name}}", "0.1.0")
