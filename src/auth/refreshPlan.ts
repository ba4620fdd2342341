// One session is refreshed ahead of its end: at 80 to 88 % of the access token's life, so that a retry ends before 95 %.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { LONGEST_WAIT_MS } from '../foundation/retry.ts';
import { shareOf } from '../foundation/share.ts';
import type { AccountRecord } from '../store/documents.ts';
import type { Session } from './session.ts';
import { type CurrentTokens, msUntilRefresh, msUntilRefreshEnds } from './tokens.ts';

const FIRST_PAUSE_MS = 2_000;
// However little is left of the session, pauses may grow to this.
const LEAST_LONGEST_PAUSE_MS = 32_000;
// However long the pauses have become, some retries are left before the session ends.
const FRACTION_OF_THE_REST = 0.25;

interface RefreshPlanParts {
  /** Two that sign in at the same moment are refreshed at different ones. */
  readonly account: string;
  readonly session: Pick<Session, 'current' | 'renew'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Keeps the failures for the next process that has the account. */
  readonly journal: {
    readonly record: Pick<AccountRecord, 'refresh'>;
    note(changes: Pick<AccountRecord, 'refresh'>): void;
  };
}

export interface RefreshOutcome {
  /** `null`: it did not fail, or was not due. */
  readonly fault: unknown;
  /** The failure is the first of its kind. */
  readonly isNews: boolean;
  /** There are new tokens after trouble. */
  readonly isOver: boolean;
}

const NOT_DUE: RefreshOutcome = { fault: null, isNews: false, isOver: false };

/** When the session of one account is refreshed, in a household as in a fleet. */
export class RefreshPlan {
  readonly #parts: RefreshPlanParts;
  /** A moment on the monotonic clock. */
  #retryAt: number;

  constructor(parts: RefreshPlanParts) {
    const { clock, journal } = parts;
    const pauseMs = (journal.record.refresh?.retryAt ?? 0) - clock.now();
    this.#parts = parts;
    // The clock may have been ahead when it was noted.
    this.#retryAt = clock.monotonic() + Math.min(pauseMs, LONGEST_WAIT_MS);
  }

  /** Milliseconds until the session is to be refreshed, 0 or less: now; `null`: there is nothing to refresh. Never rejects. */
  async msUntilDue(): Promise<number | null> {
    const current = await this.#current();
    return current && this.#msUntilDue(current);
  }

  #msUntilDue(current: CurrentTokens): number | null {
    const { account, clock } = this.#parts;
    const dueIn = msUntilRefresh(current, shareOf(`${account} ${current.set.obtainedAt}`), clock);
    if (dueIn === null || this.#failuresOf(current) === 0) return dueIn;
    return Math.max(dueIn, this.#retryAt - clock.monotonic());
  }

  /** Refreshes, unless something else has done it meanwhile. Never rejects. */
  async run(signal: AbortSignal): Promise<RefreshOutcome> {
    const { session, journal } = this.#parts;
    const current = await this.#current();
    if (current === null || (this.#msUntilDue(current) ?? 1) > 0) return NOT_DUE;
    try {
      const hasTokens = await session.renew();
      const isOver = journal.record.refresh !== null && hasTokens;
      journal.note({ refresh: null });
      if (isOver) this.#parts.log.info('the session has new tokens again');
      return { ...NOT_DUE, isOver };
    } catch (fault) {
      // A stop in the middle of it says nothing about the issuer.
      return signal.aborted ? NOT_DUE : this.#failed(fault, current);
    }
  }

  /** Each kind of trouble is news once: the issuer may be asked often while it is away. */
  #failed(fault: unknown, current: CurrentTokens): RefreshOutcome {
    const { clock, journal, log } = this.#parts;
    const failures = this.#failuresOf(current) + 1;
    const pauseMs = this.#pauseMs(fault, failures, current);
    const words = safeWords(fault);
    const trouble = words.message;
    // With other tokens the trouble of before was over.
    const isNews = failures === 1 || trouble !== journal.record.refresh?.trouble;
    const { obtainedAt } = current.set;
    const retryAt = Math.round(clock.now() + pauseMs);
    this.#retryAt = clock.monotonic() + pauseMs;
    journal.note({ refresh: { obtainedAt, failures, retryAt, trouble } });
    if (isNews) log.warn(words, 'refresh ahead of expiry failed');
    return { fault, isNews, isOver: false };
  }

  /** Another refresh token alone is no success: the pauses go on. */
  #failuresOf({ set }: CurrentTokens): number {
    const { refresh } = this.#parts.journal.record;
    return refresh?.obtainedAt === set.obtainedAt ? refresh.failures : 0;
  }

  #current(): Promise<CurrentTokens | null> {
    return this.#parts.session.current().catch(() => null);
  }

  /** Doubles from two seconds up to half an hour, or to a quarter of what is left of the refresh token's life. */
  #pauseMs(fault: unknown, failures: number, current: CurrentTokens): number {
    const { clock, random } = this.#parts;
    const share = msUntilRefreshEnds(current, clock) * FRACTION_OF_THE_REST;
    const longest = Math.min(Math.max(share, LEAST_LONGEST_PAUSE_MS), LONGEST_WAIT_MS);
    const doubled = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20), longest);
    const askedFor = fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0;
    return Math.max(doubled * (0.75 + random() / 4), askedFor);
  }
}
