// What stands before each request of a run or a command: the budget of the fleet, and the claim on the account.
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import { retryAfterMs } from '../../foundation/retry.ts';
import type { Gate } from '../../http/client.ts';
import type { Claim, Claims } from '../../store/database/claims.ts';
import type { Budget } from './budget.ts';

// Too many requests; service unavailable.
const ASKS_FOR_TIME = [429, 503];

/**
 * Requests wait for the budget, and end with the claim. It is confirmed before a token is sent. `claimNow`: `null` while a
 * command only reads; then `end` ends its requests.
 */
export function openGates(
  claimNow: () => Claim | null,
  end: AbortSignal,
  parts: { readonly claims: Claims; readonly budget: Budget; readonly clock: Clock; readonly log: Log },
) {
  const { claims, budget, clock, log } = parts;
  let paused: unknown = null;
  const gate = (to: 'issuer' | 'provider'): Gate => ({
    async enter() {
      if (paused !== null) throw paused;
      const claim = claimNow();
      const signal = claim?.signal ?? end;
      await budget.take(signal).catch((err) => {
        paused = err;
        throw err;
      });
      if (to === 'issuer' && claim !== null) await claims.confirm(claim);
      claim?.check();
      return signal;
    },
    answered({ status, headers }) {
      const ms = ASKS_FOR_TIME.includes(status) && retryAfterMs(headers['retry-after'], clock.now());
      if (ms) void budget.pause(ms).catch((err) => log.warn({ err }, 'the pause could not be told'));
    },
  });
  return {
    gate,
    /** What was asked for in vain is no news of the account. */
    throwIfPaused(): void {
      if (paused !== null) throw paused;
    },
  };
}
