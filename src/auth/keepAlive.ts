// Keeps the session from lapsing: refreshes between 80 % and 95 % of the access token's life, on a timer.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Session } from './session.ts';
import { type HeldTokens, msUntilRefreshEnds, msUntilShare, refreshIsWorthTrying } from './tokens.ts';

export interface KeepAlive {
  /** Tells that there may be new tokens to keep alive. */
  wake(): void;
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

export function startKeepAlive(
  session: Pick<Session, 'held' | 'renew'>,
  clock: Clock,
  log: Log,
  random: () => number,
): KeepAlive {
  let stopping = false;
  let nap = new AbortController();

  async function sleep(ms: number): Promise<void> {
    if (stopping) return;
    nap = new AbortController();
    await clock.sleep(Math.min(ms, LONGEST_NAP_MS), nap.signal);
  }

  async function run(): Promise<void> {
    let planned: HeldTokens | null = null;
    let share = EARLIEST_SHARE;
    let failures = 0;
    let notBefore = 0;
    let complaint = '';
    while (!stopping) {
      const held = await session.held();
      if (held === null || !refreshIsWorthTrying(held, clock)) {
        await sleep(LONGEST_NAP_MS);
        continue;
      }
      if (planned !== held) {
        planned = held;
        share = EARLIEST_SHARE + random() * (LATEST_SHARE - EARLIEST_SHARE);
        failures = 0;
        notBefore = 0;
      }
      const wait = Math.max(msUntilShare(held, share, clock), notBefore - clock.monotonic());
      if (wait > 0) {
        await sleep(wait);
        continue;
      }
      try {
        await session.renew();
        if (complaint !== '') log.info('refreshed ahead of expiry again');
        complaint = '';
      } catch (err) {
        failures += 1;
        // Once for each kind of trouble: the issuer may be asked often while it is away.
        const words = safeWords(err);
        if (words.message !== complaint) log.warn(words, 'refresh ahead of expiry failed');
        complaint = words.message;
        const pause = pauseAfter(failures, held, clock) * (0.75 + random() / 4);
        const askedFor = err instanceof Failure ? (err.retryAfterMs ?? 0) : 0;
        notBefore = clock.monotonic() + Math.max(pause, askedFor);
      }
    }
  }

  const running = run();
  return {
    wake: () => nap.abort(),
    async stop() {
      stopping = true;
      nap.abort();
      await running;
    },
  };
}

/** Doubling from two seconds, by what is left of the session up to half an hour. */
function pauseAfter(failures: number, held: HeldTokens, clock: Clock): number {
  const rest = msUntilRefreshEnds(held, clock) ?? Number.POSITIVE_INFINITY;
  const longest = Math.min(Math.max(rest * SHARE_OF_THE_REST, FREE_RETRY_MS), LONGEST_RETRY_MS);
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20), longest);
}
