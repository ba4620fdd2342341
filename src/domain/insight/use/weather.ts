// Heat against outdoor temperature: degree days, and a robust line through the use of the days before.
import { inFull } from '../../amount.ts';
import type { Ledger } from '../../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../../period.ts';
import { median, robustDeviation } from '../statistics.ts';

/** Mean outdoor temperature of local days, °C. */
export type Temperatures = ReadonlyMap<Day, number>;

/** What is known of the weather where the meters are. `base`: °C, above it nothing is heated. */
export interface Weather {
  readonly temperatures: Temperatures;
  readonly base: number;
}

export interface WeatherFit {
  /** kWh of a day without heating. */
  readonly hotWater: number;
  /** kWh per K·d. */
  readonly slope: number;
  /** Standard error of the slope, where days are off it independently of one another; kWh per K·d. */
  readonly slopeError: number;
  /** Robust standard deviation of the residuals of single days, kWh. */
  readonly scatter: number;
  /** How many days it is made of. */
  readonly days: number;
  /** °C */
  readonly base: number;
}

/** The weather, and what it makes the household use. */
export interface FittedWeather extends Weather {
  readonly fit: WeatherFit;
}

/** What one reading stands for: its day and the days without a reading directly before it. */
export interface HeatSpan {
  /** The day of the reading, which is the last one. */
  readonly day: Day;
  readonly days: number;
  /** kWh of all its days. */
  readonly energy: number;
  /** K·d of all its days. */
  readonly degreeDays: number;
}

const FIT_DAYS = 365;
const FEWEST_DAYS = 60;
/** A reading after a longer gap tells little about its days, and perhaps not of all of them. */
const LONGEST_SPAN_DAYS = 7;
/** The share of the variance of daily use that the temperatures have to explain. */
const LEAST_EXPLAINED = 0.3;
/** Two days that are closer together tell nothing about the slope, K·d. */
const LEAST_DIFFERENCE = 0.5;
const MOST_ROUNDS = 20;
/** kWh per K·d and kWh. */
const SETTLED = 1e-4;
/** From this many standard deviations on a day does not count at all (Tukey's biweight, 95 % efficient). */
const CUT = 4.685;

/** Degree days of one day in K·d: how far its mean lies below the base. */
export const degreeDays = (mean: number, base: number): number => Math.max(0, base - mean);

/** K·d of the days of the span whose temperature is known, and how many these are; `null`: none. */
export function degreeDaysWithin({ temperatures, base }: Weather, span: DaySpan) {
  const known = daysOf(span).flatMap((day) => temperatures.get(day) ?? []);
  const sum = known.reduce((all, mean) => all + degreeDays(mean, base), 0);
  return known.length === 0 ? null : { sum, days: known.length };
}

/** Learnt before the newest day, so that this can be judged by it; `null` without a fit. No day from `before` on counts. */
export function fittedWeather(days: Ledger['days'], weather: Weather, before: Day): FittedWeather | null {
  const newest = newestDay(days, weather, before);
  const fit = newest === null ? null : fitWeather(days, weather.temperatures, weather.base, newest);
  return fit && { ...weather, fit };
}

/** With a reading and a temperature; `before` another one, if given. */
export function newestDay(days: Ledger['days'], { temperatures }: Weather, before?: Day): Day | null {
  let newest: Day | null = null;
  for (const [day, { energy }] of days) {
    const isNewer = (newest === null || day > newest) && (before === undefined || day < before);
    if (isNewer && energy !== null && temperatures.has(day)) newest = day;
  }
  return newest;
}

/**
 * A line through the heat of up to 365 days before the day `before`, by their degree days. Days far off it, such as
 * those of a holiday, count little or not at all. A reading after missing days counts as the mean of all of them.
 * `null`: fewer than 60 days have both reading and temperature, or the temperatures explain less than 30 % of the
 * variance.
 */
export function fitWeather(
  days: Ledger['days'],
  temperatures: Temperatures,
  base: number,
  before: Day,
): WeatherFit | null {
  const span = { from: addDays(before, -FIT_DAYS), to: before };
  return fitSpans(heatSpans(days, { temperatures, base }, span), base);
}

/**
 * Readings whose days all lie within the span and have a temperature, oldest first. The first of a ledger is none. Days
 * of 0 right before another reading may have been missed, and go with it.
 */
export function heatSpans(
  days: Ledger['days'],
  { temperatures, base }: Weather,
  { from, to }: DaySpan,
): HeatSpan[] {
  const spans: HeatSpan[] = [];
  let last: Day | null = null;
  let [count, sum] = [0, 0];
  for (const day of daysOf({ from: addDays(from, -LONGEST_SPAN_DAYS), to })) {
    const mean = temperatures.get(day);
    count += 1;
    sum += mean === undefined ? Number.NaN : degreeDays(mean, base);
    const energy = days.get(day)?.energy ?? null;
    if (energy === null || isMissed(days, day)) continue;
    const isInside = last !== null && addDays(last, 1) >= from && count <= LONGEST_SPAN_DAYS;
    if (isInside && !Number.isNaN(sum))
      spans.push({ day, days: count, energy: inFull(energy), degreeDays: sum });
    last = day;
    [count, sum] = [0, 0];
  }
  return spans;
}

