// Heat against outdoor temperature: a line by degree days whose base temperature is the house's own (PRISM, Fels 1986).
import { inFull } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';
import { dot, leastSquares, quadratic } from './leastSquares.ts';
import { meanOf, medianDeviation } from './robust.ts';

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
  /** Days stray in proportion to the root of what they use: standard deviation of a day's kWh over that root. */
  readonly scatter: number;
  /** Covariance of the two coefficients, with days correlated as they are. */
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
const BASES = Array.from({ length: 11 }, (_, at) => 8 + at);
/** A house keeps a third of yesterday's cold. */
const OF_YESTERDAY = 1 / 3;
const FIT_DAYS = 365;
const FEWEST_DAYS = 60;
/** A reading after a longer gap tells little about its days. */
const LONGEST_SPAN_DAYS = 7;
/** The share of the variance of the days that the temperatures have to explain. */
const LEAST_EXPLAINED = 0.3;
/** Huber's constant: 95 % efficient for normal noise. Rounds until weights have settled. */
const HUBER = 1.345;
const ROUNDS = 5;
/** Share of the mean day below which a day's use is not expected to lie: its deviations would count too much. */
const LEAST_USE = 0.1;
/** How much likelier (twice the logarithm) another base than the usual one has to be, for days that are correlated. */
const LIKELIER = 10;
/** Days off the line are followed by others for about so long: a holiday. */
export const MEMORY_DAYS = 14;

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

/** The newest day with a reading and a temperature, before the day `before`. */
export function newestDay(days: Ledger['days'], { temperatures }: Weather, before?: Day): Day | null {
  let newest: Day | null = null;
  for (const [day, { energy }] of days) {
    const isNewer = (newest === null || day > newest) && (before === undefined || day < before);
    if (isNewer && energy !== null && temperatures.has(day)) newest = day;
  }
  return newest;
}

/**
 * Readings whose days all lie within the span and have a temperature, oldest first. The first of a ledger is none. Days
 * of 0 right before another reading may have been missed, and go with it.
 */
export function heatSpans(
  days: Ledger['days'],
  temperatures: Temperatures,
  { from, to }: DaySpan,
): HeatSpan[] {
  const spans: HeatSpan[] = [];
  let last: Day | null = null;
  let felt: (number | null)[] = [];
  for (const day of daysOf({ from: addDays(from, -LONGEST_SPAN_DAYS), to })) {
    felt.push(feltOn(temperatures, day));
    const energy = days.get(day)?.energy ?? null;
    if (energy === null || isMissed(days, day)) continue;
    const known = felt.filter((one) => one !== null);
    const isInside = last !== null && addDays(last, 1) >= from && felt.length <= LONGEST_SPAN_DAYS;
    if (isInside && known.length === felt.length) spans.push({ energy: inFull(energy), felt: known });
    last = day;
    felt = [];
  }
  return spans;
}

/** One of at most two days of 0 before a reading. More of them in a row are days away. */
const isMissed = (days: Ledger['days'], day: Day): boolean =>
  days.get(day)?.energy === 0 && [1, 2].some((further) => (days.get(addDays(day, further))?.energy ?? 0) > 0);

export const daysIn = (spans: readonly HeatSpan[]): number =>
  spans.reduce((sum, { felt }) => sum + felt.length, 0);

export const degreesOf = ({ felt }: HeatSpan, base: number): number =>
  felt.reduce((sum, mean) => sum + degreeDays(mean, base), 0);

/** What one day uses by the fit, kWh. */
export const expectedHeat = ({ hotWater, slope, base }: HouseFit, felt: number): number =>
  hotWater + slope * degreeDays(felt, base);

/** The line through the days of up to a year before `before`, or why there is none. */
export function fitHouse(
  days: Ledger['days'],
  { temperatures, base }: Weather,
  before: Day,
): HouseFit | WeatherSilence {
  const spans = heatSpans(days, temperatures, { from: addDays(before, -FIT_DAYS), to: before });
  if (daysIn(spans) < FEWEST_DAYS) return 'days_missing';
  const lines = (base === null ? BASES : [base]).flatMap((one) => huberLine(spans, one) ?? []);
  const best = lines.reduce<Line | null>(
    (least, one) => (least && least.loss <= one.loss ? least : one),
    null,
  );
  if (best === null) return 'not_heated';
  const usual = lines.find((one) => one.base === USUAL_BASE);
  const line = usual && usual.loss - best.loss < LIKELIER ? usual : best;
  return line.explained < LEAST_EXPLAINED || line.slope <= 0 ? 'not_heated' : line;
}

interface Line extends HouseFit {
  /** Minus twice the logarithm of its likelihood, by Huber's least favourable distribution. */
  readonly loss: number;
  readonly explained: number;
}

/**
 * Huber's M-estimate by iterated weights, of Pearson residuals: the variance of a day grows with what it uses. A reading
 * of several days counts as the mean of all of them.
 */
