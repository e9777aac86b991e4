// Masks ids such as `id-1234`. Change `ID`, or the whole of `scan`, to mask what you need.

import { find, redactor } from "hermes-plugin-sdk/redact";

/** What an id looks like, in the syntax of Rust's regex crate. The host looks for it, at native speed. */
const ID = "id-[0-9]+";

export class Redactor {
  static patterns = { ids: [ID] };

  constructor(settings) {
    this.keep = new Set(settings.keep ?? []);
  }

  scan(context, window) {
    // An id never crosses a line break, so only an unfinished last line has to wait for more text.
    const findings = window.wholeLines();
    for (const hit of find("ids")) {
      if (!this.keep.has(window.slice(hit))) findings.maskHit(hit, "id");
    }
    return findings;
  }
}

export const { lifecycle, redact } = redactor(Redactor, { name: "{{name}}", version: "0.1.0" });
