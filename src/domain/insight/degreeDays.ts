// Heat against outdoor temperature: a line through degree days whose base temperature is the house's own (PRISM, Fels 1986).
import { inFull } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';
import { dot, quadratic, regression } from './leastSquares.ts';
import { readingsIn } from './readings.ts';
import { BAND, medianDeviation } from './robust.ts';

/** Mean outdoor temperature of local days, °C. */
export type Temperatures = ReadonlyMap<Day, number>;

/** What is known of the weather where the meters are. */
export interface Weather {
  readonly temperatures: Temperatures;
  /** °C above which nothing is heated; `null`: to be found for the house. */
  readonly base: number | null;
}

/** The line: kWh of a day are `hotWater` and, for each K·d below the base, `slope`. */
export interface HouseFit {
  /** °C */
  readonly base: number;
  readonly hotWater: number;
  readonly slope: number;
  /** Covariance of the two, with days correlated as they are. */
  readonly covariance: readonly (readonly number[])[];
}

/** Why the weather tells nothing. */
export type WeatherSilence = 'days_missing' | 'not_heated' | 'not_sure';

/** A reading, with the days that it is about. */
export interface HeatSpan {
  /** kWh of all its days. */
  readonly energy: number;
  /** °C as the house felt each of them. */
  readonly felt: readonly number[];
}

/** Custom in Ireland and Britain, for a house that does not tell its own. */
export const USUAL_BASE = 15.5;
/** °C from which houses are heated, from well insulated to old ones. */
const BASES = [8, 9, 10, 11, 12, 13, 14, USUAL_BASE, 17, 18];
/** Walls keep a third of yesterday's cold: the middle of what houses of stone and of timber do. */
const OF_YESTERDAY = 1 / 3;
export const YEAR_DAYS = 365;
/** Two months have days of different temperatures. */
const FEWEST_DAYS = 60;
/** A reading of more days tells little of each. */
const LONGEST_SPAN_DAYS = 7;
/** Huber's constant: 95 % efficient for normal noise. */
const HUBER = 1.345;
/** Rounds until weights and base no longer change. */
const ROUNDS = 4;
/** A slope of fewer standard deviations may be none: one case in forty. */
const SURE_SLOPE = 2;
/** Days off the line are followed by others for about so long: a holiday. */
const MEMORY_DAYS = 14;

/** K·d of these days: how far the mean of each lies below the base. */
export const degreeDays = (means: readonly number[], base: number): number =>
  means.reduce((sum, mean) => sum + Math.max(0, base - mean), 0);

/** K·d of the days of the span whose temperature is known, and how many these are; `null`: none. */
export function degreeDaysWithin(temperatures: Temperatures, base: number, span: DaySpan) {
  const known = daysOf(span).flatMap((day) => temperatures.get(day) ?? []);
  return known.length === 0 ? null : { sum: degreeDays(known, base), days: known.length };
}

/** The temperature as a house feels it; `null` where that of the day is not known. */
export function feltOn(temperatures: Temperatures, day: Day): number | null {
  const own = temperatures.get(day);
  if (own === undefined) return null;
  return own + OF_YESTERDAY * ((temperatures.get(addDays(day, -1)) ?? own) - own);
}

/** Readings whose days all lie within the span and have a temperature, oldest first. */
export function heatSpans(
  days: Ledger['days'],
  temperatures: Temperatures,
  { from, to }: DaySpan,
): HeatSpan[] {
  const [, ...readings] = readingsIn('energy', days, { from: addDays(from, -LONGEST_SPAN_DAYS), to });
  return readings.flatMap(({ day, amount, missed }) => {
    if (addDays(day, -missed) < from || missed >= LONGEST_SPAN_DAYS) return [];
    const about = Array.from({ length: missed + 1 }, (_, at) => addDays(day, at - missed));
    const felt = about.flatMap((one) => feltOn(temperatures, one) ?? []);
    return felt.length > missed ? [{ energy: inFull(amount), felt }] : [];
  });
}

export const daysIn = (spans: readonly HeatSpan[]): number =>
  spans.reduce((sum, { felt }) => sum + felt.length, 0);

/**
 * The line through the days of up to a year before `before`, or why there is none: Huber's M-estimate by iterated weights,
 * with the base of the least squares in every round. A reading of several days counts as the mean of them.
 */
