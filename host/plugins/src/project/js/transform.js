// Leaves out lines that say nothing: those that begin with one of the prefixes in the settings.

import { transformer } from "hermes-plugin-sdk/transform";

export class Transformer {
  constructor(settings) {
    this.noise = settings.noise ?? ["DEBUG "];
  }

  apply(context, text) {
    const edits = [];
    let start = 0;
    for (const line of text.split("\n")) {
      const end = Math.min(start + line.length + 1, text.length);
      if (this.noise.some((noise) => line.startsWith(noise))) edits.push({ start, end, text: "" });
      start = end;
    }
    return edits;
  }
}

export const { lifecycle, transform } = transformer(Transformer, { name: "{{name}}", version: "0.1.0" });
