// Which readings are estimates, and how long an answer about days is kept.
import { expect, test } from 'vitest';
import { estimatedRuns, keptAnswers, readingsIn } from '../../../src/domain/insight/readings.ts';
import { addDays } from '../../../src/domain/period.ts';

const START = '2025-03-01';
/** `null`: a missed day. */
const daysOf = (kwh: readonly (number | null)[]) =>
  new Map(
    kwh.flatMap((one, at) => (one === null ? [] : [[addDays(START, at), { energy: one * 1e6 }] as const])),
  );
const spanOf = (count: number) => ({ from: START, to: addDays(START, count) });

test.each<[string, (number | null)[], { first: number; next: number }[]]>([
  ['four equal ones', [5, 7.3, 7.3, 7.3, 7.3, 9], [{ first: 1, next: 5 }]],
  ['three equal ones, which is chance', [5, 7.3, 7.3, 7.3, 9], []],
  ['four of whole kWh, which is chance', [5, 7, 7, 7, 7, 9], []],
  ['five of whole kWh', [5, 7, 7, 7, 7, 7, 9], [{ first: 1, next: 6 }]],
  ['days without heat', [5, 0, 0, 0, 0, 0, 0, 9], []],
  ['equal ones about a missed day', [7.3, 7.3, null, 7.3, 7.3], []],
  ['equal ones up to the newest', [5, 7.3, 7.3, 7.3, 7.3], [{ first: 1, next: 5 }]],
])('estimates: %s', (_, kwh, runs) => {
  expect(estimatedRuns(readingsIn('energy', daysOf(kwh), spanOf(kwh.length)))).toEqual(runs);
});

test('an answer is kept while nothing before its end has changed, of as many meters as before', () => {
  const kept = keptAnswers<number>();
  let found = 0;
  const find = () => ++found;
  const before = daysOf([1, 2, 3, 4]);
  const ask = (...maps: Parameters<typeof kept>[0]) => {
    const answer = kept(maps);
    return [answer('first two', addDays(START, 2), find), answer('all', addDays(START, 4), find)];
  };
  expect(ask(before)).toEqual([1, 2]);
  expect(ask(new Map(before))).toEqual([1, 2]);
  // The third day is another one, then the second is.
  const third = new Map(before).set(addDays(START, 2), { energy: 1 });
  expect(ask(third)).toEqual([1, 3]);
  expect(ask(new Map(third).set(addDays(START, 1), { energy: 1 }))).toEqual([4, 5]);
  expect(ask(third, before)).toEqual([6, 7]);
});
