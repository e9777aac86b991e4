// An example redactor: masks ticket numbers such as `ACME-1234` of the projects in its settings.

import { find, redactor } from "hermes-plugin-sdk/redact";

// ANCHOR: class
export class MaskTickets {
  // What a pattern finds is any project's ticket: patterns are declared before the settings are known.
  static patterns = { tickets: ["[A-Z][A-Z0-9]*-[0-9]+"] };

  constructor(settings) {
    this.projects = settings.projects ?? ["ACME"];
  }

  scan(context, window) {
    // A ticket number never crosses a line break, so only an unfinished last line has to wait for more text.
    const findings = window.wholeLines();
    for (const hit of find("tickets")) {
      const [key, number] = window.slice(hit).split("-");
      const project = this.projects.find((project) => key.endsWith(project));
      // All of a ticket is ASCII, so its characters are its bytes.
      if (project) findings.maskBytes(hit.end - number.length - 1 - project.length, hit.end, "ticket");
    }
    return findings;
  }
}

export const { lifecycle, redact } = redactor(MaskTickets, { name: "mask-tickets", version: "0.1.0" });
// ANCHOR_END: class
