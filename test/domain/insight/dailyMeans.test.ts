// Daily means of temperatures: whole local days only, and no nonsense.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dailyMeans } from '../../../src/domain/insight/weather.ts';
import { zone } from '../../../src/domain/period.ts';
import { holds } from '../../support/property.ts';

const HOUR_MS = 3_600_000;
const DUBLIN = zone('Europe/Dublin');
const hoursFrom = (start: number, count: number, mean: (at: number) => number) =>
  new Map(Array.from({ length: count }, (_, at) => [start + at * HOUR_MS, mean(at)]));

test.each([
  ['2026-01-15', 24],
  ['2026-03-29', 23],
  ['2026-10-25', 25],
])('%s has %i hours', (day, count) => {
  const hours = hoursFrom(DUBLIN.startOf(day), count, (at) => at);
  expect([...dailyMeans(hours, DUBLIN)]).toEqual([[day, (count - 1) / 2]]);
});

test('a zone whose midnight lies within an hour of UTC', () => {
  const kolkata = zone('Asia/Kolkata');
  const hours = hoursFrom(Date.parse('2026-01-14T19:00:00Z'), 24, () => 21.5);
  expect([...dailyMeans(hours, kolkata)]).toEqual([['2026-01-15', 21.5]]);
});

describe('a day', () => {
  const start = DUBLIN.startOf('2026-01-15');

  test('counts from twenty hours on', () => {
    expect(
      dailyMeans(
        hoursFrom(start, 19, () => 5),
        DUBLIN,
      ).size,
    ).toBe(0);
    expect(
      dailyMeans(
        hoursFrom(start, 20, () => 5),
        DUBLIN,
      ),
    ).toEqual(new Map([['2026-01-15', 5]]));
  });

  test('has nothing of what no thermometer shows', () => {
    const broken = [85, -127, Number.NaN, Number.POSITIVE_INFINITY];
    const hours = hoursFrom(start, 24, (at) => broken[at] ?? 5);
    expect(dailyMeans(hours, DUBLIN)).toEqual(new Map([['2026-01-15', 5]]));
    const mostly = hoursFrom(start, 24, (at) => (at < 5 ? 85 : 5));
    expect(dailyMeans(mostly, DUBLIN).size).toBe(0);
  });
});

test('any hours in any order: days in order, each between its coldest and its warmest hour', () => {
  const start = DUBLIN.startOf('2026-03-20');
  const mean = fc.double({ min: -200, max: 200, noNaN: true });
  holds(fc.array(fc.tuple(fc.nat(500), mean), { maxLength: 600, size: 'max' }), (rows) => {
    const hours = new Map(rows.map(([at, degrees]) => [start + at * HOUR_MS, degrees]));
    const days = dailyMeans(hours, DUBLIN);
    expect([...days.keys()]).toEqual([...days.keys()].sort());
    for (const [day, degrees] of days) {
      const own = [...hours].filter(([at, one]) => DUBLIN.dayAt(at) === day && Math.abs(one) <= 60);
      expect(degrees).toBeGreaterThanOrEqual(Math.min(...own.map(([, one]) => one)) - 0.005);
      expect(degrees).toBeLessThanOrEqual(Math.max(...own.map(([, one]) => one)) + 0.005);
    }
  });
});
