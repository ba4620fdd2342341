// Polls the accounts, a few at a time: scheduled and requested polls, retries and backfills are all one round.
import type { Account, AccountOutcome } from '../../accounts/account.ts';
import { eventsOfPoll } from '../../accounts/composition.ts';
import type { MeterEvent } from '../../accounts/context.ts';
import type { Meter } from '../../accounts/meter.ts';
import { knownUnits } from '../../domain/amount.ts';
import type { Change } from '../../domain/ledger.ts';
import type { DaySpan } from '../../domain/period.ts';
import { EXIT, Failure, failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit, RateLimit, SingleFlight } from '../../foundation/limits.ts';
import type { Context } from '../context.ts';

/** An account whose last poll failed. */
export interface Trouble {
  readonly fault: unknown;
  /** Since the start: 0 for what is told of the time before it. */
  readonly failuresInARow: number;
  /** Epoch milliseconds of the next try; `null`: none is planned. */
  readonly retryAt: number | null;
  /** The same on the monotonic clock. */
  readonly dueAt: number | null;
  /** The provider wants no request before (`Retry-After`); on the monotonic clock. */
  readonly postponedUntil: number;
}

/** Why a requested poll is not done now, and from when on it would be; epoch milliseconds. */
export interface PollRefusal {
  readonly reason: 'cool_down' | 'retry_after';
  readonly until: number;
}

const COOLDOWN_MS = 5 * 60_000;
// With more accounts than this, the log has one line for a poll and one for each failure.
const MOST_NAMED = 50;
// More changes come at once only after a long outage or a backfill.
const MOST_CHANGES_TOLD = 7;

export type Poller = ReturnType<typeof openPoller>;

