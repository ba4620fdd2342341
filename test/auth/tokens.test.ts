// The arithmetic of a token's life, against clocks that jump, stand still or were wrong.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  accessIsUsable,
  accessLifeMs,
  type Grant,
  grantedNow,
  msUntilFraction,
  readFromDisk,
  refreshIsWorthTrying,
  toTokenSet,
} from '../../src/auth/tokens.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { holds } from '../support/property.ts';

const START = '2026-03-10T12:00:00Z';
const HOUR = 3_600_000;
const grant = (over: Partial<Grant> = {}): Grant => ({
  accessToken: 'access',
  refreshToken: 'refresh',
  expiresInSeconds: 1800,
  refreshExpiresInSeconds: 2100,
  ...over,
});
const setAt = (clock: HandClock, over: Partial<Grant> = {}) => toTokenSet(grant(over), clock.now(), null);
function granted(over?: Partial<Grant>) {
  const clock = handClock(START);
  return { clock, current: grantedNow(setAt(clock, over), clock) };
}

describe('a new set', () => {
  const previous = toTokenSet(grant({ refreshToken: 'older', refreshExpiresInSeconds: 500 }), 0, null);

  test('knows absolute times', () => {
    expect(toTokenSet(grant(), 1_000_000, previous)).toEqual({
      accessToken: 'access',
      refreshToken: 'refresh',
      obtainedAt: 1_000_000,
      accessExpiresAt: 2_800_000,
      refreshExpiresAt: 3_100_000,
    });
  });

  const none = { refreshToken: null, refreshExpiresInSeconds: null };
  test.each([
    ['no new one: the old one and its end', none, previous, 'older', 500_000],
    ['no new one, but a new end', { ...none, refreshExpiresInSeconds: 700 }, previous, 'older', 701_000],
    ['a new one does not inherit the end', { refreshExpiresInSeconds: null }, previous, 'refresh', null],
    ['none before either', none, null, null, null],
  ])('its refresh token: %s', (_, over, before, refreshToken, refreshExpiresAt) => {
    expect(toTokenSet(grant(over), 1000, before)).toMatchObject({ refreshToken, refreshExpiresAt });
  });

  test('times are whole and within reason, whatever the issuer says', () => {
    const seconds = fc.double({ min: 0, max: 1e300, noNaN: true });
    holds(seconds, seconds, (expiresInSeconds, refreshExpiresInSeconds) => {
      const set = toTokenSet(grant({ expiresInSeconds, refreshExpiresInSeconds }), Date.parse(START), null);
      expect(Number.isSafeInteger(set.accessExpiresAt)).toBe(true);
      expect(Number.isSafeInteger(set.refreshExpiresAt)).toBe(true);
    });
  });
});

describe('the access token', () => {
  test.each([
    [1800, 1740],
    [300, 285],
    [6, 5.7],
  ])('of %d s is used for the first %d s', (expiresInSeconds, usableSeconds) => {
    const { clock, current } = granted({ expiresInSeconds });
    clock.advance(usableSeconds * 1000 - 1);
    expect(accessIsUsable(current, clock)).toBe(true);
    clock.advance(1);
    expect(accessIsUsable(current, clock)).toBe(false);
  });

  test('after a suspension, or a wall clock that stepped ahead, it counts as old', () => {
    const { clock, current } = granted();
    clock.jump(HOUR);
    expect(accessIsUsable(current, clock)).toBe(false);
    expect(msUntilFraction(current, 0.8, clock)).toBe(0);
  });

  test('a wall clock that stepped back does not make it younger', () => {
    const { clock, current } = granted();
    clock.advance(1_739_999);
    clock.jump(-HOUR);
    expect(accessIsUsable(current, clock)).toBe(true);
    clock.advance(1);
    expect(accessIsUsable(current, clock)).toBe(false);
  });

  test('is due after the given fraction of its life', () => {
    const { clock, current } = granted();
    expect(msUntilFraction(current, 0.8, clock)).toBe(1_440_000);
    clock.advance(1_439_000);
    expect(msUntilFraction(current, 0.8, clock)).toBe(1000);
    clock.advance(5000);
    expect(msUntilFraction(current, 0.8, clock)).toBe(0);
  });
});

describe('a refresh', () => {
  test('is worth trying until the refresh token’s end', () => {
    const { clock, current } = granted();
    clock.advance(2_099_999);
    expect(refreshIsWorthTrying(current, clock)).toBe(true);
    clock.advance(1);
    expect(refreshIsWorthTrying(current, clock)).toBe(false);
  });

  test('is worth trying while one of the clocks says so', () => {
    const { clock, current } = granted();
    clock.jump(24 * HOUR);
    expect(refreshIsWorthTrying(current, clock)).toBe(true);
    clock.jump(-48 * HOUR);
    clock.advance(24 * HOUR);
    expect(refreshIsWorthTrying(current, clock)).toBe(true);
  });

  test('is always worth trying without a known end, never without a token', () => {
    const clock = handClock(START);
    const endless = grantedNow(setAt(clock, { refreshExpiresInSeconds: null }), clock);
    const none = grantedNow(setAt(clock, { refreshToken: null }), clock);
    clock.advance(9000 * HOUR);
    expect([refreshIsWorthTrying(endless, clock), refreshIsWorthTrying(none, clock)]).toEqual([true, false]);
  });
});

describe('tokens from the disk', () => {
  test.each([
    [0, true, true],
    [1_739_999, true, true],
    [1_740_000, false, true],
    [2_100_000, false, false],
  ])('%d ms old: usable %s, refreshable %s', (age, usable, refreshable) => {
    const clock = handClock(START);
    const current = readFromDisk(toTokenSet(grant(), clock.now() - age, null), clock);
    expect([accessIsUsable(current, clock), refreshIsWorthTrying(current, clock)]).toEqual([
      usable,
      refreshable,
    ]);
  });

  test('obtained in the future: expired, but a refresh is tried', () => {
    const clock = handClock('1970-01-01T00:01:00Z');
    const current = readFromDisk(toTokenSet(grant(), Date.parse(START), null), clock);
    expect([accessIsUsable(current, clock), refreshIsWorthTrying(current, clock)]).toEqual([false, true]);
    clock.jump(Date.parse(START));
    expect(accessIsUsable(current, clock)).toBe(false);
  });
});

describe('whatever the clocks do', () => {
  const move = fc.record({
    advance: fc.integer({ min: 0, max: 2 * HOUR }),
    jump: fc.oneof(fc.constant(0), fc.integer({ min: -100 * HOUR, max: 100 * HOUR })),
  });

  test('no token is used past its life, none is due before its time, and none is given up early', () => {
    const lives = fc.integer({ min: 1, max: 5000 });
    holds(lives, fc.array(move, { maxLength: 20 }), fc.boolean(), (life, moves, restarted) => {
      const clock = handClock(START);
      const set = setAt(clock, { expiresInSeconds: life, refreshExpiresInSeconds: life + 300 });
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
});
