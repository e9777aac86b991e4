import assert from "node:assert/strict";
import { test } from "node:test";

import { masked } from "hermes-plugin-sdk/testing";
import { Redactor } from "./plugin.js";

test("an id is masked and the words around it are not", () => {
  assert.deepEqual(masked(Redactor, {}, "user id-42 left"), [["id-42", "id"]]);
});

test("an id that is to be kept stays", () => {
  assert.deepEqual(masked(Redactor, { keep: ["id-42"] }, "user id-42 left"), []);
});
