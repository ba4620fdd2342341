// A daily series and its seasons carried on: Harvey's structural time series model, by a Kalman filter.

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

/** Level, the cosine and sine of the year and of half a year, a deviation that fades from day to day, and the sum. */
const STATES = 7;
const LEVEL = 0;
const DEVIATION = 5;
const SUM = 6;
const YEAR_DAYS = 365.25;
/** When it is coldest, a month after the shortest day: the season of before the first summer and winter were seen. */
const COLDEST_DAY = 20;
/** Shares of the mean root before anything is known: half of the way from summer to winter, and how sure that is. */
const SEASON = { mean: 0.3, deviation: 0.2, half: 0.1 };
const LEVEL_DEVIATION = 0.4;
/** How far the level may move in a year, as a share of the mean root. */
const DRIFT = 0.05;
/** Correlation of a day's deviation with that of the day before: weather lasts. */
const PERSISTENCE = 0.85;
/** Mean difference of two days as a share of the mean root, and how many pairs it counts as. */
const PRIOR_SCATTER = 0.12;
const PRIOR_PAIRS = 7;
/** A day that is further off, in standard deviations, counts the less: a holiday is no new level. */
const FAR = 2.5;
/** The variance of the first guess counts as much as so many days. */
const PRIOR_DAYS = 20;
const WEEK_DAYS = 7;

/**
 * The sum of the squares of the values on the days `left`, which have no point of their own. `dayOfYear`: of today, from 0
 * on. `points`: square roots of daily use, which stray alike in winter and summer.
 */
export function sumOfSquares(points: readonly Point[], left: readonly number[], dayOfYear: number): Sum {
  const root = points.reduce((sum, { value }) => sum + value, 0) / points.length;
  const [lasting, single] = variances(points, root);
  const state = new Float64Array(STATES);
  const covariance = Array.from({ length: STATES }, () => new Float64Array(STATES));
  const know = (at: number, mean: number, deviation: number) => {
    state[at] = mean;
    (covariance[at] as Float64Array)[at] = deviation ** 2;
  };
  const firstAt = Math.min(points[0]?.at ?? 0, left[0] ?? 0);
  const seasonAt = (at: number) => (2 * Math.PI * (dayOfYear + at - COLDEST_DAY)) / YEAR_DAYS;
  know(LEVEL, root * (1 - SEASON.mean * meanCosine(points, seasonAt)), LEVEL_DEVIATION * root);
  know(1, SEASON.mean * root, SEASON.deviation * root);
  know(2, 0, SEASON.deviation * root);
  know(3, 0, SEASON.half * root);
  know(4, 0, SEASON.half * root);
  know(DEVIATION, 0, Math.sqrt(lasting));
  const row = new Float64Array(STATES);
  const gain = new Float64Array(STATES);
  const drift = (DRIFT * root) ** 2 / YEAR_DAYS;
  const wanted = new Set(left);
  let [surprise, days, next] = [PRIOR_DAYS, PRIOR_DAYS, 0];

  const fade = () => {
    const last = covariance[DEVIATION] as Float64Array;
    state[DEVIATION] = PERSISTENCE * (state[DEVIATION] as number);
    for (let at = 0; at < STATES; at += 1) {
      const line = covariance[at] as Float64Array;
      line[DEVIATION] = PERSISTENCE * (line[DEVIATION] as number);
    }
    for (let at = 0; at < STATES; at += 1) last[at] = PERSISTENCE * (last[at] as number);
    last[DEVIATION] = (last[DEVIATION] as number) + (1 - PERSISTENCE ** 2) * lasting;
    const level = covariance[LEVEL] as Float64Array;
    level[LEVEL] = (level[LEVEL] as number) + drift;
  };
  /** What the day is expected to be, and its variance without that of a single day. */
  const expect = (at: number): { mean: number; variance: number } => {
    const angle = seasonAt(at);
    row.set([1, Math.cos(angle), Math.sin(angle), Math.cos(2 * angle), Math.sin(2 * angle), 1, 0]);
    for (let line = 0; line < STATES; line += 1) gain[line] = dot(covariance[line] as Float64Array, row);
    return { mean: dot(row, state), variance: dot(row, gain) };
  };
  /** The sum takes in a day that is not known: its square, by the slope of it where it is expected. */
  const take = (mean: number, known: number): void => {
    const value = Math.max(0, mean);
    const slope = 2 * value;
    const own = covariance[SUM] as Float64Array;
    state[SUM] = (state[SUM] as number) + value ** 2 + known + single;
    const before = gain[SUM] as number;
    for (let at = 0; at < SUM; at += 1) {
      own[at] = (own[at] as number) + slope * (gain[at] as number);
      (covariance[at] as Float64Array)[SUM] = own[at] as number;
    }
    own[SUM] = (own[SUM] as number) + 2 * slope * before + slope ** 2 * (known + single);
  };
  const learn = ({ value, days: count }: Point, mean: number, known: number): void => {
    const variance = known + single / count;
    const off = value - mean;
    const far = Math.max(1, Math.abs(off) / Math.sqrt(variance) / FAR);
    for (let one = 0; one < STATES; one += 1) {
      const weight = (gain[one] as number) / (variance * far);
      state[one] = (state[one] as number) + weight * off;
      const line = covariance[one] as Float64Array;
      for (let other = 0; other < STATES; other += 1)
        line[other] = (line[other] as number) - weight * (gain[other] as number);
    }
    surprise += Math.min(FAR ** 2, off ** 2 / variance);
    days += 1;
  };

  const end = Math.max(points.at(-1)?.at ?? 0, left.at(-1) ?? 0);
  for (let at = firstAt; at <= end; at += 1) {
    fade();
    const { mean, variance: known } = expect(at);
    const point = points[next];
    if (point?.at === at) {
      next += 1;
      learn(point, mean, known);
    } else if (wanted.has(at)) take(mean, known);
  }
  return {
    mean: state[SUM] as number,
    variance: ((covariance[SUM] as Float64Array)[SUM] as number) * (surprise / days),
  };
}

const meanCosine = (points: readonly Point[], angleOf: (at: number) => number): number =>
  points.reduce((sum, { at }) => sum + Math.cos(angleOf(at)), 0) / points.length;

/**
 * The variance that lasts, and that of single days: two days that are neighbours share most of what lasts, and those a week apart hardly
 * any of it.
 */
function variances(points: readonly Point[], root: number): readonly [lasting: number, single: number] {
  const [neighbours, week] = [halfVariance(points, 1, root), halfVariance(points, WEEK_DAYS, root)];
  const least = neighbours / 10;
  const lasting = Math.max(least, (week - neighbours) / (PERSISTENCE - PERSISTENCE ** WEEK_DAYS));
  return [lasting, Math.max(least, neighbours - lasting * (1 - PERSISTENCE))];
}

/** The variance of the difference of two days, halved: from its mean absolute value, which a holiday spoils less than a square. */
function halfVariance(points: readonly Point[], lag: number, root: number): number {
  const values = new Map(points.filter(({ days }) => days === 1).map(({ at, value }) => [at, value]));
  let [sum, count] = [PRIOR_SCATTER * root * PRIOR_PAIRS, PRIOR_PAIRS];
  for (const [at, value] of values) {
    const before = values.get(at - lag);
    if (before === undefined) continue;
    sum += Math.abs(value - before);
    count += 1;
  }
  // The variance of normal noise is half pi times the square of the mean absolute deviation.
  return ((sum / count) ** 2 * Math.PI) / 4;
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < STATES; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}
