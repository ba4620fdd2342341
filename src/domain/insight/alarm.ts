// Use that is unusual: a day, or three together, are far from what a line through the days most like them makes of each. Distances
// are in units of these days' median deviation.
import { inFull, type Micro, toMicro } from '../amount.ts';
import { leastSquares, meanOf, median, medianDeviation } from '../leastSquares.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan } from '../period.ts';
import { chargesOn, type Tariff } from '../tariff/tariff.ts';
import {
  DOUBTED_BY_CHANCE,
  estimatedRuns,
  FEWEST_DAYS,
  readingsIn,
  registerStep,
  SEASON_DAYS,
  TWO_WEEKS_DAYS,
  YEAR_AND_MONTH_DAYS,
  YEAR_DAYS,
} from './readings.ts';
import { feltOver, type Temperatures } from './weather.ts';

export const DIRECTIONS = ['high', 'low'] as const;
export const UNUSUAL_REASONS = ['day', 'drift'] as const;
export const EXPECTED_BY = ['weather', 'season'] as const;

export interface UnusualUse {
  /** The day by which it was found. */
  readonly since: Day;
  readonly direction: (typeof DIRECTIONS)[number];
  /** One day by itself, or several together. */
  readonly reason: (typeof UNUSUAL_REASONS)[number];
}

type Finding = Omit<UnusualUse, 'since'>;

type SingleDay = ReturnType<typeof singleDays>[number];
type ComparedDay = ReturnType<typeof compared>;

/** A fault is to be found by its third day: docs/method.md has what is found. */
const TOGETHER_DAYS = 3;
/** The mean of three days, each counted as at most so much: so that there are one or two false alarms a year. */
const DRIFT = 1.93;
const MOST_OF_A_DAY = 3;
/** One day alone: what correct days are once in years, as their noise has heavy tails. */
const FAR = 6.5;
/** An alarm ends when the mean of three days is nearer, and no heat at all is none when a day of 0 is so near. */
const NEAR = 1;
/** Heating has failed: so many days below this share of the expectation, on days that need more than the mean. On holidays half of the heat goes on. */
const FAILED_DAYS = 2;
const FAILED_SHARE = 0.42;
/** However even the days were: a root this far off, of a day of 10 kWh 0.6 kWh, is nothing. */
const LEAST_DEVIATION = 0.1;
/**
 * The conformal quantile of the days' residuals that holds 95 of a hundred usual days, as measured. Without the weather errors last, and
 * the newest day lies beyond all that it is compared with.
 */
const HELD = { weather: 0.96, season: 0.98 };

type ExpectedBy = (typeof EXPECTED_BY)[number];
export type Expectation = Readonly<ReturnType<typeof expectationOf>>;

export type UseJudgement = NonNullable<ReturnType<typeof judgeUse>>;

/** Judges the newest days before `before`. `null`: fewer than 30 days can be judged by. */
export function judgeUse(
  days: Ledger['days'],
  before: Day,
  temperatures: Temperatures | null,
  tariff: Tariff | null,
) {
  const span = { from: addDays(before, -YEAR_AND_MONTH_DAYS), to: before };
  const single = singleDays(days, span, tariff);
  const felt = temperatures ? feltOver(temperatures, span) : [];
  const withWeather = single.flatMap((day) => {
    const by = felt[day.at];
    return by === undefined || Number.isNaN(by) ? [] : [{ ...day, by }];
  });
  const wait = (single.at(-1)?.at ?? 0) - (withWeather.at(-1)?.at ?? Number.NEGATIVE_INFINITY);
  // Without a temperature for longer the season has to do.
  const by = wait <= TOGETHER_DAYS && withWeather.length > FEWEST_DAYS ? 'weather' : 'season';
  const judged = by === 'weather' ? withWeather : single;
  const step = inFull(registerStep(judged.map(({ root }) => toMicro(root ** 2))));
  // A longer deviation has an alarm that began then.
  const first = Math.max(FEWEST_DAYS, judged.length - TWO_WEEKS_DAYS);
  const watched = judged.slice(first).map((day) => compared(day, judged, by, step));
  const newest = watched.at(-1);
  if (newest === undefined) return null;
  const mean = meanOf(judged, ({ root }) => root ** 2);
  return { newest: expectationOf(newest, by), unusual: alarmOn(watched, mean, by) };
}

/** The alarm that is on after the newest of the days. */
function alarmOn(watched: readonly ComparedDay[], mean: number, by: ExpectedBy): UnusualUse | null {
  let unusual: UnusualUse | null = null;
  for (const { day, at } of watched) {
    const together = watched.filter((other) => other.at <= at && at - other.at < TOGETHER_DAYS);
    const finding = findingOn(together, mean, by);
    const sign = unusual?.direction === 'low' ? -1 : 1;
    const isNear = meanOf(together, ({ counted }) => sign * counted) < NEAR;
    if (finding && finding.direction !== unusual?.direction) unusual = { since: day, ...finding };
    else if (!finding && isNear) unusual = null;
  }
  return unusual;
}

