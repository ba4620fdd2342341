// Days at another price: heat by the kWh, and a standing charge for each day that a reading is about.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { costAt, type Prices } from '../../../src/domain/insight/anotherTariff.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import { holds } from '../../support/property.ts';
import { bucket, type Line, row } from '../ledgers.ts';

const PRICES: Prices = { unitRate: 0.1, standingCharge: 500_000 };
const MARCH = { from: '2025-03-01', to: '2025-04-01' };
const eur = (lines: readonly Line[], span = MARCH) => {
  const cost = costAt(PRICES, new Map(lines.map((line) => [line[0], bucket(line)])), span);
  return cost === null ? null : cost / 1e6;
};

test.each<[string, Line[], number | null]>([
  ['each day', row('2025-03-01', 31, 10, 9), 31 + 15.5],
  ['days without use still have their charge', row('2025-03-01', 31, 0, 9), 15.5],
  ['the provider has told no cost', row('2025-03-01', 31, 10, null), 31 + 15.5],
  ['no day at all', [], null],
  ['days of a cost alone', row('2025-03-01', 31, null, 9), null],
  ['no reading yet for the end', row('2025-03-01', 20, 10, 9), 20 + 10],
  ['before the first reading', row('2025-03-11', 21, 10, 9), 21 + 10.5],
  [
    'a gap that the next reading carries',
    [...row('2025-03-01', 5, 10, 9), ...row('2025-03-09', 23, 10, 9)],
    28 + 15.5,
  ],
  ['carried from before', [...row('2025-02-20', 1, 90, 9), ...row('2025-03-03', 29, 10, 9)], 29 + 15.5],
  [
    'carried by a reading after it',
    [...row('2025-03-01', 29, 10, 9), ...row('2025-04-02', 1, 40, 9)],
    29 + 15.5,
  ],
  ['a whole gap of 31 days', [...row('2025-02-28', 1, 90, 9), ...row('2025-04-01', 1, 10, 9)], 15.5],
  ['a longer gap', [...row('2025-02-27', 1, 90, 9), ...row('2025-04-01', 1, 10, 9)], null],
])('prices the days of a span when the case is: %s', (_, lines, expected) => {
  expect(eur(lines)).toBe(expected);
});

test('adds up to the year when its months are priced, to a millionth each', () => {
  const lines = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 120 }), fc.double({ min: 0, max: 50, noNaN: true })),
  );
  const prices = fc.record({
    unitRate: fc.double({ min: 0, max: 2, noNaN: true }),
    standingCharge: fc.integer({ min: 0, max: 3_000_000 }),
  });
  const cuts = fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 6 });
  holds(lines, prices, cuts, (known, given, at) => {
    const day = (count: number): Day => addDays('2025-01-01', count);
    const days = new Map(known.map(([count, kwh]) => [day(count), bucket([day(count), kwh, null])]));
    const edges = [...new Set([0, ...at, 121])].sort((a, b) => a - b).map(day);
    const parts = edges.slice(1).map((to, n) => costAt(given, days, { from: edges[n] ?? to, to }) ?? 0);
    const whole = costAt(given, days, { from: day(0), to: day(121) }) ?? 0;
    expect(Math.abs(parts.reduce((sum, part) => sum + part, 0) - whole)).toBeLessThanOrEqual(parts.length);
  });
});
