import assert from "node:assert/strict";
import { test } from "node:test";

import { deliver, notifier, rewrite, suppress } from "../src/notify.js";
import { Failure, HostError, find, redactor, Window } from "../src/redact.js";
import { transformer } from "../src/transform.js";

const identity = { name: "subject", version: "1.0.0" };
const END = 0xffff_ffff;

class Words {
  static patterns = { words: ["secret"], ids: { patterns: ["id-[0-9]+"], caseInsensitive: true } };
  static counters = ["seen"];

  constructor(settings) {
    if (settings.word === "") throw new Failure("bad-settings", "an empty word");
    this.word = settings.word ?? "secret";
  }

  selfTest() {
    if (this.word === "broken") throw new Error("it is broken");
  }

  scan(_, window) {
    if (window.text.includes("throw")) throw new Error(`cannot read ${window.text}`);
    const findings = window.wholeLines();
    for (const match of window.text.matchAll(this.word === "secret" ? /s.cret/gu : new RegExp(this.word, "g"))) {
      findings.maskMatch(match, "word");
    }
    return findings;
  }
}

function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
}

test("a plugin says what its class declares, and the sets of the SDK", () => {
  const told = redactor(Words, identity).lifecycle.describe();
  assert.deepEqual([told.name, told.version, told.counters], ["subject", "1.0.0", ["seen"]]);
  assert.deepEqual(told.patternSets[1], { name: "ids", patterns: ["id-[0-9]+"], caseInsensitive: true });
  assert.ok(told.patternSets.slice(2).every((set) => set.name.startsWith("hermes-sdk-")));
});

test("matches are masked in bytes, whatever stands before them", () => {
  const { lifecycle, redact } = redactor(Words, identity);
  lifecycle.configure("{}");
  const scan = (text, window = {}) => redact.scan({}, { text, freshFrom: 0, frontCut: false, last: true, ...window });
  assert.deepEqual(scan("a secret"), { spans: [{ start: 2, end: 8, rule: "word" }], showUntil: END, needFrom: END });
  assert.deepEqual(scan("😀é s😀cret").spans, [{ start: 7, end: 16, rule: "word" }]);
  const open = scan("é\na sec", { last: false });
  assert.deepEqual([open.showUntil, open.needFrom], [3, 3]);
});

test("a match that cuts a pair masks all of it", () => {
  const findings = Window.view("😀").wholeWindow();
  findings.mask(1, 2, "half");
  findings.mask(1, 1, "nothing");
  assert.deepEqual(findings.spans, [{ start: 0, end: 4, rule: "half" }]);
});

test("holding never moves forward", () => {
  const findings = Window.view("éabc").wholeWindow();
  findings.hold(2);
  findings.hold(3);
  assert.deepEqual([findings.showUntil, findings.needFrom], [3, 3]);
});

test("where a window is fresh is told in code units", () => {
  assert.equal(new Window({ text: "é😀b", freshFrom: 6, frontCut: true, last: true }).freshFrom, 3);
});

test("whatever is thrown leaves as a failure", () => {
  const { lifecycle, redact } = redactor(Words, identity);
  const early = thrown(() => redact.scan({}, { text: "" }));
  assert.equal(early.code, "not-configured");
  assert.deepEqual(thrown(() => lifecycle.configure('{"word":""}')), { code: "bad-settings", message: "an empty word" });
  assert.equal(thrown(() => lifecycle.configure("{")).code, "exception");
  lifecycle.configure('{"word":"broken"}');
  assert.match(thrown(() => lifecycle.selfTest()).message, /it is broken[^]*hooks\.test\.js/);
  const failed = thrown(() => redact.scan({}, { text: "throw \ud800" }));
  assert.equal(failed.code, "exception");
  assert.ok(failed.message.includes("throw \ufffd") && !(failed instanceof Error));
});

test("an error of the host has its kind", () => {
  const error = thrown(() => find("words"));
  assert.ok(error instanceof HostError);
  assert.equal(error.kind, "no-text");
});

test("a transform answers with nothing, a text, or edits in bytes", () => {
  class Says {
    apply(_, text) {
      return { same: text, none: undefined, new: "n\ud800", edit: [{ start: 4, end: 6, text: "x" }], "": [], odd: 7 }[text.slice(0, 4)];
    }
  }
  const { lifecycle, transform } = transformer(Says, identity);
  lifecycle.configure("{}");
  assert.deepEqual(transform.apply({}, "same"), { tag: "unchanged" });
  assert.deepEqual(transform.apply({}, "none"), { tag: "unchanged" });
  assert.deepEqual(transform.apply({}, ""), { tag: "unchanged" });
  assert.deepEqual(transform.apply({}, "new"), { tag: "replaced", val: "n\ufffd" });
  assert.deepEqual(transform.apply({}, "editéé"), { tag: "edits", val: [{ start: 4, end: 8, text: "x" }] });
  assert.equal(thrown(() => transform.apply({}, "odd")).code, "exception");
});

test("a notifier answers with a verdict, and one that does not fails", () => {
  class Says {
    decide(event) {
      return { a: deliver, b: rewrite("short"), c: suppress("dull") }[event.text];
    }
  }
  const { lifecycle, notify } = notifier(Says, identity);
  lifecycle.configure("{}");
  assert.deepEqual(notify.decide({ text: "a" }), { tag: "deliver" });
  assert.deepEqual(notify.decide({ text: "b" }), { tag: "rewrite", val: "short" });
  assert.deepEqual(notify.decide({ text: "c" }), { tag: "suppress", val: "dull" });
  assert.equal(thrown(() => notify.decide({ text: "d" })).code, "exception");
});
