// The days of a ledger that can be judged by themselves, what their weather lets expect, and what was expected of one.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, weekStart } from '../period.ts';
import { chargesOn, type Tariff } from '../tariff/tariff.ts';
import { degreeDays, expectedHeat, fitWeather, type Weather } from './weather.ts';

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
/** Without a temperature for so long the season has to do. */
const LONGEST_WAIT_DAYS = 3;

/**
 * Days before `before` that can be judged. A reading after a missed one may hold its day as well, and so may one after
 * a day of 0; a day of 0 after others may be a missed reading.
 */
export function singleDays(
  days: Ledger['days'],
  before: Day,
  weather: Weather | null,
  tariff: Tariff | null,
): SingleDays {
  const alone: Omit<SingleDay, 'shape'>[] = [];
  let previous: number | null = null;
  let day = weekStart(addDays(before, -LOOK_BACK_DAYS));
  for (let at = 0; day < before; at += 1, day = addDays(day, 1)) {
    const given = days.get(day)?.energy ?? null;
    const energy = given === null ? null : inFull(given);
    const isAlone = energy !== null && previous !== null && energy > 0 === previous > 0;
    if (isAlone && !(tariff && (chargesOn(tariff, days, day) ?? 1) > 1)) alone.push({ day, at, energy });
    previous = energy;
  }
  const byWeather = weather && shapedByWeather(days, alone, weather);
  if (byWeather) return { days: byWeather, by: 'weather' };
  const shape = alone.reduce((sum, { energy }) => sum + energy, 0) / alone.length;
  return { days: alone.map((each) => ({ ...each, shape })), by: 'season' };
}

/** `null`: no fit, or no temperature for too long. */
function shapedByWeather(
  days: Ledger['days'],
  alone: readonly Omit<SingleDay, 'shape'>[],
  { temperatures, base }: Weather,
): SingleDay[] | null {
  const known = alone.filter(({ day }) => temperatures.has(day));
  const [newest, last] = [alone.at(-1), known.at(-1)];
  if (!newest || !last || newest.at - last.at > LONGEST_WAIT_DAYS) return null;
  const fit = fitWeather(days, temperatures, base, last.day);
  if (fit === null) return null;
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