function huberLine(spans: readonly HeatSpan[], base: number): Line | null {
  const sizes = spans.map(({ felt }) => felt.length);
  const rows = spans.map((span, at) => [1, degreesOf(span, base) / (sizes[at] ?? 1)]);
  const values = spans.map(({ energy }, at) => energy / (sizes[at] ?? 1));
  const least = LEAST_USE * meanOf(values, (value) => value) || Number.MIN_VALUE;
  let weights: readonly number[] = sizes;
  for (let round = 1; ; round += 1) {
    const fit = leastSquares(rows, values, weights);
    if (fit === null) return null;
    const [hotWater = 0, slope = 0] = fit.coefficients;
    const coefficients = hotWater >= 0 ? [hotWater, slope] : [0, slopeThroughZero(rows, values, weights)];
    const expected = rows.map((row) => Math.max(least, dot(coefficients, row)));
    const off = values.map((value, at) => {
      const size = (sizes[at] ?? 1) / (expected[at] ?? 1);
      return Math.sqrt(size) * (value - dot(coefficients, rows[at] ?? []));
    });
    const scatter = medianDeviation(off, 0) || Number.MIN_VALUE;
    if (round < ROUNDS) {
      weights = off.map((one, at) => {
        const share = Math.min(1, (HUBER * scatter) / Math.abs(one) || 1);
        return (share * (sizes[at] ?? 1)) / (expected[at] ?? 1);
      });
      continue;
    }
    const loss = off.reduce((sum, one, at) => {
      const far = Math.abs(one) / scatter;
      const huber = far <= HUBER ? far ** 2 : HUBER * (2 * far - HUBER);
      return sum + huber + 2 * Math.log(scatter) + Math.log(expected[at] ?? 1);
    }, 0);
    const mean = dot(weights, values) / weights.reduce((sum, one) => sum + one, 0);
    const about = (center: (at: number) => number) =>
      values.reduce((sum, value, at) => sum + (weights[at] ?? 0) * (value - center(at)) ** 2, 0);
    const memory = longRun(off) / (off.reduce((sum, one) => sum + one ** 2, 0) || 1);
    return {
      base,
      hotWater: coefficients[0] ?? 0,
      slope: coefficients[1] ?? 0,
      scatter,
      covariance: fit.inverse.map((line) => line.map((one) => one * scatter ** 2 * Math.max(1, memory))),
      loss,
      explained: 1 - about((at) => dot(coefficients, rows[at] ?? [])) / (about(() => mean) || 1),
    };
  }
}

function slopeThroughZero(
  rows: readonly (readonly number[])[],
  values: readonly number[],
  weights: readonly number[],
) {
  const x = rows.map(([, degrees = 0]) => [degrees]);
  return Math.max(0, leastSquares(x, values, weights)?.coefficients[0] ?? 0);
}

/** Variance of the sum of residuals, with what one day has in common with those after it (Newey and West). */
export function longRun(residuals: readonly number[]): number {
  const count = residuals.length;
  const common = (lag: number) => {
    let sum = 0;
    for (let at = lag; at < count; at += 1)
      sum += (residuals[at] as number) * (residuals[at - lag] as number);
    return sum;
  };
  let variance = common(0);
  for (let lag = 1; lag <= MEMORY_DAYS; lag += 1) variance += 2 * (1 - lag / (MEMORY_DAYS + 1)) * common(lag);
  // Residuals about their own mean look smaller than they are.
  return (Math.max(0, variance) * count) / Math.max(1, count - MEMORY_DAYS);
}

/** Heating or hot water of a month, kWh, and its 80 % band. */
export interface Part {
  readonly energy: number;
  readonly low: number;
  readonly high: number;
}

/** 80 % of the normal distribution. */
const BAND = 1.2816;

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
  const used = daysOf(span).flatMap((day) => {
    const energy = days.get(day)?.energy ?? null;
    return energy === null ? [] : [{ energy: inFull(energy), felt: feltOn(temperatures, day) }];
  });
  const felt = used.flatMap((one) => one.felt ?? []);
  if (used.length === 0 || felt.length < used.length) return 'days_missing';
  const energy = used.reduce((sum, one) => sum + one.energy, 0);
  const degrees = felt.reduce((sum, one) => sum + degreeDays(one, fit.base), 0);
  const [water, rooms] = [fit.hotWater * used.length, fit.slope * degrees];
  const share = water + rooms === 0 ? 0 : rooms / (water + rooms);
  // The variance that the two coefficients leave, and that of days whose hot water is not that of the mean day.
  const gradient = [-share * used.length, (1 - share) * degrees].map(
    (one) => one * (energy / (water + rooms || 1)),
  );
  const ofDays = share * (1 - share) * fit.scatter ** 2 * energy;
  const half = BAND * Math.sqrt(quadratic(gradient, fit.covariance) + ofDays);
  const part = (amount: number): Part => ({
    energy: amount,
    low: Math.max(0, amount - half),
    high: Math.min(energy, amount + half),
  });
  return { heating: part(share * energy), hotWater: part((1 - share) * energy) };
}
