// Which days a provider means by the periods of its bills: ends that are the beginning of the last day, and days named twice.
import { expect, test } from 'vitest';
import { billJudge, nextBillSpan } from '../../../src/domain/insight/bill.ts';
import type { Invoice } from '../../../src/domain/invoice.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import { DUBLIN } from '../../support/household.ts';
import { ledgerOf, row } from '../ledgers.ts';

const HOUR_MS = 3_600_000;
const MONTHS: readonly Day[] = ['2025-01-01', '2025-02-01', '2025-03-01', '2025-04-01', '2025-05-01'];
const EUR = [4.2, 4.37, 3.9, 4.61];

/** Bills of four months with 13.5 % on top, newest first; `startAt` and `endAt` from the month's first day and the next one's. */
function found(startAt: (first: Day) => number, endAt: (next: Day) => number) {
  const months = EUR.map((eur, at) => ({ eur, first: MONTHS[at] ?? '', next: MONTHS[at + 1] ?? '' }));
  const lengthOf = (first: Day, next: Day) => (Date.parse(next) - Date.parse(first)) / (24 * HOUR_MS);
  const lines = months.flatMap(({ eur, first, next }) => row(first, lengthOf(first, next), 10, eur));
  const invoices = months
    .map(({ eur, first, next }, at): Invoice => {
      const total = Math.round(lengthOf(first, next) * eur * 113.5) * 10_000;
      const [from, to] = [startAt(first), endAt(next)];
      return { id: String(at), status: 'invoice', startAt: from, endAt: to, dueAt: null, total, open: 0 };
    })
    .reverse();
  return {
    checks: [...billJudge()(invoices, [ledgerOf(lines, { today: '2025-12-31' })], DUBLIN).values()],
    next: nextBillSpan(invoices, '2025-05-10', DUBLIN),
  };
}

const midnight = (day: Day) => DUBLIN.startOf(day);

test.each([
  ['midnight after its last day', midnight],
  ['its last millisecond', (next: Day) => midnight(next) - 1],
  ['midnight at the beginning of its last day', (next: Day) => midnight(addDays(next, -1))],
  ['noon of the day after, where the next begins at midnight', (next: Day) => midnight(next) + 12 * HOUR_MS],
])('a period that ends at %s', (_, endAt) => {
  const { checks, next } = found(midnight, endAt);
  // Two gaps tell what is meant: the third bill is the first that is read so.
  expect(checks.slice(2).map(({ from, to }) => `${from}..${to}`)).toEqual([
    '2025-03-01..2025-04-01',
    '2025-04-01..2025-05-01',
  ]);
  expect(next).toEqual({ from: '2025-05-01', to: '2025-06-01' });
});
