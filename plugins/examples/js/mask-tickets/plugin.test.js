import assert from "node:assert/strict";
import { test } from "node:test";

import { masked } from "hermes-plugin-sdk/testing";
import { MaskTickets } from "./plugin.js";

test("a ticket number is masked and the words around it are not", () => {
  assert.deepEqual(masked(MaskTickets, {}, "see ACME-12, please"), [["ACME-12", "ticket"]]);
});

test("only the projects of the settings are masked, wherever they stand", () => {
  const settings = { projects: ["OPS"] };
  assert.deepEqual(masked(MaskTickets, settings, "é ACME-12 😀OPS-7\nDEVOPS-8"), [
    ["OPS-7", "ticket"],
    ["OPS-8", "ticket"],
  ]);
});
