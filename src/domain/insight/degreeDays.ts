// Heat against outdoor temperature: a line through degree days whose base temperature is the house's own (PRISM, Fels 1986).
import { inFull } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';
import { dot, quadratic } from './leastSquares.ts';
import { BAND, medianDeviation } from './robust.ts';

/** Mean outdoor temperature of local days, °C. */
export type Temperatures = ReadonlyMap<Day, number>;

/** What is known of the weather where the meters are. */
export interface Weather {
  readonly temperatures: Temperatures;
  /** °C above which nothing is heated; `null`: to be found for the house. */
  readonly base: number | null;
}

export interface HouseFit {
  /** °C */
  readonly base: number;
  /** kWh of a day without heating, and kWh per K·d: the line's coefficients. */
  readonly hotWater: number;
  readonly slope: number;
  /** Covariance of the two, with days correlated as they are. */
  readonly covariance: readonly (readonly number[])[];
}

/** Why the weather tells nothing. */
export type WeatherSilence = 'days_missing' | 'not_heated' | 'not_sure';

/** What one reading stands for: its day and the days without a reading directly before it. */
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
/** A reading after a longer gap tells little of its days. */
const LONGEST_SPAN_DAYS = 7;
/** Huber's constant: 95 % efficient for normal noise. */
const HUBER = 1.345;
/** Rounds until weights and base no longer change. */
const ROUNDS = 4;
/** A slope of fewer standard deviations may be none: one case in forty. */
const SURE_SLOPE = 2;
/** Days off the line are followed by others for about so long: a holiday. */
const MEMORY_DAYS = 14;

/** Degree days of one day in K·d: how far its mean lies below the base. */
export const degreeDays = (mean: number, base: number): number => Math.max(0, base - mean);

/** K·d of the days of the span whose temperature is known, and how many these are; `null`: none. */
export function degreeDaysWithin(temperatures: Temperatures, base: number, span: DaySpan) {
  const known = daysOf(span).flatMap((day) => temperatures.get(day) ?? []);
  const sum = known.reduce((all, mean) => all + degreeDays(mean, base), 0);
  return known.length === 0 ? null : { sum, days: known.length };
}

/** The temperature as a house feels it; `null` where that of the day is not known. */
export function feltOn(temperatures: Temperatures, day: Day): number | null {
  const own = temperatures.get(day);
  if (own === undefined) return null;
  return own + OF_YESTERDAY * ((temperatures.get(addDays(day, -1)) ?? own) - own);
}

/** Readings whose days all lie within the span and have a temperature, oldest first. */
export function heatSpans(days: Ledger['days'], temperatures: Temperatures, span: DaySpan): HeatSpan[] {
  const spans: HeatSpan[] = [];
  // A reading on the first day may have days before the span in it.
  let felt: (number | null)[] | null = days.get(addDays(span.from, -1))?.energy == null ? null : [];
  for (const day of daysOf(span)) {
    felt?.push(feltOn(temperatures, day));
    const energy = days.get(day)?.energy ?? null;
    if (energy === null) continue;
    const known = felt?.filter((one) => one !== null) ?? [];
    if (known.length > 0 && known.length === felt?.length && known.length <= LONGEST_SPAN_DAYS)
      spans.push({ energy: inFull(energy), felt: known });
    felt = [];
  }
  return spans;
}

export const daysIn = (spans: readonly HeatSpan[]): number =>
  spans.reduce((sum, { felt }) => sum + felt.length, 0);

export const degreesOf = ({ felt }: Pick<HeatSpan, 'felt'>, base: number): number =>
  felt.reduce((sum, mean) => sum + degreeDays(mean, base), 0);

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
  const columns = (base === null ? BASES : [base]).map((one) => ({
    base: one,
    degrees: spans.map((span) => degreesOf(span, one) / span.felt.length),
  }));
  let weights = spans.map(({ felt }) => felt.length);
  for (let round = 1; ; round += 1) {
    const lines = columns.map((one) => ({ ...one, ...lineThrough(one.degrees, use, weights) }));
    const likeliest = lines.reduce((least, one) => (one.squares < least.squares ? one : least));
    const usual = lines.find((one) => one.base === USUAL_BASE) ?? likeliest;
    // Schwarz's criterion: a base of its own is one parameter more.
    const gain = spans.length * Math.log(usual.squares / likeliest.squares);
    const line = gain > Math.log(spans.length) ? likeliest : usual;
    const off = spans.map(
      ({ felt }, at) =>
        Math.sqrt(felt.length) *
        ((use[at] as number) - line.hotWater - line.slope * (line.degrees[at] as number)),
    );
    const scatter = medianDeviation(off, 0) || Number.MIN_VALUE;
    if (round === ROUNDS) return withDoubt(line, off, scatter);
    weights = spans.map(
      ({ felt }, at) => felt.length * Math.min(1, (HUBER * scatter) / Math.abs(off[at] as number)),
    );
  }
}

interface Line extends Omit<HouseFit, 'covariance'> {
  /** Weighted sum of the squares that are left. */
  readonly squares: number;
  /** The coefficients' covariance for a residual variance of 1. */
  readonly inverse: readonly (readonly number[])[];
}

/** Weighted least squares among the lines that do not begin below zero. */
function lineThrough(
  x: readonly number[],
  y: readonly number[],
  weights: readonly number[],
): Omit<Line, 'base'> {
  let [w, wx, wxx, wy, wxy, wyy] = [0, 0, 0, 0, 0, 0];
  for (let at = 0; at < x.length; at += 1) {
    const [weight, one, value] = [weights[at] as number, x[at] as number, y[at] as number];
    w += weight;
    wx += weight * one;
    wxx += weight * one * one;
    wy += weight * value;
    wxy += weight * one * value;
    wyy += weight * value * value;
  }
  const size = w * wxx - wx * wx;
  if (!(size > 0)) return { hotWater: wy / w, slope: 0, squares: wyy - wy ** 2 / w, inverse: [] };
  const hotWater = Math.max(0, (wy * wxx - wx * wxy) / size);
  const slope = (wxy - hotWater * wx) / wxx;
  return {
    hotWater,
    slope,
    squares: wyy - hotWater * wy - slope * wxy,
    inverse: [
      [wxx / size, -wx / size],
      [-wx / size, w / size],
    ],
  };
}

/** The scatter is wider by what days have in common with those after them. A line within its doubt of a level is none. */
function withDoubt(
  { base, hotWater, slope, inverse }: Line,
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
  const read = daysOf(span).filter((day) => (days.get(day)?.energy ?? null) !== null);
  const felt = read.flatMap((day) => feltOn(temperatures, day) ?? []);
  if (read.length === 0 || felt.length < read.length) return 'days_missing';
  const energy = inFull(read.reduce((sum, day) => sum + (days.get(day)?.energy ?? 0), 0));
  const degrees = degreesOf({ felt }, fit.base);
  const line = fit.hotWater * read.length + fit.slope * degrees || 1;
  const share = (fit.slope * degrees) / line;
  // How the share changes with each coefficient.
  const gradient = [(-share * read.length) / line, ((1 - share) * degrees) / line];
  const half = BAND * energy * Math.sqrt(quadratic(gradient, fit.covariance));
  const part = (amount: number): Part => ({
    energy: amount,
    low: Math.max(0, amount - half),
    high: Math.min(energy, amount + half),
  });
  return { heating: part(share * energy), hotWater: part((1 - share) * energy) };
}
