// The days that bills are about, and the next one: which days it has, and what they come to with what bills have on top.
import { expect, test } from 'vitest';
import { billJudge } from '../../../src/domain/insight/bill.ts';
import { forecaster } from '../../../src/domain/insight/forecast.ts';
import { forecastBill, nextBillSpan } from '../../../src/domain/insight/nextBill.ts';
import type { Invoice } from '../../../src/domain/invoice.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import { DUBLIN, Household } from '../../support/household.ts';
import { ledgerOf, row } from '../ledgers.ts';

const EUR = 1_000_000;

/** Bills over these days, the newest first; each begins where the one before ended. */
const bills = (...edges: Day[]): Invoice[] =>
  edges
    .slice(1)
    .map((to, at) => ({
      id: `INV-${at}`,
      status: 'CLOSED',
      startAt: DUBLIN.startOf(edges[at] ?? ''),
      endAt: DUBLIN.startOf(to),
      dueAt: null,
      total: EUR,
      open: null,
    }))
    .reverse();

test.each<[string, Day[], Day, Day | null]>([
  ['months', ['2025-01-01', '2025-02-01', '2025-03-01'], '2025-03-10', '2025-04-01'],
  ['two months', ['2025-01-01', '2025-03-01', '2025-05-01'], '2025-05-20', '2025-07-01'],
  ['quarters', ['2024-07-01', '2024-10-01', '2025-01-01'], '2025-02-20', '2025-04-01'],
  ['one bill only', ['2024-12-01', '2025-02-01'], '2025-02-20', '2025-04-01'],
  ['months that begin within one', ['2025-04-14', '2025-05-14', '2025-06-14'], '2025-06-20', '2025-07-14'],
  ['the last day of a month', ['2024-12-31', '2025-01-31'], '2025-02-03', '2025-02-28'],
  [
    'a first bill of a few days',
    ['2025-01-20', '2025-02-01', '2025-03-01', '2025-04-01'],
    '2025-04-10',
    '2025-05-01',
  ],
  ['four weeks', ['2025-01-06', '2025-01-20', '2025-02-03'], '2025-02-10', '2025-02-17'],
  ['the next is late', ['2025-01-01', '2025-02-01', '2025-03-01'], '2025-04-20', '2025-04-01'],
  ['two are late', ['2025-01-01', '2025-02-01', '2025-03-01'], '2025-05-20', null],
  ['no bill', ['2025-01-01'], '2025-02-10', null],
])('the days of the next bill: %s', (_name, edges, today, to) => {
  const span = nextBillSpan(bills(...edges), today, DUBLIN);
  expect(span).toEqual(to === null ? null : { from: edges.at(-1), to });
});

test('leaves a bill out when it is cancelled or has no period', () => {
  const [newest, before] = bills('2025-01-01', '2025-02-01', '2025-03-01') as [Invoice, Invoice];
  const known = [{ ...newest, startAt: null }, before];
  expect(nextBillSpan(known, '2025-03-10', DUBLIN)).toEqual({ from: '2025-02-01', to: '2025-03-01' });
  expect(nextBillSpan([{ ...newest, status: 'CANCELLED' }], '2025-03-10', DUBLIN)).toBeNull();
});

test('begins after the newest bill when another is of the far future', () => {
  const far = { ...(bills('2025-01-01', '2025-02-01')[0] as Invoice), endAt: Date.parse('9999-12-31') };
  const known = [...bills('2025-01-01', '2025-02-01'), { ...far, startAt: Date.parse('9999-12-01') }];
  expect(nextBillSpan(known, '2025-02-10', DUBLIN)).toEqual({ from: '2025-02-01', to: '2025-03-01' });
});

test('adds up all meters and what is on top when bills have a rule', () => {
  const span = { from: '2025-03-01', to: '2025-04-01' };
  const known = { amount: 100 * EUR, low: 90 * EUR, high: 110 * EUR };
  const rule = {
    placing: 'printed',
    rates: [1.135, 0, 3 * EUR],
    fitted: [],
    inverse: [],
    scatter: 10_000,
    freedom: 9,
  } as const;
  const meter = { cost: known, energy: { ...known, low: null, high: null } };
  expect(forecastBill(span, [meter, meter], rule)).toEqual({
    span,
    cost: { amount: 230 * EUR, low: 207.3 * EUR, high: 252.7 * EUR },
    energy: { amount: 200 * EUR, low: null, high: null },
  });
  expect(forecastBill(span, [meter, { ...meter, cost: null }], null).cost).toBeNull();
  expect(forecastBill(span, [], null)).toEqual({ span, cost: null, energy: null });
});

test('closes in on its total when a bill of two months nears its end', () => {
  const house = new Household({ seed: 8, from: '2023-01-01', days: 1_000 });
  const span = { from: '2025-01-01', to: '2025-03-01' };
  const halves = ['2025-01-02', '2025-01-20', '2025-02-10', '2025-02-28', '2025-03-04'].map((today) => {
    const days = house.until(addDays(today, -1));
    const { energy } = forecaster({ days, today, tariff: null })(span);
    return ((energy?.high ?? Number.NaN) - (energy?.low ?? Number.NaN)) / 2 / EUR;
  });
  expect(halves).toEqual([...halves].sort((a, b) => b - a));
  expect(halves.at(-1)).toBe(0);
  const { energy } = forecaster({ days: house.days, today: '2025-03-04', tariff: null })(span);
  expect((energy?.amount ?? 0) / EUR).toBeCloseTo(house.used(span), 1);
});

const HOUR_MS = 3_600_000;
const MONTHS: readonly Day[] = ['2025-01-01', '2025-02-01', '2025-03-01', '2025-04-01', '2025-05-01'];
const COSTS = [4.2, 4.37, 3.9, 4.61];

/** Bills of four months with 13.5 % on top, newest first; `startAt` and `endAt` from the month's first day and the next one's. */
function found(startAt: (first: Day) => number, endAt: (next: Day) => number) {
  const months = COSTS.map((eur, at) => ({ eur, first: MONTHS[at] ?? '', next: MONTHS[at + 1] ?? '' }));
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
