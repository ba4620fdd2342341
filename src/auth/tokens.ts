// A pair of tokens and the arithmetic of its life, safe against clocks that jump or stand still.
import type { Clock } from '../foundation/clock.ts';
import type { TokenSet } from '../store/documents.ts';

/** The grant of a token endpoint. Lifetimes in seconds; `null` = the reply named none. */
export interface Grant {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly expiresInSeconds: number;
  readonly refreshExpiresInSeconds: number | null;
}

/** A token set in memory, with the monotonic time at which it was obtained. */
export interface CurrentTokens {
  readonly set: TokenSet;
  readonly monotonicAt: number;
}

/** An access token is not used for a new request in the last part of its life: this fraction, or this time if shorter. */
const MARGIN_FRACTION = 0.05;
const LONGEST_MARGIN_MS = 60_000;
const LONGEST_LIFE_SECONDS = 366 * 86_400;

/** A reply without a refresh token leaves the previous one in use. */
export function toTokenSet(grant: Grant, now: number, previous: TokenSet | null): TokenSet {
  // The stored document accepts whole milliseconds only.
  const inSeconds = (seconds: number) => now + Math.round(Math.min(seconds, LONGEST_LIFE_SECONDS) * 1000);
  const rotated = grant.refreshToken !== null;
  const refreshExpiresAt =
    grant.refreshExpiresInSeconds === null ? null : inSeconds(grant.refreshExpiresInSeconds);
  return {
    accessToken: grant.accessToken,
    refreshToken: grant.refreshToken ?? previous?.refreshToken ?? null,
    obtainedAt: now,
    accessExpiresAt: inSeconds(grant.expiresInSeconds),
    refreshExpiresAt: rotated ? refreshExpiresAt : (refreshExpiresAt ?? previous?.refreshExpiresAt ?? null),
  };
}

/** The tokens in use with another refresh token. */
export function withRotated(current: CurrentTokens, grant: Grant, now: number): CurrentTokens {
  const { refreshToken, refreshExpiresAt } = toTokenSet(grant, now, current.set);
  return { ...current, set: { ...current.set, refreshToken, refreshExpiresAt } };
}

export const grantedNow = (set: TokenSet, clock: Clock): CurrentTokens => ({
  set,
  monotonicAt: clock.monotonic(),
});

/**
 * Tokens read from disk. If they were obtained "in the future", the clock is or was wrong and their age is unknown:
 * the access token then counts as expired.
 */
export function readFromDisk(set: TokenSet, clock: Clock): CurrentTokens {
  const age = clock.now() - set.obtainedAt;
  return { set, monotonicAt: clock.monotonic() - (age >= 0 ? age : accessLifeMs(set)) };
}

export const accessLifeMs = (set: TokenSet): number => set.accessExpiresAt - set.obtainedAt;
const refreshLifeMs = ({ refreshExpiresAt, obtainedAt }: TokenSet): number =>
  (refreshExpiresAt ?? Number.POSITIVE_INFINITY) - obtainedAt;

// Both clocks are asked: the monotonic one stands still while the machine is suspended, the wall clock may step.
const agesMs = ({ set, monotonicAt }: CurrentTokens, clock: Clock): [number, number] => [
  clock.now() - set.obtainedAt,
  clock.monotonic() - monotonicAt,
];

/** A request that starts now may use the access token. If in doubt, it may not. */
export function accessIsUsable(current: CurrentTokens, clock: Clock): boolean {
  const life = accessLifeMs(current.set);
  const margin = Math.min(life * MARGIN_FRACTION, LONGEST_MARGIN_MS);
  return Math.max(...agesMs(current, clock)) < life - margin;
}

/** The access token, unless it is too old or one of those that the API refuses. */
export function usable(
  current: CurrentTokens | null,
  rejected: readonly string[],
  clock: Clock,
): string | null {
  if (current === null || !accessIsUsable(current, clock)) return null;
  const { accessToken } = current.set;
  return rejected.includes(accessToken) ? null : accessToken;
}

/** A refresh may succeed. If in doubt, it may: a refused refresh costs one request, a needless login may cost more. */
export function refreshIsWorthTrying(current: CurrentTokens, clock: Clock): boolean {
  const age = Math.min(...agesMs(current, clock));
  return current.set.refreshToken !== null && age < refreshLifeMs(current.set);
}

/** Whole milliseconds until the given fraction (0 to 1) of the access token's life is over; 0 when it already is. */
export function msUntilFraction(current: CurrentTokens, fraction: number, clock: Clock): number {
  const age = Math.max(...agesMs(current, clock));
  return Math.max(0, Math.ceil(accessLifeMs(current.set) * fraction - age));
}

// The rest up to 95 % is left for the request itself and for one retry.
const REFRESH_FROM = 0.8;
const REFRESH_UNTIL = 0.88;

/**
 * Whole milliseconds until the tokens are to be refreshed; `null`: there is nothing to refresh. `share`, from 0 to 1, says how late of
 * the times that are in question.
 */
export function msUntilRefresh(current: CurrentTokens, share: number, clock: Clock): number | null {
  const fraction = REFRESH_FROM + share * (REFRESH_UNTIL - REFRESH_FROM);
  return refreshIsWorthTrying(current, clock) ? msUntilFraction(current, fraction, clock) : null;
}

/** Milliseconds until the refresh token may have expired; infinite when its end is not known. */
export function msUntilRefreshEnds(current: CurrentTokens, clock: Clock): number {
  return refreshLifeMs(current.set) - Math.max(...agesMs(current, clock));
}