export function openPoller(context: Context) {
  const { accounts, clock, log, zone, counters, link, signals, limit } = context;
  const isCrowd = accounts.length > MOST_NAMED;
  const troubles = new Map(accounts.flatMap((account) => troubleBefore(account)));
  const stopping = new AbortController();
  const { signal } = stopping;
  const oneAtATime = concurrencyLimit(1);
  const cooldown = new RateLimit(clock, 1, COOLDOWN_MS);
  const pollOfAll = new SingleFlight<readonly AccountOutcome[]>();

  const isPolling = (): boolean => oneAtATime.activeCount + oneAtATime.pendingCount > 0;
  /** How long the provider wants no request of the account; 0 or less: it does not say so. */
  const postponedMs = ({ id }: Account): number =>
    (troubles.get(id)?.postponedUntil ?? Number.NEGATIVE_INFINITY) - clock.monotonic();
  const isPostponed = (account: Account): boolean => postponedMs(account) > 0;
  const isDue = ({ id }: Account): boolean =>
    (troubles.get(id)?.dueAt ?? Number.POSITIVE_INFINITY) <= clock.monotonic();

  /** What the last poll before this start failed of, which is told until one succeeds. The retries begin again. */
  function troubleBefore({ id, history }: Account): [string, Trouble][] {
    const code = history.record.polls.at(-1)?.[1] ?? null;
    if (code === null) return [];
    const fault = failure(code, `The last poll before heat2mqtt was started again failed (${code}).`, {
      exit: EXIT.provider,
      retry: 'later',
      hint: 'The next poll shows whether this is over.',
    });
    const postponedUntil = Number.NEGATIVE_INFINITY;
    return [[id, { fault, failuresInARow: 0, retryAt: null, dueAt: null, postponedUntil }]];
  }

  /** Accounts that the provider has told to wait are left out, and those whose totals begin after the days to be read again. */
  async function round(some: readonly Account[], again?: DaySpan): Promise<readonly AccountOutcome[]> {
    const outcomes: AccountOutcome[] = [];
    const readers = readersOf((account) => account.isUsable && !isPostponed(account));
    // Nothing would be asked of them, which tells nothing about the provider.
    const beginsLater = (account: Account) => {
      const meters = readers.get(account) ?? [];
      return again && meters.length > 0 && meters.every(({ ledger }) => ledger.origin >= again.to);
    };
    const queue = some.filter((account) => !isPostponed(account) && !beginsLater(account)).values();
    // Workers, not one long line of steps: refreshes and extras share the limit, and must get their turn in between.
    const work = async () => {
      for (const account of queue) {
        if (signal.aborted) return;
        const outcome = await limit(() => account.poll(signal, again, readers.get(account)));
        if (signal.aborted) return;
        outcomes.push(outcome);
        // At once: a slow account does not delay the others.
        take(account, outcome);
      }
    };
    await Promise.all(Array.from({ length: limit.concurrency }, work));
    const instead = await readInstead(outcomes, again);
    if (isCrowd) log.info(summaryOf(outcomes), 'accounts polled');
    if (!signal.aborted) signals.emit('pollEnded');
    return outcomes.map((outcome) => {
      const more = instead.filter(({ account }) => account === outcome.account);
      return { ...outcome, events: [outcome, ...more].flatMap(({ events }) => events) };
    });
  }

  /**
   * Which account reads which meter in a round: of several that have it, the first one of the configuration that may, so that no
   * account waits for another. The ledger stays with the account that found the meter first.
   */
  function readersOf(mayRead: (account: Account) => boolean): ReadonlyMap<Account, readonly Meter[]> {
    const readers = new Map(accounts.map((account): [Account, Meter[]] => [account, []]));
    const shared = new Map<Meter, Account[]>();
    for (const account of accounts)
      for (const meter of account.sharedMeters()) shared.set(meter, [...(shared.get(meter) ?? []), account]);
    for (const owner of accounts)
      for (const meter of owner.meters ?? []) {
        // Nearly all meters have one account.
        const others = shared.get(meter);
        const all = others ? accounts.filter((one) => one === owner || others.includes(one)) : [];
        readers.get(all.find(mayRead) ?? owner)?.push(meter);
      }
    return readers;
  }

  /** Meters whose reader failed in this round are read by the next account that did not. What it cannot read either was told already. */
  async function readInstead(
    outcomes: readonly AccountOutcome[],
    again?: DaySpan,
  ): Promise<AccountOutcome[]> {
    const unread = outcomes.flatMap((outcome) => outcome.unread);
    if (unread.length === 0) return [];
    const well = new Set(outcomes.filter(({ fault }) => fault === null).map(({ account }) => account));
    const found: AccountOutcome[] = [];
    for (const [account, meters] of readersOf(({ id }) => well.has(id))) {
      const left = well.has(account.id) ? meters.filter((meter) => unread.includes(meter)) : [];
      for (const meter of left) {
        const outcome = await account.readInstead(meter, signal, again);
        if (outcome.fault !== null) continue;
        if (!isCrowd) logChanges(account, outcome);
        tell(account, outcome, false);
        found.push(outcome);
      }
    }
    return found;
  }

  function take(account: Account, outcome: AccountOutcome): void {
    const { id } = account;
    const before = troubles.get(id);
    if (outcome.fault === null) {
      troubles.delete(id);
      if (isCrowd) log.debug({ account: id }, 'polled');
      else logPolled(account, outcome);
    } else troubles.set(id, failed(account, outcome.fault, (before?.failuresInARow ?? 0) + 1));
    tell(account, outcome, before !== undefined);
  }

  function failed(account: Account, fault: unknown, failuresInARow: number): Trouble {
    const { id } = account;
    const waitMs = account.retryDelayMs(fault, failuresInARow);
    const retryAt = waitMs === null ? null : clock.now() + waitMs;
    const retryAfterMs = fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0;
    // A Failure tells everything in its words; anything else is a bug of ours and needs its stack.
    if (fault instanceof Failure)
      log.warn({ account: id, ...safeWords(fault), retryAt: retryAt && zone.iso(retryAt) }, 'poll failed');
    else log.error({ account: id, err: fault }, 'poll failed unexpectedly');
    const now = clock.monotonic();
    const dueAt = waitMs === null ? null : now + waitMs;
    return { fault, failuresInARow, retryAt, dueAt, postponedUntil: now + retryAfterMs };
  }

  function tell(account: Account, outcome: AccountOutcome, wasFailing: boolean): void {
    counters.countPoll(outcome.fault);
    link.publish(eventsOfPoll(account, outcome, wasFailing, context));
    signals.emit('accountChanged', account.id);
  }

  function logPolled(account: Account, outcome: AccountOutcome): void {
    logChanges(account, outcome);
    const newest = account.meters?.flatMap((meter) => meter.view()?.totals.newestDay ?? []).sort();
    const counts = countsOf(outcome.events);
    log.info({ account: account.id, ...counts, newestDay: newest?.at(-1) ?? null }, 'polled');
  }

  /** New and corrected days, in amounts that a person cares about. */
  function logChanges({ id, meters, extras }: Account, { events }: AccountOutcome): void {
    for (const { meter, change } of events.slice(-MOST_CHANGES_TOLD)) {
      const called = meters?.find(({ name }) => name === meter)?.friendlyName;
      const about = { account: id, meter, ...(called ? { called } : {}) };
      if (change.kind === 'tariff_changed') log.info({ ...about, from: change.after.from }, 'tariff changed');
      else
        log.info(
          { ...about, ...amountsOf(change), currency: extras.currency },
          change.kind === 'new_day' ? 'new day' : 'day corrected',
        );
    }
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
    /** Accounts whose last poll failed. */
    troubles: troubles as ReadonlyMap<string, Trouble>,
    /** Polls all accounts, after what may be under way. Calls during that time share its outcome. Never rejects. */
    poll: () => pollOfAll.run(() => oneAtATime(() => round(accounts))),
    /** Reads a span of days again, after what may be under way. Never rejects. */
    backfill: (span: DaySpan) => oneAtATime(() => round(accounts, span)),
    /** What troubled the account may be over: its retry is due now. `always`: also after a poll that went well. */
    retryNow(id: string, always = false): void {
      const trouble = troubles.get(id);
      if (trouble) troubles.set(id, { ...trouble, dueAt: clock.monotonic() });
      retry();
      if (trouble || !always || isPolling()) return;
      void oneAtATime(() => round(accounts.filter((account) => account.id === id)));
    },
    /** The same as `refusal`; without one the cooldown begins again. */
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

const summaryOf = (outcomes: readonly AccountOutcome[]) => ({
  accounts: outcomes.length,
  failed: outcomes.filter(({ fault }) => fault !== null).length,
  ...countsOf(outcomes.flatMap(({ events }) => events)),
});

/** Only what there was. */
function countsOf(events: readonly MeterEvent[]): { newDays?: number; correctedDays?: number } {
  const count = (kind: Change['kind']) => events.filter(({ change }) => change.kind === kind).length;
  const [newDays, correctedDays] = [count('new_day'), count('corrected')];
  return { ...(newDays > 0 ? { newDays } : {}), ...(correctedDays > 0 ? { correctedDays } : {}) };
}

function amountsOf({ kind, day, before, after }: Change) {
  const now = { day, kwh: knownUnits(after.energy), cost: knownUnits(after.cost) };
  if (kind === 'new_day') return now;
  return { ...now, kwhBefore: knownUnits(before?.energy), costBefore: knownUnits(before?.cost) };
}
