// Stands in for the host in unit tests: `node --import hermes-plugin-sdk/standin --test`.
//
// Log lines go to stderr, counters nowhere, the clock is the machine's. `find` searches the text that `masked` of
// testing.js gives it, and there is no other; storage and requests are refused as the contract says.

import { register } from "node:module";

const refuse = (tag) => `() => { throw Object.assign(new Error(), { payload: { tag: "${tag}", val: "in a unit test" } }); }`;

const STANDINS = {
  log: "export const write = (level, message) => console.error(`[${level}] ${message}`);",
  count: "export const add = () => {};",
  scan: `export const find = (set) => (globalThis.hermesFind ?? (${refuse("no-text")}))(set);`,
  clock: "const now = Date.now; export const unixMs = () => now(); export const sleep = (ms) => ms;",
  http: `export const send = ${refuse("denied")};`,
  storage: ["get", "put", "remove"].map((name) => `export const ${name} = ${refuse("unavailable")};`).join(""),
};

const hooks = `
const STANDINS = ${JSON.stringify(STANDINS)};
export async function resolve(specifier, context, next) {
  const found = /^hermes:host\\/([a-z]+)@/.exec(specifier);
  return found ? { url: "data:text/javascript," + encodeURIComponent(STANDINS[found[1]]), shortCircuit: true } : next(specifier, context);
}
`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
