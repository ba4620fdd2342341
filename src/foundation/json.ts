// JSON that others have written: counted before it is parsed, and with the integers that JavaScript would round kept as text.

/** An answer for a year of days has 300 kB and some 10,000 values. */
export const LARGEST_JSON_BYTES = 2 * 1024 * 1024;
const MOST_VALUES = 100_000;
// Functions that call themselves for each level would run out of stack.
const DEEPEST = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** A closing one has the code of its opening one and 2. */
const BRACKET = 0x5b;
const BRACE = 0x7b;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const LONGEST_SAFE = String(Number.MAX_SAFE_INTEGER);
// Strips a byte order mark, which JSON.parse does not accept.
const UTF8 = new TextDecoder();

/** What is too much in these bytes, in words; `null`: they may be parsed, or are no JSON with values in values. */
export function excessIn(bytes: Uint8Array): string | null {
  if (!isObjectOrList(bytes)) return null;
  const { values, depth } = scan(bytes);
  if (values > MOST_VALUES) return `more than ${MOST_VALUES.toLocaleString('en')} values`;
  return depth > DEEPEST ? `more than ${DEEPEST} values in one another` : null;
}

/**
 * Parses it; an integer beyond 2^53 becomes a text of its digits, since a number of it would be another one. Throws a SyntaxError
 * that quotes nothing.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const { largeIntegers } = scan(bytes);
  const text = UTF8.decode(largeIntegers.length === 0 ? bytes : quoted(bytes, largeIntegers));
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError('not JSON');
  }
}

/** With a quotation mark on either side of each place. */
function quoted(bytes: Uint8Array, places: readonly Place[]): Uint8Array {
  const result = new Uint8Array(bytes.length + 2 * places.length).fill(QUOTE);
  let from = 0;
  let to = 0;
  const copyUntil = (end: number) => {
    result.set(bytes.subarray(from, end), to);
    to += end - from + 1;
    from = end;
  };
  for (const { at, end } of places) {
    copyUntil(at);
    copyUntil(end);
  }
  copyUntil(bytes.length);
  return result;
}

/** Any other body has one value at most. */
function isObjectOrList(bytes: Uint8Array): boolean {
  let at = BYTE_ORDER_MARK.every((byte, place) => bytes[place] === byte) ? BYTE_ORDER_MARK.length : 0;
  while (isSpace(bytes[at])) at += 1;
  return bytes[at] === BRACE || bytes[at] === BRACKET;
}

/** `end` exclusive. */
interface Place {
  readonly at: number;
  readonly end: number;
}

interface Scanned {
  readonly values: number;
  readonly depth: number;
  /** Integers beyond 2^53. */
  readonly largeIntegers: readonly Place[];
}

/**
 * One pass over the bytes; characters beyond ASCII stand in texts only, and their bytes are none of those that are looked for. What is
 * no JSON is counted up to where a parser stops.
 */
function scan(bytes: Uint8Array): Scanned {
  const largeIntegers: Place[] = [];
  let values = 0;
  let open = 0;
  let depth = 0;
  let isAfterText = false;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at];
    let end = at + 1;
    if (byte === COLON) {
      // The text before it was a name.
      if (isAfterText) values -= 1;
    } else if (byte === BRACE || byte === BRACKET) {
      values += 1;
      open += 1;
      depth = Math.max(depth, open);
    } else if (isClosing(byte)) {
      open -= 1;
    } else if (byte === QUOTE) {
      values += 1;
      end = endOfText(bytes, at);
    } else if (byte !== COMMA && !isSpace(byte)) {
      values += 1;
      end = endOfWord(bytes, at);
      if (isLargeInteger(bytes, at, end)) largeIntegers.push({ at, end });
    }
    if (!isSpace(byte)) isAfterText = byte === QUOTE;
    at = end;
  }
  return { values, depth, largeIntegers };
}

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isClosing = (byte: number | undefined): boolean => byte === BRACE + 2 || byte === BRACKET + 2;

function endOfText(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** The end of a number, `true`, `false` or `null`. */
function endOfWord(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && !endsWord(bytes[at])) at += 1;
  return at;
}

const endsWord = (byte: number | undefined): boolean =>
  byte === COMMA || byte === COLON || byte === QUOTE || isClosing(byte) || isSpace(byte);

function isLargeInteger(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  const digits = end - first;
  if (digits < LONGEST_SAFE.length || bytes[first] === ZERO) return false;
  for (let at = first; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < ZERO || byte > NINE) return false;
  }
  return digits > LONGEST_SAFE.length || UTF8.decode(bytes.subarray(first, end)) > LONGEST_SAFE;
}
