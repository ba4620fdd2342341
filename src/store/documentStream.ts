// JSON in which an object has a document for each name, written and read one document at a time: those of some thousand accounts
// do not fit into memory together.

export type NamedDocument = readonly [name: string, json: unknown];

const MIB = 1024 * 1024;

/** For both sides, so that what is written can be read: bytes of one document, and of all together. */
export const LARGEST = { document: 64 * MIB, all: 4096 * MIB };
type Limits = typeof LARGEST;

/** One side has more than the other would take. */
export class TooLarge extends Error {
  readonly found: string;
  readonly allowed: string;

  constructor(what: string, bytes: number) {
    const mebibytes = `${Math.floor(bytes / MIB)} MiB`;
    super(`${what} of more than ${mebibytes}`);
    this.found = this.message;
    this.allowed = `at most ${mebibytes}`;
  }
}

function refuseTooLarge(document: number, all: number, limits: Limits): void {
  if (document > limits.document) throw new TooLarge('a document', limits.document);
  if (all > limits.all) throw new TooLarge('documents', limits.all);
}

/** The text of `{ ...head, key: { name: json, … } }`, each document in a line of its own. Throws TooLarge. */
export async function* textOf(
  head: object,
  key: string,
  documents: AsyncIterable<NamedDocument>,
  limits = LARGEST,
): AsyncGenerator<string> {
  let all = 0;
  const counted = (text: string) => {
    const bytes = Buffer.byteLength(text);
    all += bytes;
    refuseTooLarge(bytes, all, limits);
    return text;
  };
  yield counted(`${JSON.stringify(head).slice(0, -1)},${JSON.stringify(key)}:{`);
  let separator = '\n';
  for await (const [name, json] of documents) {
    yield counted(`${separator}${JSON.stringify(name)}:${JSON.stringify(json)}`);
    separator = ',\n';
  }
  yield counted('}}\n');
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const LONGEST_SPACE = 64;

/**
 * The documents of JSON in which the object `key` has them, however it is laid out. `onRest` gets all else of it at the end. Throws
 * SyntaxError where it is no such JSON, or has a name twice; TooLarge; and what reading the chunks throws.
 */
export async function* documentsIn(
  chunks: AsyncIterable<Buffer>,
  key: string,
  onRest: (rest: unknown) => void,
  limits = LARGEST,
): AsyncGenerator<NamedDocument> {
  const names = new Set<string>();
  const scanner = new Scanner(key, limits);
  for await (const chunk of chunks) {
    for (const text of scanner.take(chunk)) {
      const [[name, json] = [''], ...more] = Object.entries<unknown>(JSON.parse(`{${text}}`));
      if (more.length > 0 || names.has(name)) throw new SyntaxError('a name that is there twice');
      names.add(name);
      yield [name, json];
    }
  }
  onRest(JSON.parse(scanner.rest()));
}

/** Finds where a document begins and ends, by quotes and brackets alone: whether it is JSON is for `JSON.parse` to say. */
class Scanner {
  readonly #key: RegExp;
  readonly #keyBytes: number;
  readonly #limits: Limits;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** Within the object that has the documents. */
  #isInside = false;
  #all = 0;
  /** The bytes since the last cut. */
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The text around the documents. */
  #rest = '';

  constructor(key: string, limits: Limits) {
    this.#key = new RegExp(`${JSON.stringify(key)}\\s*:\\s*$`);
    this.#keyBytes = Buffer.byteLength(key) + LONGEST_SPACE;
    this.#limits = limits;
  }

  /** The documents that end in this chunk, each as `"name": json`. */
  take(chunk: Buffer): string[] {
    const found: string[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const boundary = this.#boundaryAt(chunk, from, at);
      if (boundary === null) continue;
      const end = boundary === 'begin' ? at + 1 : at;
      const text = this.#cut(chunk.subarray(from, end));
      from = boundary === 'between' ? at + 1 : end;
      if (boundary === 'begin') this.#rest += text;
      // An object without documents ends where its first one would.
      else if (boundary === 'between' || text.trim() !== '') found.push(text);
    }
    this.#keep(chunk.subarray(from));
    return found;
  }

  /** The text around the documents, with an empty object in their place. */
  rest(): string {
    return this.#rest + Buffer.concat(this.#parts).toString('utf8');
  }

  /** Tells whether the documents begin here, one makes way for the next, or they end. */
  #boundaryAt(chunk: Buffer, from: number, at: number): 'begin' | 'between' | 'end' | null {
    const byte = chunk[at];
    if (this.#isInText) return this.#readText(byte);
    switch (byte) {
      case QUOTE:
        this.#isInText = true;
        return null;
      case OPENING_BRACKET:
        this.#depth += 1;
        return null;
      case CLOSING_BRACKET:
        this.#depth -= 1;
        return null;
      case OPENING_BRACE:
        this.#depth += 1;
        if (this.#isInside || this.#depth !== 2 || !this.#key.test(this.#tail(chunk.subarray(from, at))))
          return null;
        this.#isInside = true;
        return 'begin';
      case CLOSING_BRACE:
        this.#depth -= 1;
        if (!this.#isInside || this.#depth !== 1) return null;
        this.#isInside = false;
        return 'end';
      case COMMA:
        return this.#isInside && this.#depth === 2 ? 'between' : null;
      default:
        return null;
    }
  }

  #readText(byte: number | undefined): null {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInText = false;
    return null;
  }

  #keep(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    this.#all += bytes.length;
    refuseTooLarge(this.#bytes, this.#all, this.#limits);
  }

  #cut(bytes: Buffer): string {
    this.#keep(bytes);
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    return text;
  }

  /** The end of what has come since the last cut, long enough for the key. */
  #tail(newest: Buffer): string {
    const pieces = [newest.subarray(-this.#keyBytes)];
    let bytes = newest.length;
    for (let at = this.#parts.length - 1; at >= 0 && bytes < this.#keyBytes; at -= 1) {
      const piece = this.#parts[at] ?? newest;
      pieces.unshift(piece);
      bytes += piece.length;
    }
    return Buffer.concat(pieces).subarray(-this.#keyBytes).toString('utf8');
  }
}
