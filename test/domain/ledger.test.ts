// What one reply changes in the ledger: the newest word counts, absence never erases.
import { expect, test } from 'vitest';
import { ledgerSince, merge } from '../../src/domain/ledger.ts';
import { amounts, buckets, type Line, ledgerOf, row } from './ledgers.ts';

const DAY = '2025-06-01';
const A: Line = [DAY, 5, 1.3];
const B: Line = ['2025-06-02', 6, 1.4];
const ONLY_ENERGY: Line = [DAY, 5, null];
const OTHER: Line = [DAY, 4.5, 1.2];
const ZERO: Line = [DAY, 0, 0.686];
const EMPTY: Line = [DAY, null, null];
const ORIGIN: Line = ['2025-01-01', 5, 1];

/** A line, its revision, and when it was received: 1 before, 2 with this reply. */
const old = (line: Line, revision = 0) => [...line, revision, 1] as const;
const now = (line: Line, revision = 0) => [...line, revision, 2] as const;
const isNew = (line: Line) => ['new_day', ...line] as const;
const isCorrected = (line: Line) => ['corrected', ...line] as const;
type After = ReturnType<typeof old | typeof now>;
type Told = ReturnType<typeof isNew | typeof isCorrected>;

test.each<[string, Line[], Line[], After[], Told[]]>([
  ['a first reading', [], [A], [now(A)], [isNew(A)]],
  ['the same again, a duplicate', [A], [A], [old(A)], []],
  ['twice in one reply: the last counts', [], [A, OTHER], [now(OTHER, 1)], [isNew(A), isCorrected(OTHER)]],
  ['a late reading, behind a newer one', [B], [A], [now(A), old(B)], [isNew(A)]],
  ['reordered buckets are told oldest first', [], [B, A], [now(A), now(B)], [isNew(A), isNew(B)]],
  ['a correction of both amounts', [A], [OTHER], [now(OTHER, 1)], [isCorrected(OTHER)]],
  ['a correction to zero', [A], [ZERO], [now(ZERO, 1)], [isCorrected(ZERO)]],
  ['a day withdrawn keeps its value', [A, B], [B], [old(A), old(B)], []],
  ['a day emptied keeps its value', [A], [EMPTY], [old(A)], []],
  ['an empty day is no day', [], [EMPTY], [], []],
  ['energy only', [], [ONLY_ENERGY], [now(ONLY_ENERGY)], [isNew(ONLY_ENERGY)]],
  ['the cost follows later', [ONLY_ENERGY], [[DAY, null, 1.3]], [now(A, 1)], [isCorrected(A)]],
  [
    'a corrected cost leaves the energy',
    [OTHER],
    [[DAY, null, 1]],
    [now([DAY, 4.5, 1], 1)],
    [isCorrected([DAY, 4.5, 1])],
  ],
  ['a day before the origin does not count', [], [['2024-12-31', 5, 1]], [], []],
  ['the origin itself does', [], [ORIGIN], [now(ORIGIN)], [isNew(ORIGIN)]],
])('%s', (_name, before, reply, after, told) => {
  const { ledger, changes, quarantinedNow } = merge(ledgerOf(before), buckets(...reply), 2);
  expect([...ledger.days].sort(([a], [b]) => a.localeCompare(b))).toEqual(
    after.map(([day, kwh, eur, revision, receivedAt]) => [
      day,
      { ...amounts(kwh, eur), revision, receivedAt },
    ]),
  );
  expect(changes.map(({ kind, day, after: value }) => ({ kind, day, ...value }))).toEqual(
    told.map(([kind, day, kwh, eur]) => ({ kind, day, ...amounts(kwh, eur) })),
  );
  expect(quarantinedNow).toEqual([]);
});

test('the ledger merged from is left as it was', () => {
  const ledger = ledgerOf([A]);
  merge(ledger, buckets(['2025-06-01', 9, 9], B, ['2025-06-03', -1, 1]), 2);
  expect(ledger).toEqual(ledgerOf([A]));
});

test('the ledger since a day has the days from it on, and is the same where that is no later than its origin', () => {
  const whole = ledgerOf([A, B]);
  const since = ledgerSince(whole, B[0]);
  expect([since.origin, [...since.days.keys()]]).toEqual([B[0], [B[0]]]);
  expect(ledgerSince(whole, whole.origin)).toBe(whole);
});

test('the times of readings are those of the newest days that count', () => {
  const read = (lines: readonly Line[], hour: number) =>
    buckets(...lines).map((one) => ({ ...one, readAt: Date.parse(`${one.day}T0${hour}:00:00Z`) }));
  const month = row('2025-05-20', 30, 5, 1.3);
  const odd: Line = ['2025-06-20', 5000, 620];
  const { readTimes } = merge(ledgerOf([]), read([...month, odd], 3), 2).ledger;
  expect([...readTimes.keys()]).toEqual(month.slice(-28).map(([day]) => day));
  const { ledger } = merge({ ...ledgerOf([A]), readTimes }, read([A], 5), 3);
  expect(ledger.readTimes.get(DAY)).toBe(Date.parse(`${DAY}T05:00:00Z`));
});
