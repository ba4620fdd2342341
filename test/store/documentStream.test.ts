// Documents one at a time in one JSON text: what is written is read, however it comes in chunks; and what neither side takes.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { documentsIn, LARGEST, textOf } from '../../src/store/documentStream.ts';
import { collected } from '../support/backups.ts';
import { RUNS } from '../support/property.ts';

type Documents = Readonly<Record<string, unknown>>;

async function* each(documents: Documents) {
  yield* Object.entries(documents);
}
async function* inChunks(text: string, size: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const written = async (head: object, documents: Documents, limits = LARGEST): Promise<string> =>
  (await collected(textOf(head, 'documents', each(documents), limits))).join('');

async function read(text: string, size = 16_384, limits = LARGEST) {
  let rest: unknown;
  const take = (json: unknown) => {
    rest = json;
  };
  const documents = await collected(documentsIn(inChunks(text, size), 'documents', take, limits));
  return { rest, documents: Object.fromEntries(documents) };
}

// vitest compares what objects have as their constructor.
const isComparable = (name: string) => !['__proto__', 'constructor'].includes(name);
const names = fc.string({ minLength: 1, unit: 'binary' }).filter(isComparable);
const json = fc
  .jsonValue({ depthSize: 'small', stringUnit: 'binary' })
  .map((value) => JSON.parse(JSON.stringify(value)));
const many = fc.dictionary(names, json, { noNullPrototype: true });

test('what is written is read, however it comes in chunks and is laid out', async () => {
  const run = async (head: Documents, documents: Documents, size: number, isPretty: boolean) => {
    const text = await written({ config: null, ...head }, documents);
    const whole = JSON.parse(text);
    expect(whole).toEqual({ config: null, ...head, documents });
    const laidOut = isPretty ? JSON.stringify(whole, null, 2) : text;
    expect(await read(laidOut, size)).toEqual({ rest: { config: null, ...head, documents: {} }, documents });
  };
  const heads = many.map(({ documents: _, ...head }) => head);
  const property = fc.asyncProperty(heads, many, fc.integer({ min: 1, max: 40 }), fc.boolean(), run);
  const examples: [Documents, Documents, number, boolean][] = [[{}, { constructor: [] }, 1, true]];
  await fc.assert(property, { numRuns: RUNS, examples });
});

test('reads what an earlier version wrote in one line, which had them first', async () => {
  const text = '{"documents":{"x":[{"documents":{"y":1}}],"z":"}{"},"b":[{}]}';
  for (const size of [1, 2, 7, 1_000])
    expect(await read(text, size)).toEqual({
      rest: { documents: {}, b: [{}] },
      documents: { x: [{ documents: { y: 1 } }], z: '}{' },
    });
  const whole = text.length - 1;
  await expect(read(text, 7, { ...LARGEST, whole })).rejects.toThrow('of more than');
  await expect(read(JSON.stringify(JSON.parse(text), null, 1), 7, { ...LARGEST, whole })).rejects.toThrow(
    'of more than',
  );
});

test('passes on JSON that has none', async () => {
  for (const rest of [{ documents: 'x' }, { documents: [1] }, {}, null])
    expect(await read(JSON.stringify(rest))).toEqual({ rest, documents: {} });
});

test('what one side takes as large as it may be, the other takes too, and no byte more', async () => {
  const run = async (documents: Documents, cut: number) => {
    const text = await written({ config: null }, documents);
    const members = text.split('\n').map((line) => Buffer.byteLength(line));
    const limits = { ...LARGEST, document: Math.max(...members) + 2, all: Buffer.byteLength(text) };
    expect((await read(await written({ config: null }, documents, limits), cut, limits)).documents).toEqual(
      documents,
    );
    for (const less of [
      { ...limits, all: limits.all - 1 },
      { ...limits, document: Math.max(...members) - 3 },
    ])
      await expect(written({ config: null }, documents, less)).rejects.toThrow('of more than 0 MiB');
    await expect(read(text, cut, { ...limits, document: Math.max(...members) - 3 })).rejects.toThrow(
      'of more than',
    );
    await expect(
      read(text, cut, { ...limits, all: limits.all - Object.keys(documents).length - 2 }),
    ).rejects.toThrow('of more than');
  };
  const some = fc.dictionary(names, json, { minKeys: 1, noNullPrototype: true });
  const property = fc.asyncProperty(some, fc.integer({ min: 1, max: 40 }), run);
  await fc.assert(property, { numRuns: RUNS });
});

test.each([
  ['one line cut off', '{"documents":{"a":1'],
  ['a document cut off', '{"documents":{\n"a":1'],
  ['documents cut off', '{"documents":{\n"a":1,\n'],
  ['a document that is no JSON', '{"documents":{\n"a":1x,\n"b":2}}\n'],
  ['two in the place of one', '{"documents":{\n"a":1,"b":2}}\n'],
  ['none in the place of one', '{"documents":{\n,\n"b":2}}\n'],
  ['a name twice', '{"documents":{\n"a":1,\n"a":2}}\n'],
  ['no name', '{"documents":{\n1:1}}\n'],
  ['brackets that do not match', '{"documents":{\n"a":[1}}}\n'],
  ['more after the end', '{"documents":{\n"a":1}}\n"b":2}}\n'],
  ['nothing', ''],
])('%s is no such JSON', async (_, text) => {
  for (const size of [1, 1_000]) await expect(read(text, size)).rejects.toThrow(SyntaxError);
});