export function fitHouse(
  days: Ledger['days'],
  { temperatures, base }: Weather,
  before: Day,
): HouseFit | WeatherSilence {
  const spans = heatSpans(days, temperatures, { from: addDays(before, -YEAR_DAYS), to: before });
  if (daysIn(spans) < FEWEST_DAYS) return 'days_missing';
  const use = spans.map(({ energy, felt }) => energy / felt.length);
  const bases = (base === null ? BASES : [base]).map((one) => ({
    base: one,
    degrees: spans.map(({ felt }) => degreeDays(felt, one) / felt.length),
  }));
  let weights = spans.map(({ felt }) => felt.length);
  for (let round = 1; ; round += 1) {
    const lines = bases.flatMap((one) => lineThrough(one, use, weights) ?? []);
    const [first, ...others] = lines;
    if (first === undefined) return 'not_heated';
    const likeliest = others.reduce((least, one) => (one.squares < least.squares ? one : least), first);
    const usual = lines.find((one) => one.base === USUAL_BASE) ?? likeliest;
    // Schwarz's criterion: a base of its own is one parameter more.
    const gain = spans.length * Math.log(usual.squares / likeliest.squares);
    const line = gain > Math.log(spans.length) ? likeliest : usual;
    const off = spans.map(({ felt }, at) => {
      const expected = line.hotWater + line.slope * (line.degrees[at] as number);
      return Math.sqrt(felt.length) * ((use[at] as number) - expected);
    });
    const scatter = medianDeviation(off, 0) || Number.MIN_VALUE;
    if (round === ROUNDS) return withDoubt(line, off, scatter);
    weights = spans.map(
      ({ felt }, at) => felt.length * Math.min(1, (HUBER * scatter) / Math.abs(off[at] as number)),
    );
  }
}

/** Weighted least squares among the lines that do not begin below zero. `null`: all days are alike. */
function lineThrough<T extends { readonly degrees: readonly number[] }>(
  base: T,
  use: readonly number[],
  weights: readonly number[],
) {
  const roots = weights.map(Math.sqrt);
  const weighted = (column: readonly number[]) => column.map((one, at) => one * (roots[at] as number));
  const [degrees, values] = [weighted(base.degrees), weighted(use)];
  const fit = regression([roots, degrees], values);
  if (fit === null) return null;
  const [hotWater = 0, slope = 0] = fit.coefficients;
  if (hotWater >= 0) return { ...base, ...fit, hotWater, slope };
  const { coefficients: [only = 0] = [], squares = 0 } = regression([degrees], values) ?? {};
  return { ...base, ...fit, squares, hotWater: 0, slope: only };
}

/** The scatter is wider by what days have in common with those after them. A line within its doubt of a level is none. */
function withDoubt(
  {
    base,
    hotWater,
    slope,
    inverse,
  }: Omit<HouseFit, 'covariance'> & { readonly inverse: HouseFit['covariance'] },
  off: readonly number[],
  scatter: number,
): HouseFit | WeatherSilence {
  const variance = scatter ** 2 * Math.max(1, longRun(off) / (dot(off, off) || 1));
  const covariance = inverse.map((line) => line.map((one) => one * variance));
  const deviation = Math.sqrt(covariance[1]?.[1] ?? 0);
  return slope > SURE_SLOPE * deviation ? { base, hotWater, slope, covariance } : 'not_heated';
}

/** Variance of the sum of residuals, with what one day has in common with those after it (Newey and West). */
export function longRun(residuals: readonly number[]): number {
  const common = (lag: number) =>
    residuals.reduce((sum, one, at) => sum + one * (residuals[at - lag] ?? 0), 0);
  let variance = common(0);
  for (let lag = 1; lag <= MEMORY_DAYS; lag += 1) variance += 2 * (1 - lag / (MEMORY_DAYS + 1)) * common(lag);
  // Residuals about their own mean look smaller than they are.
  return (Math.max(0, variance) * residuals.length) / Math.max(1, residuals.length - MEMORY_DAYS);
}

/** Heating or hot water of a month, kWh, and its 80 % band. */
export interface Part {
  readonly energy: number;
  readonly low: number;
  readonly high: number;
}

export interface HeatParts {
  readonly heating: Part;
  readonly hotWater: Part;
}

/** The heat of the span's days apart, in proportion to what the line makes of each: they add up to what was used. */
export function splitHeat(
  days: Ledger['days'],
  temperatures: Temperatures,
  fit: HouseFit | WeatherSilence,
  span: DaySpan,
): HeatParts | WeatherSilence {
  if (typeof fit === 'string') return fit;
  const readings = readingsIn('energy', days, span);
  const felt = readings.flatMap(({ day }) => feltOn(temperatures, day) ?? []);
  if (readings.length === 0 || felt.length < readings.length) return 'days_missing';
  const energy = inFull(readings.reduce((sum, { amount }) => sum + amount, 0));
  const degrees = degreeDays(felt, fit.base);
  const line = fit.hotWater * felt.length + fit.slope * degrees || 1;
  const share = (fit.slope * degrees) / line;
  // How the share changes with each coefficient.
  const gradient = [(-share * felt.length) / line, ((1 - share) * degrees) / line];
  const half = BAND * energy * Math.sqrt(quadratic(gradient, fit.covariance));
  const part = (amount: number): Part => ({
    energy: amount,
    low: Math.max(0, amount - half),
    high: Math.min(energy, amount + half),
  });
  return { heating: part(share * energy), hotWater: part((1 - share) * energy) };
}
