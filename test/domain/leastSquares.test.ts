// What the fits of insight stand on: medians of numbers, and a line that outliers and exact days do not spoil.
import { expect, test } from 'vitest';
import { huber, leastSquares, median, medianDeviation } from '../../src/domain/leastSquares.ts';

test.each<[number[], number]>([
  [[], 0],
  [[7], 7],
  [[100, 9, 20], 20],
  [[100, 9, 20, -3, 10, 8], 10],
  [[-10, -9, -100], -10],
])('the median of %j is %d: of two in the middle the upper one', (values, middle) => {
  expect(median(values)).toBe(middle);
});

test('the median deviation is that of normal noise', () => {
  expect(medianDeviation([1, 2, 3, 4, 1_000], 3)).toBeCloseTo(1.4826, 4);
});

const ROWS = Array.from({ length: 20 }, (_, at) => at);
const COLUMNS = [ROWS.map(() => 1), ROWS];

test('days that lie on a line have that line, and no scatter to speak of', () => {
  const { coefficients = [], scatter = 1 } =
    huber(
      COLUMNS,
      ROWS.map((at) => 5 + 2 * at),
    ) ?? {};
  expect(coefficients).toEqual([expect.closeTo(5, 6), expect.closeTo(2, 6)]);
  expect(scatter).toBeLessThan(1e-6);
});

test('a few outliers move the line by least squares far, and that by Huber little', () => {
  const values = ROWS.map((at) => 5 + 2 * at + (at % 3) / 10 + (at > 17 ? 200 : 0));
  const slopeOf = (fit: { readonly coefficients: readonly number[] } | null) => fit?.coefficients[1] ?? 0;
  expect(slopeOf(leastSquares(COLUMNS, values))).toBeGreaterThan(5);
  expect(slopeOf(huber(COLUMNS, values))).toBeLessThan(2.2);
});

test('terms that cannot be told apart have no line', () => {
  expect(leastSquares([ROWS, ROWS.map((at) => 2 * at)], ROWS)).toBeNull();
  expect(huber([ROWS, ROWS.map((at) => 2 * at)], ROWS)).toBeNull();
});
