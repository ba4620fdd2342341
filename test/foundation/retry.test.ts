// Waiting times after failures, and what a Retry-After header asks for.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EXIT, type FailureOptions, failure } from '../../src/foundation/failure.ts';
import { backOffMs, retryAfterMs } from '../../src/foundation/retry.ts';
import { holds } from '../support/property.ts';

const trouble = (options: Omit<FailureOptions, 'exit'>) =>
  failure('trouble', 'Something went wrong.', { ...options, exit: EXIT.unexpected });
const SECOND = 1000;
const MINUTE = 60 * SECOND;

test.each([
  ['soon', [15, 30, 60, 120, 240, 480, 960, 1800, 1800]],
  ['later', [60, 120, 240, 480, 960, 1800, 1800]],
  ['never', [1800, 1800]],
] as const)('%s: doubles from the first step up to half an hour', (retry, seconds) => {
  const waits = seconds.map((_, index) => backOffMs(trouble({ retry }), index + 1, () => 0.5));
  expect(waits).toEqual(seconds.map((each) => each * SECOND));
});

test.each([
  ['anything that is no Failure waits like `later`', new TypeError('oops'), 0.5, MINUTE],
  ['jitter takes a quarter away', trouble({ retry: 'later' }), 0, 45 * SECOND],
  ['jitter adds a quarter', trouble({ retry: 'later' }), 0.999_999_999, 75 * SECOND],
  ['Retry-After is a floor', trouble({ retry: 'soon', retryAfterMs: 7 * 3600_000 }), 0.5, 7 * 3600_000],
  ['Retry-After is no ceiling', trouble({ retry: 'later', retryAfterMs: SECOND }), 0.5, MINUTE],
])('%s', (_, thrown, random, wait) => {
  expect(backOffMs(thrown, 1, () => random)).toBe(wait);
});

test('waits between 75 % of the first step and the cap, whatever the number of failures', () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  holds(fc.constantFrom('soon', 'later', 'never'), fc.nat(), chance, (retry, failures, random) => {
    const wait = backOffMs(trouble({ retry }), failures, () => random);
    expect(Number.isInteger(wait)).toBe(true);
    expect(wait).toBeGreaterThanOrEqual(15 * SECOND * 0.75);
    expect(wait).toBeLessThanOrEqual(30 * MINUTE);
  });
});

test.each([
  ['seconds', '120', 120 * SECOND],
  ['no wait at all', '0', 0],
  ['a date', 'Tue, 10 Mar 2026 12:05:00 GMT', 5 * MINUTE],
  ['a date of the old kind', 'Tuesday, 10-Mar-26 12:05:00 GMT', 5 * MINUTE],
  ['a date that is over', 'Tue, 10 Mar 2026 11:00:00 GMT', 0],
  ['years', '999999999', 30 * MINUTE],
  ['words that Node takes for a date', 'back in 2030', null],
  ['a negative number', '-5', null],
  ['a broken number', '1.5', null],
  ['two of them', '120, 120', null],
  ['nothing', '', null],
  ['no header', undefined, null],
  ['a number without end', '9'.repeat(400), null],
])('Retry-After with %s: "%s"', (_, value, expected) => {
  expect(retryAfterMs(value, Date.parse('2026-03-10T12:00:00Z'))).toBe(expected);
});
