import assert from "node:assert/strict";
import { test } from "node:test";

import { FoldRepeats } from "./plugin.js";

function folded(text) {
  let made = text;
  for (const edit of new FoldRepeats().apply({}, text).reverse()) {
    made = made.slice(0, edit.start) + edit.text + made.slice(edit.end);
  }
  return made;
}

test("repetitions become a note, and other lines stay", () => {
  assert.equal(folded("a\nb\nb\nb\nc"), "a\nb\n[repeated 3 times]\nc");
  assert.equal(folded("a\nb\na\n"), "a\nb\na\n");
  assert.equal(folded("😀\n😀\n"), "😀\n[repeated 2 times]\n");
});

test("the end of a line is no part of it", () => {
  assert.equal(folded("b\r\nb"), "b\r\n[repeated 2 times]");
  assert.equal(folded("b\nb"), "b\n[repeated 2 times]");
  assert.equal(folded("\n\n\n"), "\n[repeated 3 times]\n");
  assert.equal(folded("a\n"), "a\n");
  assert.equal(folded(""), "");
});
