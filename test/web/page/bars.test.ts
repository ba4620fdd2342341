// What the bars of the page show: periods, gaps that are never 0, the year before, corrections, and round figures beside them.
import { expect, test } from 'vitest';
import { addDays } from '../../../src/domain/period.ts';
import { axis, barsOf, type DayRow, type Interval } from '../../../src/web/page/bars.ts';

/** Each day has its distance from `from` as kWh, and a tenth of it as cost. */
const rows = (from: string, count: number, without: readonly string[] = []): DayRow[] =>
  Array.from({ length: count }, (_, index): DayRow => [addDays(from, index), index, index / 10]).filter(
    ([day]) => !without.includes(day),
  );
const days = rows('2024-01-01', 1056, ['2026-11-08', '2026-11-09', '2025-11-09']);
const show = (interval: Interval, over: { last?: string; page?: number; first?: string } = {}) =>
  barsOf(days, { interval, first: '2024-01-01', last: '2026-11-21', ...over });

/** Sum of the kWh of so many days from the one that has `first`. */
const sum = (first: number, count: number) => count * first + (count * (count - 1)) / 2;

test('gives a month of days, the newest last, with the same day a year before, when the interval is a day', () => {
  const bars = show('day');
  expect(bars).toHaveLength(31);
  expect(bars[0]).toMatchObject({ from: '2026-10-22', to: '2026-10-22', isRunning: false, missing: 0 });
  expect(bars.at(-1)).toMatchObject({ from: '2026-11-21', kwh: 1055, cost: 105.5, before: { kwh: 690 } });
  const gap = { kwh: null, cost: null };
  expect(bars.find(({ from }) => from === '2026-11-09')).toMatchObject({
    ...gap,
    missing: 1,
    days: 1,
    before: gap,
  });
  // 29 February has no day a year before.
  const leap = show('day', { last: '2024-02-29' }).at(-1);
  expect(leap).toMatchObject({ from: '2024-02-29', kwh: 59, before: gap });
  const since = { interval: 'day', first: '2023-01-01', last: '2024-02-29' } as const;
  expect(barsOf(rows('2023-01-01', 425), since).at(-1)).toMatchObject({ kwh: 424, before: gap });
  // Nothing is missing before the origin.
  const newest = show('day', { first: '2026-11-20' });
  expect(newest.map(({ from }) => from)).toEqual(['2026-11-20', '2026-11-21']);
  // A reading of 0 is 0; a cost that is not known is not.
  const known: DayRow[] = [['2026-11-21', 0, null]];
  const [bar] = barsOf(known, { interval: 'day', first: '2026-11-21', last: '2026-11-21' });
  expect(bar).toMatchObject({ kwh: 0, cost: null, missing: 0 });
});

test('begins a week on Monday, and its week a year before too, when the interval is a week', () => {
  const corrected = new Set(['2026-11-16']);
  const weeks = barsOf(days, { interval: 'week', first: '2024-01-01', last: '2026-11-21' }, corrected);
  expect(weeks.filter(({ isCorrected }) => isCorrected)).toMatchObject([{ from: '2026-11-16' }]);
  expect(weeks.at(-1)).toMatchObject({ from: '2026-11-16', to: '2026-11-21', days: 6, isRunning: true });
  // From Monday, 17 November 2025: six days as well.
  expect(weeks.at(-1)?.before.kwh).toBe(sum(686, 6));
  // The first one may have begun before the origin: nothing is missing there.
  const [first] = show('week', { first: '2026-11-18' });
  expect(first).toMatchObject({ from: '2026-11-18', days: 4, missing: 0 });
  // The clocks change.
  expect(weeks.find(({ from }) => from === '2026-10-19')).toMatchObject({
    to: '2026-10-25',
    days: 7,
    missing: 0,
  });
});

test('compares a month with as many days of the year before when it runs, else with the whole one', () => {
  const months = show('month');
  expect(months.at(-1)).toMatchObject({ from: '2026-11-01', to: '2026-11-21', days: 21, missing: 2 });
  expect(months.at(-1)?.before.kwh).toBe(sum(670, 21) - 678);
  const february = show('month', { last: '2025-03-02' }).find(({ from }) => from === '2025-02-01');
  // The one before had 29 days.
  expect(february).toMatchObject({ days: 28, isRunning: false, before: { kwh: sum(31, 29) } });
  // A month of the year before that began before the origin is no measure.
  const [october, november] = show('month', { first: '2025-10-02' }).slice(-2);
  expect(october?.before).toEqual({ kwh: null, cost: null });
  expect(november?.before.kwh).toBeGreaterThan(0);
});

test('ends where the page before began when it is a page further back', () => {
  expect(show('month', { page: 1 }).at(-1)).toMatchObject({ from: '2025-11-01', to: '2025-11-30' });
  expect(show('month', { page: 2 }).map(({ from }) => from)).toEqual(
    Array.from({ length: 11 }, (_, month) => `2024-${String(month + 1).padStart(2, '0')}-01`),
  );
});

test('ends the axis at a round figure above all bars when there are any', () => {
  for (const highest of [0.07, 0.9, 1, 7, 36, 99, 100, 432, 5_000]) {
    const { top, ticks } = axis(highest);
    expect(top).toBeGreaterThanOrEqual(highest);
    expect(ticks.at(-1)).toBe(top);
    expect(ticks.length).toBeLessThanOrEqual(4);
  }
  expect(axis(36)).toEqual({ top: 40, ticks: [10, 20, 30, 40] });
  expect(axis(0)).toEqual({ top: 1, ticks: [] });
});
