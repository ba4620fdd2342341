// A daily series carried on: a level that drifts, the seasons of the year, and what is left of the newest days.

/** A value, or the mean of the values of `days` days. `at` counts days from any fixed one; points come in order. */
export interface Point {
  readonly at: number;
  readonly value: number;
  readonly days: number;
}

/** Standard deviations of what is not known beforehand, in units of the values. */
export interface Prior {
  /** The mean of the year: `around`, more or less. */
  readonly around: number;
  readonly level: number;
  /** Half of the way from winter to summer; 0: there are no seasons. */
  readonly season: number;
  /** How far the level moves in a year. */
  readonly drift: number;
  /** Correlation of a day's deviation with that of the day before. */
  readonly persistence: number;
  /** Variance of the difference of two days, halved: of neighbours, and of days a week apart. */
  readonly scatter: readonly [neighbours: number, week: number];
}

/** What is summed, of a value that is known up to a variance: its mean, and how fast it grows with the value. */
export type Link = (
  value: number,
  variance: number,
  at: number,
) => { readonly mean: number; readonly slope: number };

export interface Sum {
  readonly mean: number;
  /** Of each day. */
  readonly means: readonly number[];
  readonly variance: number;
}

/** Level, the two parts of the wave, deviation. */
const STATES = 4;
const YEAR_DAYS = 365.25;
const WEEK_DAYS = 7;
/** Fewer pairs of days are filled up with the prior scatter. */
const FEWEST_PAIRS = 14;
/** The errors of single days are believed to be right as if this many had confirmed it. */
const SINGLE_PRIOR = 20;
/** A day that is further off, in standard deviations, counts the less: a holiday is no new level. */
const FAR = 2.5;
const BACKTEST_AFTER_DAYS = 60;
const BACKTEST_EVERY_DAYS = 21;
/** Before there are back-tests the variance is believed as if this many had confirmed it. */
const BACKTEST_PRIOR = 10;
const LARGEST_SURPRISE = 9;

/**
 * A Kalman filter over the series: level (a random walk), one yearly wave, and a deviation that fades from day to day,
 * beside the noise of single days. The variance is corrected by back-tests: sums of `horizon` days foretold every
 * third week of the past, against what became of them.
 */
export class Projection {
  readonly #link: Link;
  readonly #persistence: number;
  readonly #drift: number;
  readonly #waves: boolean;
  /** Variance of the fading deviation, and of a single day beside it. */
  readonly #fading: number;
  readonly #noise: number;
  /** Level, the two parts of the wave, deviation; and their covariance. */
  readonly #state: number[];
  readonly #covariance: number[][];
  // Written over again and again: new arrays for each day would take twice the time.
  readonly #row = [1, 0, 0, 0];
  readonly #gain = [0, 0, 0, 0];
  #at: number;
  #scale = 1;

  constructor(points: readonly Point[], prior: Prior, link: Link, horizon: number) {
    this.#link = link;
    this.#persistence = prior.persistence;
    this.#drift = prior.drift ** 2 / YEAR_DAYS;
    this.#waves = prior.season > 0;
    const neighbours = scatterAt(1, points, prior.scatter[0]);
    const ofWeek = scatterAt(WEEK_DAYS, points, prior.scatter[1]);
    const { persistence } = prior;
    const fading = (ofWeek - neighbours) / (persistence - persistence ** WEEK_DAYS);
    this.#fading = Math.max(neighbours / 10, fading);
    this.#noise = Math.max(neighbours / 10, neighbours - this.#fading * (1 - persistence));
    this.#state = [prior.around, 0, 0, 0];
    const variances = [prior.level ** 2, prior.season ** 2, prior.season ** 2, this.#fading];
    this.#covariance = variances.map((variance, row) =>
      variances.map((_, column) => (row === column ? variance : 0)),
    );
    this.#at = points[0]?.at ?? 0;
    this.#learn(points, horizon);
  }

