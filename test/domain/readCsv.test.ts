// Reading CSV: whatever a spreadsheet writes comes back, and what breaks the rules of quotes is named with its line.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readCsv } from '../../src/domain/csv.ts';

const cell = fc.oneof(fc.string(), fc.constantFrom('', '"', '""', ',', '\r\n', 'a"b', '"a', ' ', 'é"\n,'));
const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 6 });
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

test('cells that are quoted come back, whatever is in them and however lines end', () => {
  fc.assert(
    fc.property(
      rows,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.constantFrom('', '\uFEFF'),
      (given, end, mark) => {
        const text = mark + given.map((cells) => cells.map(quoted).join(',') + end).join('');
        expect(readCsv(text).map(({ cells, fault }) => ({ cells, fault }))).toEqual(
          given.map((cells) => ({ cells, fault: null })),
        );
      },
    ),
  );
});

test('no text makes it fail, and each row begins on a later line', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r') });
  fc.assert(
    fc.property(texts, (text) => {
      const lines = readCsv(text).map(({ line }) => line);
      expect(lines).toEqual([...new Set(lines)].sort((a, b) => a - b));
    }),
    { numRuns: 1_000 },
  );
});

test('rows know their lines, also behind a cell of several lines and behind empty ones', () => {
  const found = readCsv('a,b\r\n\r\n"c\nd",e\r\n"f"g,h\r\ni,"j\r\nk');
  expect(found.map(({ line, fault }) => [line, fault])).toEqual([
    [1, null],
    [3, null],
    [5, 'text_after_quote'],
    [6, 'quote_without_end'],
  ]);
});
