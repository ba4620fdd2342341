// Polls the accounts, a few at a time: scheduled and requested polls, retries and backfills are all one round.
import type { Account, AccountOutcome } from '../../accounts/account.ts';
import { chooseReaders, readInstead } from '../../accounts/sharedMeters.ts';
import type { DaySpan } from '../../domain/period.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit, RateLimit, SingleFlight } from '../../foundation/limits.ts';
import type { Context, Trouble } from '../context.ts';
import { countsOf, tellChanges, tellPolled } from './pollLog.ts';

export interface PollOutcome {
  readonly accounts: readonly AccountOutcome[];
  /** Accounts left out because the provider asked for more time (`Retry-After`). */
  readonly postponed: readonly string[];
}

/** Why a requested poll is not done now, and from when on it would be; epoch milliseconds. */
export interface PollRefusal {
  readonly reason: 'cool_down' | 'retry_after';
  readonly until: number;
}

interface TroubleRecord extends Trouble {
  /** On the monotonic clock, as the two waits that begin there. */
  readonly failedAt: number;
  readonly waitMs: number | null;
  readonly retryAfterMs: number;
}

const COOLDOWN_MS = 5 * 60_000;
// With more accounts than this, the log has one line for a poll and one for each failure.
const MOST_NAMED = 50;

export type Poller = ReturnType<typeof openPoller>;

export function openPoller(accounts: readonly Account[], context: Context) {
  const { clock, log, zone, signals, limit } = context;
  const isCrowd = accounts.length > MOST_NAMED;
  const troubles = new Map<string, TroubleRecord>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const oneAtATime = concurrencyLimit(1);
  const cooldown = new RateLimit(clock, 1, COOLDOWN_MS);
  const pollOfAll = new SingleFlight<PollOutcome>();

  const isPolling = (): boolean => oneAtATime.activeCount + oneAtATime.pendingCount > 0;
  const sinceFailure = ({ failedAt }: TroubleRecord): number => clock.monotonic() - failedAt;

  /** How long the provider wants no request of the account (`Retry-After`); 0 or less: it does not say so. */
  function postponedMs({ id }: Account): number {
    const trouble = troubles.get(id);
    return trouble ? trouble.retryAfterMs - sinceFailure(trouble) : 0;
  }
  const isPostponed = (account: Account): boolean => postponedMs(account) > 0;

  function isDue({ id }: Account): boolean {
    const trouble = troubles.get(id);
    return trouble?.waitMs != null && sinceFailure(trouble) >= trouble.waitMs;
  }

  async function round(some: readonly Account[], again?: DaySpan): Promise<PollOutcome> {
    const outcomes: AccountOutcome[] = [];
    const readers = chooseReaders(accounts, (account) => account.isUsable && !isPostponed(account));
    const postponed = some.filter(isPostponed);
    const queue = some.filter((account) => !postponed.includes(account)).values();
    // Workers, not one long line of steps: refreshes and extras share the limit, and must get their turn in between.
    const work = async () => {
      for (const account of queue) {
        if (signal.aborted) return;
        const outcome = await limit(() => account.poll(signal, again, readers.get(account)));
        if (signal.aborted) return;
        const before = troubles.get(account.id);
        note(account, outcome);
        outcomes.push(outcome);
        // At once: a slow account does not delay the others.
        signals.emit('polled', outcome, before);
      }
    };
    await Promise.all(Array.from({ length: limit.concurrency }, work));
    const instead = await readInstead(accounts, outcomes, signal, again);
    for (const outcome of instead) {
      const reader = accounts.find(({ id }) => id === outcome.account);
      if (reader && !isCrowd) tellChanges(reader, outcome, log);
      signals.emit('polled', outcome, undefined);
    }
    if (isCrowd) log.info(summaryOf(outcomes), 'accounts polled');
    if (!signal.aborted) signals.emit('pollEnded');
    return {
      accounts: outcomes.map((outcome) => withEvents(outcome, instead)),
      postponed: postponed.map(({ id }) => id),
    };
  }

  function note(account: Account, outcome: AccountOutcome): void {
    const { fault } = outcome;
    const { id } = account;
    if (fault === null) {
      troubles.delete(id);
      if (isCrowd) log.debug({ account: id }, 'polled');
      else tellPolled(account, outcome, log);
      return;
    }
    const failuresInARow = (troubles.get(id)?.failuresInARow ?? 0) + 1;
    const waitMs = account.retryDelayMs(fault, failuresInARow);
    const retryAt = waitMs === null ? null : clock.now() + waitMs;
    const retryAfterMs = fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0;
    const failedAt = clock.monotonic();
    troubles.set(id, { account: id, fault, failuresInARow, retryAt, failedAt, waitMs, retryAfterMs });
    // A Failure tells everything in its words; anything else is a bug of ours and needs its stack.
    if (fault instanceof Failure)
      log.warn({ account: id, ...safeWords(fault), retryAt: retryAt && zone.iso(retryAt) }, 'poll failed');
    else log.error({ account: id, err: fault }, 'poll failed unexpectedly');
  }

  /** Polls the accounts whose retry is due, unless a poll is under way. */
  function retry(): void {
    const due = accounts.filter((account) => isDue(account) && !isPostponed(account));
    if (due.length > 0 && !isPolling()) void oneAtATime(() => round(due));
  }

  /** Why a requested poll is not done now; `null`: it would be done. */
  function refusal(): PollRefusal | null {
    const coolDownMs = cooldown.waitMs();
    const allPostponedMs = accounts.length > 0 ? Math.min(...accounts.map(postponedMs)) : 0;
    const waitMs = Math.max(coolDownMs, allPostponedMs);
    if (waitMs <= 0) return null;
    const reason = allPostponedMs > coolDownMs ? 'retry_after' : 'cool_down';
    return { reason, until: clock.now() + waitMs };
  }

  return {
    retry,
    refusal,
    get isPolling(): boolean {
      return isPolling();
    },
    get troubles(): readonly Trouble[] {
      return [...troubles.values()];
    },
    /** Polls all accounts, after what may be under way. Calls during that time share its outcome. Never rejects. */
    poll: (): Promise<PollOutcome> => pollOfAll.run(() => oneAtATime(() => round(accounts))),
    /** Reads a span of days again, after what may be under way. Never rejects. */
    backfill: (span: DaySpan): Promise<PollOutcome> => oneAtATime(() => round(accounts, span)),
    /** What troubled the account may be over: its retry is due now. `always`: also after a poll that went well. */
    retryNow(id: string, always = false): void {
      const trouble = troubles.get(id);
      if (trouble) troubles.set(id, { ...trouble, waitMs: 0 });
      retry();
      if (trouble || !always || isPolling()) return;
      void oneAtATime(() => round(accounts.filter((account) => account.id === id)));
    },
    /** The same as `refusal`; without one the cooldown begins anew. */
    acceptRequest(): PollRefusal | null {
      const refused = refusal();
      if (refused !== null) return refused;
      cooldown.tryStart();
      signals.emit('bridgeChanged');
      return null;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await oneAtATime(async () => undefined);
    },
  };
}

const withEvents = (outcome: AccountOutcome, more: readonly AccountOutcome[]): AccountOutcome => {
  const own = more.filter(({ account }) => account === outcome.account);
  return { ...outcome, events: [...outcome.events, ...own.flatMap(({ events }) => events)] };
};

const summaryOf = (outcomes: readonly AccountOutcome[]) => ({
  accounts: outcomes.length,
  failed: outcomes.filter(({ fault }) => fault !== null).length,
  ...countsOf(outcomes.flatMap(({ events }) => events)),
});
