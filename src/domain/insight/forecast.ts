// The forecast of a span of days, with the band that it should lie in four times out of five: Harvey's structural
// time series model, by a Kalman filter.
import { inFull, type Micro, toMicro } from '../amount.ts';
import { addTo, BAND, dot, meanOf, quadratic, sumBy } from '../leastSquares.ts';
import { type Amounts, LONGEST_CARRIED_DAYS } from '../ledger.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, daysOf, monthStart } from '../period.ts';
import type { Days, Tariff } from '../tariff/tariff.ts';
import {
  FEWEST_DAYS,
  LONGEST_SPAN_DAYS,
  type Reading,
  readingOfEachDay,
  readingsIn,
  sumOf,
  TWO_WEEKS_DAYS,
  YEAR_DAYS,
} from './readings.ts';

/** `low`, `high`: the 80 % band; `null` with fewer than 30 days of readings. */
export interface Forecast {
  readonly amount: Micro;
  readonly low: Micro | null;
  readonly high: Micro | null;
}

/** `null` when the last month has no reading at all. */
export type Forecasts = Readonly<Record<keyof Amounts, Forecast | null>>;

interface ForecastFacts {
  readonly days: Days;
  readonly today: Day;
  /** `null`: the cost follows its own past. */
  readonly tariff: Tariff | null;
}

/** The forecast of days that no reading has in it, in kWh or units of the currency. `variance`: `null` = too little is known. */
type Expect = (left: readonly Day[]) => { readonly mean: number; readonly variance: number | null };

/** Two winters and two summers. */
const LEARNT_FROM_DAYS = 2 * YEAR_DAYS;
/** It is coldest a month after the shortest day: the season that is assumed until a summer and a winter were seen. */
const COLDEST_DAY = 20;
/**
 * The states: level, cosine and sine of the year and of half a year, and a deviation that fades. Before anything is known,
 * as shares of the mean root: half of the way from summer to winter is 0.3, and all is unsure by what houses differ.
 */
const MEAN = [1, 0.3, 0, 0, 0, 0];
const UNSURE = [0.4, 0.2, 0.2, 0.05, 0.05, 0];
const DEVIATION = 5;
/** The level moves so much in a year, as a share of the mean root: people and houses change slowly. */
const DRIFT = 0.06;
/** Correlation of a day's deviation with that of the day before: weather lasts for a week. */
const PERSISTENCE = 0.85;
/** Deviation that lasts, and that of single days, in mean differences of one reading and the next. */
const LASTING = 1.45;
const SINGLE = 0.7;

export type Forecaster = (span: DaySpan) => Forecasts;

/** The running month. */
export const forecastMonth = (facts: ForecastFacts, forecast = forecaster(facts)): Forecasts =>
  forecast({ from: monthStart(facts.today), to: addMonths(facts.today, 1) });

/** Energy and cost of any span. What the readings tell of each is learnt once. */
export function forecaster(facts: ForecastFacts): Forecaster {
  const { days, tariff } = facts;
  const energyOf = learn('energy', facts);
  const costOf = tariff && energyOf ? null : learn('cost', facts);
  return (span) => {
    const { sum, left } = readSoFar('energy', days, span);
    const costs = readSoFar('cost', days, span);
    const ahead = energyOf?.(left) ?? null;
    const energy = ahead && banded(sum, ahead);
    if (tariff && ahead) {
      // The cost so far, and the tariff's price of every other day.
      const unpriced = sumBy(costs.left, (day) => days.get(day)?.energy ?? 0);
      const sure = Math.round(tariff.unitRate * unpriced) + tariff.standingCharge * costs.left.length;
      return { energy, cost: banded(costs.sum + sure, ahead, tariff.unitRate) };
    }
    return { energy, cost: costOf && banded(costs.sum, costOf(costs.left)) };
  };
}

/** The sum of the span's readings, and its days that none of them has in it. */
function readSoFar(kind: keyof Amounts, days: Days, span: DaySpan) {
  const readings = readingOfEachDay(kind, days, span);
  const isLeft = (reading: Reading | null | undefined) => !reading || reading.day >= span.to;
  return { sum: sumOf(readings, span), left: daysOf(span).filter((_, at) => isLeft(readings[at])) };
}

/** `price`: of one unit of what is ahead. */
function banded(sure: Micro, { mean, variance }: ReturnType<Expect>, price = 1): Forecast {
  const amount = sure + toMicro(price * mean);
  if (variance === null) return { amount, low: null, high: null };
  const half = toMicro(price * BAND * Math.sqrt(variance));
  return { amount, low: Math.max(Math.min(sure, amount), amount - half), high: amount + half };
}

/** `null`: the last month has no reading. */
function learn(kind: keyof Amounts, { days, today }: ForecastFacts): Expect | null {
  const from = addDays(today, -LEARNT_FROM_DAYS);
  const readings = readingsIn(kind, days, { from, to: addDays(today, 1) });
  if ((readings.at(-1)?.at ?? 0) < LEARNT_FROM_DAYS - LONGEST_CARRIED_DAYS) return null;
  const points = readings.filter(({ missed }) => missed < LONGEST_SPAN_DAYS).map(pointOf);
  const daysIn = (read: readonly Point[]) => sumBy(read, ({ days }) => days);
  if (daysIn(points) >= FEWEST_DAYS) return openFilter(points, from);
  // Too few days tell no season: the mean of the newest readings goes on.
  const newest = points.slice(-TWO_WEEKS_DAYS);
  const use = sumBy(newest, ({ days, root }) => days * root ** 2) / Math.max(1, daysIn(newest));
  return (left) => ({ mean: use * left.length, variance: left.length === 0 ? 0 : null });
}

