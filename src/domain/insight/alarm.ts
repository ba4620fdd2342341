// Is something wrong? A day and three days against the days that were most like them, in units of their median deviation.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, daysOf } from '../period.ts';
import { chargesOn, type Tariff } from '../tariff/tariff.ts';
import { FLAT_DAYS } from './carriedDays.ts';
import { feltOn, type Temperatures, YEAR_DAYS } from './degreeDays.ts';
import { meanOf, median, medianDeviation } from './robust.ts';

/** What the days before let expect of one. */
export interface Expectation {
  readonly day: Day;
  readonly energy: Micro;
  readonly expected: Micro;
  /** Ends of the band that holds 99 of 100 usual days. */
  readonly low: Micro;
  readonly high: Micro;
  readonly by: 'weather' | 'season';
}

export interface UnusualUse {
  /** The day by which it was found. */
  readonly since: Day;
  readonly direction: 'high' | 'low';
  /** One day by itself, or several together. */
  readonly reason: 'day' | 'drift';
}

export interface UseJudgement {
  /** The newest day that can be judged. */
  readonly newest: Expectation;
  /** `null`: all is as usual. */
  readonly unusual: UnusualUse | null;
}

interface Judged {
  readonly day: Day;
  readonly at: number;
  /** kWh, and its square root: roots stray alike on days of little and of much heat. */
  readonly energy: number;
  readonly root: number;
  /** °C as the house felt it; without the weather `null`. */
  readonly felt: number | null;
}

const LOOK_BACK_DAYS = 400;
export const FEWEST_DAYS = 30;
/** So many days tell what is usual: the most alike of those of the same season, or the newest ones. */
const DAYS_ALIKE = { weather: 40, season: 21 };
const SEASON_DAYS = 90;
/** What a house did lately says more than what it did a year ago: so many °C for a day of the year before. */
const YEAR_AWAY = 1;
/** The mean of three days, each counted as at most so much, in standard deviations. */
const DAYS_TOGETHER = 3;
const MOST_OF_A_DAY = 3;
/** An alarm ends when three days are no further off in the mean, in standard deviations, and so many days back at the latest. */
const OVER = 1;
const LONGEST_DAYS = 14;
const UNUSUAL = { weather: 1.9, season: 2.97 };
/** One day alone: what a correct day is about once in years. */
const UNUSUAL_DAY = { weather: 5, season: 8 };
/** Two days of less than this share of what is due, where that is more than so much of the mean day. */
const FAILED_SHARE = { weather: 0.43, season: 0.4 };
const FAILED_DAYS = 2;
const MUCH_DUE = { weather: 0.6, season: 1.3 };
/** However even the days were, a root that is 3 % off is nothing. */
const LEAST_DEVIATION = 0.03;
/** 99 % of the normal distribution. */
const BAND = 2.576;
/** Without a temperature for so long the season has to do. */
const LONGEST_WAIT_DAYS = 3;

/** Judges the newest days before `before`. `null`: fewer than 30 days can be judged by. */
export function judgeUse(
  days: Ledger['days'],
  before: Day,
  temperatures: Temperatures | null,
  tariff: Tariff | null,
): UseJudgement | null {
  const all = singleDays(days, before, tariff);
  const known = temperatures ? all.flatMap((one) => withFelt(one, temperatures)) : [];
  const [newest, last] = [all.at(-1), known.at(-1)];
  const isKnown = newest && last && newest.at - last.at <= LONGEST_WAIT_DAYS && known.length > FEWEST_DAYS;
  const judged = isKnown ? known : all;
  const by = isKnown ? 'weather' : 'season';
  if (judged.length <= FEWEST_DAYS) return null;
  const mean = judged.reduce((sum, { energy }) => sum + energy, 0) / judged.length;
  const expectations = new Map<number, Usual>();
  const usualOf = (index: number): Usual => {
    const found = expectations.get(index) ?? usual(judged, index, by);
    expectations.set(index, found);
    return found;
  };
  const at = judged.length - 1;
  let unusual: UnusualUse | null = null;
  for (let index = Math.max(FEWEST_DAYS, at - LONGEST_DAYS); index <= at; index += 1) {
    const found = state(judged, index, usualOf, mean, by);
    if (found && found.direction !== unusual?.direction)
      unusual = { ...found, since: (judged[index] as Judged).day };
    else if (!found && unusual && isOver(judged, index, usualOf, unusual.direction === 'high' ? 1 : -1))
      unusual = null;
  }
  const { day, energy } = judged[at] as Judged;
  const { root, deviation } = usualOf(at);
  const end = (sigmas: number) => toMicro(Math.max(0, root + sigmas * deviation) ** 2);
  const expectation = {
    day,
    energy: toMicro(energy),
    expected: end(0),
    low: end(-BAND),
    high: end(BAND),
    by,
  } as const;
  return { newest: expectation, unusual };
}

interface Usual {
  /** Square root of kWh, and how far days are off it. */
  readonly root: number;
  readonly deviation: number;
}

