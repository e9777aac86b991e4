// Makes a component of plugin.js: `node build.mjs WIT OUT`.

import { writeFile } from "node:fs/promises";

import { componentize } from "@bytecodealliance/componentize-js";

const [wit, out] = process.argv.slice(2);
const { component } = await componentize({
  sourcePath: "plugin.js",
  witPath: wit,
  worldName: "redactor",
  disableFeatures: ["random", "stdio", "clocks", "http", "fetch-event"],
});
await writeFile(out, component);
