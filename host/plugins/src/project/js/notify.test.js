import assert from "node:assert/strict";
import { test } from "node:test";

import { Notifier } from "./plugin.js";

test("a failure is always delivered", () => {
  const notifier = new Notifier({});
  const event = { kind: "completion", command: "sleep 1", exitCode: 1 };
  assert.equal(notifier.decide(event).tag, "deliver");
  assert.equal(notifier.decide({ ...event, exitCode: 0 }).tag, "suppress");
});
