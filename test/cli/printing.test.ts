// Tables on a terminal: what stands under what.
import { expect, test } from 'vitest';
import { tableLines } from '../../src/cli/printing.ts';

test('the amounts of a column have equally many decimals, so that they can be compared at a glance', () => {
  const rows = [
    ['open', 1000, null, '18'],
    ['paid', 79.1, 0, '909'],
    [null, -12.25, 3, '7'],
  ];
  expect(tableLines(['Status', 'EUR', 'Days', 'Invoice'], rows)).toEqual([
    'Status      EUR  Days  Invoice',
    'open    1000.00     –  18',
    'paid      79.10     0  909',
    '–        -12.25     3  7',
  ]);
});
