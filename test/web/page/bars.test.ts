// What the bars of the page show: periods, gaps that are never 0, the year before, corrections, and round figures beside them.
import { describe, expect, test } from 'vitest';
import { addDays, intervalStart } from '../../../src/domain/period.ts';
import { axis, barsOf, type DayRow, dayMap, type Interval } from '../../../src/web/page/bars.ts';

/** Each day has its distance from `from` as kWh, and a tenth of it as cost. */
const rows = (from: string, count: number, without: readonly string[] = []): DayRow[] =>
  Array.from({ length: count }, (_, index): DayRow => [addDays(from, index), index, index / 10]).filter(
    ([day]) => !without.includes(day),
  );
const days = dayMap(rows('2024-01-01', 1056, ['2026-11-08', '2026-11-09', '2025-11-09']));
const show = (interval: Interval, over: { last?: string; page?: number; first?: string } = {}) =>
  barsOf(days, { interval, first: '2024-01-01', last: '2026-11-21', ...over });

describe('days', () => {
  test('a month of them, the newest last, with the same day a year before', () => {
    const bars = show('day');
    expect(bars).toHaveLength(31);
    expect(bars[0]).toMatchObject({ from: '2026-10-22', to: '2026-10-22', isRunning: false, missing: 0 });
    expect(bars.at(-1)).toMatchObject({ from: '2026-11-21', kwh: 1055, cost: 105.5, before: { kwh: 690 } });
  });

  test('a day without a reading is not known, and not 0', () => {
    const [gap] = show('day').filter(({ from }) => from === '2026-11-09');
    expect(gap).toMatchObject({
      kwh: null,
      cost: null,
      missing: 1,
      days: 1,
      before: { kwh: null, cost: null },
    });
  });

  test('29 February has no day a year before', () => {
    const [leap] = show('day', { last: '2024-02-29' }).slice(-1);
    expect(leap).toMatchObject({ from: '2024-02-29', kwh: 59, before: { kwh: null, cost: null } });
  });

  test('a reading of 0 is 0; a cost that is not known is not', () => {
    const known = dayMap([['2026-11-21', 0, null]]);
    const [bar] = barsOf(known, { interval: 'day', first: '2026-11-21', last: '2026-11-21' });
    expect(bar).toMatchObject({ kwh: 0, cost: null, missing: 0 });
  });

  test('nothing is missing before the origin', () => {
    expect(show('day', { first: '2026-11-20' }).map(({ from }) => from)).toEqual([
      '2026-11-20',
      '2026-11-21',
    ]);
  });
});

describe('weeks and months', () => {
  test('a week begins on Monday, and so does its week a year before', () => {
    const week = show('week').at(-1);
    expect(week).toMatchObject({ from: '2026-11-16', to: '2026-11-21', days: 6, isRunning: true });
    // From Monday, 17 November 2025: six days as well.
    expect(week?.before.kwh).toBe([0, 1, 2, 3, 4, 5].reduce((sum, day) => sum + 686 + day, 0));
  });

  test('the running month stands beside as many days of the year before', () => {
    const month = show('month').at(-1);
    expect(month).toMatchObject({ from: '2026-11-01', to: '2026-11-21', days: 21, missing: 2 });
    const sum = Array.from({ length: 21 }, (_, day) => 670 + day).reduce((total, day) => total + day, 0);
    expect(month?.before.kwh).toBe(sum - 678);
  });

  test('February stands beside the whole February before, of 29 days', () => {
    const february = show('month', { last: '2025-03-02' }).find(({ from }) => from === '2025-02-01');
    const whole = Array.from({ length: 29 }, (_, day) => 31 + day).reduce((total, day) => total + day, 0);
    expect(february).toMatchObject({ days: 28, isRunning: false, before: { kwh: whole } });
  });

  test('a day is a day when the clocks change', () => {
    for (const [from, to] of [
      ['2026-03-23', '2026-03-29'],
      ['2026-10-19', '2026-10-25'],
    ]) {
      const week = show('week').find((bar) => bar.from === from);
      if (from !== '2026-03-23') expect(week).toMatchObject({ to, days: 7, missing: 0 });
      expect(intervalStart('week', to ?? '')).toBe(from);
    }
    expect(show('month').map(({ from }) => from)).toEqual(
      expect.arrayContaining(['2026-03-01', '2026-04-01', '2026-10-01', '2026-11-01']),
    );
  });

  test('a page further back ends where the one before began', () => {
    expect(show('month', { page: 1 }).at(-1)).toMatchObject({ from: '2025-11-01', to: '2025-11-30' });
    expect(show('month', { page: 2 }).map(({ from }) => from)).toEqual(
      Array.from({ length: 11 }, (_, month) => `2024-${String(month + 1).padStart(2, '0')}-01`),
    );
  });

  test('a month of the year before that began before the origin is no measure', () => {
    const [october, november] = show('month', { first: '2025-10-02' }).slice(-2);
    expect(october?.before).toEqual({ kwh: null, cost: null });
    expect(november?.before.kwh).toBeGreaterThan(0);
  });

  test('what has been corrected is marked by the first day of its period', () => {
    const corrected = new Set(['2026-11-16']);
    const bars = barsOf(days, { interval: 'week', first: '2024-01-01', last: '2026-11-21' }, corrected);
    expect(bars.filter(({ isCorrected }) => isCorrected)).toMatchObject([{ from: '2026-11-16' }]);
  });
});

test('the axis ends at a round figure above all bars', () => {
  const tops = [0.07, 0.9, 1, 7, 36, 99, 100, 432, 5_000].map((highest) => [highest, axis(highest)] as const);
  for (const [highest, { top, ticks }] of tops) {
    expect(top).toBeGreaterThanOrEqual(highest);
    expect(ticks.at(-1)).toBe(top);
    expect(ticks.length).toBeLessThanOrEqual(4);
  }
  expect(axis(36)).toEqual({ top: 40, ticks: [10, 20, 30, 40] });
  expect(axis(0)).toEqual({ top: 1, ticks: [] });
});
