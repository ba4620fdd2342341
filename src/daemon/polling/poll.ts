// One poll: every account is asked once, a few at a time. Scheduled and requested polls are this function.
import type { DaySpan } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';
import { backOffMs } from '../../foundation/retry.ts';
import type { AccountOutcome, AccountRuntime } from '../accounts/account.ts';
import type { Turns } from './turns.ts';

/** `all` for a tick or a request, `failed` for those whose retry is due. */
export type Whom = 'all' | 'failed';

export interface PollOutcome {
  readonly accounts: readonly AccountOutcome[];
  /** Accounts left out because the provider asked for more patience (`Retry-After`). */
  readonly patient: readonly string[];
}

/** An account whose last poll failed. */
export interface Trouble {
  readonly account: string;
  readonly fault: unknown;
  readonly failuresInARow: number;
  /** Epoch milliseconds of the next try; `null` when waiting would not help. */
  readonly retryAt: number | null;
}

export interface Poller {
  /** Whoever comes while a poll is under way gets the outcome of that one. Never rejects. */
  poll(whom: Whom): Promise<PollOutcome>;
  /** Reads a span of days again, after the poll that may be under way. Never rejects. */
  backfill(span: DaySpan): Promise<PollOutcome>;
  readonly troubles: readonly Trouble[];
  /** Whether some account's retry is due. */
  retryIsDue(): boolean;
  /** Epoch milliseconds until which the provider wants to be left alone by every account; `null` = it does not. */
  patientUntil(): number | null;
  stop(): Promise<void>;
}

export interface PollerParts {
  readonly accounts: readonly AccountRuntime[];
  /** Shared with whatever else asks the provider by itself. */
  readonly turns: Turns;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Called as soon as an account is done: a slow one keeps nobody waiting. `before`: what troubled it until now. */
  readonly onPolled: (outcome: AccountOutcome, before: Trouble | undefined) => void;
  readonly onOutcome: (outcome: PollOutcome) => void;
}

interface TroubleRecord extends Trouble {
  readonly failedAt: number;
  readonly waitMs: number | null;
  readonly patienceMs: number;
}

// With more accounts than this, the log has one line for a poll and one for each failure.
const MOST_NAMED = 50;

const summaryOf = (outcomes: readonly AccountOutcome[]) => ({
  accounts: outcomes.length,
  failed: outcomes.filter(({ fault }) => fault !== null).length,
  changes: outcomes.reduce((sum, { events }) => sum + events.length, 0),
});

export function openPoller(parts: PollerParts): Poller {
  const { accounts, turns, clock, log } = parts;
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const isCrowd = accounts.length > MOST_NAMED;
  const troubles = new Map<string, TroubleRecord>();
  const stopping = new AbortController();
  let flight: Promise<PollOutcome> | null = null;

  const sinceFailure = ({ failedAt }: TroubleRecord) => clock.monotonic() - failedAt;
  const isPatient = (id: string) => {
    const trouble = troubles.get(id);
    return trouble !== undefined && sinceFailure(trouble) < trouble.patienceMs;
  };
  const isDue = (id: string) => {
    const trouble = troubles.get(id);
    return trouble?.waitMs != null && sinceFailure(trouble) >= trouble.waitMs;
  };

  function note({ account, events, fault }: AccountOutcome): void {
    if (fault === null) {
      troubles.delete(account);
      log[isCrowd ? 'debug' : 'info']({ account, changes: events.length }, 'polled');
      return;
    }
    const failuresInARow = (troubles.get(account)?.failuresInARow ?? 0) + 1;
    const waitMs = retryWait(account, fault, failuresInARow);
    const patienceMs = fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0;
    const failedAt = clock.monotonic();
    const retryAt = waitMs === null ? null : clock.now() + waitMs;
    troubles.set(account, { account, fault, failuresInARow, retryAt, failedAt, waitMs, patienceMs });
    const words = safeWords(fault);
    // A Failure tells all in its words; anything else is ours to mend and needs its stack.
    if (fault instanceof Failure) log.warn({ account, ...words, retryInMs: waitMs }, 'poll failed');
    else log.error({ account, err: fault }, 'poll failed unexpectedly');
  }

  function retryWait(account: string, fault: unknown, failures: number): number | null {
    if (!(fault instanceof Failure) || fault.retry !== 'never')
      return backOffMs(fault, failures, parts.random);
    const next = byId.get(account)?.upstream.session.status().nextAttemptAt ?? null;
    return next === null ? null : Math.max(0, next - clock.now());
  }

  async function pollNow(whom: Whom, span?: DaySpan): Promise<PollOutcome> {
    const wanted = accounts.filter(({ id }) => whom === 'all' || isDue(id));
    const patient = wanted.filter(({ id }) => isPatient(id)).map(({ id }) => id);
    const queue = wanted.filter(({ id }) => !isPatient(id));
    const outcomes: AccountOutcome[] = [];
    const left = queue.values();
    const worker = async () => {
      for (const account of left) {
        if (stopping.signal.aborted) return;
        const outcome = await turns.take(() => account.poll(stopping.signal, span));
        if (stopping.signal.aborted) return;
        const before = troubles.get(outcome.account);
        note(outcome);
        parts.onPolled(outcome, before);
        outcomes.push(outcome);
      }
    };
    await Promise.all(Array.from({ length: Math.min(turns.atOnce, queue.length) }, worker));
    const outcome = { accounts: outcomes, patient };
    if (isCrowd) log.info(summaryOf(outcomes), 'accounts polled');
    if (!stopping.signal.aborted) parts.onOutcome(outcome);
    return outcome;
  }

  function fly(whom: Whom, span?: DaySpan): Promise<PollOutcome> {
    flight = pollNow(whom, span).finally(() => {
      flight = null;
    });
    return flight;
  }

  return {
    poll: (whom) => flight ?? fly(whom),
    async backfill(span) {
      while (flight !== null) await flight;
      return fly('all', span);
    },
    get troubles() {
      return [...troubles.values()];
    },
    retryIsDue: () => [...troubles.keys()].some((id) => isDue(id) && !isPatient(id)),
    patientUntil() {
      const waits = accounts.map(({ id }) => {
        const trouble = troubles.get(id);
        return trouble ? trouble.patienceMs - sinceFailure(trouble) : 0;
      });
      const shortest = Math.min(...waits);
      return accounts.length > 0 && shortest > 0 ? clock.now() + shortest : null;
    },
    async stop() {
      stopping.abort();
      await flight?.catch(() => undefined);
    },
  };
}
