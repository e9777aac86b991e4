// What the host offers every plugin: log lines and counters. Also: what an error of the host is.

import { add } from "hermes:host/count@0.1.1";
import { write } from "hermes:host/log@0.1.1";
import { wellFormed } from "./text.js";

/** The host's answer was no. `kind` is the case of the contract, such as `too-many-hits`; `detail` its payload. */
export class HostError extends Error {
  constructor(kind, detail) {
    super(detail === undefined ? `the host says ${kind}` : `the host says ${kind}: ${detail}`);
    this.name = "HostError";
    this.kind = kind;
    this.detail = detail;
  }
}

/** Asks the host. Its typed errors are thrown as HostError. */
export function ask(call) {
  try {
    return call();
  } catch (thrown) {
    const said = thrown?.payload;
    throw said?.tag === undefined ? thrown : new HostError(said.tag, said.val);
  }
}

/** Writes a line for the author: `log.info("...")`. */
export const log = Object.fromEntries(
  ["trace", "debug", "info", "warn", "error"].map((level) => [level, (message) => write(level, wellFormed(message))]),
);

/** Adds to a counter of `static counters`. */
export function count(name, by = 1) {
  add(name, by);
}
