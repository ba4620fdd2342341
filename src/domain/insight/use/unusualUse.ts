// Whether the heat used lately is unusual: a day far outside its band, or up to three days that are so together.
import type { Ledger } from '../../ledger.ts';
import type { Day } from '../../period.ts';
import type { Tariff } from '../../tariff/tariff.ts';
import { meanOf, median } from '../statistics.ts';
import { type Expectation, inMicro, type SingleDay, singleDays } from './expectation.ts';
import { FEWEST_DAYS, Habits } from './habits.ts';
import type { FittedWeather } from './weather.ts';

export interface UnusualUse {
  /** The day by which it was found. */
  readonly since: Day;
  readonly direction: 'high' | 'low';
  /** One day by itself, or several together. */
  readonly reason: 'day' | 'drift';
}

export interface UseJudgement {
  /** Of the newest day that can be judged. */
  readonly newest: Expectation;
  /** `null`: all is as usual. */
  readonly unusual: UnusualUse | null;
}

/**
 * Standard deviations by which one day, two and three days together are unusual. Normal noise passes one of them about once in
 * 200 days, nearly always upwards: heat that fails is far lower, and a valve that does not close is only 40 % higher.
 */
const UNUSUAL = { high: [3.6, 2.95, 2.5], low: [4.2, 3.8, 3.4] } as const;
/** The newest day itself has to lie on that side, by so many standard deviations. */
const LEAST_OF_NEWEST = 0.8;
/** It is over when the mean of the newest days is less than this. */
const OVER = 1;
const DAYS_UNTIL_OVER = 4;
/** One day counts as so much at most, so that it does not last by itself. */
const MOST_OF_A_DAY = 3;
/** What lasts longer is the new normal: without the weather its level is soon no longer known. */
const NEW_NORMAL_DAYS = { weather: 21, season: 14 } as const;
const SETTLING_DAYS = 14;

interface Episode extends UnusualUse {
  /** Standard deviations of its days, in its direction, and what was used of what was expected. */
  readonly deviations: number[];
  readonly ratios: number[];
}

/**
 * Walks through the newest 400 days before `before`, judging each by those before it. The same ledger gives the same
 * answer, so that nothing needs to be kept. `null`: fewer than 30 days can be judged by.
 */
export function judgeUse(
  days: Ledger['days'],
  before: Day,
  weather: FittedWeather | null,
  tariff: Tariff | null,
): UseJudgement | null {
  const all = singleDays(days, before, weather, tariff);
  if (all.days.length <= FEWEST_DAYS) return null;
  const habits = new Habits(all.days);
  let episode: Episode | null = null;
  let newest: { day: SingleDay; expectation: ReturnType<Habits['expect']> } | null = null;
  let last = Number.NaN;
  for (const [at, day] of all.days.entries()) {
    if (day.at - last > 1) habits.interrupt();
    last = day.at;
    const expectation = habits.expect(day);
    const deviations = habits.compare(day);
    if (at >= FEWEST_DAYS) {
      newest = { day, expectation };
      const before: Episode | null = episode;
      episode = before ? goOn(before, deviations[0] ?? 0) : begin(day, deviations);
      if (before && !episode) habits.interrupt();
      episode?.ratios.push(day.energy / expectation.expected);
    }
    if (episode === null) habits.learn(day);
    else if (episode.ratios.length > NEW_NORMAL_DAYS[all.by]) {
      habits.settle(median(episode.ratios.slice(-SETTLING_DAYS)));
      episode = null;
    }
  }
  if (newest === null) return null;
  return {
    newest: inMicro(newest.day, newest.expectation, all.by),
    unusual: episode && { since: episode.since, direction: episode.direction, reason: episode.reason },
  };
}

function begin({ day }: SingleDay, deviations: readonly number[]): Episode | null {
  for (const direction of ['high', 'low'] as const) {
    const ahead = deviations.map((deviation) => (direction === 'high' ? deviation : -deviation));
    const run = ahead.findIndex(
      (deviation, at) => deviation > (UNUSUAL[direction][at] ?? Number.POSITIVE_INFINITY),
    );
    const [ofNewest = 0] = ahead;
    if (run === -1 || ofNewest < LEAST_OF_NEWEST) continue;
    return { since: day, direction, reason: run === 0 ? 'day' : 'drift', deviations: [ofNewest], ratios: [] };
  }
  return null;
}

/** `null`: it is over. A single day is over with the next usual one. */
function goOn(episode: Episode, deviation: number): Episode | null {
  const ahead = episode.direction === 'high' ? deviation : -deviation;
  const deviations = [...episode.deviations, ahead];
  const newest = deviations.slice(-DAYS_UNTIL_OVER).map((each) => Math.min(each, MOST_OF_A_DAY));
  const mean = meanOf(newest, (each) => each);
  const wasOneDay = episode.reason === 'day' && deviations.length === 2;
  if (ahead < OVER && (wasOneDay || mean < OVER)) return null;
  return { ...episode, deviations };
}
