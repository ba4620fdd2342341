// JSON that others have written: counted before it is parsed, and with the integers that JavaScript would round kept as text.

/** An answer for a year of days has 300 kB and some 10,000 values. */
export const LARGEST_JSON_BYTES = 2 * 1024 * 1024;
const MOST_VALUES = 100_000;
// Functions that call themselves for each level would run out of stack.
const DEEPEST = 64;

// Strips a byte order mark, which JSON.parse does not accept.
const UTF8 = new TextDecoder();
const OBJECT_OR_LIST = /^[ \t\r\n]*[[{]/;
/** A text, with the colon after it if it is a name; an opening bracket; closing ones; a number, `true`, `false` or `null`. */
const TOKEN = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"?(?:[ \t\r\n]*:)?|[[{]|[\]}]+|[^ \t\r\n"[\]{}:,]+/g;

/** Names in words what is too much in these bytes; `null`: they may be parsed, or are no JSON with values in values. */
export function excessIn(bytes: Uint8Array): string | null {
  const text = UTF8.decode(bytes);
  // Any other body has one value at most.
  if (!OBJECT_OR_LIST.test(text)) return null;
  let values = 0;
  let open = 0;
  let depth = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    const first = token[0];
    if (first === ']' || first === '}') open -= token.length;
    else if (!token.endsWith(':')) values += 1;
    if (first === '[' || first === '{') open += 1;
    depth = Math.max(depth, open);
    if (values > MOST_VALUES) return `more than ${MOST_VALUES.toLocaleString('en')} values`;
  }
  return depth > DEEPEST ? `more than ${DEEPEST} values in one another` : null;
}

const LARGE_INTEGER = /^-?[1-9]\d{15,}$/;
const isRounded = (token: string): boolean =>
  LARGE_INTEGER.test(token) && !Number.isSafeInteger(Number(token));

/**
 * Parses it; an integer beyond 2^53 becomes a text of its digits, since a number of it would be another one. Throws a SyntaxError
 * that quotes nothing.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = UTF8.decode(bytes);
  const mayRound = /\d{16}/.test(text);
  const exact = mayRound ? text.replace(TOKEN, (token) => (isRounded(token) ? `"${token}"` : token)) : text;
  try {
    return JSON.parse(exact);
  } catch {
    throw new SyntaxError('not JSON');
  }
}

/**
 * JSON for others. Half a surrogate pair, which an answer may have in its texts, is written as an escape by JSON.stringify, and makes the
 * whole of it unreadable to Home Assistant.
 */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(/\\\\|\\ud[89a-f][\da-f]{2}/g, (sign) =>
    sign === '\\\\' ? sign : '\\ufffd',
  );
