// How often a session may be replaced by a login that no expiry asked for; kept in memory.
import type { Clock } from '../foundation/clock.ts';

export interface LoginPace {
  /** The API refused keys that were valid. Without a limit that would cost a login with each poll. */
  forRejectedKey(): boolean;
  /** The issuer ended a session before its refresh. Realms cut sessions after hours; some do after minutes. */
  forEndedSession(): boolean;
}

const HOUR_MS = 3_600_000;

export function openLoginPace(clock: Clock): LoginPace {
  const atMost = (logins: number, withinMs: number) => {
    let granted: number[] = [];
    return () => {
      const now = clock.monotonic();
      granted = granted.filter((at) => now - at < withinMs);
      if (granted.length >= logins) return false;
      granted.push(now);
      return true;
    };
  };
  return { forRejectedKey: atMost(1, 6 * HOUR_MS), forEndedSession: atMost(6, HOUR_MS) };
}
