// An example notifier: a command that succeeded wakes nobody, unless its program is one whose success is always told.

import { deliver, notifier, suppress } from "hermes-plugin-sdk/notify";

// ANCHOR: class
export class FailuresOnly {
  constructor(settings) {
    this.always = settings.always ?? ["deploy"];
  }

  decide(event) {
    if (event.kind !== "completion" || event.exitCode !== 0) return deliver;
    const [program] = event.command.trim().split(/\s+/);
    return this.always.includes(program) ? deliver : suppress(`${program} succeeded`);
  }
}

export const { lifecycle, notify } = notifier(FailuresOnly, { name: "failures-only", version: "0.1.0" });
// ANCHOR_END: class
