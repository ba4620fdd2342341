// The times of the schedule: node-cron is asked for them, and none of its timers is used. The only door to node-cron.
import { createTask, validate } from 'node-cron';

/** The next times of a cron expression, from the present moment on. Epoch milliseconds. */
export interface CronTimes {
  readonly next: (count: number) => readonly number[];
  /** One of its times is in this second. */
  readonly matches: (at: number) => boolean;
}

export function cronTimes(expression: string, timezone: string): CronTimes {
  const task = createTask(expression, () => undefined, { timezone });
  return {
    next: (count) => task.getNextRuns(count).map((at) => at.getTime()),
    matches: (at) => task.match(new Date(at)),
  };
}

/** The next times, so many of them; `null`: this is no cron expression, and `[]`: it names no time that ever comes in the zone. */
export function nextTimes(expression: string, timezone: string, count: number): readonly number[] | null {
  if (!validate(expression)) return null;
  try {
    return cronTimes(expression, timezone).next(count);
  } catch {
    return [];
  }
}

/** A time of the schedule, and the milliseconds from it to the one after. */
interface Tick {
  readonly at: number;
  readonly stepMs: number;
}

/** The next time of the schedule after `now`, which is the present moment by the wall clock. */
export type NextTick = (now: number) => Tick;

/** Asks again once the time has passed, or lies further away than when it was asked for: whatever the clock does costs one question. */
export function ticksOf({ next }: Pick<CronTimes, 'next'>): NextTick {
  let askedAt = Number.POSITIVE_INFINITY;
  let tick: Tick = { at: Number.NEGATIVE_INFINITY, stepMs: 0 };
  return (now) => {
    if (now >= askedAt && now < tick.at) return tick;
    const [first = now, second = first] = next(2);
    askedAt = now;
    tick = { at: first, stepMs: second - first };
    return tick;
  };
}

/** The poll that belongs to the next tick: it comes after the delay of this installation, for which no ticks may pile up. */
export function nextSlot(tick: Tick, jitterMs: number): number {
  return tick.at + Math.min(jitterMs, tick.stepMs / 2);
}
