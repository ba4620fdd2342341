// Amounts: exact sums, one rounding at the edge, and the difference between nothing and zero.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sumKnown, toMicro, toUnits } from '../../src/domain/amount.ts';
import { holds } from '../support/property.ts';

test.each([
  [0, 0],
  [0.1 + 0.2, 300_000],
  [1.005, 1_005_000],
  [0.0000006, 1],
  [-0.372, -372_000],
  [999_999_999.999999, 999_999_999_999_999],
])('%d units are %d millionths', (units, micro) => {
  expect(toMicro(units)).toBe(micro);
});

test.each([
  [500, 0.001],
  [-499, 0],
  [-500, -0.001],
  [1_005_500, 1.006],
  [-1_005_500, -1.006],
])('%d millionths leave the house as %d', (micro, units) => {
  expect(toUnits(micro)).toBe(units);
});

test('zero has no sign, in whichever direction it was rounded', () => {
  expect(Object.is(toMicro(-0.0000001), 0)).toBe(true);
  expect(Object.is(toUnits(-1), 0)).toBe(true);
});

test.each([
  [[], null],
  [[null, null], null],
  [[null, 0], 0],
  [[5, null, -2], 3],
])('the sum of what is known of %j is %j: nothing is not zero, and gaps are passed over', (given, sum) => {
  expect(sumKnown(given)).toBe(sum);
});

test('what the provider gives with up to three decimals comes out as it came in', () => {
  holds(fc.integer({ min: -1e12, max: 1e12 }), (milli) => {
    const units = milli / 1000;
    expect(toUnits(toMicro(units))).toBe(units === 0 ? 0 : units);
  });
});
