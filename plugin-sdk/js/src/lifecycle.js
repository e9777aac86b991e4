// What every plugin is: described, made from its settings, asked whether it works.
//
// Nothing a plugin throws may leave a call but as a failure: the engine ends the call on anything else.

import { wellFormed } from "./text.js";

/** The label `sdk` of a descriptor. */
const SDK = "js 0.1.1";

/** Says why there is no answer. The code is shown and counted; the message may quote the text, and is treated like it. */
export class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.name = "Failure";
    this.code = code;
  }
}

/** What the contract calls a failure. An exception that is none has the code `exception`. */
function failure(thrown) {
  if (thrown instanceof Failure) return { code: wellFormed(thrown.code), message: wellFormed(thrown.message) };
  const stack = thrown instanceof Error && thrown.stack ? `\n${thrown.stack}` : "";
  return { code: "exception", message: wellFormed(`${thrown}${stack}`) };
}

/** Calls a plugin. What it throws becomes a failure. */
export function answer(call) {
  try {
    return call();
  } catch (thrown) {
    throw failure(thrown);
  }
}

/** One plugin: its class, and the instance `configure` makes of it. */
export class Holder {
  #plugin;
  #made;

  constructor(plugin) {
    this.#plugin = plugin;
  }

  /** The instance. */
  get() {
    if (!this.#made) throw new Failure("not-configured", "it was called before `configure`");
    return this.#made;
  }

  /** Makes the instance; it stays the same for the life of the component. */
  configure(settings) {
    this.#made = new this.#plugin(settings);
  }
}

/**
 * What `lifecycle` exports for a class.
 *
 * The class may have `static patterns = { NAME: { patterns: [...], caseInsensitive: true } }` or `{ NAME: [...] }`,
 * `static counters = [...]`, and a method `selfTest`. Its constructor gets the settings.
 */
export function lifecycle(holder, plugin, { name, version }, ownSets = []) {
  return {
    describe() {
      const declared = Object.entries(plugin.patterns ?? {}).map(([set, given]) => ({
        name: set,
        patterns: Array.isArray(given) ? given : given.patterns,
        caseInsensitive: !Array.isArray(given) && given.caseInsensitive === true,
      }));
      return {
        name,
        version,
        counters: plugin.counters ?? [],
        patternSets: [...declared, ...ownSets],
        labels: [["sdk", SDK]],
      };
    },
    configure(settings) {
      return answer(() => holder.configure(JSON.parse(settings)));
    },
    selfTest() {
      return answer(() => void holder.get().selfTest?.());
    },
  };
}
