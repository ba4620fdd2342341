// Works on the accounts that are due, a few at a time: claims them, runs them, and gives them back.
import { Failure, safeWords } from '../foundation/failure.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import { backOffMs } from '../foundation/retry.ts';
import type { Claim, Columns, End } from '../store/database/claim.ts';
import { DatabaseTrouble } from '../store/database/database.ts';
import { FLEET_PAUSED } from './pace.ts';
import { failureColumns, type ProcessParts, runAccount } from './run.ts';

const LOOK_MS = 500;
/** Several that have become free are taken by one statement. */
const GATHER_MS = 30;
const AGAIN_MS = 2_000;
const RENEWALS = 6;
/** While others are overdue, first histories have this part of what a process does at once. */
const SHARE_OF_FIRST_HISTORIES = 0.25;

export function startWorker(claimSeconds: number, parts: ProcessParts) {
  const { context, link, pace, claims } = parts;
  const { clock, log } = context;
  const { concurrency } = context.config.usage;
  const share = Math.max(1, Math.floor(concurrency * SHARE_OF_FIRST_HISTORIES));
  const running = new Map<Claim, Promise<void>>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const throttledLog = new ThrottledLog(clock, log);

  async function work(): Promise<void> {
    while (!signal.aborted) {
      const free = concurrency - running.size;
      // Unpublished messages would keep the account from others.
      const mayWork = free > 0 && link.status().connected && pace.pausedMs() === 0;
      const underWay = [...running.keys()].filter(({ row }) => row.first_history).length;
      const firstHistories = Math.min(free, Math.max(0, share - underWay));
      const taken = mayWork ? ((await claims.take(free, firstHistories).catch(tell)) ?? []) : [];
      // A renewal that came before the end of the statement would not find these rows, and end their claims.
      for (const claim of taken) running.set(claim, run(claim));
      await clock.sleep(taken.length > 0 || free === 0 ? GATHER_MS : LOOK_MS, signal);
    }
  }

  /** Never rejects. */
  async function run(claim: Claim): Promise<void> {
    try {
      await claim.open();
      await runAccount(claim, parts);
    } catch (err) {
      logDropped(claim, err);
      const { columns, end } = afterFailedRun(claim, err, context);
      // A claim that cannot be given back ends by itself.
      await claim.abandon(columns, end).catch(() => undefined);
    } finally {
      claim.end();
      running.delete(claim);
    }
  }

  /** Keeps what is under way. No other step may delay it. */
  async function renew(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep((claimSeconds * 1000) / RENEWALS, signal);
      await claims.renew([...running.keys()]).catch(tell);
    }
  }

  function logDropped(claim: Claim, err: unknown): void {
    const { id: account } = claim;
    if (claim.remainingMs() <= 0) log.debug({ account }, 'run dropped: the account is no longer ours');
    else if (!(err instanceof Failure)) log.error({ account, err }, 'run failed unexpectedly');
    else if (err.code === FLEET_PAUSED) log.debug({ account }, 'run dropped: the provider asks for a pause');
    else tell(err, account);
  }

  function tell(err: unknown, account?: string): void {
    const words = { ...(account && { account }), ...safeWords(err) };
    throttledLog.write('warn', words.code, words, 'the fleet met a fault: tried again');
  }

  const loops = Promise.all([work(), renew()]);
  return {
    underWay: () => running.size,
    /** Runs under way may come to their end within `graceMs`; the rest is left to others. */
    async stop(graceMs: number): Promise<void> {
      stopping.abort();
      const ended = Promise.all(running.values());
      await Promise.race([ended, clock.sleep(graceMs)]);
      for (const claim of running.keys()) claim.end();
      await ended;
      await loops;
    },
  };
}

/** A failure that is not the account's does not count; any other does, and the account waits longer each time. */
export function afterFailedRun(
  { row, signal }: Pick<Claim, 'row' | 'signal'>,
  err: unknown,
  { clock, random }: Pick<ProcessParts['context'], 'clock' | 'random'>,
): { columns: Columns; end: End } {
  const now = clock.now();
  const isOwn = !signal.aborted && !(err instanceof DatabaseTrouble);
  const otherMs = signal.reason?.retryAfterMs ?? AGAIN_MS;
  // A run between two polls, such as one that only publishes again, meets the same fault: it is counted already.
  const isAgain = row.failures > 0 && row.wanted === 0 && row.poll_at > now;
  const before = isAgain ? { ...row, failures: row.failures - 1 } : row;
  const dueAt = new Date(now + (isOwn ? backOffMs(err, before.failures + 1, random) : otherMs));
  return {
    columns: isOwn ? { ...failureColumns(err, before, now), poll_at: dueAt } : {},
    end: { dueAt, isPolled: isOwn, isPublished: isOwn },
  };
}