/** The expectation of a day from the days before: energies, with the ends of the band that holds 95 of 100 usual days. */
function expectationOf({ day, root, usual, half }: ComparedDay, by: ExpectedBy) {
  const energyOf = (ofRoot: number): Micro => toMicro(Math.max(0, ofRoot) ** 2);
  return {
    day,
    energy: energyOf(root),
    expected: energyOf(usual),
    low: energyOf(usual - half),
    high: energyOf(usual + half),
    by,
  };
}

/** The rule, for the last of three days of which some may not be known. Without the weather three cold days look like a fault. */
function findingOn(together: readonly ComparedDay[], mean: number, by: ExpectedBy): Finding | null {
  // Some houses use nothing on many a day of summer.
  const hasFailed = ({ root, usual, counted }: ComparedDay) =>
    root === 0 ? counted < -NEAR : root ** 2 < FAILED_SHARE * usual ** 2 && usual ** 2 > mean;
  if (together.slice(-FAILED_DAYS).filter(hasFailed).length === FAILED_DAYS)
    return { direction: 'low', reason: 'drift' };
  if ((together.at(-1)?.off ?? 0) > FAR) return { direction: 'high', reason: 'day' };
  const isDrift = together.length === TOGETHER_DAYS && meanOf(together, ({ counted }) => counted) > DRIFT;
  return isDrift && by === 'weather' ? { direction: 'high', reason: 'drift' } : null;
}

/**
 * A day beside what is expected of it, in roots. Local regression: the line of least squares through the roots of the days most alike,
 * and how many of their median deviations the day lies off it. `step`: of the register, kWh, by which days differ that are alike.
 */
function compared(day: SingleDay, days: readonly SingleDay[], by: ExpectedBy, step: number) {
  const alike = nearest(day, days, by);
  const roots = alike.map(({ root }) => root);
  const columns = [roots.map(() => 1), alike.map((other) => other.by - day.by)];
  const line = leastSquares(columns, roots);
  const residuals = line?.residuals ?? roots;
  const middle = median(residuals);
  const usual = Math.max(0, (line?.coefficients[0] ?? 0) + middle);
  // Rounding alone may put a day a step off, and the next ones as well.
  const ofStep = Math.sqrt(usual ** 2 + step) - usual;
  const deviation = Math.max(medianDeviation(residuals, middle), LEAST_DEVIATION, ofStep);
  const off = (day.root - usual) / deviation;
  const counted = Math.max(-MOST_OF_A_DAY, Math.min(MOST_OF_A_DAY, off));
  const distances = residuals.map((residual) => Math.abs(residual - middle));
  // `half` is that of the band that holds 95 of 100 usual days; `off` counts deviations, and `counted` three of them at most.
  return { ...day, usual, half: conformalQuantile(distances, HELD[by]), off, counted };
}

/** The distance within which such a share of them lies, counted as if that of the next day were among them. */
function conformalQuantile(distances: readonly number[], share: number): number {
  const sorted = Float64Array.from(distances).sort();
  const rank = Math.min(sorted.length, Math.ceil((sorted.length + 1) * share));
  return sorted[rank - 1] ?? 0;
}

/**
 * Half of the days of the season, those nearest in temperature; without the weather the newest days. Three months away the sun and
 * the windows are others.
 */
function nearest(day: SingleDay, days: readonly SingleDay[], by: ExpectedBy): readonly SingleDay[] {
  const earlier = days.filter(({ at }) => {
    const ago = day.at - at;
    const isOfSeason = Math.min(ago % YEAR_DAYS, YEAR_DAYS - (ago % YEAR_DAYS)) <= SEASON_DAYS;
    return ago >= TOGETHER_DAYS && (isOfSeason || by === 'season');
  });
  const apart = earlier.map((other) => Math.abs(other.by - day.by));
  const farthest = Float64Array.from(apart).sort()[SEASON_DAYS - 1] ?? Number.POSITIVE_INFINITY;
  return earlier.filter((_, at) => (apart[at] as number) <= farthest);
}

/**
 * Days whose reading is of that day alone; by square roots, which stray alike on days of little and of much heat. Each is compared `by` °C
 * as the house felt it, or by the day's number where the weather is not known.
 *
 * A reading after a missed one may hold its day as well, and so may one after a day of 0; a day of 0 after others may be a missed reading.
 * Estimates are not judged, nor is the reading that puts them right.
 */
function singleDays(days: Ledger['days'], span: DaySpan, tariff: Tariff | null) {
  const readings = readingsIn('energy', days, span);
  const runs = estimatedRuns(readings, DOUBTED_BY_CHANCE);
  return readings.flatMap(({ day, at, amount, missed }, index) => {
    const previous = readings[index - 1]?.amount;
    const isAlone = previous !== undefined && missed === 0 && amount >= 0 && amount > 0 === previous > 0;
    const carries = tariff && !days.has(addDays(day, 1)) ? (chargesOn(tariff, days, day) ?? 1) : 1;
    const isOfEstimate = runs.some(({ first, right }) => index >= first && index <= right);
    if (!isAlone || carries > 1 || isOfEstimate) return [];
    return [{ day, at, root: Math.sqrt(inFull(amount)), by: at }];
  });
}
