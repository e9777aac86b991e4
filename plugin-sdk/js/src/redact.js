// Write a redactor: a class, and `export const { lifecycle, redact } = redactor(CLASS, { name, version })`.

import { openLine, offsetsOf, SETS } from "./kernel.js";
import { answer, Holder, lifecycle } from "./lifecycle.js";
import { END, offset, wellFormed } from "./text.js";

export { count, HostError, log } from "./host.js";
export { find } from "./kernel.js";
export { Failure } from "./lifecycle.js";

/** A text to look at: a whole view, or the newest part of a stream. */
export class Window {
  #freshFrom;
  #offsets;

  constructor({ text, freshFrom = 0, frontCut = false, last = true }) {
    /** The text, without control sequences. */
    this.text = text;
    /** Whether text before this window was dropped, so that it may begin inside a secret. */
    this.frontCut = frontCut;
    /** Whether nothing follows. */
    this.last = last;
    this.#freshFrom = freshFrom;
  }

  /** A window that is a whole text, as in a reply. For tests. */
  static view(text) {
    return new Window({ text });
  }

  /** Where text not seen before begins, as an index of `text`. */
  get freshFrom() {
    return this.#freshFrom === 0 ? 0 : this.offsets.index(this.#freshFrom);
  }

  /** Places of the text, in code units and in bytes. They are counted when they are first asked for. */
  get offsets() {
    this.#offsets ??= offsetsOf(this.text);
    return this.#offsets;
  }

  /** The part of the text a hit of `find` covers. */
  slice(hit) {
    return this.text.slice(this.offsets.index(hit.start), this.offsets.index(hit.end));
  }

  /**
   * Findings to fill, for rules that never look across a line break: what is held back is a last line that is not
   * complete.
   */
  wholeLines() {
    // A text that is all there is shown to its end, wherever that is: nothing has to be counted.
    const until = this.last ? END : openLine(this.text, () => this.offsets);
    return new Findings(this, until);
  }

  /** Findings to fill, for rules where the answer for a character never depends on later ones: nothing is held back. */
  wholeWindow() {
    return new Findings(this, END);
  }
}

/** What a window holds: places to mask, and how far the text may be shown. */
export class Findings {
  #window;

  constructor(window, until) {
    this.#window = window;
    /** Places to mask, in bytes. */
    this.spans = [];
    /** Text from this byte on may still become part of a secret when more arrives. */
    this.showUntil = until;
    /** Text from this byte on must be in the next window. */
    this.needFrom = until;
  }

  /** Masks from one index of the text to another. Nothing between them masks nothing. */
  mask(from, to, rule) {
    if (from < to) this.maskBytes(this.#window.offsets.start(from), this.#window.offsets.end(to), rule);
  }

  /** Masks what a regular expression matched: an element of `text.matchAll(...)`, or the result of `exec`. */
  maskMatch(match, rule) {
    this.mask(match.index, match.index + match[0].length, rule);
  }

  /** Masks a hit of `find`, or a part of it in bytes. */
  maskHit(hit, rule) {
    this.maskBytes(hit.start, hit.end, rule);
  }

  /** Masks bytes. */
  maskBytes(start, end, rule) {
    if (start < end) this.spans.push({ start: offset(start), end: offset(end), rule: wellFormed(rule) });
  }

  /** Holds back the text from an index on, and asks to see it again. */
  hold(from) {
    const byte = this.#window.offsets.start(from);
    this.showUntil = Math.min(this.showUntil, byte);
    this.needFrom = Math.min(this.needFrom, byte);
  }
}

/**
 * What a redactor exports. The class has a method `scan(context, window)` that returns Findings.
 *
 * @param {{ name: string, version: string }} identity those of plugin.toml
 */
export function redactor(plugin, identity) {
  const holder = new Holder(plugin);
  return {
    lifecycle: lifecycle(holder, plugin, identity, SETS),
    redact: {
      scan(context, window) {
        return answer(() => {
          const { spans, showUntil, needFrom } = holder.get().scan(context, new Window(window));
          return { spans, showUntil: offset(showUntil), needFrom: offset(needFrom) };
        });
      },
    },
  };
}
