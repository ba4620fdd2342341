// Means of local days: from hours that may be missing, doubled by a clock change, or of no thermometer.
import { expect, test } from 'vitest';
import { dailyMeans } from '../../src/daemon/homeAssistant/outdoorTemperatures.ts';
import { zone } from '../../src/domain/period.ts';
import { DUBLIN } from '../support/household.ts';

const HOUR_MS = 3_600_000;
const BROKEN = [85, -127, Number.NaN, Number.POSITIVE_INFINITY];
const hoursFrom = (start: number, count: number, mean: (at: number) => number) =>
  new Map(Array.from({ length: count }, (_, at) => [start + at * HOUR_MS, mean(at)]));

test.each<[string, ReturnType<typeof zone>, string, number, (at: number) => number, number | null]>([
  ['24 hours', DUBLIN, '2026-01-15', 24, (at) => at, 11.5],
  ['23 hours', DUBLIN, '2026-03-29', 23, (at) => at, 11],
  ['25 hours', DUBLIN, '2026-10-25', 25, (at) => at, 12],
  ['a midnight within an hour of UTC', zone('Asia/Kolkata'), '2026-01-15', 24, () => 21.5, 21.5],
  ['too few hours', DUBLIN, '2026-01-15', 19, () => 5, null],
  ['just enough', DUBLIN, '2026-01-15', 20, () => 5, 5],
  ['four hours of what no thermometer shows', DUBLIN, '2026-01-15', 24, (at) => BROKEN[at] ?? 5, 5],
  ['five of them', DUBLIN, '2026-01-15', 24, (at) => (at < 5 ? 85 : 5), null],
])('has a mean, or none, when a day has %s', (_, where, day, hours, mean, expected) => {
  // The first full hour of the day.
  const start = Math.ceil(where.startOf(day) / HOUR_MS) * HOUR_MS;
  const found = dailyMeans(hoursFrom(start, hours, mean), where);
  expect([...found]).toEqual(expected === null ? [] : [[day, expected]]);
});

test('puts days in order when their hours are not', () => {
  const hours = hoursFrom(DUBLIN.startOf('2026-01-15'), 48, () => 5);
  const means = dailyMeans(new Map([...hours].toReversed()), DUBLIN);
  expect([...means.keys()]).toEqual(['2026-01-15', '2026-01-16']);
});
