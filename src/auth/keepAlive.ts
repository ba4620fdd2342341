// Keeps one session from lapsing: refreshes it between 80 % and 95 % of the access token's life, until it is stopped.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Session } from './session.ts';
import { type CurrentTokens, msUntilFraction, msUntilRefreshEnds, refreshIsWorthTrying } from './tokens.ts';

const EARLIEST_FRACTION = 0.8;
// The rest up to 95 % is left for the request itself and for one retry.
const LATEST_FRACTION = 0.88;
// The timers of a suspended machine stand still: look at the clocks at least this often.
const LONGEST_SLEEP_MS = 30_000;
const FIRST_PAUSE_MS = 2_000;
// However little is left of the session, pauses may grow to this.
const LEAST_LONGEST_PAUSE_MS = 32_000;
const LONGEST_PAUSE_MS = 30 * 60_000;
// However long the pauses have become, some retries are left before the session ends.
const FRACTION_OF_THE_REST = 0.25;

type Limit = (step: () => Promise<void>) => Promise<void>;

export class KeepAlive {
  readonly #session: Session;
  readonly #limit: Limit;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Log;
  readonly #running: Promise<void>;
  #isStopping = false;
  /** Ends the sleep under way, or the next one. */
  #awake = new AbortController();
  /** The tokens that fraction, failures and notBefore belong to. */
  #planned: CurrentTokens | null = null;
  #fraction = EARLIEST_FRACTION;
  #failures = 0;
  /** On the monotonic clock. */
  #notBefore = 0;
  /** What went wrong last; empty when nothing did. */
  #trouble = '';

  /** Starts at once. `limit` is the concurrency limit of everything that asks the issuer or the provider. */
  constructor(session: Session, limit: Limit, clock: Clock, random: () => number, log: Log) {
    this.#session = session;
    this.#limit = limit;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#running = this.#run();
  }

  /** The session may have new tokens. */
  wake(): void {
    this.#awake.abort();
  }

  /** Resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#awake = new AbortController();
      const waitMs = await this.#refreshIfDue();
      await this.#clock.sleep(Math.min(waitMs, LONGEST_SLEEP_MS), this.#awake.signal);
    }
  }

  /** Resolves to the milliseconds until the next look. Never rejects. */
  async #refreshIfDue(): Promise<number> {
    const current = await this.#session.current().catch(() => null);
    if (current === null || !refreshIsWorthTrying(current, this.#clock)) return LONGEST_SLEEP_MS;
    if (this.#planned !== current) this.#plan(current);
    const untilDue = msUntilFraction(current, this.#fraction, this.#clock);
    const wait = Math.max(untilDue, this.#notBefore - this.#clock.monotonic());
    if (wait > 0) return wait;
    await this.#limit(() => this.#refresh(current)).then(
      () => this.#succeeded(),
      (err) => this.#failed(err, current),
    );
    return 0;
  }

  #plan(current: CurrentTokens): void {
    this.#planned = current;
    this.#fraction = EARLIEST_FRACTION + this.#random() * (LATEST_FRACTION - EARLIEST_FRACTION);
    this.#failures = 0;
    this.#notBefore = 0;
  }

  async #refresh(due: CurrentTokens): Promise<void> {
    // A poll may have refreshed the session while this waited for the concurrency limit.
    if (!this.#isStopping && (await this.#session.current()) === due) await this.#session.renew();
  }

  #succeeded(): void {
    if (this.#trouble !== '') this.#log.info('refreshed ahead of expiry again');
    this.#trouble = '';
  }

  #failed(err: unknown, current: CurrentTokens): void {
    this.#failures += 1;
    // Once for each kind of trouble: the issuer may be asked often while it is away.
    const words = safeWords(err);
    if (words.message !== this.#trouble) this.#log.warn(words, 'refresh ahead of expiry failed');
    this.#trouble = words.message;
    const pause = pauseAfter(this.#failures, current, this.#clock) * (0.75 + this.#random() / 4);
    const retryAfter = err instanceof Failure ? (err.retryAfterMs ?? 0) : 0;
    this.#notBefore = this.#clock.monotonic() + Math.max(pause, retryAfter);
  }
}

/** Doubles from two seconds up to half an hour, or to a quarter of what is left of the refresh token's life. */
function pauseAfter(failures: number, current: CurrentTokens, clock: Clock): number {
  const rest = msUntilRefreshEnds(current, clock) * FRACTION_OF_THE_REST;
  const longest = Math.min(Math.max(rest, LEAST_LONGEST_PAUSE_MS), LONGEST_PAUSE_MS);
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20), longest);
}
