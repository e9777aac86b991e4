// Offsets. hermes counts UTF-8 bytes, JavaScript counts UTF-16 code units; here one becomes the other.
//
// Nothing here reads a text further than it is asked for, and ASCII is skipped by the engine's own search. It must
// never use TextEncoder: the engine plugins run on has none.

/** The largest offset of the contract. The host reads it as "to the end", so nobody must count for it. */
export const END = 0xffff_ffff;

/** How many code units beyond ASCII lie between two known places at the most. */
const STEP = 128;

/** A run of characters beyond ASCII, or a piece of one. */
const BEYOND_ASCII = new RegExp(`[^\\x00-\\x7f]{1,${STEP}}`, "g");

function isHigh(unit) {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit) {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/**
 * How many bytes a code unit adds. Both halves of a pair add two; half a pair alone is written as U+FFFD, which has
 * three.
 */
function width(text, at) {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  if (isHigh(unit)) return isLow(text.charCodeAt(at + 1)) ? 2 : 3;
  if (isLow(unit)) return isHigh(text.charCodeAt(at - 1)) ? 2 : 3;
  return 3;
}

/** Whether a place is between the halves of a pair. */
function splitsPair(text, at) {
  return isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1));
}

/** The places of one text. Asked in any order, each part of the text is looked at once. */
export class Offsets {
  #text;
  // So many code units at the front are ASCII: there a place is the same in both.
  #ascii;
  // Known pieces beyond ASCII, in order: where each begins and ends, in code units and in bytes.
  #pieces = [];
  // Up to here, in code units and in bytes, all pieces are known.
  #known;
  #knownBytes;

  /** @param {string} text @param {number} ascii so many code units at the front are known to be ASCII */
  constructor(text, ascii = 0) {
    this.#text = text;
    this.#ascii = Math.min(ascii, text.length);
    this.#known = this.#ascii;
    this.#knownBytes = this.#ascii;
  }

  /** The byte a code unit begins at; of the middle of a pair, the byte the pair begins at. */
  start(index) {
    if (index >= 0 && index <= this.#ascii) return Math.trunc(index);
    const at = this.#place(index);
    return splitsPair(this.#text, at) ? this.#bytes(at - 1) : this.#bytes(at);
  }

  /** The byte after the code units before this place; of the middle of a pair, the byte the pair ends at. */
  end(index) {
    if (index >= 0 && index <= this.#ascii) return Math.trunc(index);
    const at = this.#place(index);
    return splitsPair(this.#text, at) ? this.#bytes(at + 1) : this.#bytes(at);
  }

  /** The code unit that begins at a byte; of a byte inside a character, the code unit the character begins at. */
  index(byte) {
    if (byte >= 0 && byte <= this.#ascii) return Math.trunc(byte);
    while (this.#knownBytes < byte && this.#known < this.#text.length) this.#learn();
    const piece = this.#before((piece) => piece.startBytes <= byte);
    if (!piece) return Math.min(byte, this.#text.length);
    if (byte >= piece.endBytes) return Math.min(piece.end + byte - piece.endBytes, this.#text.length);
    let at = piece.start;
    for (let bytes = piece.startBytes; (bytes += width(this.#text, at)) <= byte; ) at += 1;
    return splitsPair(this.#text, at) ? at - 1 : at;
  }

  #place(index) {
    return Math.max(0, Math.min(Math.trunc(index), this.#text.length));
  }

  #bytes(at) {
    while (this.#known < at) this.#learn();
    const piece = this.#before((piece) => piece.start < at);
    if (!piece) return at;
    if (at >= piece.end) return piece.endBytes + at - piece.end;
    let bytes = piece.startBytes;
    for (let unit = piece.start; unit < at; unit += 1) bytes += width(this.#text, unit);
    return bytes;
  }

  /** Finds the next piece, or that there is none. */
  #learn() {
    BEYOND_ASCII.lastIndex = this.#known;
    const found = BEYOND_ASCII.exec(this.#text);
    const start = found ? found.index : this.#text.length;
    const startBytes = this.#knownBytes + start - this.#known;
    this.#known = start;
    this.#knownBytes = startBytes;
    if (!found) return;
    const end = start + found[0].length;
    let endBytes = startBytes;
    for (let unit = start; unit < end; unit += 1) endBytes += width(this.#text, unit);
    this.#pieces.push({ start, startBytes, end, endBytes });
    this.#known = end;
    this.#knownBytes = endBytes;
  }

  /** The last piece of which this is true; it is true of the first ones only. */
  #before(holds) {
    let [low, high] = [0, this.#pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.#pieces[middle])) low = middle + 1;
      else high = middle;
    }
    return this.#pieces[low - 1];
  }
}

/** A number as an offset of the contract. */
export function offset(value) {
  if (Number.isNaN(value)) throw new TypeError("an offset is not a number");
  return Math.max(0, Math.min(Math.trunc(value), END));
}

/** A text as the contract has it: half a pair becomes U+FFFD, since the engine ends a call that returns one. */
export function wellFormed(value) {
  return String(value).toWellFormed();
}
