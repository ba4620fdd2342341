// The usage topics: the newest buckets, oldest first, each from where its local days begin to where they end.
import { expect, test } from 'vitest';
import { addDays, zone } from '../../src/domain/period.ts';
import { usageMessages } from '../../src/publication/states.ts';
import { topicsBelow } from '../../src/publication/topics.ts';
import type { MeterView } from '../../src/publication/views.ts';
import { type Line, ledgerOf, row } from '../domain/ledgers.ts';
import { bodyOf, EMPTY, FULL, meterView, NOW } from '../support/inventedHome.ts';

const topics = topicsBelow('heat2mqtt');
const usage = (view: MeterView, interval: string) =>
  bodyOf(usageMessages(topics, view).find(({ topic }) => topic === topics.meterUsage('70418235', interval)));

interface Bucket {
  readonly start: string;
  readonly end: string;
  readonly energy_kwh: number | null;
  readonly cost_eur: number | null;
}
function bucketsOf(view: MeterView, interval: string): Bucket[] {
  return usage(view, interval).buckets as Bucket[];
}
const viewOf = (lines: readonly Line[], options: { origin?: string; today?: string } = {}) =>
  meterView(ledgerOf(lines, options), options.today ? { today: options.today } : {});

const long = viewOf(row('2020-01-01', 2000, 1, 0.5), { origin: '2020-01-01' });

test.each([
  ['day', 62, '2025-06-22T00:00:00+01:00'],
  ['week', 26, '2025-06-16T00:00:00+01:00'],
  ['month', 36, '2025-06-01T00:00:00+01:00'],
])('by %s: the newest %d buckets, oldest first', (interval, count, newest) => {
  const buckets = bucketsOf(long, interval);
  expect(buckets).toHaveLength(count);
  expect(buckets.at(-1)?.start).toBe(newest);
  const starts = buckets.map(({ start }) => Date.parse(start));
  expect(starts).toEqual([...starts].sort((a, b) => a - b));
  // Whole stretches without a hole: each ends where the next begins.
  expect(buckets.slice(0, -1).map(({ end }) => end)).toEqual(buckets.slice(1).map(({ start }) => start));
});

test('names interval, zone and currency', () => {
  expect(usage(FULL, 'week')).toMatchObject({
    interval: 'week',
    timezone: 'Europe/Dublin',
    currency: 'EUR',
  });
});

test('an empty history is an empty list', () => {
  for (const interval of ['day', 'week', 'month']) expect(bucketsOf(EMPTY, interval)).toEqual([]);
});

test('a missing day is left out, a missing amount is null', () => {
  const lines: Line[] = [
    ['2025-06-01', 5, null],
    ['2025-06-03', 0, 0.686],
    ['2025-06-04', null, 1],
  ];
  const buckets = bucketsOf(viewOf(lines), 'day');
  expect(buckets).toMatchObject([
    { energy_kwh: 5, cost_eur: null },
    { start: '2025-06-03T00:00:00+01:00', energy_kwh: 0, cost_eur: 0.686 },
    { energy_kwh: null, cost_eur: 1 },
  ]);
});

test('revision and time of receipt are told', () => {
  const ledger = ledgerOf([['2025-06-01', 5, 1]]);
  const corrected = { energy: 4_000_000, cost: 900_000, revision: 1, receivedAt: NOW };
  const view = meterView({ ...ledger, days: new Map([['2025-06-01', corrected]]) });
  expect(bucketsOf(view, 'day')).toMatchObject([{ revision: 1, received_at: '2025-06-30T13:00:00+01:00' }]);
});

test.each([
  ['2026-03-28', '2026-03-28T00:00:00+00:00', '2026-03-29T00:00:00+00:00'],
  ['2026-03-29', '2026-03-29T00:00:00+00:00', '2026-03-30T00:00:00+01:00'],
  ['2026-10-25', '2026-10-25T00:00:00+01:00', '2026-10-26T00:00:00+00:00'],
])('the day %s goes from %s to %s', (day, start, end) => {
  const view = viewOf([[day, 1, 1]], { today: addDays(day, 1) });
  expect(bucketsOf(view, 'day')).toMatchObject([{ start, end }]);
});

test('a month with a clock change has two offsets', () => {
  const view = viewOf([['2026-03-15', 1, 1]], { today: '2026-03-16' });
  expect(bucketsOf(view, 'month')).toMatchObject([
    { start: '2026-03-01T00:00:00+00:00', end: '2026-04-01T00:00:00+01:00' },
  ]);
});

test('a day whose midnight is skipped begins at one', () => {
  const ledger = ledgerOf([['2024-04-26', 1, 1]], { origin: '2024-01-01', today: '2024-04-27' });
  const cairo = meterView(ledger, { today: '2024-04-27', timezone: zone('Africa/Cairo') });
  expect(bucketsOf(cairo, 'day')).toMatchObject([
    { start: '2024-04-26T01:00:00+03:00', end: '2024-04-27T00:00:00+03:00' },
  ]);
});
