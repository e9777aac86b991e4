// An example transform: a line that stands several times in a row becomes the line and `[repeated n times]`.

import { transformer } from "hermes-plugin-sdk/transform";

// ANCHOR: class
export class FoldRepeats {
  apply(context, text) {
    const edits = [];
    const lines = text.split("\n");
    // What follows the last line break is no line if there is nothing.
    const isOpen = lines.at(-1) !== "";
    if (!isOpen) lines.pop();
    let at = 0;
    for (let first = 0, next; first < lines.length; first = next) {
      // Places are indexes of the text; the SDK makes bytes of them.
      const start = at + lines[first].length + 1;
      const line = words(lines[first]);
      for (next = first; next < lines.length && words(lines[next]) === line; next += 1) at += lines[next].length + 1;
      if (next - first > 1) {
        const isEnd = isOpen && next === lines.length;
        edits.push({ start, end: isEnd ? at - 1 : at, text: `[repeated ${next - first} times]${isEnd ? "" : "\n"}` });
      }
    }
    return edits;
  }
}

/** A line without its end. */
function words(line) {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

export const { lifecycle, transform } = transformer(FoldRepeats, { name: "fold-repeats", version: "0.1.0" });
// ANCHOR_END: class
