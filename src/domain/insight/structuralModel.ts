// A daily series and its seasons carried on: Harvey's structural time series model, by a Kalman filter.
import { addTo, dot, quadratic } from './leastSquares.ts';
import { meanOf } from './robust.ts';

/** A value, or the mean of the values of `days` days. `at` counts days from today; points come in order. */
export interface Point {
  readonly at: number;
  readonly value: number;
  readonly days: number;
}

/** Mean and variance in units of the squared values. */
export interface Sum {
  readonly mean: number;
  readonly variance: number;
}

const YEAR_DAYS = 365.25;
/** When it is coldest, a month after the shortest day: the season of before the first summer and winter were seen. */
const COLDEST_DAY = 20;
/**
 * The states: level, cosine and sine of the year and of half a year, and a deviation that fades. Before anything is known,
 * as shares of the mean root: half of the way from summer to winter is 0.3, and all is unsure by what houses differ.
 */
const MEAN = [1, 0.3, 0, 0, 0, 0];
const UNSURE = [0.4, 0.2, 0.2, 0.05, 0.05, 0];
const DEVIATION = 5;
/** How far the level moves in a year, as a share of the mean root: people and houses change slowly. */
const DRIFT = 0.06;
/** Correlation of a day's deviation with that of the day before: weather lasts for a week. */
const PERSISTENCE = 0.85;
/** Mean difference of two days as a share of the mean root; counts as a week of pairs beside those seen. */
const SCATTER = 0.12;
const SCATTER_PAIRS = 7;
/** Deviation that lasts, and that of single days, in such differences. */
const LASTING = 1.6;
const SINGLE = 0.75;
/** What is further off, in standard deviations, counts as so far (Huber): a holiday is no new level. */
const FAR = 2;
/** Innovations of two weeks whose mean is further off than this are another household, not another fortnight. */
const WATCHED_DAYS = 14;
const MOVED = 1.2;

/**
 * The sum of the squares of the values on the days `left`, which have no point of their own. `dayOfYear`: of today, from 0
 * on. `points`: square roots of daily use, which stray alike in winter and summer.
 */
export function sumOfSquares(points: readonly Point[], left: readonly number[], dayOfYear: number): Sum {
  const root = meanOf(points, ({ value }) => value);
  // An absolute difference, which a holiday spoils less than a square.
  const apart = points.slice(1).map(({ value }, at) => Math.abs(value - (points[at]?.value ?? 0)));
  const seen = apart.reduce((sum, one) => sum + one, SCATTER_PAIRS * SCATTER * root);
  const scatter = seen / (SCATTER_PAIRS + apart.length);
  const [lasting, single] = [(LASTING * scatter) ** 2, (SINGLE * scatter) ** 2];
  const drift = (DRIFT * root) ** 2 / YEAR_DAYS;
  /** What the states have to do with a day, where that much of the deviation has not faded. */
  const rowOf = (at: number, unfaded: number): number[] => {
    const angle = (2 * Math.PI * (dayOfYear + at - COLDEST_DAY)) / YEAR_DAYS;
    return [1, Math.cos(angle), Math.sin(angle), Math.cos(2 * angle), Math.sin(2 * angle), unfaded];
  };
  const state = MEAN.map((share) => share * root);
  const covariance = UNSURE.map(() => UNSURE.map(() => 0));
  const add = (at: number, variance: number) => {
    const line = covariance[at] as number[];
    line[at] = (line[at] as number) + variance;
  };
  const forget = () => {
    for (const [at, share] of UNSURE.entries()) add(at, (share * root) ** 2);
  };
  forget();
  add(DEVIATION, lasting);
  let today = points[0]?.at ?? 0;
  let squares = 0;
  let watched: number[] = [];
  for (const { at, value, days } of points) {
    const unfaded = PERSISTENCE ** (at - today);
    state[DEVIATION] = unfaded * (state[DEVIATION] as number);
    for (const line of covariance) line[DEVIATION] = unfaded * (line[DEVIATION] as number);
    addTo(covariance[DEVIATION] as number[], unfaded - 1, covariance[DEVIATION] as number[]);
    add(DEVIATION, (1 - unfaded ** 2) * lasting);
    add(0, drift * (at - today));
    today = at;
    const row = rowOf(at, 1);
    const gain = covariance.map((line) => dot(line, row));
    const variance = dot(row, gain) + single / days;
    const innovation = (value - dot(row, state)) / Math.sqrt(variance);
    const counted = Math.max(-FAR, Math.min(FAR, innovation));
    const weight = innovation === 0 ? 1 : counted / innovation;
    addTo(state, counted / Math.sqrt(variance), gain);
    for (const [one, line] of covariance.entries())
      addTo(line, (-weight * (gain[one] as number)) / variance, gain);
    squares += counted ** 2;
    watched = [...watched, counted].slice(-WATCHED_DAYS);
    if (watched.length < WATCHED_DAYS || Math.abs(meanOf(watched, (one) => one)) <= MOVED) continue;
    forget();
    watched = [];
  }

  const gradient = state.map(() => 0);
  let [mean, variance, last, shock, moved] = [0, 0, today, 0, 0];
  for (const at of [...left].reverse()) {
    const row = rowOf(at, PERSISTENCE ** Math.abs(at - today));
    const value = Math.max(0, dot(row, state));
    const unknown = (1 - (row[DEVIATION] as number) ** 2) * lasting + single;
    mean += value ** 2 + quadratic(row, covariance) + unknown;
    // The square's slope; and what a shock of this day does to the sum, as it lasts into the days after it.
    const slope = 2 * value;
    addTo(gradient, slope, row);
    shock = slope + PERSISTENCE ** Math.abs(last - at) * shock;
    moved += slope;
    last = at;
    variance += slope ** 2 * single + shock ** 2 * (1 - PERSISTENCE ** 2) * lasting + moved ** 2 * drift;
  }
  // The scale of all variances is what the innovations have shown it to be.
  return { mean, variance: ((variance + quadratic(gradient, covariance)) * squares) / points.length };
}
