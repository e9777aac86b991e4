// The host's pattern search, for plugins that see raw text. It runs natively over the text of the current call, so
// nothing is copied, and its hits are bytes already.

import { find as hostFind } from "hermes:host/scan@0.1.1";
import { ask } from "./host.js";
import { Offsets } from "./text.js";

/** The set that finds where the last line begins. Anchored at the end, it is searched backwards. */
const OPEN_LINE = "hermes-sdk-open-line";
/** The set that finds the first character beyond ASCII. */
const BEYOND_ASCII = "hermes-sdk-beyond-ascii";

/** The sets of this SDK, beside those of the plugin. */
export const SETS = [
  { name: OPEN_LINE, patterns: ["[^\\n]*\\z"], caseInsensitive: false },
  { name: BEYOND_ASCII, patterns: ["(?s)[^\\x00-\\x7F].*"], caseInsensitive: false },
];

// Raw-text plugins have no clock, so that the same text always gives the same result; asking for one would end the call.
const NoClock = class Date extends globalThis.Date {
  constructor(...given) {
    if (given.length === 0) NoClock.now();
    super(...given);
  }
  static now() {
    throw new Error("a plugin that sees raw text has no clock");
  }
};
globalThis.Date = NoClock;

/**
 * Runs a set of `static patterns` over the text of the current call: `[{ pattern, start, end }]`, in bytes, in order.
 * `pattern` is the index in the set.
 */
export function find(set) {
  return ask(() => hostFind(set));
}

/** Where the last line of the text of the current call begins, in bytes. `offsets` gives its places, where they are needed. */
export function openLine(text, offsets) {
  // Outside of a call there is no text to search.
  try {
    return hostFind(OPEN_LINE)[0]?.start ?? 0;
  } catch {
    return offsets().start(text.lastIndexOf("\n") + 1);
  }
}

/** The places of the text of the current call: the host says how much of it is ASCII. */
export function offsetsOf(text) {
  let ascii = 0;
  try {
    ascii = hostFind(BEYOND_ASCII)[0]?.start ?? text.length;
  } catch {
    // Then the text is read here.
  }
  return new Offsets(text, ascii);
}
