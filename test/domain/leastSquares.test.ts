// What the fits of insight stand on: medians of numbers, and the line of least squares.
import { expect, test } from 'vitest';
import { leastSquares, median, medianDeviation } from '../../src/domain/leastSquares.ts';

test.each<[number[], number]>([
  [[], 0],
  [[7], 7],
  [[100, 9, 20], 20],
  [[100, 9, 20, -3, 10, 8], 10],
  [[-10, -9, -100], -10],
])('has the median when the numbers are %j: %d', (values, middle) => {
  expect(median(values)).toBe(middle);
});

test('has the deviation of normal noise when one number is far off', () => {
  expect(medianDeviation([1, 2, 3, 4, 1_000], 3)).toBeCloseTo(1.4826, 4);
});

const ROWS = Array.from({ length: 20 }, (_, at) => at);
const COLUMNS = [ROWS.map(() => 1), ROWS];

test('has the line, and no residuals to speak of, when the observations lie on one', () => {
  const values = ROWS.map((at) => 5 + 2 * at);
  const { coefficients = [], residuals = [1] } = leastSquares(COLUMNS, values) ?? {};
  expect(coefficients).toEqual([expect.closeTo(5, 6), expect.closeTo(2, 6)]);
  expect(Math.max(...residuals.map(Math.abs))).toBeLessThan(1e-6);
});

test('has no line when the terms cannot be told apart', () => {
  expect(leastSquares([ROWS, ROWS.map((at) => 2 * at)], ROWS)).toBeNull();
});
