// One session is refreshed ahead of its end: at 80 to 88 % of the access token's life, so that a retry ends before 95
// %.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Session } from './session.ts';
import { type CurrentTokens, drawRefreshFraction, msUntilRefresh, msUntilRefreshEnds } from './tokens.ts';

const FIRST_PAUSE_MS = 2_000;
// However little is left of the session, pauses may grow to this.
const LEAST_LONGEST_PAUSE_MS = 32_000;
const LONGEST_PAUSE_MS = 30 * 60_000;
// However long the pauses have become, some retries are left before the session ends.
const FRACTION_OF_THE_REST = 0.25;

/** The news after a refresh: the first failure of its kind, or that the trouble is over. */
export interface RefreshNews {
  /** `null`: it did not fail, or of what was told before. */
  readonly fault: unknown;
  /** There are new tokens after trouble. */
  readonly isOver: boolean;
}

const NO_NEWS: RefreshNews = { fault: null, isOver: false };

/** The plan of one session, for as long as the process has it. */
export class RefreshPlan {
  readonly #session: Pick<Session, 'current' | 'renew'>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Log;
  /** The access token that this plan is about. */
  #accessToken = '';
  /** The part of its life after which it is refreshed. */
  #fraction = 0;
  #failures = 0;
  /** A moment on the monotonic clock. */
  #notBefore = Number.NEGATIVE_INFINITY;
  /** The last refresh's failure, in words; empty: none. */
  #trouble = '';

  constructor(
    session: Pick<Session, 'current' | 'renew'>,
    { clock, random, log }: { readonly clock: Clock; readonly random: () => number; readonly log: Log },
  ) {
    this.#session = session;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
  }

  /** Milliseconds until the session is to be refreshed, 0 or less: now; `null`: there is nothing to refresh. Never rejects. */
  async msUntilDue(): Promise<number | null> {
    const current = await this.#current();
    if (current === null) return null;
    const dueIn = msUntilRefresh(current, this.#fraction, this.#clock);
    return dueIn === null ? null : Math.max(dueIn, this.#notBefore - this.#clock.monotonic());
  }

  /** Refreshes, unless something else has done it meanwhile. Never rejects. */
  async run(): Promise<RefreshNews> {
    const current = await this.#current();
    if (current === null || ((await this.msUntilDue()) ?? 1) > 0) return NO_NEWS;
    try {
      const hasTokens = await this.#session.renew();
      const isOver = this.#trouble !== '' && hasTokens;
      this.#trouble = '';
      if (isOver) this.#log.info('the session has new tokens again');
      return { fault: null, isOver };
    } catch (fault) {
      this.#failures += 1;
      this.#notBefore = this.#clock.monotonic() + this.#pauseMs(fault, current);
      return this.#newsOf(fault);
    }
  }

  /** Each kind of trouble is news once: the issuer may be asked often while it is away. */
  #newsOf(fault: unknown): RefreshNews {
    const words = safeWords(fault);
    const isNew = words.message !== this.#trouble;
    this.#trouble = words.message;
    if (isNew) this.#log.warn(words, 'refresh ahead of expiry failed');
    return isNew ? { fault, isOver: false } : NO_NEWS;
  }

  async #current(): Promise<CurrentTokens | null> {
    const current = await this.#session.current().catch(() => null);
    // Another refresh token alone is no success: the pauses go on.
    if (current !== null && current.set.accessToken !== this.#accessToken) {
      this.#accessToken = current.set.accessToken;
      this.#fraction = drawRefreshFraction(this.#random);
      this.#notBefore = Number.NEGATIVE_INFINITY;
      this.#failures = 0;
    }
    return current;
  }

  /** Doubles from two seconds up to half an hour, or to a quarter of what is left of the refresh token's life. */
  #pauseMs(fault: unknown, current: CurrentTokens): number {
    const share = msUntilRefreshEnds(current, this.#clock) * FRACTION_OF_THE_REST;
    const longest = Math.min(Math.max(share, LEAST_LONGEST_PAUSE_MS), LONGEST_PAUSE_MS);
    const doubled = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 20), longest);
    const askedFor = fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0;
    return Math.max(doubled * (0.75 + this.#random() / 4), askedFor);
  }
}
