// How often a session may be replaced by a login that no expiry asked for; kept in memory.
import type { Clock } from '../foundation/clock.ts';

export interface LoginPace {
  /** The API refused keys that were valid. Without a limit that would cost a login with each poll. */
  forRejectedKey(): boolean;
  /** The issuer ended a session before its refresh. Realms cut sessions after hours; some do after minutes. */
  forEndedSession(): boolean;
}

const HOUR_MS = 3_600_000;
const NEVER: readonly number[] = [];

export function openLoginPace(clock: Clock): LoginPace {
  return new Pace(clock);
}

class Pace implements LoginPace {
  readonly #clock: Clock;
  #rejectedKeys: readonly number[] = NEVER;
  #endedSessions: readonly number[] = NEVER;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  forRejectedKey(): boolean {
    const granted = this.#within(this.#rejectedKeys, 6 * HOUR_MS);
    if (granted.length >= 1) return false;
    this.#rejectedKeys = [...granted, this.#clock.monotonic()];
    return true;
  }

  forEndedSession(): boolean {
    const granted = this.#within(this.#endedSessions, HOUR_MS);
    if (granted.length >= 6) return false;
    this.#endedSessions = [...granted, this.#clock.monotonic()];
    return true;
  }

  #within(granted: readonly number[], ms: number): readonly number[] {
    return granted.filter((at) => this.#clock.monotonic() - at < ms);
  }
}
