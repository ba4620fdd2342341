// Keeps one session from lapsing: refreshes it at 80 to 88 % of the access token's life, so that a retry ends before 95 %.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Session } from './session.ts';
import { type CurrentTokens, drawRefreshFraction, msUntilRefresh, msUntilRefreshEnds } from './tokens.ts';

// The timers of a suspended machine stand still: look at the clocks at least this often.
const LONGEST_SLEEP_MS = 30_000;
const FIRST_PAUSE_MS = 2_000;
// However little is left of the session, pauses may grow to this.
const LEAST_LONGEST_PAUSE_MS = 32_000;
const LONGEST_PAUSE_MS = 30 * 60_000;
// However long the pauses have become, some retries are left before the session ends.
const FRACTION_OF_THE_REST = 0.25;

export interface KeepAlive {
  /** The session may have new tokens. */
  wake(): void;
  /** Resolves once nothing is under way. */
  stop(): Promise<void>;
}

/** Starts at once. `limit` is the concurrency limit of everything that asks the issuer or the provider. */
export function keepAlive(
  session: Session,
  limit: (step: () => Promise<boolean>) => Promise<boolean>,
  clock: Clock,
  random: () => number,
  log: Log,
  /** Called once for each kind of trouble. */
  onFault: (err: unknown) => void = () => undefined,
  /** Called when there are new tokens after trouble. */
  onRecovery: () => void = () => undefined,
): KeepAlive {
  let isStopping = false;
  /** Ends the sleep under way, or the next one. */
  let awake = new AbortController();
  /** The tokens that fraction, failures and notBefore belong to. */
  let planned: CurrentTokens | null = null;
  let fraction = 0;
  let failures = 0;
  /** On the monotonic clock. */
  let notBefore = 0;
  /** What went wrong last; empty when nothing did. */
  let trouble = '';

  async function run(): Promise<void> {
    while (!isStopping) {
      awake = new AbortController();
      const waitMs = await refreshIfDue();
      await clock.sleep(Math.min(waitMs, LONGEST_SLEEP_MS), awake.signal);
    }
  }

  /** Resolves to the milliseconds until the next look. Never rejects. */
  async function refreshIfDue(): Promise<number> {
    const current = await session.current().catch(() => null);
    if (current === null) return LONGEST_SLEEP_MS;
    // Another refresh token alone is no success.
    if (planned?.set.accessToken !== current.set.accessToken) plan(current);
    const dueIn = msUntilRefresh(current, fraction, clock);
    if (dueIn === null) return LONGEST_SLEEP_MS;
    const wait = Math.max(dueIn, notBefore - clock.monotonic());
    if (wait > 0) return wait;
    await limit(() => refresh(current)).then(done, (err) => failed(err, current));
    return 0;
  }

  function plan(current: CurrentTokens): void {
    planned = current;
    fraction = drawRefreshFraction(random);
    failures = 0;
    notBefore = 0;
  }

  async function refresh(due: CurrentTokens): Promise<boolean> {
    // A poll may have refreshed the session while this waited for the concurrency limit.
    const current = await session.current();
    return isStopping || current?.set.accessToken !== due.set.accessToken || session.renew();
  }

  function done(hasTokens: boolean): void {
    const isOver = trouble !== '' && hasTokens;
    trouble = '';
    if (!isOver) return;
    log.info('the session has new tokens again');
    onRecovery();
  }

  function failed(err: unknown, current: CurrentTokens): void {
    failures += 1;
    // Once for each kind of trouble: the issuer may be asked often while it is away.
    const words = safeWords(err);
    if (words.message !== trouble) {
      log.warn(words, 'refresh ahead of expiry failed');
      onFault(err);
    }
    trouble = words.message;
    const pause = pauseAfter(failures, current, clock) * (0.75 + random() / 4);
    const retryAfter = err instanceof Failure ? (err.retryAfterMs ?? 0) : 0;
    notBefore = clock.monotonic() + Math.max(pause, retryAfter);
  }

  const running = run();
  return {
    wake: () => awake.abort(),
    stop() {
      isStopping = true;
      awake.abort();
      return running;
    },
  };
}

/** Doubles from two seconds up to half an hour, or to a quarter of what is left of the refresh token's life. */
function pauseAfter(failures: number, current: CurrentTokens, clock: Clock): number {
  const rest = msUntilRefreshEnds(current, clock) * FRACTION_OF_THE_REST;
  const longest = Math.min(Math.max(rest, LEAST_LONGEST_PAUSE_MS), LONGEST_PAUSE_MS);
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20), longest);
}
