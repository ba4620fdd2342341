// A lost ledger: as if it had never been lost, whatever the provider forgets, fills in or gives back at that moment.
import { expect, test } from 'vitest';
import { markRead, merge, openLedger } from '../../src/domain/ledger.ts';
import { addDays } from '../../src/domain/period.ts';
import { type RetainedHistory, restoreLedger } from '../../src/domain/recovery.ts';
import { totals } from '../../src/domain/totals.ts';
import { holds } from '../support/property.ts';
import { amounts, buckets, type Line, ledgerOf, row } from './ledgers.ts';
import { beginning, expectNewestWords, fates, published, suffer } from './losses.ts';

const ORIGIN = '2025-01-01';
const TODAY = '2025-06-30';
const CUT = { timezone: 'Europe/Dublin', readingCloses: 'same_day' } as const;
const memoryOf = (...lines: readonly Line[]): RetainedHistory => ({ ...CUT, ...ledgerOf(lines) });

/** Recovered, then read again from a provider that says this. */
function again(remembered: RetainedHistory, ...lines: readonly Line[]) {
  const span = { from: remembered.origin, to: addDays(TODAY, 1) };
  const restored = restoreLedger(openLedger(remembered.origin), remembered, 1);
  return markRead(merge(restored, buckets(...lines), 2, span).ledger, span, TODAY);
}

const totalOf = (...args: Parameters<typeof again>) => totals(again(...args), TODAY).total;

const FIRST: Line = ['2025-01-01', 10, 1];
const SECOND: Line = ['2025-01-02', 20, 2];
const FOURTH: Line = ['2025-01-04', 30, 3];
const THREE = memoryOf(FIRST, SECOND, FOURTH);

test.each<[string, Line[], [number, number]]>([
  ['has everything', [FIRST, SECOND, FOURTH], [60, 6]],
  ['has corrected a day', [['2025-01-01', 9, 1], SECOND, FOURTH], [59, 6]],
  ['has forgotten the oldest day', [SECOND, FOURTH, ['2025-01-05', 5, 1]], [65, 7]],
  ['has forgotten a day and filled a gap', [SECOND, ['2025-01-03', 1, 1], FOURTH], [61, 7]],
  ['has forgotten everything', [], [60, 6]],
])('the provider %s', (_, lines, [kwh, eur]) => {
  expect(totalOf(THREE, ...lines)).toEqual(amounts(kwh, eur));
});

test('forgotten days that come back are not counted twice', () => {
  const forgotten = { ...CUT, ...again(THREE, FOURTH) };
  expect(totals(forgotten, TODAY).total).toEqual(amounts(60, 6));
  expect(totalOf(forgotten, FIRST, ['2025-01-02', 21, 2])).toEqual(amounts(61, 6));
});

test('what the provider has said meanwhile is newer than what is remembered', () => {
  const read = ledgerOf([
    ['2025-01-02', 25, null],
    ['2025-01-05', 5, 1],
  ]);
  const { days, complete } = restoreLedger(read, THREE, 9);
  expect(complete).toBe(true);
  expect(days.get('2025-01-02')).toMatchObject(amounts(25, 2));
  expect(days.get('2025-01-01')).toEqual({ ...amounts(10, 1), revision: 0, receivedAt: 9 });
  expect([...days.keys()].sort()).toEqual(['2025-01-01', '2025-01-02', '2025-01-04', '2025-01-05']);
});

test('days of net credit come back from the retained history too', () => {
  const ledger = ledgerOf([FIRST, ['2025-01-02', 1, 0]]);
  const days = new Map(ledger.days).set('2025-01-02', { ...amounts(-1, -0.5), revision: 0, receivedAt: 1 });
  expect(published({ ...ledger, days }).days.get('2025-01-02')).toEqual(amounts(-1, -0.5));
});

test.each(['2025-02-01', '2024-12-01'])('not our own origin (%s) counts but the remembered one', (own) => {
  const ledger = restoreLedger(ledgerOf(row('2024-12-30', 60, 1, 1), { origin: own }), THREE, 9);
  expect(ledger).toMatchObject({ origin: ORIGIN, readTo: ORIGIN, complete: false });
  expect([...ledger.days.keys()].sort()[0]).toBe(ORIGIN);
  // The history is still to be read from there: nothing is told of it before.
  expect(ledger.days.has('2025-02-10')).toBe(true);
});

test('lost again and again, deaf or not, beside a provider that forgets, corrects and remembers', () => {
  holds(fates, (all) => {
    let lives = beginning();
    for (const [at, fate] of all.entries()) {
      lives = suffer(lives, fate, at + 1);
      expectNewestWords(lives, fate);
    }
  });
});
