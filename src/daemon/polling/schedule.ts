// When to poll: the cron expression with this installation's jitter. The only door to node-cron.
import { createTask, type Logger, validate } from 'node-cron';
import type { Log } from '../../foundation/log.ts';
import type { Context } from '../context.ts';
import type { Poller } from './poller.ts';

/** A cron expression that ticks. Times are epoch milliseconds. */
export interface Ticker {
  next(): number | null;
  /** Milliseconds from the next tick to the one after it. */
  step(): number;
  stop(): void;
}

export type StartTicker = (expression: string, timezone: string, onTick: () => void, log: Log) => Ticker;

export const isCronExpression = (expression: string): boolean => validate(expression);

export const startCron: StartTicker = (expression, timezone, onTick, log) => {
  // node-cron writes to the console unless it is given a logger.
  const logger: Logger = {
    info: (text) => log.debug(text),
    warn: (text) => log.warn(text),
    error: (text) => log.error({ err: text }, 'scheduler fault'),
    debug: (text) => log.debug(String(text)),
  };
  const task = createTask(expression, onTick, { timezone, logger, suppressMissedWarning: true });
  void task.start();
  return {
    next: () => task.getNextRun()?.getTime() ?? null,
    step() {
      const [first, second] = task.getNextRuns(2);
      return first && second ? second.getTime() - first.getTime() : 0;
    },
    stop: () => void task.destroy(),
  };
};

/** The times of an expression, without a timer: so many of the next, and whether one is in a second. */
export function cronTimes(expression: string, timezone: string) {
  const task = createTask(expression, () => undefined, { timezone });
  return {
    next: (count: number) => task.getNextRuns(count).map((at) => at.getTime()),
    matches: (at: number) => task.match(new Date(at)),
  };
}

export type Schedule = ReturnType<typeof startSchedule>;

/** `jitterMs`: this installation's fixed delay after each tick. Without accounts there is nothing to schedule. */
export function startSchedule(poller: Poller, jitterMs: number, startTicker: StartTicker, context: Context) {
  const { accounts, config, clock, log } = context;
  const { schedule, timezone } = config.usage;
  const stopping = new AbortController();
  let delayedUntil: number | null = null;
  const ticker = accounts.length > 0 ? startTicker(schedule, timezone, () => void onTick(), log) : null;
  const stepMs = (): number => ticker?.step() ?? 0;
  /** A jitter longer than the step would let ticks pile up. */
  const delayMs = (): number => Math.min(jitterMs, stepMs() / 2);

  async function onTick(): Promise<void> {
    // A tick during the delay of the one before belongs to that one.
    if (delayedUntil !== null) return;
    const delay = delayMs();
    delayedUntil = clock.now() + delay;
    await clock.sleep(delay, stopping.signal);
    delayedUntil = null;
    if (!stopping.signal.aborted) await poller.poll();
  }

  return {
    /** Epoch milliseconds of the next poll that is planned: a tick or a retry. */
    nextPollAt(): number | null {
      const tick = ticker?.next() ?? null;
      const retries = [...poller.troubles.values()].map(({ retryAt }) => retryAt);
      const times = [delayedUntil, tick === null ? null : tick + delayMs(), ...retries];
      const known = times.filter((time) => time !== null);
      return known.length === 0 ? null : Math.min(...known);
    },
    /** Whether everything was read so lately that the next tick is soon enough. */
    isRecent: (): boolean =>
      accounts.every(({ meters, history }) => {
        const { lastSuccessAt } = history.record;
        if (lastSuccessAt === null || !meters?.every(({ ledger }) => ledger.complete)) return false;
        const ageMs = clock.now() - lastSuccessAt;
        return ageMs >= 0 && ageMs < stepMs();
      }),
    stop(): void {
      stopping.abort();
      ticker?.stop();
    },
  };
}
