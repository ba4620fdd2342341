// Heat against outdoor temperature: a line through degree days whose base temperature is the house's own (PRISM, Fels 1986).
import { inFull } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';
import { BAND, dot, leastSquares, meanOf, medianDeviation, quadratic, residual } from './leastSquares.ts';
import { LONGEST_SPAN_DAYS, readingsIn } from './readings.ts';

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

/** Heat of a day, kWh, and its temperature as the house felt it, °C. */
export interface HeatDay {
  readonly kwh: number;
  readonly felt: number;
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
/** Huber's constant: 95 % efficient for normal noise. */
const HUBER = 1.345;
/** Rounds until the weights no longer change. */
const ROUNDS = 4;
/** A slope of fewer standard deviations may be none: one case in forty. */
const SURE_SLOPE = 2;
/** Days off the line are followed by others for about so long: a holiday. */
const MEMORY_DAYS = 14;

/** K·d of a day: how far its mean lies below the base. */
export const degreesBelow = (base: number, mean: number): number => Math.max(0, base - mean);

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

/** The days of the span, oldest first; of a reading with all its days in it and their temperatures known, each has the mean. */
export function heatDays(days: Ledger['days'], temperatures: Temperatures, { from, to }: DaySpan): HeatDay[] {
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

/**
 * The line through the days of up to a year before `before`, or why there is none: the base of the least squares, then
 * Huber's M-estimate by iterated weights.
 */
export function fitHouse(
  days: Ledger['days'],
  { temperatures, base: given }: Weather,
  before: Day,
): HouseFit | WeatherSilence {
  const known = heatDays(days, temperatures, { from: addDays(before, -YEAR_DAYS), to: before });
  if (known.length < FEWEST_DAYS) return 'days_missing';
  const fits = (given === null ? BASES : [given]).flatMap((base) => {
    const lines = known.map(({ kwh, felt }) => ({ row: [1, degreesBelow(base, felt)], value: kwh }));
    const fit = leastSquares(lines);
    return fit ? { base, lines, fit } : [];
  });
  const [likeliest] = [...fits].sort((a, b) => a.fit.squares - b.fit.squares);
  if (likeliest === undefined) return 'not_heated';
  const usual = fits.find(({ base }) => base === USUAL_BASE) ?? likeliest;
  // Schwarz's criterion: a base of its own is one parameter more.
  const gain = known.length * Math.log(usual.fit.squares / likeliest.fit.squares);
  const { base, lines, fit: first } = gain > Math.log(known.length) ? likeliest : usual;
  let fit = first;
  for (let round = 1; ; round += 1) {
    const off = lines.map((line) => residual(line, fit.coefficients));
    const scatter = medianDeviation(off, 0) || Number.MIN_VALUE;
    const weights = off.map((one) => Math.min(1, (HUBER * scatter) / Math.abs(one)));
    const next = round < ROUNDS ? leastSquares(lines, weights) : null;
    if (next) {
      fit = next;
      continue;
    }
    // The scatter is wider by what days have in common with those after them.
    const variance = scatter ** 2 * Math.max(1, longRun(off) / (dot(off, off) || 1));
    const covariance = fit.inverse.map((line) => line.map((one) => one * variance));
    const [hotWater = 0, slope = 0] = fit.coefficients;
    const isSure = slope > SURE_SLOPE * Math.sqrt(covariance[1]?.[1] ?? 0);
    return isSure ? { base, hotWater: Math.max(0, hotWater), slope, covariance } : 'not_heated';
  }
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
  const degrees = felt.reduce((sum, one) => sum + degreesBelow(fit.base, one), 0);
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
