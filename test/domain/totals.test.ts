// Sums by local week, month and year, and the periodSums of the usage topics, against small ledgers added by hand.
import { describe, expect, test } from 'vitest';
import { openLedger } from '../../src/domain/ledger.ts';
import { periodSums, totals } from '../../src/domain/totals.ts';
import { amounts, type Line, ledgerOf, row } from './ledgers.ts';

const NOTHING = amounts(null, null);

test('nothing known is null, never 0', () => {
  const nothing = { total: NOTHING, newestDay: null, day: NOTHING, month: NOTHING, missingDays: 0, gaps: [] };
  expect(totals(openLedger('2025-01-01'), '2025-06-30')).toMatchObject(nothing);
});

test('each sum takes the days of its span, on a Sunday at the end of a month', () => {
  // 2025-06-01 was a Sunday too.
  const ledger = ledgerOf([
    ['2025-05-01', 1, 0.1],
    ['2025-05-31', 2, 0.2],
    ['2025-06-01', 4, 0.4],
    ['2025-06-22', 8, 0.8],
    ['2025-06-23', 16, 1.6],
    ['2025-06-29', 32, 3.2],
  ]);
  expect(totals(ledger, '2025-06-29')).toMatchObject({
    total: amounts(63, 6.3),
    newestDay: '2025-06-29',
    day: amounts(32, 3.2),
    week: amounts(48, 4.8),
    month: amounts(60, 6),
    year: amounts(63, 6.3),
    lastMonth: amounts(3, 0.3),
  });
});

test.each<[string, string, Line[], object]>([
  [
    'a week goes over the border of the year',
    '2025-01-02',
    row('2024-12-28', 6, 1, 0.5),
    { week: amounts(4, 2), month: amounts(2, 1), year: amounts(2, 1), lastMonth: amounts(4, 2) },
  ],
  [
    'last month before a January is December',
    '2025-01-31',
    row('2024-11-30', 3, 1, 0.5),
    { lastMonth: amounts(2, 1), month: NOTHING },
  ],
  [
    'the same month a year ago, whole, and a leap one',
    '2025-02-10',
    row('2024-01-30', 35, 1, 0.5),
    { monthLastYear: amounts(29, 14.5), month: NOTHING, year: NOTHING },
  ],
])('%s', (_name, today, lines, expected) => {
  expect(totals(ledgerOf(lines, { origin: '2023-01-01', today }), today)).toMatchObject(expected);
});

test('of another tenant only the total tells', () => {
  const ledger = ledgerOf(row('2025-06-01', 30, 1, 0.5));
  const { total, week, month, year } = totals(ledger, '2025-06-30', '2025-06-29');
  expect([total, week, month, year]).toEqual([
    amounts(30, 15),
    amounts(1, 0.5),
    amounts(2, 1),
    amounts(2, 1),
  ]);
});

test('energy and cost are summed each for itself, null staying null', () => {
  const cost: Line = ['2025-06-28', null, 1];
  const sums = totals(ledgerOf([cost, ['2025-06-27', 3, null]]), '2025-06-28');
  expect(sums.total).toEqual(amounts(3, 1));
  // The newest day is the newest with energy.
  expect(sums).toMatchObject({ newestDay: '2025-06-27', day: amounts(3, null) });
  const alone = { total: amounts(null, 1), newestDay: null, day: NOTHING };
  expect(totals(ledgerOf([cost]), '2025-06-28')).toMatchObject(alone);
});

test('days in a row are one gap; of more than a hundred the newest hundred', () => {
  const lines = row('2024-01-01', 300, 1, 1).filter((_, at) => at % 2 === 1);
  const { missingDays, gaps } = totals(ledgerOf(lines, { origin: '2024-01-01' }), '2025-06-30');
  expect([missingDays, gaps.length]).toEqual([150, 100]);
  expect(gaps[0]).toEqual({ from: '2024-10-25', to: '2024-10-26' });
  const long = [
    ...row('2025-01-01', 2, 1, 1),
    ...row('2025-01-05', 1, null, 1),
    ...row('2025-01-07', 1, 1, 1),
  ];
  expect(totals(ledgerOf(long), '2025-06-30')).toMatchObject({
    missingDays: 4,
    gaps: [{ from: '2025-01-03', to: '2025-01-07' }],
  });
});

describe('periodSums', () => {
  test('weeks from Monday to Monday, and months, over the border of a year', () => {
    const starts = { origin: '2024-01-01' };
    const weeks = periodSums(ledgerOf(row('2024-12-29', 9, 1, 0.5), starts), 'week', 26);
    expect(weeks.map(({ start, end, energy }) => [start, end, energy])).toEqual([
      ['2024-12-23', '2024-12-30', 1_000_000],
      ['2024-12-30', '2025-01-06', 7_000_000],
      ['2025-01-06', '2025-01-13', 1_000_000],
    ]);
    const months = periodSums(ledgerOf(row('2024-11-30', 33, 1, 0.5), starts), 'month', 36);
    expect(months.map(({ start, end, cost }) => [start, end, cost])).toEqual([
      ['2024-11-01', '2024-12-01', 500_000],
      ['2024-12-01', '2025-01-01', 15_500_000],
      ['2025-01-01', '2025-02-01', 500_000],
    ]);
  });

  test('a period is as new as the newest of its days', () => {
    const ledger = ledgerOf(row('2025-06-02', 3, 1, 1));
    const days = new Map(ledger.days).set('2025-06-03', { ...amounts(1, 1), revision: 2, receivedAt: 77 });
    expect(periodSums({ ...ledger, days }, 'week', 26)).toMatchObject([{ revision: 2, receivedAt: 77 }]);
  });
});
