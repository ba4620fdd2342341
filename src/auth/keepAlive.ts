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

/** Starts at once. */
export function keepAlive(deps: {
  readonly session: Pick<Session, 'current' | 'renew'>;
  /** The concurrency limit of everything that asks the issuer or the provider. */
  readonly limit: (step: () => Promise<boolean>) => Promise<boolean>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Called once for each kind of trouble. */
  readonly onFault: (err: unknown) => void;
  /** Called when there are new tokens after trouble. */
  readonly onRecovery: () => void;
}) {
  const { session, clock, random, log } = deps;
  let isStopping = false;
  /** Ends the sleep under way, or the next one. */
  let awake = new AbortController();
  /** When one access token is refreshed; `notBefore` is on the monotonic clock. */
  let plan = { accessToken: '', fraction: 0, failures: 0, notBefore: 0 };
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
    const { accessToken } = current.set;
    // Another refresh token alone is no success: the pauses go on.
    if (plan.accessToken !== accessToken)
      plan = { accessToken, fraction: drawRefreshFraction(random), failures: 0, notBefore: 0 };
    const dueIn = msUntilRefresh(current, plan.fraction, clock);
    if (dueIn === null) return LONGEST_SLEEP_MS;
    const wait = Math.max(dueIn, plan.notBefore - clock.monotonic());
    if (wait > 0) return wait;
    await deps.limit(() => refresh(accessToken)).then(done, (err) => failed(err, current));
    return 0;
  }

  async function refresh(dueToken: string): Promise<boolean> {
    // A poll may have refreshed the session while this waited for the concurrency limit.
    const current = await session.current();
    return isStopping || current?.set.accessToken !== dueToken || session.renew();
  }

  function done(hasTokens: boolean): void {
    const isOver = trouble !== '' && hasTokens;
    trouble = '';
    if (!isOver) return;
    log.info('the session has new tokens again');
    deps.onRecovery();
  }

  function failed(err: unknown, current: CurrentTokens): void {
    // Once for each kind of trouble: the issuer may be asked often while it is away.
    const words = safeWords(err);
    if (words.message !== trouble) {
      log.warn(words, 'refresh ahead of expiry failed');
      deps.onFault(err);
    }
    trouble = words.message;
    const failures = plan.failures + 1;
    const pause = pauseAfter(failures, current, clock) * (0.75 + random() / 4);
    const retryAfter = err instanceof Failure ? (err.retryAfterMs ?? 0) : 0;
    plan = { ...plan, failures, notBefore: clock.monotonic() + Math.max(pause, retryAfter) };
  }

  const running = run();
  return {
    /** The session may have new tokens. */
    wake: () => awake.abort(),

    /** Resolves once nothing is under way. */
    stop(): Promise<void> {
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
