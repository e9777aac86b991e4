import assert from "node:assert/strict";
import { test } from "node:test";

import { FailuresOnly } from "./plugin.js";

test("only a success is kept back, and not every one", () => {
  const verdict = (command, exitCode) => new FailuresOnly({}).decide({ kind: "completion", command, exitCode }).tag;
  assert.equal(verdict("make test", 0), "suppress");
  assert.equal(verdict("make test", 2), "deliver");
  assert.equal(verdict("deploy production", 0), "deliver");
});
