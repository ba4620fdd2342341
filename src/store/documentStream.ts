// JSON in which an object has a document for each name, written and read one document at a time: those of some thousand accounts
// do not fit into memory together.

export type NamedDocument = readonly [name: string, json: unknown];

const MIB = 1024 * 1024;

/**
 * Both sides have these limits, so that what is written can be read: bytes of one document, of all together, and of all if they
 * are in one piece.
 */
export const LARGEST = { document: 64 * MIB, all: 4096 * MIB, whole: 256 * MIB };
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

function refuseTooLarge(document: string, { document: limit }: Limits): void {
  if (Buffer.byteLength(document) > limit) throw new TooLarge('a document', limit);
}

/** The text of `{ ...head, key: { name: json, … } }`, each document in a line of its own. Throws TooLarge. */
export async function* textOf(
  head: object,
  key: string,
  documents: AsyncIterable<NamedDocument>,
  limits = LARGEST,
): AsyncGenerator<string> {
  let bytes = 0;
  const counted = (text: string) => {
    refuseTooLarge(text, limits);
    bytes += Buffer.byteLength(text);
    if (bytes > limits.all) throw new TooLarge('documents', limits.all);
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

/**
 * The documents of JSON in which the object `key` has them; `onRest` gets the JSON without them at the end. Laid out otherwise than
 * `textOf` does, it is read as a whole. Throws SyntaxError where it is no such JSON, or has a name twice; TooLarge; and what reading
 * the chunks throws.
 */
export async function* documentsIn(
  chunks: AsyncIterable<Buffer>,
  key: string,
  onRest: (rest: unknown) => void,
  limits = LARGEST,
): AsyncGenerator<NamedDocument> {
  const lines = linesOf(chunks, limits);
  const { value: head = '' } = await lines.next();
  if (!head.endsWith(`${JSON.stringify(key)}:{`)) {
    const json = JSON.parse(await restOf(lines, head, limits));
    const documents = json?.[key];
    const isObject = Object.prototype.toString.call(documents) === '[object Object]';
    if (isObject) yield* Object.entries(documents);
    onRest(isObject ? { ...json, [key]: {} } : json);
    return;
  }
  refuseTooLarge(head, limits);
  const names = new Set<string>();
  let isOver = false;
  for await (const line of lines) {
    refuseTooLarge(line, limits);
    const [, text = '', end] = /^(.*)(,|\}\})$/s.exec(line) ?? [];
    const [document, ...more] = Object.entries<unknown>(JSON.parse(`{${text}}`));
    if (isOver || !document || more.length > 0 || names.has(document[0]))
      throw new SyntaxError('no line with one more document');
    isOver = end !== ',';
    names.add(document[0]);
    yield document;
  }
  onRest(JSON.parse(`${head}${isOver ? '}}' : ''}`));
}

async function restOf(lines: AsyncIterable<string>, head: string, { whole }: Limits): Promise<string> {
  let text = head;
  for await (const line of lines) {
    text += `\n${line}`;
    if (text.length > whole) throw new TooLarge('documents in one piece', whole);
  }
  return text;
}

async function* linesOf(chunks: AsyncIterable<Buffer>, { whole, all }: Limits): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let bytesOfLine = 0;
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > all) throw new TooLarge('documents', all);
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, end)]).toString('utf8');
      parts = [];
      bytesOfLine = 0;
      from = end + 1;
    }
    parts.push(chunk.subarray(from));
    bytesOfLine += chunk.length - from;
    if (bytesOfLine > whole) throw new TooLarge('a line', whole);
  }
  const last = Buffer.concat(parts).toString('utf8');
  if (last !== '') yield last;
}
