import assert from "node:assert/strict";
import { test } from "node:test";

import { END, offset, Offsets, wellFormed } from "../src/text.js";

/** What stands in for chance: the same numbers every time (a linear congruential step, Knuth's constants). */
function numbers(seed) {
  let state = BigInt(seed);
  return (below) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number(state >> 33n) % below;
  };
}

const PIECES = ["a", "\n", "plain words ", "é", "ß", "中", "文字", "\ufffd", "😀", "👩‍👧", "\ud83d", "\ude00", "\u007f", "\u0080", "\u07ff", "\u0800"];

function text(next) {
  let made = "";
  for (let left = next(60); left > 0; left -= 1) {
    made += PIECES[next(PIECES.length)].repeat(next(20) === 0 ? 300 : 1);
  }
  return made;
}

const inPair = (of, at) => /[\udc00-\udfff]/.test(of[at] ?? "") && /[\ud800-\udbff]/.test(of[at - 1] ?? "");

test("every place of any text, asked in any order, is where its bytes are", () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const next = numbers(seed);
    const of = text(next);
    const offsets = new Offsets(of);
    for (let asked = 0; asked < 40; asked += 1) {
      const at = next(of.length + 1);
      const bytes = Buffer.byteLength(of.slice(0, inPair(of, at) ? at - 1 : at));
      assert.equal(offsets.start(at), bytes, `start ${at} of seed ${seed}`);
      assert.equal(offsets.end(at), bytes + (inPair(of, at) ? 4 : 0), `end ${at} of seed ${seed}`);
    }
  }
});

test("a byte leads back to the character it is in", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const next = numbers(seed);
    // What a host gives is well formed.
    const of = text(next).toWellFormed();
    const offsets = new Offsets(of);
    for (let asked = 0; asked < 40; asked += 1) {
      const byte = next(Buffer.byteLength(of) + 1);
      const at = offsets.index(byte);
      const from = offsets.start(at);
      assert.ok(!inPair(of, at) && from <= byte, `byte ${byte} of seed ${seed}`);
      const character = of.slice(at, at + String.fromCodePoint(of.codePointAt(at) ?? 0x20).length);
      assert.ok(byte < from + Buffer.byteLength(character) || at === of.length, `byte ${byte} of seed ${seed}`);
    }
  }
});

test("text known to be ASCII is not read, and what follows it is right", () => {
  const of = `${"x".repeat(1000)}é😀y`;
  for (const known of [0, 1, 500, 1000]) {
    const offsets = new Offsets(of, known);
    assert.deepEqual([500, 1000, 1001, 1003, 1004].map((at) => offsets.start(at)), [500, 1000, 1002, 1006, 1007]);
    assert.deepEqual([500, 1002, 1006].map((byte) => offsets.index(byte)), [500, 1001, 1003]);
  }
});

test("a place that is none is the nearest that is one", () => {
  const offsets = new Offsets("aé");
  assert.deepEqual([-1, 0.5, 99].map((at) => offsets.start(at)), [0, 0, 3]);
  assert.equal(offsets.index(99), 2);
  assert.deepEqual([offset(-1), offset(1.5), offset(1e12), offset(Infinity)], [0, 1, END, END]);
  assert.throws(() => offset(Number.NaN), TypeError);
});

test("half a pair is never returned", () => {
  assert.equal(wellFormed("a\ud83db"), "a\ufffdb");
  assert.equal(wellFormed(7), "7");
});
