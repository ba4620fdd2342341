// Heat against outdoor temperature: a line through degree days whose base temperature is the house's own (PRISM, Fels 1986). It tells
// what of a month is heating, and what was saved beside the weather.
import { inFull } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, daysOf, type Zone } from '../period.ts';
import { BAND, dot, huber, leastSquares, meanOf, quadratic } from './leastSquares.ts';
import {
  FEWEST_DAYS,
  keptAnswers,
  LONGEST_SPAN_DAYS,
  readingsIn,
  SEASON_DAYS,
  TWO_WEEKS_DAYS,
  YEAR_DAYS,
} from './readings.ts';

/** Mean outdoor temperature of local days, °C. */
export type Temperatures = ReadonlyMap<Day, number>;

/** What is known of the weather where the meters are. */
export interface Weather {
  readonly temperatures: Temperatures;
  /** °C above which nothing is heated; `null`: to be found for the house. */
  readonly base: number | null;
}

/** Why the weather tells nothing. */
export type WeatherSilence = 'days_missing' | 'not_heated' | 'not_sure';

/** A day with fewer has no mean: it is not over yet, or the sensor was away. */
const FEWEST_HOURS = 20;
/** °C. No place on earth is colder or warmer: the sensor is wrong. */
const PLAUSIBLE = { from: -60, to: 60 };
/** Custom in Ireland and Britain, for a house that does not tell its own. */
export const USUAL_BASE = 15.5;
/** °C from which houses are heated, from well insulated to old ones. */
const BASES = [8, 9, 10, 11, 12, 13, 14, USUAL_BASE, 17, 18];
/** Walls keep a third of yesterday's cold: the middle of what houses of stone and of timber do. */
const OF_YESTERDAY = 1 / 3;
/** A slope of fewer standard deviations may be none: one case in forty. */
const SURE_SLOPE = 2;
/** Share of the days that has to be known in both years: the others are as these then. */
const SHARE_KNOWN = 2 / 3;
/** Half of the band, as a share: a wider one tells nothing of what households save. */
const LEAST_SURE = 0.25;
/** Where less of the use than this is heating, there is no weather to take out. */
const LEAST_HEATED = 0.15;

/** Of local days, °C to two decimals, oldest first; `hours`: means in °C by the epoch milliseconds of their beginning. */
export function dailyMeans(hours: ReadonlyMap<number, number>, zone: Zone): Temperatures {
  const days = new Map<Day, number[]>();
  for (const [start, mean] of [...hours].sort(([a], [b]) => a - b)) {
    if (!(mean >= PLAUSIBLE.from && mean <= PLAUSIBLE.to)) continue;
    const day = zone.dayAt(start);
    days.set(day, [...(days.get(day) ?? []), mean]);
  }
  const whole = [...days].filter(([, means]) => means.length >= FEWEST_HOURS);
  return new Map(whole.map(([day, means]) => [day, Math.round(100 * meanOf(means, (one) => one)) / 100]));
}

/** K·d of a day: how far its mean lies below the base. */
const degreesBelow = (base: number, mean: number): number => Math.max(0, base - mean);

/** K·d of the days of the span whose temperature is known, and how many these are; `null`: none. */
export function degreeDaysWithin(temperatures: Temperatures, base: number, span: DaySpan) {
  const known = daysOf(span).flatMap((day) => temperatures.get(day) ?? []);
  const sum = known.reduce((all, mean) => all + degreesBelow(base, mean), 0);
  return known.length === 0 ? null : { sum, days: known.length };
}

/** The temperature as a house feels it; `null` where that of the day is not known. */
export function feltOn(temperatures: Temperatures, day: Day): number | null {
  const own = temperatures.get(day);
  if (own === undefined) return null;
  return own + OF_YESTERDAY * ((temperatures.get(addDays(day, -1)) ?? own) - own);
}

type HeatDay = ReturnType<typeof heatDays>[number];

/** Heat and felt temperature of the days of the span, kWh and °C, oldest first; of a reading with all its days in it and their temperatures known, each has the mean. */
function heatDays(days: Ledger['days'], temperatures: Temperatures, { from, to }: DaySpan) {
  const [, ...readings] = readingsIn('energy', days, { from: addDays(from, -LONGEST_SPAN_DAYS), to });
  return readings.flatMap(({ day, amount, missed }) => {
    if (missed >= LONGEST_SPAN_DAYS || addDays(day, -missed) < from) return [];
    const about = Array.from({ length: missed + 1 }, (_, back) => addDays(day, -back));
    const felt = about.flatMap((one) => feltOn(temperatures, one) ?? []);
    if (felt.length <= missed) return [];
    const mean = { kwh: inFull(amount) / felt.length, felt: meanOf(felt, (one) => one) };
    return felt.map(() => mean);
  });
}

type HouseFit = ReturnType<typeof fitHouse>;

/**
 * The line through the days of up to a year before `before`, or why there is none: kWh of a day are `hotWater` and, for each K·d below
 * the base (°C), `slope`. The covariance of the two is that of days correlated as they are.
 */
