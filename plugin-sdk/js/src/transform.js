// Write a transform: a class, and `export const { lifecycle, transform } = transformer(CLASS, { name, version })`.

import { offsetsOf, SETS } from "./kernel.js";
import { answer, Holder, lifecycle } from "./lifecycle.js";
import { wellFormed } from "./text.js";

export { count, HostError, log } from "./host.js";
export { find } from "./kernel.js";
export { Failure } from "./lifecycle.js";

/** A piece of the text that is replaced: from one index to another. */
function edits(text, given) {
  const offsets = offsetsOf(text);
  return given.map(({ start, end, text: instead }) => ({
    start: offsets.start(start),
    end: offsets.end(end),
    text: wellFormed(instead),
  }));
}

/** An answer of `apply` as the contract has it. */
function outcome(text, given) {
  if (given === undefined || given === null || given === text) return { tag: "unchanged" };
  if (typeof given === "string") return { tag: "replaced", val: wellFormed(given) };
  if (Array.isArray(given)) return given.length === 0 ? { tag: "unchanged" } : { tag: "edits", val: edits(text, given) };
  throw new TypeError("apply returns a text, a list of edits, or nothing");
}

/**
 * What a transform exports. The class has a method `apply(context, text)`. It returns nothing for a text that stays,
 * a new text, or a list of `{ start, end, text }`: edits in order that do not overlap, with indexes of the text.
 *
 * @param {{ name: string, version: string }} identity those of plugin.toml
 */
export function transformer(plugin, identity) {
  const holder = new Holder(plugin);
  return {
    lifecycle: lifecycle(holder, plugin, identity, SETS),
    transform: {
      apply(context, text) {
        return answer(() => outcome(text, holder.get().apply(context, text)));
      },
    },
  };
}
