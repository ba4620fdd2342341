// How many requests the whole fleet sends in a second, of which this process has its part; and the pauses that the provider
// asks for. Before each request of an account stand the pace and, before a token, the claim.
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { Gate } from '../http/client.ts';
import type { ClaimedAccount, Claims } from '../store/database/claims.ts';
import type { Membership } from './membership.ts';

/** The provider has asked for a pause of all accounts: this is no failure of the one. */
export class FleetPaused extends Failure {
  readonly code = 'fleet_paused';
  readonly exitCode = EXIT.provider;

  constructor(ms: number) {
    super('The provider has asked for a pause.', { retry: 'later', retryAfterMs: ms });
  }
}

// Too many requests; service unavailable.
const ASKS_FOR_TIME = [429, 503];
// So many accounts that are told to wait within a minute: it is not about the one.
const ACCOUNTS_THAT_ARE_ALL = 3;
const TOGETHER_MS = 60_000;

interface PaceParts {
  readonly membership: Membership;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly log: Log;
}

export type Pace = ReturnType<typeof openPace>;

export function openPace(perSecond: number, { membership, claims, clock, log }: PaceParts) {
  /** On the monotonic clock. */
  let nextAt = Number.NEGATIVE_INFINITY;
  /** When accounts were told to wait. */
  const toldToWait = new Map<string, number>();

  /** Resolves when one request may be sent: each process that lives has the same part. */
  async function turn(signal: AbortSignal): Promise<void> {
    const now = clock.monotonic();
    const at = Math.max(nextAt, now);
    nextAt = at + (1000 * membership.processes()) / perSecond;
    if (at > now) await clock.sleep(at - now, signal);
    signal.throwIfAborted();
  }

  /** The provider has told this account to wait: it is taken as said to all where it was said to several. */
  function noteWait(account: string, ms: number): void {
    const now = clock.monotonic();
    toldToWait.set(account, now);
    for (const [one, at] of toldToWait) if (now - at > TOGETHER_MS) toldToWait.delete(one);
    const isAboutAll = toldToWait.size >= ACCOUNTS_THAT_ARE_ALL;
    const whom = isAboutAll ? 'all accounts' : 'this account';
    log.warn({ account, seconds: Math.round(ms / 1000) }, `the provider asks ${whom} to wait`);
    if (isAboutAll) membership.pauseAll(ms);
  }

  return {
    gatesOf(claim: ClaimedAccount) {
      let paused: FleetPaused | null = null;
      /** What an account has met during a pause is no failure of its own. */
      function throwIfPaused(): void {
        if (paused !== null) throw paused;
      }
      const gate = (to: 'issuer' | 'provider'): Gate => ({
        async enter() {
          throwIfPaused();
          await turn(claim.signal);
          const pausedMs = membership.pausedMs();
          if (pausedMs > 0) paused = new FleetPaused(pausedMs);
          throwIfPaused();
          // A token is asked for while the account is ours, by the database, and stays so for a whole claim.
          if (to === 'issuer') await claims.renew([claim]);
          claim.check();
          return claim.signal;
        },
        answered({ status, headers }) {
          const ms = ASKS_FOR_TIME.includes(status) && retryAfterMs(headers['retry-after'], clock.now());
          if (ms) noteWait(claim.id, ms);
        },
      });
      return { gate, throwIfPaused };
    },
  };
}
