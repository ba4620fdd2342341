// Did I save, or was it mild? A span of days against the same days a year before, at this year's weather.
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween } from '../period.ts';
import {
  daysIn,
  degreeDays,
  fitHouse,
  type HeatSpan,
  heatSpans,
  longRun,
  type Weather,
  type WeatherSilence,
  YEAR_DAYS,
} from './degreeDays.ts';
import { BAND } from './robust.ts';

export interface WeatherChange {
  /** How much more was used than the year before, at this year's weather; percent. */
  readonly percent: number;
  /** Its 80 % band, percent. */
  readonly low: number;
  readonly high: number;
  /** First and last day of the comparison. */
  readonly from: Day;
  readonly to: Day;
  /** How many of its days are compared. */
  readonly days: number;
  /** What these days used, and would have as the year before; kWh. */
  readonly used: number;
  readonly expected: number;
}

/** A season. */
const NEWEST_DAYS = 90;
/** Share of the days that has to be known in both years: the others are as these then. */
const SHARE_KNOWN = 2 / 3;
/** Half of the band, as a share: a wider one tells nothing of what households save. */
const LEAST_SURE = 0.25;
/** Where less of the use than this is heating, there is no weather to take out. */
const LEAST_HEATED = 0.15;

/** Compares the newest 90 days with reading and temperature. */
export function weatherChange(days: Ledger['days'], weather: Weather): WeatherChange | WeatherSilence {
  let newest: Day = '';
  for (const day of weather.temperatures.keys())
    if (day > newest && (days.get(day)?.energy ?? null) !== null) newest = day;
  if (newest === '') return 'days_missing';
  const to = addDays(newest, 1);
  return compareWithYearBefore(days, weather, { from: addDays(to, -NEWEST_DAYS), to });
}

/** Expected is what the same days a year before used, and for other degree days the slope of the year before the span. */
export function compareWithYearBefore(
  days: Ledger['days'],
  weather: Weather,
  { from, to }: DaySpan,
): WeatherChange | WeatherSilence {
  const yearBefore = { from: addDays(from, -YEAR_DAYS), to: addDays(to, -YEAR_DAYS) };
  const spans = heatSpans(days, weather.temperatures, { from, to });
  const spansBefore = heatSpans(days, weather.temperatures, yearBefore);
  const fewest = SHARE_KNOWN * daysBetween(from, to);
  if (daysIn(spans) < fewest || daysIn(spansBefore) < fewest) return 'days_missing';
  const fit = fitHouse(days, weather, from);
  if (typeof fit === 'string') return fit;
  const [now, before] = [sumOf(spans, fit.base), sumOf(spansBefore, fit.base)];
  if (fit.slope * Math.max(now.degrees, before.degrees) < LEAST_HEATED * before.energy) return 'not_heated';

  // The line alone would take a change in the middle of the year before for one of this year.
  const level = (before.energy - fit.slope * before.degrees) / before.days;
  const expectedOf = ({ felt }: HeatSpan) => felt.length * level + fit.slope * degreeDays(felt, fit.base);
  const expected = now.days * level + fit.slope * now.degrees;
  if (expected <= 0) return 'not_sure';
  const ratio = now.energy / expected;
  const own = longRun(spans.map((span) => span.energy - ratio * expectedOf(span)));
  const others = longRun(spansBefore.map((span) => span.energy - expectedOf(span)));
  const share = now.days / before.days;
  const ofSlope = (fit.covariance[1]?.[1] ?? 0) * (now.degrees - share * before.degrees) ** 2;
  const band = (BAND * Math.sqrt(own + ratio ** 2 * (share ** 2 * others + ofSlope))) / expected;
  if (!(band <= LEAST_SURE)) return 'not_sure';
  return {
    percent: 100 * (ratio - 1),
    low: 100 * Math.max(-1, ratio - 1 - band),
    high: 100 * (ratio - 1 + band),
    ...{ from, to: addDays(to, -1), days: now.days, used: now.energy, expected },
  };
}

const sumOf = (spans: readonly HeatSpan[], base: number) => ({
  days: daysIn(spans),
  energy: spans.reduce((sum, { energy }) => sum + energy, 0),
  degrees: spans.reduce((sum, { felt }) => sum + degreeDays(felt, base), 0),
});