export function fitHouse(days: Ledger['days'], { temperatures, base: given }: Weather, before: Day) {
  const known = heatDays(days, temperatures, { from: addDays(before, -YEAR_DAYS), to: before });
  // Two months have days of different temperatures.
  if (known.length < 2 * FEWEST_DAYS) return 'days_missing' as const;
  const below = (base: number) =>
    known.map(({ kwh, felt }) => ({ row: [1, degreesBelow(base, felt)], value: kwh }));
  const squaresOf = (base: number) => leastSquares(below(base))?.squares ?? Number.POSITIVE_INFINITY;
  const found = () => {
    const squares = BASES.map(squaresOf);
    const least = Math.min(...squares);
    // Schwarz's criterion: a base of its own is one parameter more.
    const gain = known.length * Math.log((squares[BASES.indexOf(USUAL_BASE)] as number) / least);
    return gain > Math.log(known.length) ? (BASES[squares.indexOf(least)] as number) : USUAL_BASE;
  };
  const base = given ?? found();
  const fit = huber(below(base));
  if (fit === null) return 'not_heated' as const;
  const { coefficients, residuals, scatter, inverse } = fit;
  // The scatter is wider by what days have in common with those after them.
  const variance = scatter ** 2 * Math.max(1, longRun(residuals) / (dot(residuals, residuals) || 1));
  const covariance = inverse.map((line) => line.map((one) => one * variance));
  const [hotWater = 0, slope = 0] = coefficients;
  const isSure = slope > SURE_SLOPE * Math.sqrt(covariance[1]?.[1] ?? 0);
  return isSure ? { base, hotWater: Math.max(0, hotWater), slope, covariance } : ('not_heated' as const);
}

/** Variance of the sum of residuals, with what one day has in common with those of two weeks after it (Newey and West). */
function longRun(residuals: readonly number[]): number {
  const common = (lag: number) => dot(residuals.slice(lag), residuals);
  let variance = common(0);
  for (let lag = 1; lag <= TWO_WEEKS_DAYS; lag += 1)
    variance += 2 * (1 - lag / (TWO_WEEKS_DAYS + 1)) * common(lag);
  // Residuals about their own mean look smaller than they are.
  return (Math.max(0, variance) * residuals.length) / Math.max(1, residuals.length - TWO_WEEKS_DAYS);
}

export type HeatParts = Exclude<ReturnType<typeof splitHeat>, string>;
export type Part = HeatParts['heating'];

/** The heat of the span's days apart, kWh with an 80 % band, in proportion to what the line makes of each: they add up to what was used. */
export function splitHeat(days: Ledger['days'], temperatures: Temperatures, fit: HouseFit, span: DaySpan) {
  if (typeof fit === 'string') return fit;
  const readings = readingsIn('energy', days, span);
  const felt = readings.flatMap(({ day }) => feltOn(temperatures, day) ?? []);
  if (readings.length === 0 || felt.length < readings.length) return 'days_missing' as const;
  const energy = inFull(readings.reduce((sum, { amount }) => sum + amount, 0));
  const degrees = felt.reduce((sum, one) => sum + degreesBelow(fit.base, one), 0);
  const line = fit.hotWater * felt.length + fit.slope * degrees || 1;
  const share = (fit.slope * degrees) / line;
  // How the share changes with each coefficient.
  const gradient = [(-share * felt.length) / line, ((1 - share) * degrees) / line];
  const half = BAND * energy * Math.sqrt(quadratic(gradient, fit.covariance));
  const part = (amount: number) => {
    return { energy: amount, low: Math.max(0, amount - half), high: Math.min(energy, amount + half) };
  };
  return { heating: part(share * energy), hotWater: part((1 - share) * energy) };
}

export type WeatherChange = Exclude<ReturnType<typeof compareWithYearBefore>, string>;

/** Compares the newest 90 days with reading and temperature. */
export function weatherChange(days: Ledger['days'], weather: Weather): WeatherChange | WeatherSilence {
  let newest: Day = '';
  for (const day of weather.temperatures.keys())
    if (day > newest && (days.get(day)?.energy ?? null) !== null) newest = day;
  if (newest === '') return 'days_missing';
  const to = addDays(newest, 1);
  return compareWithYearBefore(days, weather, { from: addDays(to, -SEASON_DAYS), to });
}

/**
 * How much more was used than the year before, at this year's weather, with the 80 % band; percent. Expected is what the same days a year
 * before used, and for other degree days the slope of the year before the span; kWh. `days`: how many of the span's are compared.
 */
export function compareWithYearBefore(days: Ledger['days'], weather: Weather, { from, to }: DaySpan) {
  const yearBefore = { from: addDays(from, -YEAR_DAYS), to: addDays(to, -YEAR_DAYS) };
  const now = heatDays(days, weather.temperatures, { from, to });
  const before = heatDays(days, weather.temperatures, yearBefore);
  if (Math.min(now.length, before.length) < SHARE_KNOWN * daysBetween(from, to)) return 'days_missing';
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

/** For one meter: comparisons with the year before, `null` without weather. Each costs a fit of a year. */
export function weatherChanges(): (days: Ledger['days'], weather: Weather | null) => ChangeOver {
  const keptChanges = keptAnswers<WeatherChange | WeatherSilence>();
  return (days, weather) => {
    if (weather === null) return () => null;
    const kept = keptChanges([days, weather.temperatures]);
    return (span) => {
      const key = `${span.from} ${span.to} ${weather.base}`;
      return kept(key, span.to, () => compareWithYearBefore(days, weather, span));
    };
  };
}
