// The text of a document's file: what was written comes back, and what a disk has altered does not.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AlteredDocument, documentIn, documentText } from '../../src/store/documentText.ts';
import { ledgerCodec } from '../../src/store/ledgerDocument.ts';
import { RUNS } from '../support/property.ts';

const names = fc.string({ unit: 'binary' }).filter((name) => name !== '__proto__' && name !== 'check');
const json = fc.jsonValue({ stringUnit: 'binary' }).map((value) => JSON.parse(JSON.stringify(value)));

test('what is written is read, in one line, by whoever knows nothing of the check value too', () => {
  const run = (fields: Readonly<Record<string, unknown>>) => {
    const text = documentText(fields);
    expect(text).toMatch(/^[^\n]*\n$/);
    expect(documentIn(text)).toEqual(fields);
    const { check, ...rest } = JSON.parse(text);
    expect([typeof check === 'string' || Object.keys(fields).length === 0, rest]).toEqual([true, fields]);
    // As an earlier version writes it.
    expect(documentIn(JSON.stringify(fields))).toEqual(fields);
  };
  fc.assert(fc.property(fc.dictionary(names, json, { noNullPrototype: true }), run), { numRuns: RUNS });
});

test('written again it has a check value of its own', () => {
  const before = JSON.parse(documentText({ version: 1, word: 'before' }));
  expect(documentIn(documentText({ ...before, word: 'after' }))).toEqual({ version: 1, word: 'after' });
});

const LEDGER = {
  version: 1,
  timezone: 'Europe/Dublin',
  readingCloses: 'same_day',
  origin: '2025-01-01',
  readTo: '2025-03-11',
  complete: true,
  sweptOn: '2025-03-10',
  held: [],
  readTimes: [['2025-03-10', 1_741_500_000_000]],
  days: [
    ['2025-03-09', 5_123_456, 643_210, 1, 1_741_500_000_000],
    ['2025-03-10', null, 0, 12, 1_741_600_000_001],
  ],
};

test('no bit that turns on the disk changes a ledger without a word', () => {
  const bytes = Buffer.from(documentText(LEDGER));
  const wanted = ledgerCodec.decode(LEDGER);
  const silent: string[] = [];
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const turned = Buffer.from(bytes);
    turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    const text = turned.toString('utf8');
    try {
      // In the name of the check value it does no harm.
      expect(ledgerCodec.decode(documentIn(text))).toEqual(wanted);
    } catch (err) {
      if (!(err instanceof AlteredDocument || err instanceof SyntaxError)) silent.push(text);
    }
  }
  expect(silent).toEqual([]);
});

test.each([
  ['laid out anew', (text: string) => JSON.stringify(JSON.parse(text), null, 2)],
  ['with another value', (text: string) => text.replace('5123456', '5123457')],
  ['with another check value', (text: string) => text.replace(/"check":"./, '"check":"x')],
  ['with a check value that is a number', (text: string) => text.replace(/"check":"\w+"/, '"check":7')],
  [
    'with two lines changed places',
    (text: string) => text.replace('"complete":true,', '').replace('"held"', '"complete":true,"held"'),
  ],
])('%s it is not what was written', (_, change) => {
  const text = documentText(LEDGER);
  expect(change(text)).not.toBe(text);
  expect(() => documentIn(change(text))).toThrow(AlteredDocument);
});
