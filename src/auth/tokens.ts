// A pair of tokens and the arithmetic of its life, kept against clocks that jump or stand still.
import type { Clock } from '../foundation/clock.ts';

/** What a token endpoint granted. Lives in seconds; `null` = the reply named none. */
export interface Grant {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly expiresInSeconds: number;
  readonly refreshExpiresInSeconds: number | null;
}

/** As kept on disk: raw tokens and absolute times in epoch milliseconds. */
export interface TokenSet {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly obtainedAt: number;
  readonly accessExpiresAt: number;
  readonly refreshExpiresAt: number | null;
}

/** A token set in memory, with the monotonic time at which it was obtained. */
export interface CurrentTokens {
  readonly set: TokenSet;
  readonly monotonicAt: number;
}

/** Below this share of its life left, or this time, an access token is not used for a new request. */
const MARGIN_SHARE = 0.05;
const LONGEST_MARGIN_MS = 60_000;
const LONGEST_LIFE_SECONDS = 366 * 86_400;

/** A refresh that follows a reply without a new refresh token goes on with the old one. */
export function toTokenSet(grant: Grant, now: number, previous: TokenSet | null): TokenSet {
  // Whole milliseconds: a fraction would make the stored document unreadable.
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

export const holdNew = (set: TokenSet, clock: Clock): CurrentTokens => ({
  set,
  monotonicAt: clock.monotonic(),
});

/**
 * Tokens read from disk. Obtained "in the future" means that this clock, or the one before, was wrong: then their
 * age is unknown, and the access token counts as spent.
 */
export function holdStored(set: TokenSet, clock: Clock): CurrentTokens {
  const age = clock.now() - set.obtainedAt;
  return { set, monotonicAt: clock.monotonic() - (age >= 0 ? age : accessLifeMs(set)) };
}

export const accessLifeMs = (set: TokenSet): number => set.accessExpiresAt - set.obtainedAt;

// The monotonic clock stands still in a suspended machine, the wall clock may step: the larger age is the safe one.
const largestAgeMs = ({ set, monotonicAt }: CurrentTokens, clock: Clock): number =>
  Math.max(clock.now() - set.obtainedAt, clock.monotonic() - monotonicAt);
const smallestAgeMs = ({ set, monotonicAt }: CurrentTokens, clock: Clock): number =>
  Math.min(clock.now() - set.obtainedAt, clock.monotonic() - monotonicAt);

/** May the access token be used for a request that starts now? */
export function accessIsUsable(held: CurrentTokens, clock: Clock): boolean {
  const life = accessLifeMs(held.set);
  return largestAgeMs(held, clock) < life - Math.min(life * MARGIN_SHARE, LONGEST_MARGIN_MS);
}

/** Is a refresh worth asking for? In doubt yes: a refusal costs one request, a needless login may cost more. */
export function refreshIsWorthTrying(held: CurrentTokens, clock: Clock): boolean {
  const { refreshToken, refreshExpiresAt, obtainedAt } = held.set;
  if (refreshToken === null) return false;
  return refreshExpiresAt === null || smallestAgeMs(held, clock) < refreshExpiresAt - obtainedAt;
}

/** Whole milliseconds until the given share (0 to 1) of the access token's life is over; 0 when it already is. */
export function msUntilShare(held: CurrentTokens, share: number, clock: Clock): number {
  return Math.max(0, Math.ceil(accessLifeMs(held.set) * share - largestAgeMs(held, clock)));
}

/** Milliseconds for which a refresh is surely worth trying; `null` = as long as the issuer likes. */
export function msUntilRefreshEnds(held: CurrentTokens, clock: Clock): number | null {
  const { refreshExpiresAt, obtainedAt } = held.set;
  return refreshExpiresAt === null ? null : refreshExpiresAt - obtainedAt - largestAgeMs(held, clock);
}
