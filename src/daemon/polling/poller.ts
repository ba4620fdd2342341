// Polls the accounts, a few at a time. Scheduled polls, requested polls, retries and backfills are all this class.

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

export class Poller {
  readonly #accounts: readonly Account[];
  readonly #context: Context;
  readonly #isCrowd: boolean;
  readonly #troubles = new Map<string, TroubleRecord>();
  readonly #stopping = new AbortController();
  readonly #oneAtATime = concurrencyLimit(1);
  readonly #cooldown: RateLimit;
  readonly #pollOfAll = new SingleFlight<PollOutcome>();

  constructor(accounts: readonly Account[], context: Context) {
    this.#accounts = accounts;
    this.#context = context;
    this.#isCrowd = accounts.length > MOST_NAMED;
    this.#cooldown = new RateLimit(context.clock, 1, COOLDOWN_MS);
  }

  /** Polls all accounts, after what may be under way. Calls during that time share its outcome. Never rejects. */
  poll(): Promise<PollOutcome> {
    return this.#pollOfAll.run(() => this.#oneAtATime(() => this.#round(this.#accounts)));
  }

  /** Reads a span of days again, after what may be under way. Never rejects. */
  backfill(span: DaySpan): Promise<PollOutcome> {
    return this.#oneAtATime(() => this.#round(this.#accounts, span));
  }

  /** Polls the accounts whose retry is due, unless a poll is under way. */
  retry(): void {
    const due = this.#accounts.filter(({ id }) => this.#isDue(id) && !this.#isPostponed(id));
    if (due.length > 0 && !this.isPolling) void this.#oneAtATime(() => this.#round(due));
  }

  /** What troubled the account may be over: its retry is due now. `always`: also after a poll that went well. */
  retryNow(id: string, always = false): void {
    const trouble = this.#troubles.get(id);
    if (trouble) this.#troubles.set(id, { ...trouble, waitMs: 0 });
    this.retry();
    if (trouble || !always || this.isPolling) return;
    void this.#oneAtATime(() => this.#round(this.#accounts.filter((account) => account.id === id)));
  }

  get isPolling(): boolean {
    return this.#oneAtATime.activeCount + this.#oneAtATime.pendingCount > 0;
  }

  get troubles(): readonly Trouble[] {
    return [...this.#troubles.values()];
  }

  /** Why a requested poll is not done now; `null`: it would be done. */
  refusal(): PollRefusal | null {
    const [coolDownMs, postponedMs] = [this.#cooldown.waitMs(), this.#postponedMs()];
    const waitMs = Math.max(coolDownMs, postponedMs);
    if (waitMs <= 0) return null;
    const reason = postponedMs > coolDownMs ? 'retry_after' : 'cool_down';
    return { reason, until: this.#context.clock.now() + waitMs };
  }

  /** The same; without a refusal the cooldown begins anew. */
  acceptRequest(): PollRefusal | null {
    const refusal = this.refusal();
    if (refusal === null) {
      this.#cooldown.tryStart();
      this.#context.signals.emit('bridgeChanged');
    }
    return refusal;
  }

  /** How long the provider wants no request of any account (`Retry-After`); 0 or less: it does not say so. */
  #postponedMs(): number {
    const waits = this.#accounts.map(({ id }) => {
      const trouble = this.#troubles.get(id);
      return trouble ? trouble.retryAfterMs - this.#sinceFailure(trouble) : 0;
    });
    return waits.length > 0 ? Math.min(...waits) : 0;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#oneAtATime(async () => undefined);
  }

  async #round(accounts: readonly Account[], again?: DaySpan): Promise<PollOutcome> {
    const { signals, limit, log } = this.#context;
    const { signal } = this.#stopping;
    const outcomes: AccountOutcome[] = [];
    const isUsable = (account: Account) => account.isUsable && !this.#isPostponed(account.id);
    const readers = chooseReaders(this.#accounts, isUsable);
    const postponed = accounts.filter(({ id }) => this.#isPostponed(id)).map(({ id }) => id);
    const queue = accounts.filter(({ id }) => !postponed.includes(id)).values();
    // Workers, not one long line of steps: refreshes and extras share the limit, and must get their turn in between.
    const work = async () => {
      for (const account of queue) {
        if (signal.aborted) return;
        const outcome = await limit(() => account.poll(signal, again, readers.get(account)));
        if (signal.aborted) return;
        const before = this.#troubles.get(outcome.account);
        this.#note(account, outcome);
        outcomes.push(outcome);
        // At once: a slow account does not delay the others.
        signals.emit('polled', outcome, before);
      }
    };
    await Promise.all(Array.from({ length: limit.concurrency }, work));
    const instead = await readInstead(this.#accounts, outcomes, signal, again);
    for (const outcome of instead) {
      const reader = this.#accounts.find(({ id }) => id === outcome.account);
      if (reader && !this.#isCrowd) tellChanges(reader, outcome, log);
      signals.emit('polled', outcome, undefined);
    }
    if (this.#isCrowd) log.info(summaryOf(outcomes), 'accounts polled');
    if (!signal.aborted) signals.emit('pollEnded');
    return { accounts: outcomes.map((outcome) => withEvents(outcome, instead)), postponed };
  }

  #note(account: Account, outcome: AccountOutcome): void {
    const { fault } = outcome;
    const { id } = account;
    const { clock, log, zone } = this.#context;
    if (fault === null) {
      this.#troubles.delete(id);
      if (this.#isCrowd) log.debug({ account: id }, 'polled');
      else tellPolled(account, outcome, log);
      return;
    }
    const failuresInARow = (this.#troubles.get(id)?.failuresInARow ?? 0) + 1;
    const waitMs = account.retryDelayMs(fault, failuresInARow);
    const retryAt = waitMs === null ? null : clock.now() + waitMs;
    this.#troubles.set(id, {
      account: id,
      fault,
      failuresInARow,
      retryAt,
      failedAt: clock.monotonic(),
      waitMs,
      retryAfterMs: fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0,
    });
    // A Failure tells everything in its words; anything else is a bug of ours and needs its stack.
    if (fault instanceof Failure)
      log.warn({ account: id, ...safeWords(fault), retryAt: retryAt && zone.iso(retryAt) }, 'poll failed');
    else log.error({ account: id, err: fault }, 'poll failed unexpectedly');
  }

  #sinceFailure({ failedAt }: TroubleRecord): number {
    return this.#context.clock.monotonic() - failedAt;
  }

  #isPostponed(id: string): boolean {
    const trouble = this.#troubles.get(id);
    return trouble !== undefined && this.#sinceFailure(trouble) < trouble.retryAfterMs;
  }

  #isDue(id: string): boolean {
    const trouble = this.#troubles.get(id);
    return trouble?.waitMs != null && this.#sinceFailure(trouble) >= trouble.waitMs;
  }
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
