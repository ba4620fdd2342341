// Did I save, or was it mild? A span of days against the same days a year before, at this year's weather.
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween } from '../period.ts';
import {
  degreesBelow,
  fitHouse,
  type HeatDay,
  heatDays,
  longRun,
  type Weather,
  type WeatherSilence,
  YEAR_DAYS,
} from './degreeDays.ts';
import { BAND, meanOf } from './leastSquares.ts';
import { firstDifference, SEASON_DAYS } from './readings.ts';

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
  return compareWithYearBefore(days, weather, { from: addDays(to, -SEASON_DAYS), to });
}

/** Expected is what the same days a year before used, and for other degree days the slope of the year before the span. */
export function compareWithYearBefore(
  days: Ledger['days'],
  weather: Weather,
  { from, to }: DaySpan,
): WeatherChange | WeatherSilence {
  const yearBefore = { from: addDays(from, -YEAR_DAYS), to: addDays(to, -YEAR_DAYS) };
  const now = heatDays(days, weather.temperatures, { from, to });
  const before = heatDays(days, weather.temperatures, yearBefore);
  const fewest = SHARE_KNOWN * daysBetween(from, to);
  if (now.length < fewest || before.length < fewest) return 'days_missing';
  const fit = fitHouse(days, weather, from);
  if (typeof fit === 'string') return fit;
  const degreesOf = ({ felt }: HeatDay) => degreesBelow(fit.base, felt);
  const [degrees, degreesBefore] = [meanOf(now, degreesOf), meanOf(before, degreesOf)];
  const usedBefore = meanOf(before, ({ kwh }) => kwh);
  if (fit.slope * Math.max(degrees, degreesBefore) < LEAST_HEATED * usedBefore) return 'not_heated';

  // The line alone would take a change in the middle of the year before for one of this year.
  const level = usedBefore - fit.slope * degreesBefore;
  const expectedOf = (day: HeatDay) => level + fit.slope * degreesOf(day);
  const expected = level + fit.slope * degrees;
  const used = meanOf(now, ({ kwh }) => kwh);
  // Credits may outweigh what was used.
  if (expected <= 0 || used < 0) return 'not_sure';
  const ratio = used / expected;
  const own = longRun(now.map((day) => day.kwh - ratio * expectedOf(day))) / now.length ** 2;
  const others = longRun(before.map((day) => day.kwh - expectedOf(day))) / before.length ** 2;
  const ofSlope = (fit.covariance[1]?.[1] ?? 0) * (degrees - degreesBefore) ** 2;
  const band = (BAND * Math.sqrt(own + ratio ** 2 * (others + ofSlope))) / expected;
  if (!(band <= LEAST_SURE)) return 'not_sure';
  return {
    percent: 100 * (ratio - 1),
    low: 100 * Math.max(-1, ratio - 1 - band),
    high: 100 * (ratio - 1 + band),
    ...{ from, to: addDays(to, -1), days: now.length },
    ...{ used: used * now.length, expected: expected * now.length },
  };
}

export type ChangeOver = (span: DaySpan) => WeatherChange | WeatherSilence | null;

/**
 * For one meter: comparisons with the year before, `null` without weather. Those are kept whose days are the same as at the last
 * call: each costs a fit of a year.
 */
export function weatherChanges(): (days: Ledger['days'], weather: Weather | null) => ChangeOver {
  let [knownDays, known]: [Ledger['days'], Weather] = [new Map(), { temperatures: new Map(), base: null }];
  const kept = new Map<string, { readonly to: Day; readonly change: WeatherChange | WeatherSilence }>();
  return (days, weather) => (span) => {
    if (weather === null) return null;
    const changed = [
      firstDifference(knownDays, days),
      firstDifference(known.temperatures, weather.temperatures),
    ];
    for (const [key, { to }] of kept)
      if (known.base !== weather.base || changed.some((day) => day !== null && day < to)) kept.delete(key);
    [knownDays, known] = [days, weather];
    const key = `${span.from} ${span.to}`;
    const change = kept.get(key)?.change ?? compareWithYearBefore(days, weather, span);
    kept.set(key, { to: span.to, change });
    return change;
  };
}
