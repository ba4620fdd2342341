// Which readings are estimates, and which reading puts them right.
import { expect, test } from 'vitest';
import { estimatedRuns, readingsIn, registerStep } from '../../../src/domain/insight/readings.ts';
import { addDays } from '../../../src/domain/period.ts';
import { drawFor } from '../../../src/simulator/random.ts';

const START = '2025-03-01';
/** `null`: a missed day. */
const daysOf = (kwh: readonly (number | null)[]) =>
  new Map(
    kwh.flatMap((one, at) =>
      one === null ? [] : [[addDays(START, at), { energy: Math.round(one * 1e6), cost: null }] as const],
    ),
  );
const spanOf = (count: number) => ({ from: START, to: addDays(START, count) });

/** Two months of days of four to seven steps, or of 40 to 70 of a fine register, and then those. */
function usual(step: number): number[] {
  const draw = drawFor(1, 1, 'readings');
  return Array.from({ length: 60 }, () => step * Math.round((step < 1 ? 10 : 1) * (4 + 3 * draw())));
}

test.each<[string, number, (number | null)[], { first: number; next: number; right: number }[]]>([
  ['four equal ones', 0.1, [5, 7.3, 7.3, 7.3, 7.3, 9], [{ first: 1, next: 5, right: 5 }]],
  ['estimates that were too high', 0.1, [5, 7.3, 7.3, 7.3, 7.3, 0, 0, 4], [{ first: 1, next: 5, right: 7 }]],
  ['three equal ones, which is chance', 0.1, [5, 7.3, 7.3, 7.3, 9], []],
  ['five of whole kWh, which is chance where days are alike', 1, [9, 6, 6, 6, 6, 6, 9], []],
  ['fourteen of whole kWh', 1, [9, ...Array(14).fill(6), 9], [{ first: 1, next: 15, right: 15 }]],
  [
    'two of a register of 10 kWh that are no multiples of it',
    10,
    [10, 23, 23, 10],
    [{ first: 1, next: 3, right: 3 }],
  ],
  ['days without heat', 0.1, [5, 0, 0, 0, 0, 0, 0, 9], []],
  ['equal ones about a missed day', 0.1, [7.3, 7.3, null, 7.3, 7.3], []],
  ['equal ones up to the newest', 0.1, [5, 7.3, 7.3, 7.3, 7.3], [{ first: 1, next: 5, right: 5 }]],
])('finds the estimates when there are %s', (_, step, newest, runs) => {
  const kwh = [...usual(step), ...newest];
  const found = estimatedRuns(readingsIn('energy', daysOf(kwh), spanOf(kwh.length)));
  expect(
    found.map(({ first, next, right }) => ({ first: first - 60, next: next - 60, right: right - 60 })),
  ).toEqual(runs);
});

test.each([
  [[12, 31, 8, 4.4, 9, 7], 1],
  [[10, 20, 20, 30, 10], 10],
  [[1.234, 5.1, 6.75], 0.001],
  [[1.5, 2, 3.5], 0.5],
  [[], 0.001],
])('finds the step when a register shows %o: %d kWh', (kwh, step) => {
  expect(registerStep(kwh.map((one) => Math.round(one * 1e6)))).toBe(step * 1e6);
});
