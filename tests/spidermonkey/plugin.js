// A redactor for the engine SpiderMonkey, without an SDK: masks ticket numbers as the examples do.

import { find } from "hermes:host/scan@0.1.1";

let projects = ["ACME"];

export const lifecycle = {
  describe: () => ({
    name: "mask-tickets",
    version: "0.1.0",
    counters: [],
    patternSets: [{ name: "tickets", patterns: ["[A-Z][A-Z0-9]*-[0-9]+"], caseInsensitive: false }],
    labels: [],
  }),
  configure(settings) {
    projects = JSON.parse(settings).projects ?? projects;
  },
  selfTest() {},
};

export const redact = {
  scan(context, window) {
    const bytes = new TextEncoder().encode(window.text);
    const spans = find("tickets")
      .filter(({ start, end }) => projects.includes(new TextDecoder().decode(bytes.slice(start, end)).split("-")[0]))
      .map(({ start, end }) => ({ start, end, rule: "ticket" }));
    return { spans, showUntil: 0xffff_ffff, needFrom: 0xffff_ffff };
  },
};