/** One of at most two days of 0 before a reading. More of them in a row are days away. */
const isMissed = (days: Ledger['days'], day: Day): boolean =>
  days.get(day)?.energy === 0 && [1, 2].some((further) => (days.get(addDays(day, further))?.energy ?? 0) > 0);

/** What one day uses by the fit, kWh. */
export const expectedHeat = ({ hotWater, slope }: WeatherFit, degrees: number): number =>
  hotWater + slope * degrees;

/** A mean day of a span: how many days stand behind it is its weight. */
interface Point {
  readonly x: number;
  readonly y: number;
  readonly days: number;
}

type Line = Pick<WeatherFit, 'hotWater' | 'slope'>;

function fitSpans(spans: readonly HeatSpan[], base: number): WeatherFit | null {
  const days = spans.reduce((sum, span) => sum + span.days, 0);
  if (days < FEWEST_DAYS) return null;
  const points = spans
    .map((span): Point => ({ x: span.degreeDays / span.days, y: span.energy / span.days, days: span.days }))
    .sort((a, b) => a.x - b.x || a.y - b.y);
  const start = roughLine(points);
  if (start === null) return null;
  const { line, weights } = settled(start, points);
  if (explained(line, points, weights) < LEAST_EXPLAINED) return null;
  const scatter = scatterAbout(line, points);
  return { ...line, scatter, slopeError: scatter / Math.sqrt(spread(points, weights)), days, base };
}

/** Least squares again and again, in which a day counts the less the further it was off the line before. */
function settled(start: Line, points: readonly Point[]): { line: Line; weights: readonly number[] } {
  let line = start;
  for (let round = 1; ; round++) {
    const before = line;
    const scale = scatterAbout(before, points) || Number.MIN_VALUE;
    const weights = points.map((point) => point.days * biweight(residual(before, point) / scale));
    line = lineThrough(points, weights);
    const moved = Math.abs(line.slope - before.slope) + Math.abs(line.hotWater - before.hotWater);
    if (moved < SETTLED || round === MOST_ROUNDS) return { line, weights };
  }
}

/** Theil's line of paired halves: a few days that are far off do not move it. `null`: all days are equally cold. */
function roughLine(points: readonly Point[]): Line | null {
  const half = Math.floor(points.length / 2);
  const slopes: number[] = [];
  for (let at = 0; at < half; at++) {
    const [low, high] = [points[at], points[at + points.length - half]] as [Point, Point];
    if (high.x - low.x >= LEAST_DIFFERENCE) slopes.push((high.y - low.y) / (high.x - low.x));
  }
  if (slopes.length === 0) return null;
  const slope = Math.max(0, median(slopes));
  return { slope, hotWater: Math.max(0, median(points.map(({ x, y }) => y - slope * x))) };
}

/** Weighted least squares among the lines that neither fall nor begin below zero. */
function lineThrough(points: readonly Point[], weights: readonly number[]): Line {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  points.forEach(({ x, y }, at) => {
    const weight = weights[at] ?? 0;
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  });
  const slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  if (!(slope > 0)) return { slope: 0, hotWater: Math.max(0, wy / w) };
  const hotWater = (wy - slope * wx) / w;
  return hotWater >= 0 ? { slope, hotWater } : { slope: Math.max(0, wxy / wxx), hotWater: 0 };
}

/** Of the degree days, about their mean. */
function spread(points: readonly Point[], weights: readonly number[]): number {
  const sum = (of: (point: Point) => number) =>
    points.reduce((all, point, at) => all + (weights[at] ?? 0) * of(point), 0);
  const mean = sum(({ x }) => x) / sum(() => 1);
  return sum(({ x }) => (x - mean) ** 2);
}

/** In standard deviations of a single day. */
const residual = ({ hotWater, slope }: Line, { x, y, days }: Point): number =>
  (y - hotWater - slope * x) * Math.sqrt(days);

const scatterAbout = (line: Line, points: readonly Point[]): number =>
  robustDeviation(points.map((point) => residual(line, point)));

const biweight = (deviations: number): number =>
  Math.abs(deviations) >= CUT ? 0 : (1 - (deviations / CUT) ** 2) ** 2;

/** The share of the variance of the days that count. */
function explained(line: Line, points: readonly Point[], weights: readonly number[]): number {
  const mean = lineThrough(
    points.map((point) => ({ ...point, x: 0 })),
    weights,
  ).hotWater;
  const squares = (through: Line) =>
    points.reduce((sum, { x, y }, at) => {
      return sum + (weights[at] ?? 0) * (y - through.hotWater - through.slope * x) ** 2;
    }, 0);
  const all = squares({ hotWater: mean, slope: 0 });
  return all === 0 ? 0 : 1 - squares(line) / all;
}
