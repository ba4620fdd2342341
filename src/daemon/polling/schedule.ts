// When something is done: polls by the cron expression with this installation's jitter; and every five seconds retries that are due,
// secrets that have changed, sessions that a command has brought, and what changes with the time of day. The only door to node-cron.
import { createTask, type Logger, validate } from 'node-cron';
import { needsAPerson } from '../../domain/health.ts';
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

export type Heartbeat = ReturnType<typeof startHeartbeat>;

const BEAT_MS = 5_000;
const TAKE_SESSIONS_EVERY_MS = 20_000;
// Midnight, a reading growing late, requests_today: all may change without a poll.
const REPUBLISH_EVERY_MS = 5 * 60_000;

export function startHeartbeat(poller: Poller, { accounts, clock, log, state, signals }: Context) {
  const stopping = new AbortController();
  let lastBeatAt = clock.monotonic();
  let wasWritable = true;
  // One that fails does not keep the others from their turn. None waits for a poll: a first history takes minutes.
  const steps = [
    { run: retryState, everyMs: 0, doneAt: lastBeatAt },
    { run: takeSessions, everyMs: TAKE_SESSIONS_EVERY_MS, doneAt: lastBeatAt },
    { run: pollAgain, everyMs: 0, doneAt: lastBeatAt },
    { run: publishAll, everyMs: REPUBLISH_EVERY_MS, doneAt: lastBeatAt },
  ];

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, stopping.signal);
      lastBeatAt = clock.monotonic();
      for (const step of steps) {
        if (stopping.signal.aborted) return;
        if (clock.monotonic() - step.doneAt < step.everyMs) continue;
        step.doneAt = clock.monotonic();
        await step.run().catch((err) => log.error({ err }, 'heartbeat fault'));
      }
    }
  }

  /** A disk that was full may have space again. */
  async function retryState(): Promise<void> {
    await state.retry();
    const isWritable = state.fault === null;
    if (isWritable === wasWritable) return;
    wasWritable = isWritable;
    if (isWritable) log.info('the state directory can be written again');
    await publishAll();
  }

  async function pollAgain(): Promise<void> {
    if (poller.isPolling) return;
    poller.retry();
    for (const { id, upstream } of accounts) {
      if (!upstream.session.isSuspended || (await upstream.login.suspendedBy()) !== null) continue;
      poller.retryNow(id, true);
      if (poller.isPolling) log.info({ account: id }, 'trying a suspended login again');
    }
  }

  /** `heat2mqtt login` may have been run. */
  async function takeSessions(): Promise<void> {
    for (const { id, upstream } of accounts) {
      const wasNeeded = needsAPerson(upstream.session.status().state);
      if (!(await upstream.session.reload())) continue;
      log.info({ account: id }, 'took the session that another heat2mqtt has signed in for');
      poller.retryNow(id, wasNeeded);
    }
  }

  async function publishAll(): Promise<void> {
    signals.emit('bridgeChanged');
    for (const { id } of accounts) signals.emit('accountChanged', id);
  }

  const running = run();
  return {
    /** Milliseconds since the last beat: proof that the event loop is alive. */
    ageMs: () => clock.monotonic() - lastBeatAt,
    stop(): Promise<void> {
      stopping.abort();
      return running;
    },
  };
}
