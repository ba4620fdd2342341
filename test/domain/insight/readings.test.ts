// Which readings are estimates, and which reading puts them right.
import { expect, test } from 'vitest';
import { estimatedRuns, readingsIn } from '../../../src/domain/insight/readings.ts';
import { addDays } from '../../../src/domain/period.ts';

const START = '2025-03-01';
/** `null`: a missed day. */
const daysOf = (kwh: readonly (number | null)[]) =>
  new Map(
    kwh.flatMap((one, at) => (one === null ? [] : [[addDays(START, at), { energy: one * 1e6 }] as const])),
  );
const spanOf = (count: number) => ({ from: START, to: addDays(START, count) });

test.each<[string, (number | null)[], { first: number; next: number; right: number }[]]>([
  ['four equal ones', [5, 7.3, 7.3, 7.3, 7.3, 9], [{ first: 1, next: 5, right: 5 }]],
  ['estimates that were too high', [5, 7.3, 7.3, 7.3, 7.3, 0, 0, 4], [{ first: 1, next: 5, right: 7 }]],
  ['three equal ones, which is chance', [5, 7.3, 7.3, 7.3, 9], []],
  ['four of whole kWh, which is chance', [5, 7, 7, 7, 7, 9], []],
  ['five of whole kWh', [5, 7, 7, 7, 7, 7, 9], [{ first: 1, next: 6, right: 6 }]],
  ['days without heat', [5, 0, 0, 0, 0, 0, 0, 9], []],
  ['equal ones about a missed day', [7.3, 7.3, null, 7.3, 7.3], []],
  ['equal ones up to the newest', [5, 7.3, 7.3, 7.3, 7.3], [{ first: 1, next: 5, right: 5 }]],
])('estimates: %s', (_, kwh, runs) => {
  expect(estimatedRuns(readingsIn('energy', daysOf(kwh), spanOf(kwh.length)))).toEqual(runs);
});
