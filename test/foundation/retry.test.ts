// Waiting times after failures, and what a Retry-After header asks for.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EXIT, Failure, type FailureOptions } from '../../src/foundation/failure.ts';
import { backOffMs, retryAfterMs } from '../../src/foundation/retry.ts';
import { holds } from '../support/property.ts';

class Trouble extends Failure {
  readonly code = 'trouble';
  readonly exitCode = EXIT.unexpected;
}

const trouble = (options: FailureOptions) => new Trouble('Something went wrong.', options);
const middle = () => 0.5;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const CAP = 30 * MINUTE;

describe('back-off', () => {
  test.each([
    ['soon', [15, 30, 60, 120, 240, 480, 960, 1800, 1800]],
    ['later', [60, 120, 240, 480, 960, 1800, 1800]],
    ['never', [1800, 1800]],
  ] as const)('%s: doubles from the first step up to half an hour', (retry, seconds) => {
    const waits = seconds.map((_, index) => backOffMs(trouble({ retry }), index + 1, middle));
    expect(waits).toEqual(seconds.map((each) => each * SECOND));
  });

  test('anything thrown that is no Failure waits like `later`', () => {
    const wait = backOffMs(trouble({ retry: 'later' }), 3, middle);
    expect(backOffMs(new TypeError('oops'), 3, middle)).toBe(wait);
    expect(backOffMs('oops', 3, middle)).toBe(wait);
  });

  test('jitter spreads by a quarter to either side', () => {
    const failure = trouble({ retry: 'later' });
    expect(backOffMs(failure, 1, () => 0)).toBe(45 * SECOND);
    expect(backOffMs(failure, 1, () => 0.999_999_999)).toBe(75 * SECOND);
  });

  test('Retry-After is a floor, also above the cap, but no ceiling', () => {
    expect(backOffMs(trouble({ retry: 'soon', retryAfterMs: 7 * 3600 * SECOND }), 1, middle)).toBe(
      7 * 3600 * SECOND,
    );
    expect(backOffMs(trouble({ retry: 'later', retryAfterMs: SECOND }), 1, middle)).toBe(MINUTE);
  });

  test('whatever the number of failures: whole, between 75 % of the first step and the cap', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    holds(fc.constantFrom('soon', 'later', 'never'), fc.nat(), chance, (retry, failures, random) => {
      const wait = backOffMs(trouble({ retry }), failures, () => random);
      expect(Number.isInteger(wait)).toBe(true);
      expect(wait).toBeGreaterThanOrEqual(15 * SECOND * 0.75);
      expect(wait).toBeLessThanOrEqual(CAP);
    });
  });
});

describe('Retry-After', () => {
  const NOW = Date.parse('2026-03-10T12:00:00Z');

  test.each([
    ['seconds', '120', 120 * SECOND],
    ['seconds with blanks about', ' 120 ', 120 * SECOND],
    ['no wait at all', '0', 0],
    ['a date', 'Tue, 10 Mar 2026 12:05:00 GMT', 5 * MINUTE],
    ['a date of the old kind', 'Tuesday, 10-Mar-26 12:05:00 GMT', 5 * MINUTE],
    ['a date that is over', 'Tue, 10 Mar 2026 11:00:00 GMT', 0],
    ['years', '999999999', 30 * MINUTE],
    ['a date in years', 'Tue, 10 Mar 2099 12:05:00 GMT', 30 * MINUTE],
    ['a word', 'soon', null],
    ['words that Node takes for a date', 'back in 2030', null],
    ['a negative number', '-5', null],
    ['a broken number', '1.5', null],
    ['two of them', '120, 120', null],
    ['nothing', '', null],
    ['a number without end', '9'.repeat(400), null],
  ])('%s: "%s"', (_, value, expected) => {
    expect(retryAfterMs(value, NOW)).toBe(expected);
  });

  test('no header', () => {
    expect([retryAfterMs(undefined, NOW), retryAfterMs(null, NOW)]).toEqual([null, null]);
  });

  test('whatever stands there: nothing, or between 0 and a day', () => {
    const printable = fc.string({ unit: fc.constantFrom(...'0123456789 :,-GMTaeiou./') });
    holds(printable, (value) => {
      const wait = retryAfterMs(value, NOW) ?? 0;
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(24 * 60 * MINUTE);
    });
  });
});
