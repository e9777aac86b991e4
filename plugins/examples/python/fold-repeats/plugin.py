"""An example transform: a line that repeats, many times in a row, becomes the line and `[repeated n times]`.

Only the repetitions are replaced: the rest of the text is not copied.
"""

import re

from hermes_plugin import Edit, Edits, Transformer, Unchanged, export

# A line with its break, if it has one. Not splitlines(): it ends lines at more than line breaks.
LINE = re.compile(r"([^\n]*?)(\r?\n|$)")


# ANCHOR: plugin
class FoldRepeats(Transformer):
    """The plugin. It has no settings."""

    def apply(self, context, text):
        edits = []
        last, times, repeated_from, end, line_break = None, 0, 0, 0, ""

        def fold():
            if times > 1:
                edits.append(Edit(repeated_from, end, f"[repeated {times} times]" + ("\n" if line_break else "")))

        for line in LINE.finditer(text):
            # The end of a text that ends with a break is no line.
            if line.start() == len(text):
                break
            if line[1] == last:
                times += 1
            else:
                fold()
                last, times, repeated_from = line[1], 1, line.end()
            end, line_break = line.end(), line[2]
        fold()
        return Edits(edits) if edits else Unchanged()


Lifecycle, Transform = export(FoldRepeats, "fold-repeats", "0.1.0")
# ANCHOR_END: plugin
