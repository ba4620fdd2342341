// When an account cannot read its meters any more.
import { expect, test } from 'vitest';
import { cannotRead } from '../../src/domain/sharedMeter.ts';

const NOW = Date.UTC(2026, 2, 2);
const HOUR_MS = 3_600_000;

test.each([
  ['well', null, false, false],
  ['failing for less than a day', 23, false, false],
  ['failing for a day', 24, false, true],
  ['waiting for its user', null, true, true],
])('an account that is %s', (_, hours, needsPerson, expected) => {
  const failingSince = hours === null ? null : NOW - hours * HOUR_MS;
  expect(cannotRead({ failingSince, needsPerson }, NOW)).toBe(expected);
});
