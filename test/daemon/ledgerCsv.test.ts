// The ledger as CSV: no cell of it is a formula.
import { expect, test } from 'vitest';
import { ledgerCsv } from '../../src/daemon/monitor/page.ts';
import { zone } from '../../src/domain/period.ts';

test.each([
  ['=HYPERLINK("http://x")', `"'=HYPERLINK(""http://x"")"`],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['-1+1', "'-1+1"],
  ['a,b', '"a,b"'],
  ['a\rb', '"a\rb"'],
])('writes a cell that no spreadsheet runs when the currency is %s', (currency, cell) => {
  const days = new Map([
    ['2026-03-01', { energy: -1_500_000, cost: null, revision: 2, receivedAt: Date.UTC(2026, 2, 2, 4) }],
  ]);
  const ledger = { days } as never;
  const [, row] = ledgerCsv({ tenancy: ledger, currency, zone: zone('Europe/Dublin') }).split('\r\n');
  expect(row).toBe(`2026-03-01,-1.5,,${cell},2,2026-03-02T04:00:00+00:00`);
});
