// The arithmetic of a token's life, against clocks that jump, stand still or were wrong.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  accessIsUsable,
  accessLifeMs,
  type Grant,
  grantedNow,
  msUntilFraction,
  msUntilRefreshEnds,
  readFromDisk,
  refreshIsWorthTrying,
  toTokenSet,
} from '../../src/auth/tokens.ts';
import { handClock } from '../support/clock.ts';
import { holds } from '../support/property.ts';
import { HOUR } from './account.ts';

const START = '2026-03-10T12:00:00Z';
const grant = (over: Partial<Grant> = {}): Grant => ({
  accessToken: 'access',
  refreshToken: 'refresh',
  expiresInSeconds: 1800,
  refreshExpiresInSeconds: 2100,
  ...over,
});
function granted(over?: Partial<Grant>) {
  const clock = handClock(START);
  return { clock, current: grantedNow(toTokenSet(grant(over), clock.now(), null), clock) };
}

describe('a new set', () => {
  const previous = toTokenSet(grant({ refreshToken: 'older', refreshExpiresInSeconds: 500 }), 0, null);
  const none = { refreshToken: null, refreshExpiresInSeconds: null };

  test('has absolute times when tokens are granted', () => {
    expect(toTokenSet(grant(), 1_000_000, previous)).toEqual({
      accessToken: 'access',
      refreshToken: 'refresh',
      obtainedAt: 1_000_000,
      accessExpiresAt: 2_800_000,
      refreshExpiresAt: 3_100_000,
    });
  });

  test.each([
    ['no new one: the old one and its end', none, previous, 'older', 500_000],
    ['no new one, but a new end', { ...none, refreshExpiresInSeconds: 700 }, previous, 'older', 701_000],
    ['a new one does not inherit the end', { refreshExpiresInSeconds: null }, previous, 'refresh', null],
    ['none before either', none, null, null, null],
  ])('its refresh token: %s', (_, over, before, refreshToken, refreshExpiresAt) => {
    expect(toTokenSet(grant(over), 1000, before)).toMatchObject({ refreshToken, refreshExpiresAt });
  });

  test('has whole times within reason, whatever the issuer says', () => {
    const seconds = fc.double({ min: 0, max: 1e300, noNaN: true });
    holds(seconds, seconds, (expiresInSeconds, refreshExpiresInSeconds) => {
      const set = toTokenSet(grant({ expiresInSeconds, refreshExpiresInSeconds }), Date.parse(START), null);
      expect([set.accessExpiresAt, set.refreshExpiresAt].every(Number.isSafeInteger)).toBe(true);
    });
  });
});

test.each([
  [1800, 1740],
  [6, 5.7],
])('an access token of %d s is used for the first %d s, whatever the wall clock does', (seconds, usable) => {
  const { clock, current } = granted({ expiresInSeconds: seconds });
  expect(msUntilFraction(current, 0.8, clock)).toBe(seconds * 800);
  clock.advance(usable * 1000 - 1);
  clock.jump(-HOUR);
  expect(accessIsUsable(current, clock)).toBe(true);
  clock.advance(1);
  expect([accessIsUsable(current, clock), msUntilFraction(current, 0.8, clock)]).toEqual([false, 0]);
});

test.each([
  ['always worth trying without a known end', { refreshExpiresInSeconds: null }, true],
  ['never without a token', { refreshToken: null }, false],
])('a refresh is %s', (_, over, isWorth) => {
  const { clock, current } = granted(over);
  clock.advance(9000 * HOUR);
  expect(refreshIsWorthTrying(current, clock)).toBe(isWorth);
});

test.each([
  ['has stepped back', -HOUR, 1_100_000],
  ['went on while the machine slept', 500_000, 600_000],
])('how long the refresh token lives still, though the wall clock %s', (_, jump, rest) => {
  const { clock, current } = granted();
  clock.advance(1_000_000);
  clock.jump(jump);
  expect(msUntilRefreshEnds(current, clock)).toBe(rest);
});

test.each([
  ['just usable', START, 1_739_999, true, true],
  ['just expired', START, 1_740_000, false, true],
  ['with a refresh token that has expired', START, 2_100_000, false, false],
  ['obtained in the future: a refresh is tried', '1970-01-01T00:01:00Z', -1e12, false, true],
])('tokens from the disk, %s', (_, now, age, usable, refreshable) => {
  const clock = handClock(now);
  const current = readFromDisk(toTokenSet(grant(), clock.now() - age, null), clock);
  const found = () => [accessIsUsable(current, clock), refreshIsWorthTrying(current, clock)];
  expect(found()).toEqual([usable, refreshable]);
  // The clock is set right.
  clock.jump(Math.max(0, -age));
  expect(found()).toEqual([usable, refreshable]);
});

test('uses no token past its life, and refreshes or gives up none too early, whatever the clocks do', () => {
  const move = fc.record({
    advance: fc.integer({ min: 0, max: 2 * HOUR }),
    jump: fc.oneof(fc.constant(0), fc.integer({ min: -100 * HOUR, max: 100 * HOUR })),
  });
  const lives = fc.integer({ min: 1, max: 5000 });
  holds(lives, fc.array(move, { maxLength: 20 }), fc.boolean(), (life, moves, restarted) => {
    const clock = handClock(START);
    const over = { expiresInSeconds: life, refreshExpiresInSeconds: life + 300 };
    const set = toTokenSet(grant(over), clock.now(), null);
    const current = restarted ? readFromDisk(set, clock) : grantedNow(set, clock);
    for (const { advance, jump } of moves) {
      clock.advance(advance);
      clock.jump(jump);
      const age = clock.monotonic();
      if (age >= accessLifeMs(set)) expect(accessIsUsable(current, clock)).toBe(false);
      if (age < (life + 300) * 1000) expect(refreshIsWorthTrying(current, clock)).toBe(true);
      const wait = msUntilFraction(current, 0.8, clock);
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(Math.max(0, Math.ceil(accessLifeMs(set) * 0.8 - age)));
    }
  });
});
