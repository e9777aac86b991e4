import assert from "node:assert/strict";
import { test } from "node:test";

import { Transformer } from "./plugin.js";

test("noise is left out and the rest stays", () => {
  const edits = new Transformer({}).apply({}, "one\nDEBUG two\nthree\n");
  assert.deepEqual(edits, [{ start: 4, end: 14, text: "" }]);
});
