// When to poll: the cron expression with this installation's jitter. The only door to node-cron.
import { createTask, type Logger, validate } from 'node-cron';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import type { Poller } from './poll.ts';

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

export interface Schedule {
  /** Epoch milliseconds of the next poll that is planned. */
  nextPollAt(): number | null;
  /** Milliseconds between polls. */
  step(): number;
  stop(): void;
}

const NO_TICKER: Ticker = { next: () => null, step: () => 0, stop: () => undefined };

export interface ScheduleParts {
  /** `null`: there is nothing to poll. */
  readonly expression: string | null;
  readonly timezone: string;
  /** This installation's fixed delay after each tick. */
  readonly jitterMs: number;
  readonly startTicker: StartTicker;
  readonly poller: Poller;
  readonly clock: Clock;
  readonly log: Log;
}

export function startSchedule(parts: ScheduleParts): Schedule {
  const { poller, clock } = parts;
  const stopping = new AbortController();
  let delayedUntil: number | null = null;

  async function onTick(): Promise<void> {
    // A tick during the delay of the one before belongs to that one.
    if (delayedUntil !== null) return;
    const delay = jitter();
    delayedUntil = clock.now() + delay;
    await clock.sleep(delay, stopping.signal);
    delayedUntil = null;
    if (!stopping.signal.aborted) await poller.poll('all');
  }

  const nextRetryAt = (): number | null => {
    const times = poller.troubles.flatMap(({ retryAt }) => retryAt ?? []);
    return times.length === 0 ? null : Math.min(...times);
  };

  const { expression } = parts;
  const ticker =
    expression === null
      ? NO_TICKER
      : parts.startTicker(expression, parts.timezone, () => void onTick(), parts.log);
  // A jitter longer than the step would let ticks pile up.
  const jitter = () => Math.min(parts.jitterMs, ticker.step() / 2);

  return {
    nextPollAt() {
      const tick = ticker.next();
      const times = [delayedUntil, nextRetryAt(), tick === null ? null : tick + jitter()];
      const known = times.filter((time) => time !== null);
      return known.length === 0 ? null : Math.min(...known);
    },
    step: () => ticker.step(),
    stop() {
      stopping.abort();
      ticker.stop();
    },
  };
}

/** Was everything read so lately that the next tick is soon enough? Times in epoch milliseconds. */
export function isFresh(accounts: readonly AccountRuntime[], stepMs: number, now: number): boolean {
  return accounts.every(({ meters, journal: { lastSuccessAt } }) => {
    if (lastSuccessAt === null || !meters?.every(({ ledger }) => ledger.complete)) return false;
    const age = now - lastSuccessAt;
    return age >= 0 && age < stepMs;
  });
}
