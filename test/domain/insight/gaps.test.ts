// Whether a reading has the days of a gap in it: its standing charges tell, or its size.
import { expect, test } from 'vitest';
import { gapJudge } from '../../../src/domain/insight/gaps.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import { amounts } from '../ledgers.ts';

const START = '2025-01-01';
const RATE = 0.12;
const dayOf = (at: number): Day => addDays(START, at);

/** 40 days of about 20 kWh; then readings as given (`null`: none), each with so many standing charges of `standing` EUR. */
function daysWith(last: readonly (readonly [kwh: number, charges: number] | null)[], standing = 0.5) {
  const usual = Array.from(
    { length: 40 },
    (_, at) => [20 + ((at * 7) % 5) - 2 + ((at * 3) % 7) / 10, 1] as const,
  );
  return new Map(
    [...usual, ...last].flatMap((one, at) => {
      if (one === null) return [];
      const [kwh, charges] = one;
      return [[dayOf(at), amounts(kwh, Math.round(1e4 * (kwh * RATE + charges * standing)) / 1e4)] as const];
    }),
  );
}
const lastOf = (days: ReadonlyMap<Day, unknown>): Day => [...days.keys()].at(-1) ?? START;

test.each<[string, Parameters<typeof daysWith>[0], number, number, object]>([
  [
    'an ordinary reading with one charge has its own day',
    [null, [20, 1]],
    1,
    0.5,
    { heldBy: 'none', unbilled: 0 },
  ],
  [
    'a reading with the charges of both days has both',
    [null, [40, 2]],
    1,
    0.5,
    { heldBy: 'next', unbilled: 0 },
  ],
  ['charges tell, even where little heat was used', [null, [21, 2]], 1, 0.5, { heldBy: 'next' }],
  ['a reading with some of the charges has not all', [null, null, null, [40, 2]], 3, 0.5, { heldBy: 'none' }],
  [
    'the size tells of a charge that is lacking',
    [null, [40, 1]],
    1,
    0.5,
    { heldBy: 'next', unbilled: 500_000 },
  ],
  ['the size tells where there is no charge', [null, [41, 0]], 1, 0, { heldBy: 'next', unbilled: 0 }],
  ['a size between that of one day and of two tells nothing', [null, [29, 0]], 1, 0, { heldBy: 'none' }],
  ['two readings of one day have the day after it', [[40, 2], null, [20, 1]], 1, 0.5, { heldBy: 'previous' }],
  ['a week', [null, null, null, null, null, null, [141, 7]], 6, 0.5, { heldBy: 'next' }],
])('%s', (_, last, missed, standing, expected) => {
  const days = daysWith(last, standing);
  expect(gapJudge()(days, lastOf(days), missed)).toMatchObject(expected);
});

test('keeps its evidence when the days are the same, and looks again when one of them is corrected', () => {
  const judge = gapJudge();
  const days = daysWith([null, [40, 2]]);
  const evidence = judge(days, dayOf(41), 1);
  expect(judge(new Map(days), dayOf(41), 1)).toBe(evidence);
  const corrected = new Map([...days, [dayOf(41), amounts(20, 2.9)] as const]);
  expect(judge(corrected, dayOf(41), 1)).toEqual({ heldBy: 'none', unbilled: 0 });
});

test('looks again when the earliest day that tells the tariff comes late', () => {
  const judge = gapJudge();
  const last = dayOf(182);
  const week = [...daysWith([])].slice(0, 8);
  const newest = [
    [dayOf(179), amounts(20, 2.9)],
    [dayOf(180), amounts(40, 5.8)],
    [last, amounts(20, 9)],
  ] as const;
  const whole = new Map([...week, ...newest]);
  const withoutFirst = new Map([...week.slice(1), ...newest]);
  expect(judge(withoutFirst, last, 1).heldBy).toBe('none');
  expect(judge(whole, last, 1).heldBy).toBe('previous');
});
