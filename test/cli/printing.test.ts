// Tables on a terminal: what stands under what, and what a name from outside cannot do.
import { expect, test } from 'vitest';
import { type Column, tableLines } from '../../src/cli/printing.ts';

type Row = readonly (string | number | null)[];
const COLUMNS = ['Status', 'EUR', 'Days', 'Invoice'].map(
  (head, at): Column<Row> => ({ head, value: (row) => row[at] ?? null }),
);

test('the amounts of a column have equally many decimals, so that they can be compared at a glance', () => {
  const rows = [
    ['open', 1000, null, '18'],
    ['paid', 79.1, 0, '909'],
    [null, -12.25, 3, '7'],
  ];
  expect(tableLines(COLUMNS, rows)).toEqual([
    'Status      EUR  Days  Invoice',
    'open    1000.00     –  18',
    'paid      79.10     0  909',
    '–        -12.25     3  7',
  ]);
});

test('control characters are replaced', () => {
  expect(tableLines(COLUMNS, [['\u001b[2J', 1, 2, 'a\nb']]).join('')).not.toMatch(/\p{Cc}/u);
});