function state(
  days: readonly Judged[],
  at: number,
  usualOf: (index: number) => Usual,
  mean: number,
  by: Expectation['by'],
): Pick<UnusualUse, 'direction' | 'reason'> | null {
  if (at < FEWEST_DAYS) return null;
  const together = Array.from({ length: DAYS_TOGETHER }, (_, back) => at - back).filter(
    (index) => index >= FEWEST_DAYS && (days[at]?.at ?? 0) - (days[index]?.at ?? 0) < DAYS_TOGETHER,
  );
  const failed = together.slice(0, FAILED_DAYS).filter((index) => {
    const due = usualOf(index).root ** 2;
    return (days[index]?.energy ?? 0) < FAILED_SHARE[by] * due && due > MUCH_DUE[by] * mean;
  });
  if (failed.length === FAILED_DAYS || isStopped(days, at)) return { direction: 'low', reason: 'drift' };
  const off = together.map((index) => {
    const { root, deviation } = usualOf(index);
    return ((days[index]?.root ?? 0) - root) / deviation;
  });
  if ((off[0] ?? 0) > UNUSUAL_DAY[by]) return { direction: 'high', reason: 'day' };
  if (together.length < DAYS_TOGETHER) return null;
  const sum = off.reduce((total, one) => total + Math.min(MOST_OF_A_DAY, one), 0);
  return sum > DAYS_TOGETHER * UNUSUAL[by] ? { direction: 'high', reason: 'drift' } : null;
}

/** Nothing at all on two days in a row, as no holiday of the year before has brought. */
function isStopped(days: readonly Judged[], at: number): boolean {
  const isPair = (index: number) => days[index]?.energy === 0 && days[index - 1]?.energy === 0;
  if (!isPair(at)) return false;
  let first = at;
  while (days[first - 1]?.energy === 0) first -= 1;
  return !days.slice(0, first).some((_, index) => isPair(index));
}

/** The mean of three days is near what was expected. */
function isOver(
  days: readonly Judged[],
  at: number,
  usualOf: (index: number) => Usual,
  sign: number,
): boolean {
  const off = [at, at - 1, at - 2].map((index) => {
    const { root, deviation } = usualOf(index);
    const sigmas = (sign * ((days[index]?.root ?? 0) - root)) / deviation;
    return Math.max(-MOST_OF_A_DAY, Math.min(MOST_OF_A_DAY, sigmas));
  });
  return meanOf(off, (one) => one) < OVER;
}

/** The median of the days that are most alike, and their median absolute deviation from it. */
function usual(days: readonly Judged[], at: number, by: Expectation['by']): Usual {
  const day = days[at] as Judged;
  const earlier = days.slice(0, Math.max(1, at - DAYS_TOGETHER + 1));
  const alike = by === 'season' ? earlier.slice(-DAYS_ALIKE.season) : nearest(earlier, day);
  const roots = alike.map(({ root }) => root);
  const root = median(roots);
  return { root, deviation: Math.max(medianDeviation(roots, root), LEAST_DEVIATION * root, 1e-3) };
}

function nearest(earlier: readonly Judged[], day: Judged): readonly Judged[] {
  const distances = Float64Array.from(earlier, (one) => {
    const apart = day.at - one.at;
    const ofYear = Math.min(apart % YEAR_DAYS, YEAR_DAYS - (apart % YEAR_DAYS));
    if (ofYear > SEASON_DAYS) return Number.POSITIVE_INFINITY;
    return Math.abs((one.felt ?? 0) - (day.felt ?? 0)) + (apart > YEAR_DAYS / 2 ? YEAR_AWAY : 0);
  });
  const farthest = Float64Array.from(distances).sort()[DAYS_ALIKE.weather - 1] ?? Number.POSITIVE_INFINITY;
  if (farthest === Number.POSITIVE_INFINITY) return earlier.slice(-DAYS_ALIKE.weather);
  return earlier.filter((_, at) => (distances[at] as number) <= farthest);
}

function withFelt(one: Judged, temperatures: Temperatures): Judged[] {
  const felt = feltOn(temperatures, one.day);
  return felt === null ? [] : [{ ...one, felt }];
}

/**
 * Days whose reading is of that day alone. A reading after a missed one may hold its day as well, and so may one after a day
 * of 0; a day of 0 after others may be a missed reading. Equal readings in a row are estimates, and the one after them puts
 * them right.
 */
function singleDays(days: Ledger['days'], before: Day, tariff: Tariff | null): Judged[] {
  const alone: Judged[] = [];
  let previous: number | null = null;
  let equal = 1;
  const within = daysOf({ from: addDays(before, -LOOK_BACK_DAYS), to: before });
  for (const [at, day] of within.entries()) {
    const given = days.get(day)?.energy ?? null;
    const energy = given === null ? null : inFull(given);
    const wasFlat = equal >= FLAT_DAYS && previous !== null && previous > 0;
    equal = energy !== null && energy === previous ? equal + 1 : 1;
    const isFlat = equal >= FLAT_DAYS && energy !== null && energy > 0;
    const isAlone =
      energy !== null && previous !== null && energy > 0 === previous > 0 && !isFlat && !wasFlat;
    const isFollowed = days.has(within[at + 1] ?? before);
    const charges = tariff && !isFollowed ? chargesOn(tariff, days, day) : 1;
    if (isAlone && (charges ?? 1) <= 1) alone.push({ day, at, energy, root: Math.sqrt(energy), felt: null });
    previous = energy;
  }
  return alone;
}
