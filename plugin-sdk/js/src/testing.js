// For unit tests of redactors with Node.js, where there is no host.

import { Window } from "./redact.js";

/** Runs the patterns of a class over a text, as the host would for patterns that mean the same in both languages. */
function findIn(plugin, text) {
  return (set) => {
    const given = plugin.patterns?.[set];
    if (!given) throw Object.assign(new Error(), { payload: { tag: "unknown-set" } });
    const patterns = Array.isArray(given) ? given : given.patterns;
    const flags = given.caseInsensitive ? "dgiu" : "dgu";
    const any = new RegExp(patterns.map((pattern) => `(${pattern})`).join("|"), flags);
    return [...text.matchAll(any)].map((match) => ({
      pattern: match.slice(1).findIndex((group) => group !== undefined),
      start: Buffer.byteLength(text.slice(0, match.index)),
      end: Buffer.byteLength(text.slice(0, match.index + match[0].length)),
    }));
  };
}

/** What a redactor masks in a text: `[["id-42", "id"]]`. */
export function masked(plugin, settings, text) {
  const bytes = Buffer.from(text);
  globalThis.hermesFind = findIn(plugin, text);
  try {
    const { spans } = new plugin(settings).scan({ surface: "foreground", labels: [] }, Window.view(text));
    return spans.map(({ start, end, rule }) => [bytes.toString("utf8", start, end), rule]);
  } finally {
    delete globalThis.hermesFind;
  }
}
