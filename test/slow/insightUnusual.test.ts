// Unusual use on simulated winters: few false alarms, a stuck valve found within three days, and no alarm by a carried day.
import { expect, test } from 'vitest';
import { judgeUse } from '../../src/domain/insight/use/unusualUse.ts';
import { fittedWeather } from '../../src/domain/insight/use/weather.ts';
import { addDays, type Day, daysBetween } from '../../src/domain/period.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { mean, median, seeds, share, tell } from '../support/figures.ts';
import { Household, type HouseholdOptions, stuckValve } from '../support/household.ts';

type Options = Omit<HouseholdOptions, 'seed'>;

const BASE = 15.5;
const WINTER: Day = '2024-10-05';
const DAYS = 200;
const YEARS = { from: '2023-07-01', days: 700, holidays: 0 } as const;
const FIRST_WINTER = { from: '2024-07-10', days: 320, holidays: 0 } as const;

interface Winter {
  /** Days on which the sensor is on, and those by which it goes on. */
  readonly on: readonly Day[];
  readonly alarms: readonly Day[];
}

/** Evening by evening, with what is known by then. */
function winter(household: Household, hasWeather: boolean, from = WINTER, count = DAYS): Winter {
  const { temperatures } = household;
  const on: Day[] = [];
  const alarms: Day[] = [];
  for (let at = 0; at < count; at += 1) {
    const day = addDays(from, at);
    if (!household.days.has(day)) continue;
    const [days, before] = [household.until(day), addDays(day, 1)];
    const weather = hasWeather ? fittedWeather(days, { temperatures, base: BASE }, before) : null;
    const unusual = judgeUse(days, before, weather, null)?.unusual ?? null;
    if (unusual) on.push(day);
    if (unusual?.since === day) alarms.push(day);
  }
  return { on, alarms };
}

test.each<[string, Options, boolean, number]>([
  ['weather known', YEARS, true, 50],
  ['no weather', YEARS, false, 50],
  ['first winter, weather known', FIRST_WINTER, true, 50],
  ['first winter, no weather', FIRST_WINTER, false, 50],
  ['the same cold each year, no weather', { ...YEARS, climate: { anomaly: 0 } }, false, 25],
  ['a reading every second day', { ...YEARS, readEvery: 2 }, true, 25],
  ['missed readings, weather known', { ...YEARS, missed: 0.1 }, true, 25],
  ['missed readings, no weather', { ...YEARS, missed: 0.1 }, false, 50],
])('at most one false alarm in 200 days of most winters: %s', (name, options, hasWeather, count) => {
  const winters = seeds(count).map((seed) => {
    const household = new Household({ seed, ...options });
    const carrying = new Set(household.carrying());
    return { ...winter(household, hasWeather), carrying };
  });
  const counts = winters.map(({ alarms }) => alarms.length);
  const daysOn = winters.map(({ on }) => on.length);
  tell(name, {
    alarms: median(counts),
    mean: mean(counts),
    most: Math.max(...counts),
    daysOn: median(daysOn),
    meanDaysOn: mean(daysOn),
  });
  expect(median(counts)).toBeLessThanOrEqual(1);
  expect(winters.flatMap(({ alarms, carrying }) => alarms.filter((day) => carrying.has(day)))).toEqual([]);
});

test.each<[string, Options, boolean, number]>([
  ['weather known', YEARS, true, 0.9],
  ['first winter, weather known', FIRST_WINTER, true, 0.8],
  ['setback, weather known', { ...YEARS, setback: 0.7 }, true, 0.8],
  ['no weather', YEARS, false, 0.15],
  ['the same cold each year, no weather', { ...YEARS, climate: { anomaly: 0 } }, false, 0.8],
])('a stuck valve is found within three days: %s', (name, options, hasWeather, wanted) => {
  const found = seeds(200).map((seed) => {
    const stuck = addDays('2024-10-25', Math.floor(drawFor(seed, 0, 'stuck')() * 150));
    const household = new Household({ seed, ...options, changes: [stuckValve(stuck)] });
    const { on } = winter(household, hasWeather, stuck, 5);
    return on[0] === undefined ? 99 : daysBetween(stuck, on[0]) + 1;
  });
  const within = (count: number) => share(found, (after) => after <= count);
  tell(`stuck valve, ${name}`, { one: within(1), two: within(2), three: within(3), five: within(5) });
  expect(within(3)).toBeGreaterThanOrEqual(wanted);
});
