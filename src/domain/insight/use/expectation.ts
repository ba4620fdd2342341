// The days of a ledger that can be judged by themselves, what their weather lets expect, and what was expected of one.
import { inFull, type Micro, toMicro } from '../../amount.ts';
import type { Ledger } from '../../ledger.ts';
import { addDays, type Day, daysOf, weekStart } from '../../period.ts';
import type { Tariff } from '../../tariff/tariff.ts';
import { chargesCarried } from '../forecast/readings.ts';
import { meanOf } from '../statistics.ts';
import { degreeDays, expectedHeat, type FittedWeather } from './weather.ts';

/** Of one day, from the days before it. */
export interface Expectation {
  readonly day: Day;
  readonly energy: Micro;
  readonly expected: Micro;
  /** Ends of the band that holds 99 of 100 usual days. */
  readonly low: Micro;
  readonly high: Micro;
  readonly by: 'weather' | 'season';
}

/** A day whose reading is of that day alone. kWh. */
export interface SingleDay {
  readonly day: Day;
  /** Days since the oldest that is looked at, which is a Monday. */
  readonly at: number;
  readonly energy: number;
  /** What its weather lets expect; the mean of all days where that is not known. */
  readonly shape: number;
}

export interface SingleDays {
  /** Oldest first. */
  readonly days: readonly SingleDay[];
  readonly by: Expectation['by'];
}

const LOOK_BACK_DAYS = 400;
/** Whole weeks, so that no weekday counts more. */
const YEAR_DAYS = 364;
const FEWEST_OF_YEAR = 330;
const OFFSET_SHARE = 0.1;
/** Without a temperature for so long the season has to do. */
const LONGEST_WAIT_DAYS = 3;

/**
 * Days before `before` that can be judged. A reading after a missed one may hold its day as well, and so may one after
 * a day of 0; a day of 0 after others may be a missed reading.
 */
export function singleDays(
  days: Ledger['days'],
  before: Day,
  weather: FittedWeather | null,
  tariff: Tariff | null,
): SingleDays {
  const alone: Omit<SingleDay, 'shape'>[] = [];
  let previous: number | null = null;
  const span = { from: weekStart(addDays(before, -LOOK_BACK_DAYS)), to: before };
  const within = daysOf(span);
  for (const [at, day] of within.entries()) {
    const given = days.get(day)?.energy ?? null;
    const energy = given === null ? null : inFull(given);
    const isAlone = energy !== null && previous !== null && energy > 0 === previous > 0;
    const isFollowed = days.has(within[at + 1] ?? before);
    if (isAlone && (isFollowed || chargesCarried(tariff, days, day) === 1)) alone.push({ day, at, energy });
    previous = energy;
  }
  const byWeather = weather && shapedByWeather(alone, weather);
  if (byWeather) return { days: byWeather, by: 'weather' };
  const shapeAt = shapeOfYear(alone.slice(0, -1));
  return { days: alone.map((each) => ({ ...each, shape: shapeAt(each.at) })), by: 'season' };
}

/**
 * What the season lets expect: the two lowest waves through the logarithms of the newest year, or the mean where less
 * than that is known.
 */
function shapeOfYear(alone: readonly Omit<SingleDay, 'shape'>[]): (at: number) => number {
  const mean = meanOf(alone, ({ energy }) => energy);
  const newest = alone.at(-1)?.at ?? 0;
  const year = alone.filter(({ at }) => at > newest - YEAR_DAYS);
  if (year.length < FEWEST_OF_YEAR || mean === 0) return () => mean;
  const offset = OFFSET_SHARE * mean;
  const angle = (at: number) => (2 * Math.PI * at) / YEAR_DAYS;
  const log = ({ energy }: { energy: number }) => Math.log(energy + offset);
  const level = meanOf(year, log);
  const waves = [1, 2].flatMap((wave) =>
    [Math.cos, Math.sin].map((of) => {
      const size = 2 * meanOf(year, (day) => (log(day) - level) * of(wave * angle(day.at)));
      return (at: number) => size * of(wave * angle(at));
    }),
  );
  return (at) => Math.max(0, Math.exp(waves.reduce((sum, wave) => sum + wave(at), level)) - offset);
}

/** `null`: no temperature for too long. */
function shapedByWeather(
  alone: readonly Omit<SingleDay, 'shape'>[],
  { temperatures, base, fit }: FittedWeather,
): SingleDay[] | null {
  const known = alone.filter(({ day }) => temperatures.has(day));
  const [newest, last] = [alone.at(-1), known.at(-1)];
  if (!newest || !last || newest.at - last.at > LONGEST_WAIT_DAYS) return null;
  return known.map((each) => {
    const shape = expectedHeat(fit, degreeDays(temperatures.get(each.day) ?? base, base));
    return { ...each, shape };
  });
}

export const inMicro = (
  { day, energy }: SingleDay,
  { expected, low, high }: { readonly expected: number; readonly low: number; readonly high: number },
  by: Expectation['by'],
): Expectation => ({
  day,
  energy: toMicro(energy),
  expected: toMicro(expected),
  low: toMicro(low),
  high: toMicro(high),
  by,
});