  /** The sum of the link over days that have no value yet. */
  sum(days: readonly number[]): Sum {
    const means: number[] = [];
    let variance = 0;
    const gradient = [0, 0, 0, 0];
    const ahead: number[] = [];
    for (const at of days) {
      const row = this.#rowAt(at);
      const faded = (row[3] as number) ** 2;
      const single = this.#noise + this.#fading * (1 - faded);
      const known = this.#product(row);
      const linked = this.#link(dot(row, this.#state), (dot(row, known) + single) * this.#scale, at);
      means.push(linked.mean);
      for (let index = 0; index < STATES; index += 1)
        gradient[index] = (gradient[index] as number) + linked.slope * (row[index] as number);
      variance += linked.slope ** 2 * this.#noise;
      if (at > this.#at) ahead[at - this.#at] = linked.slope;
      else variance += linked.slope ** 2 * (single - this.#noise);
    }
    // What each day to come adds to the deviation and to the level stays for the days after it.
    const fresh = this.#fading * (1 - this.#persistence ** 2);
    let [deviation, level] = [0, 0];
    for (let day = ahead.length - 1; day > 0; day -= 1) {
      const slope = ahead[day] ?? 0;
      deviation = slope + this.#persistence * deviation;
      level += slope;
      variance += fresh * deviation ** 2 + this.#drift * level ** 2;
    }
    variance += dot(gradient, this.#product(gradient));
    const mean = means.reduce((all, one) => all + one, 0);
    return { mean, means, variance: variance * this.#scale };
  }

  #learn(points: readonly Point[], horizon: number): void {
    let surprise = SINGLE_PRIOR;
    const errors: number[] = [];
    let testAt = this.#at + BACKTEST_AFTER_DAYS;
    points.forEach((point, index) => {
      if (point.at >= testAt) {
        testAt = point.at + BACKTEST_EVERY_DAYS;
        errors.push(...this.#backtest(points, index, horizon));
      }
      surprise += this.#take(point);
    });
    const single = surprise / (points.length + SINGLE_PRIOR);
    const tested = errors.reduce(
      (sum, error) => sum + Math.min(LARGEST_SURPRISE, error),
      single * BACKTEST_PRIOR,
    );
    this.#scale = Math.min(2 * single, Math.max(single / 2, tested / (errors.length + BACKTEST_PRIOR)));
  }

  /** The squared error over its variance; nothing where too few of the days are known. */
  #backtest(points: readonly Point[], index: number, horizon: number): number[] {
    const days: number[] = [];
    let actual = 0;
    for (let next = index; next < points.length; next += 1) {
      const { at, value, days: count } = points[next] as Point;
      if (at > this.#at + horizon) break;
      if (at - count < this.#at) continue;
      for (let day = at - count + 1; day <= at; day += 1) {
        days.push(day);
        actual += this.#link(value, 0, day).mean;
      }
    }
    if (days.length === 0 || days.length < horizon * 0.8) return [];
    const { mean, variance } = this.sum(days);
    return variance > 0 ? [(actual - mean) ** 2 / variance] : [];
  }

  /** Returns the squared error of the forecast of this day, over its variance. */
  #take({ at, value, days }: Point): number {
    this.#moveTo(at);
    const row = this.#rowAt(at);
    const gain = this.#product(row);
    const variance = dot(row, gain) + this.#noise / days;
    if (variance <= 0) return 1;
    const error = value - dot(row, this.#state);
    const far = Math.max(1, Math.abs(error) / Math.sqrt(variance) / FAR);
    for (let one = 0; one < STATES; one += 1) {
      const weight = (gain[one] as number) / (variance * far);
      this.#state[one] = (this.#state[one] as number) + weight * error;
      const line = this.#covariance[one] as number[];
      for (let other = 0; other < STATES; other += 1)
        line[other] = (line[other] as number) - weight * (gain[other] as number);
    }
    return Math.min(LARGEST_SURPRISE, error ** 2 / variance);
  }

  #moveTo(at: number): void {
    const days = at - this.#at;
    this.#at = at;
    const fade = this.#persistence ** days;
    this.#state[3] = (this.#state[3] as number) * fade;
    const last = this.#covariance[3] as number[];
    for (let index = 0; index < STATES; index += 1) {
      const line = this.#covariance[index] as number[];
      line[3] = (line[3] as number) * fade;
      last[index] = (last[index] as number) * fade;
    }
    last[3] = (last[3] as number) + this.#fading * (1 - fade ** 2);
    const first = this.#covariance[0] as number[];
    first[0] = (first[0] as number) + this.#drift * days;
  }

  /** By what each part of the state counts on a day. */
  #rowAt(at: number): readonly number[] {
    if (this.#waves) {
      const phase = (2 * Math.PI * at) / YEAR_DAYS;
      this.#row[1] = Math.cos(phase);
      this.#row[2] = Math.sin(phase);
    }
    this.#row[3] = this.#persistence ** Math.abs(at - this.#at);
    return this.#row;
  }

  #product(vector: readonly number[]): readonly number[] {
    for (let line = 0; line < STATES; line += 1)
      this.#gain[line] = dot(this.#covariance[line] as number[], vector);
    return this.#gain;
  }
}

/** From mean absolute differences, which a holiday spoils less than squares. */
function scatterAt(lag: number, points: readonly Point[], prior: number): number {
  let [sum, count, before] = [0, 0, 0];
  for (const point of points) {
    while ((points[before] as Point).at < point.at - lag) before += 1;
    const other = points[before] as Point;
    if (other.at !== point.at - lag || point.days > 1 || other.days > 1) continue;
    sum += Math.abs(point.value - other.value);
    count += 1;
  }
  const mean = count === 0 ? 0 : sum / count;
  // Of normal noise the variance is half pi times the square of the mean absolute deviation.
  const own = (mean ** 2 * Math.PI) / 4;
  const share = Math.min(1, count / FEWEST_PAIRS);
  return share * own + (1 - share) * prior;
}

function dot(one: readonly number[], other: readonly number[]): number {
  let sum = 0;
  for (let index = 0; index < STATES; index += 1) sum += (one[index] as number) * (other[index] as number);
  return sum;
}
