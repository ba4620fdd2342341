// Heat against outdoor temperature: a line by degree days whose base temperature is the house's own (PRISM, Fels 1986).
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
const BASES = [8, 10, 12, 14, USUAL_BASE, 16, 18];
/** A house keeps a third of yesterday's cold. */
const OF_YESTERDAY = 1 / 3;
export const YEAR_DAYS = 365;
const FEWEST_DAYS = 60;
/** A reading after a longer gap tells little about its days. */
const LONGEST_SPAN_DAYS = 7;
/** The share of the variance of the days that the temperatures have to explain. */
const LEAST_EXPLAINED = 0.3;
/** Huber's constant: 95 % efficient for normal noise. Rounds until weights have settled. */
const HUBER = 1.345;
const ROUNDS = 4;
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

/** The line through the days of up to a year before `before`, or why there is none. */
export function fitHouse(
  days: Ledger['days'],
  { temperatures, base }: Weather,
  before: Day,
): HouseFit | WeatherSilence {
  const spans = heatSpans(days, temperatures, { from: addDays(before, -YEAR_DAYS), to: before });
  if (daysIn(spans) < FEWEST_DAYS) return 'days_missing';
  const lines = (base === null ? BASES : [base]).map((one) => huberLine(spans, one));
  const likeliest = (all: readonly Line[]) =>
    all.reduce((least, one) => (one.loss < least.loss ? one : least));
  const coarse = likeliest(lines);
  const beside =
    base === null
      ? [Math.max(8, coarse.base - 1), Math.min(18, coarse.base + 1)].map((one) => huberLine(spans, one))
      : [];
  const best = likeliest([coarse, ...beside]);
  const usual = lines.find((one) => one.base === USUAL_BASE) ?? best;
  return withDoubt(usual.loss - best.loss < LIKELIER ? usual : best);
}

interface Line extends Pick<HouseFit, 'base' | 'hotWater' | 'slope' | 'scatter'> {
  /** Minus twice the logarithm of its likelihood, by Huber's least favourable distribution. */
  readonly loss: number;
  /** Mean days of the spans: degree days, kWh, how many days they are, weights and Pearson residuals. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly weights: Float64Array;
  readonly off: Float64Array;
}

/**
 * Huber's M-estimate by iterated weights, of Pearson residuals: the variance of a day grows with what it uses. A reading
 * of several days counts as the mean of all of them.
 */
function huberLine(spans: readonly HeatSpan[], base: number): Line {
  const sizes = spans.map(({ felt }) => felt.length);
  const x = Float64Array.from(spans, (span, at) => degreesOf(span, base) / (sizes[at] ?? 1));
  const y = Float64Array.from(spans, ({ energy }, at) => energy / (sizes[at] ?? 1));
  const least = (LEAST_USE * y.reduce((sum, value) => sum + value, 0)) / y.length || Number.MIN_VALUE;
  const weights = Float64Array.from(sizes);
  const off = new Float64Array(spans.length);
  let [hotWater, slope, scatter, loss] = [0, 0, 0, 0];
  for (let round = 1; round <= ROUNDS; round += 1) {
    [hotWater, slope] = lineThrough(x, y, weights);
    for (let at = 0; at < off.length; at += 1) {
      const use = hotWater + slope * (x[at] as number);
      weights[at] = (sizes[at] as number) / Math.max(least, use);
      off[at] = Math.sqrt(weights[at] as number) * ((y[at] as number) - use);
    }
    scatter = medianDeviation(off, 0) || Number.MIN_VALUE;
    for (let at = 0; at < off.length; at += 1) {
      const far = Math.abs(off[at] as number) / scatter;
      if (round === ROUNDS)
        loss += (far <= HUBER ? far ** 2 : HUBER * (2 * far - HUBER)) - Math.log(weights[at] as number);
      if (far > HUBER) weights[at] = ((weights[at] as number) * HUBER) / far;
    }
  }
  loss += 2 * spans.length * Math.log(scatter);
  return { base, hotWater, slope, scatter, loss, x, y, weights, off };
}

/** Weighted least squares among the lines that neither fall nor begin below zero. */
function lineThrough(x: Float64Array, y: Float64Array, weights: Float64Array): [number, number] {
  const { w, wx, wxx, wy, wxy } = sums(x, y, weights);
  const slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  if (!(slope > 0)) return [Math.max(0, wy / w), 0];
  const hotWater = (wy - slope * wx) / w;
  return hotWater >= 0 ? [hotWater, slope] : [0, Math.max(0, wxy / wxx)];
}

function sums(x: Float64Array, y: Float64Array, weights: Float64Array) {
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
  return { w, wx, wxx, wy, wxy, wyy };
}

/** The coefficients' covariance, with days correlated as they are; a line that explains too little is none. */
function withDoubt({ x, y, weights, off, ...line }: Line): HouseFit | WeatherSilence {
  const { w, wx, wxx, wy, wxy, wyy } = sums(x, y, weights);
  const { hotWater: a, slope: b } = line;
  const left = wyy - 2 * (a * wy + b * wxy) + a * a * w + 2 * a * b * wx + b * b * wxx;
  const all = wyy - wy ** 2 / w;
  if (!(b > 0) || left > (1 - LEAST_EXPLAINED) * all) return 'not_heated';
  const memory = Math.max(1, longRun(off) / (dot(off, off) || 1));
  const size = (line.scatter ** 2 * memory) / (w * wxx - wx * wx);
  return {
    ...line,
    covariance: [
      [size * wxx, -size * wx],
      [-size * wx, size * w],
    ],
  };
}

/** Variance of the sum of residuals, with what one day has in common with those after it (Newey and West). */
export function longRun(residuals: ArrayLike<number>): number {
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
