// Keeps sessions from lapsing: refreshes between 80 % and 95 % of an access token's life, on one timer for all.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Session } from './session.ts';
import { type CurrentTokens, msUntilRefreshEnds, msUntilShare, refreshIsWorthTrying } from './tokens.ts';

/** A session that is to be kept alive. */
export interface Kept {
  readonly id: string;
  readonly session: Pick<Session, 'held' | 'renew'>;
  readonly log: Log;
}

export interface KeepAlive {
  /** Tells that this session may have new tokens to keep alive. */
  wake(id: string): void;
  stop(): Promise<void>;
}

const EARLIEST_SHARE = 0.8;
// The last step up to 95 % is left for the request itself and for one more try.
const LATEST_SHARE = 0.88;
// A suspended machine's timers stand still: look at the clocks again at least this often.
const LONGEST_NAP_MS = 30_000;
const FIRST_RETRY_MS = 2_000;
const FREE_RETRY_MS = 32_000;
const LONGEST_RETRY_MS = 30 * 60_000;
// However long the waits have become, some tries are left before only the password helps.
const SHARE_OF_THE_REST = 0.25;

export function startKeepAlive(kept: readonly Kept[], clock: Clock, random: () => number): KeepAlive {
  const watches = new Map(kept.map((one) => [one.id, new Watch(one, clock, random)]));
  const underWay = new Set<Promise<void>>();
  let isStopping = false;
  let plannedAt = Number.POSITIVE_INFINITY;
  let unplan: (() => void) | null = null;

  function plan(at: number): void {
    if (isStopping || at >= plannedAt) return;
    unplan?.();
    plannedAt = at;
    unplan = clock.after(Math.max(0, at - clock.monotonic()), lookAtAll);
  }

  function lookAtAll(): void {
    plannedAt = Number.POSITIVE_INFINITY;
    const now = clock.monotonic();
    for (const watch of watches.values()) {
      if (watch.isBusy) continue;
      if (watch.dueAt <= now) begin(watch);
      else plan(watch.dueAt);
    }
  }

  function begin(watch: Watch): void {
    watch.isBusy = true;
    const tending = watch.tend().then((waitMs) => {
      watch.isBusy = false;
      watch.dueAt = clock.monotonic() + Math.min(waitMs, LONGEST_NAP_MS);
      underWay.delete(tending);
      plan(watch.dueAt);
    });
    underWay.add(tending);
  }

  lookAtAll();
  return {
    wake(id) {
      const watch = watches.get(id);
      if (!watch || isStopping) return;
      watch.isWoken = true;
      if (!watch.isBusy) begin(watch);
    },
    async stop() {
      isStopping = true;
      unplan?.();
      await Promise.all(underWay);
    },
  };
}

class Watch {
  readonly #kept: Kept;
  readonly #clock: Clock;
  readonly #random: () => number;
  isBusy = false;
  isWoken = false;
  /** On the monotonic clock. */
  dueAt = Number.NEGATIVE_INFINITY;
  #planned: CurrentTokens | null = null;
  #share = EARLIEST_SHARE;
  #failures = 0;
  #notBefore = 0;
  #complaint = '';

  constructor(kept: Kept, clock: Clock, random: () => number) {
    this.#kept = kept;
    this.#clock = clock;
    this.#random = random;
  }

  /** Refreshes if it is time. Resolves to the milliseconds until it should be looked at again. Never rejects. */
  async tend(): Promise<number> {
    this.isWoken = false;
    const { session } = this.#kept;
    const held = await session.held().catch(() => null);
    if (held === null || !refreshIsWorthTrying(held, this.#clock)) return LONGEST_NAP_MS;
    if (this.#planned !== held) {
      this.#planned = held;
      this.#share = EARLIEST_SHARE + this.#random() * (LATEST_SHARE - EARLIEST_SHARE);
      this.#failures = 0;
      this.#notBefore = 0;
    }
    const untilShare = msUntilShare(held, this.#share, this.#clock);
    const wait = Math.max(untilShare, this.#notBefore - this.#clock.monotonic());
    if (wait > 0) return this.isWoken ? 0 : wait;
    await session.renew().then(
      () => this.#succeeded(),
      (err) => this.#failed(err, held),
    );
    return 0;
  }

  #succeeded(): void {
    if (this.#complaint !== '') this.#kept.log.info('refreshed ahead of expiry again');
    this.#complaint = '';
  }

  #failed(err: unknown, held: CurrentTokens): void {
    this.#failures += 1;
    // Once for each kind of trouble: the issuer may be asked often while it is away.
    const words = safeWords(err);
    if (words.message !== this.#complaint) this.#kept.log.warn(words, 'refresh ahead of expiry failed');
    this.#complaint = words.message;
    const pause = pauseAfter(this.#failures, held, this.#clock) * (0.75 + this.#random() / 4);
    const askedFor = err instanceof Failure ? (err.retryAfterMs ?? 0) : 0;
    this.#notBefore = this.#clock.monotonic() + Math.max(pause, askedFor);
  }
}

/** Doubling from two seconds, by what is left of the session up to half an hour. */
function pauseAfter(failures: number, held: CurrentTokens, clock: Clock): number {
  const rest = msUntilRefreshEnds(held, clock) ?? Number.POSITIVE_INFINITY;
  const longest = Math.min(Math.max(rest * SHARE_OF_THE_REST, FREE_RETRY_MS), LONGEST_RETRY_MS);
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20), longest);
}