type Point = ReturnType<typeof pointOf>;

/** A reading as the square root of the use of one day: roots stray alike in winter and summer. */
function pointOf({ at, amount, missed }: Reading) {
  const days = missed + 1;
  return { at, root: Math.sqrt(Math.max(0, inFull(amount)) / days), days };
}

type Noise = ReturnType<typeof noiseOf>;

/** Variances: of the deviation that lasts, of single days, and of the level from one day to the next. */
function noiseOf(points: readonly Point[], usual: number) {
  // An absolute difference, which a holiday spoils less than a square.
  const apart = points.slice(1).map(({ root }, at) => Math.abs(root - (points[at]?.root ?? 0)));
  const scatter = meanOf(apart, (distance) => distance);
  return {
    lasting: (LASTING * scatter) ** 2,
    single: (SINGLE * scatter) ** 2,
    drift: (DRIFT * usual) ** 2 / YEAR_DAYS,
  };
}

/** The weights of the states for the day at this place, counted from `from`, where that much of the deviation has not faded. */
function openWeights(from: Day) {
  const dayOfYear = daysBetween(`${from.slice(0, 4)}-01-01`, from);
  return (at: number, unfaded: number): number[] => {
    const angle = (2 * Math.PI * (dayOfYear + at - COLDEST_DAY)) / YEAR_DAYS;
    return [1, Math.cos(angle), Math.sin(angle), Math.cos(2 * angle), Math.sin(2 * angle), unfaded];
  };
}

/** `from`: the day from which the points count. */
function openFilter(points: readonly Point[], from: Day): Expect {
  const usual = meanOf(points, ({ root }) => root);
  const noise = noiseOf(points, usual);
  const weightsOf = openWeights(from);
  const now = filter(points, usual, noise, weightsOf);
  return (left) => {
    const places = left.map((day) => daysBetween(from, day));
    return extrapolated(places, now, noise, weightsOf);
  };
}

/** The states as the points have left them. `newest`: the place of the last point. */
function filter(
  points: readonly Point[],
  usual: number,
  { lasting, single, drift }: Noise,
  weightsOf: ReturnType<typeof openWeights>,
) {
  const state = MEAN.map((share) => share * usual);
  const covariance = UNSURE.map((share, at) =>
    UNSURE.map((_, other) => (at === other ? (share * usual) ** 2 : 0)),
  );
  const [level, deviation] = [covariance[0], covariance[DEVIATION]] as [number[], number[]];
  deviation[DEVIATION] = lasting;
  let newest = points[0]?.at ?? 0;
  for (const { at, root, days } of points) {
    const unfaded = PERSISTENCE ** (at - newest);
    for (const line of [state, ...covariance]) line[DEVIATION] = unfaded * (line[DEVIATION] as number);
    addTo(deviation, unfaded - 1, deviation);
    deviation[DEVIATION] = (deviation[DEVIATION] as number) + (1 - unfaded ** 2) * lasting;
    level[0] = (level[0] as number) + drift * (at - newest);
    newest = at;
    const weights = weightsOf(at, 1);
    const gain = covariance.map((line) => dot(line, weights));
    const variance = dot(weights, gain) + single / days;
    addTo(state, (root - dot(weights, state)) / variance, gain);
    for (const [term, line] of covariance.entries()) addTo(line, -(gain[term] as number) / variance, gain);
  }
  return { state, covariance, newest };
}

/** The sum of the squares of the roots at these places, oldest first, and its variance by the expansion of first order. */
function extrapolated(
  places: readonly number[],
  { state, covariance, newest }: ReturnType<typeof filter>,
  { lasting, single, drift }: Noise,
  weightsOf: ReturnType<typeof openWeights>,
) {
  const gradient = state.map(() => 0);
  let [mean, variance, next, shock, moved] = [0, 0, newest, 0, 0];
  for (const at of places.toReversed()) {
    const weights = weightsOf(at, PERSISTENCE ** Math.abs(at - newest));
    const root = Math.max(0, dot(weights, state));
    mean +=
      root ** 2 +
      quadratic(weights, covariance) +
      (1 - (weights[DEVIATION] as number) ** 2) * lasting +
      single;
    // The square's slope; and what a shock of this day does to the sum, as it lasts into the days after it.
    const slope = 2 * root;
    addTo(gradient, slope, weights);
    shock = slope + PERSISTENCE ** Math.abs(next - at) * shock;
    moved += slope;
    next = at;
    variance += slope ** 2 * single + shock ** 2 * (1 - PERSISTENCE ** 2) * lasting + moved ** 2 * drift;
  }
  return { mean, variance: variance + quadratic(gradient, covariance) };
}
