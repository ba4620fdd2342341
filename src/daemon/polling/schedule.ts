// When to poll: the cron expression with this installation's jitter. The only door to node-cron.
import { createTask, type Logger, validate } from 'node-cron';
import type { Account } from '../../accounts/account.ts';
import type { Clock } from '../../foundation/clock.ts';
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

export class Schedule {
  readonly #poller: Poller;
  readonly #clock: Clock;
  readonly #jitterMs: number;
  readonly #ticker: Ticker | null;
  readonly #stopping = new AbortController();
  #delayedUntil: number | null = null;

  /** `jitterMs`: this installation's fixed delay after each tick. Without accounts there is nothing to schedule. */
  constructor(poller: Poller, jitterMs: number, startTicker: StartTicker, { config, clock, log }: Context) {
    const { schedule, timezone } = config.usage;
    this.#poller = poller;
    this.#clock = clock;
    this.#jitterMs = jitterMs;
    const hasAccounts = config.accounts.length > 0;
    this.#ticker = hasAccounts ? startTicker(schedule, timezone, () => void this.#onTick(), log) : null;
  }

  /** Epoch milliseconds of the next poll that is planned: a tick or a retry. */
  nextPollAt(): number | null {
    const tick = this.#ticker?.next() ?? null;
    const retries = this.#poller.troubles.map(({ retryAt }) => retryAt);
    const times = [this.#delayedUntil, tick === null ? null : tick + this.#delay(), ...retries];
    const known = times.filter((time) => time !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  /** Was everything read so lately that the next tick is soon enough? */
  isRecent(accounts: readonly Account[]): boolean {
    const stepMs = this.#ticker?.step() ?? 0;
    return accounts.every(({ meters, history }) => {
      const { lastSuccessAt } = history.record;
      if (lastSuccessAt === null || !meters?.every(({ ledger }) => ledger.complete)) return false;
      const ageMs = this.#clock.now() - lastSuccessAt;
      return ageMs >= 0 && ageMs < stepMs;
    });
  }

  stop(): void {
    this.#stopping.abort();
    this.#ticker?.stop();
  }

  async #onTick(): Promise<void> {
    // A tick during the delay of the one before belongs to that one.
    if (this.#delayedUntil !== null) return;
    const delay = this.#delay();
    this.#delayedUntil = this.#clock.now() + delay;
    await this.#clock.sleep(delay, this.#stopping.signal);
    this.#delayedUntil = null;
    if (!this.#stopping.signal.aborted) await this.#poller.poll();
  }

  /** A jitter longer than the step would let ticks pile up. */
  #delay(): number {
    return Math.min(this.#jitterMs, (this.#ticker?.step() ?? 0) / 2);
  }
}
