// Write a notifier: a class, and `export const { lifecycle, notify } = notifier(CLASS, { name, version })`.

import { sleep as hostSleep, unixMs as hostUnixMs } from "hermes:host/clock@0.1.1";
import { send as hostSend } from "hermes:host/http@0.1.1";
import { get, put, remove } from "hermes:host/storage@0.1.1";
import { ask } from "./host.js";
import { answer, Holder, lifecycle } from "./lifecycle.js";
import { wellFormed } from "./text.js";

export { count, HostError, log } from "./host.js";
export { Failure } from "./lifecycle.js";

/** The verdict that an event is delivered as it is. */
export const deliver = Object.freeze({ tag: "deliver" });

/** The verdict that an event is delivered with another text. */
export function rewrite(text) {
  return { tag: "rewrite", val: wellFormed(text) };
}

/** The verdict that an event wakes nobody, and why. */
export function suppress(reason) {
  return { tag: "suppress", val: wellFormed(reason) };
}

/** Milliseconds since 1970-01-01T00:00:00Z. */
export function unixMs() {
  return Number(hostUnixMs());
}

// The engine's own clock would end the call.
const HostDate = class Date extends globalThis.Date {
  constructor(...given) {
    super(...(given.length === 0 ? [unixMs()] : given));
  }
  static now() {
    return unixMs();
  }
};
globalThis.Date = HostDate;

/** Waits at most so many milliseconds; returns how many it was. */
export function sleep(ms) {
  return hostSleep(ms);
}

/** Small values kept between calls, as Uint8Array. Needs the permission `storage`. */
export const storage = {
  /** The value of a key, or null. */
  get: (key) => ask(() => get(key)),
  /** Sets a key. The value is durable when the call returns. */
  put: (key, value) => ask(() => put(key, value)),
  /** Removes a key. */
  remove: (key) => ask(() => remove(key)),
};

/**
 * Sends one request to a host the operator granted: `{ url, method, headers, body, timeoutMs }`, with headers as a list
 * of pairs and the body as Uint8Array. Needs the permission `http:HOST`. Redirects are answers, not followed.
 */
export function send({ url, method = "GET", headers = [], body = new Uint8Array(0), timeoutMs = 10_000 }) {
  return ask(() => hostSend({ method, url, headers, body, timeoutMs }));
}

/**
 * What a notifier exports. The class has a method `decide(event)` that returns `deliver`, `rewrite(text)` or
 * `suppress(reason)`.
 *
 * @param {{ name: string, version: string }} identity those of plugin.toml
 */
export function notifier(plugin, identity) {
  const holder = new Holder(plugin);
  return {
    lifecycle: lifecycle(holder, plugin, identity),
    notify: {
      decide(event) {
        return answer(() => {
          const verdict = holder.get().decide(event);
          if (verdict?.tag === undefined) throw new TypeError("decide returns deliver, rewrite(...) or suppress(...)");
          return verdict;
        });
      },
    },
  };
}
