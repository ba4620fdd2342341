// What one reply changes in the ledger: the newest word counts, absence never erases.
import { expect, test } from 'vitest';
import { merge } from '../../src/domain/ledger.ts';
import { amounts, buckets, type Line, ledgerOf } from './ledgers.ts';

type Told = readonly [kind: 'new_day' | 'corrected', ...Line];
interface Case {
  readonly before: readonly Line[];
  readonly reply: readonly Line[];
  /** Days afterwards, in order: day, kWh, EUR, revision, received at (1: before; 2: this reply). */
  readonly after: readonly (readonly [...Line, number, number])[];
  readonly changes: readonly Told[];
}

const A: Line = ['2025-06-01', 5, 1.3];
const B: Line = ['2025-06-02', 6, 1.4];

const CASES: Readonly<Record<string, Case>> = {
  'a first reading': { before: [], reply: [A], after: [[...A, 0, 2]], changes: [['new_day', ...A]] },
  'the same again, a duplicate': { before: [A], reply: [A], after: [[...A, 0, 1]], changes: [] },
  'the same twice in one reply': {
    before: [],
    reply: [A, A],
    after: [[...A, 0, 2]],
    changes: [['new_day', ...A]],
  },
  'two words on a day in one reply: the last one counts': {
    before: [],
    reply: [A, ['2025-06-01', 7, 1.5]],
    after: [['2025-06-01', 7, 1.5, 1, 2]],
    changes: [
      ['new_day', ...A],
      ['corrected', '2025-06-01', 7, 1.5],
    ],
  },
  'a late reading, behind a newer one': {
    before: [B],
    reply: [A],
    after: [
      [...A, 0, 2],
      [...B, 0, 1],
    ],
    changes: [['new_day', ...A]],
  },
  'a missing day between two': {
    before: [A],
    reply: [A, ['2025-06-03', 11, 2.7]],
    after: [
      [...A, 0, 1],
      ['2025-06-03', 11, 2.7, 0, 2],
    ],
    changes: [['new_day', '2025-06-03', 11, 2.7]],
  },
  'reordered buckets are told oldest first': {
    before: [],
    reply: [B, A],
    after: [
      [...A, 0, 2],
      [...B, 0, 2],
    ],
    changes: [
      ['new_day', ...A],
      ['new_day', ...B],
    ],
  },
  'a correction of both amounts': {
    before: [A],
    reply: [['2025-06-01', 4.5, 1.2]],
    after: [['2025-06-01', 4.5, 1.2, 1, 2]],
    changes: [['corrected', '2025-06-01', 4.5, 1.2]],
  },
  'a correction to zero': {
    before: [A],
    reply: [['2025-06-01', 0, 0.686]],
    after: [['2025-06-01', 0, 0.686, 1, 2]],
    changes: [['corrected', '2025-06-01', 0, 0.686]],
  },
  'a day withdrawn keeps its value': {
    before: [A, B],
    reply: [B],
    after: [
      [...A, 0, 1],
      [...B, 0, 1],
    ],
    changes: [],
  },
  'a day emptied keeps its value': {
    before: [A],
    reply: [['2025-06-01', null, null]],
    after: [[...A, 0, 1]],
    changes: [],
  },
  'an empty day is no day': { before: [], reply: [['2025-06-01', null, null]], after: [], changes: [] },
  'energy only': {
    before: [],
    reply: [['2025-06-01', 5, null]],
    after: [['2025-06-01', 5, null, 0, 2]],
    changes: [['new_day', '2025-06-01', 5, null]],
  },
  'the cost follows later': {
    before: [['2025-06-01', 5, null]],
    reply: [['2025-06-01', null, 1.3]],
    after: [['2025-06-01', 5, 1.3, 1, 2]],
    changes: [['corrected', '2025-06-01', 5, 1.3]],
  },
  'a corrected cost leaves the energy': {
    before: [A],
    reply: [['2025-06-01', null, 0.686]],
    after: [['2025-06-01', 5, 0.686, 1, 2]],
    changes: [['corrected', '2025-06-01', 5, 0.686]],
  },
  'a day before the origin does not count': {
    before: [],
    reply: [['2024-12-31', 5, 1]],
    after: [],
    changes: [],
  },
  'the origin itself does': {
    before: [],
    reply: [['2025-01-01', 5, 1]],
    after: [['2025-01-01', 5, 1, 0, 2]],
    changes: [['new_day', '2025-01-01', 5, 1]],
  },
  'nothing at all': { before: [A], reply: [], after: [[...A, 0, 1]], changes: [] },
};

test.each(Object.entries(CASES))('%s', (_name, { before, reply, after, changes }) => {
  const merged = merge(ledgerOf(before), buckets(...reply), 2);
  const days = [...merged.ledger.days].sort(([a], [b]) => a.localeCompare(b));
  expect(days).toEqual(
    after.map(([day, kwh, eur, revision, receivedAt]) => [
      day,
      { ...amounts(kwh, eur), revision, receivedAt },
    ]),
  );
  expect(merged.changes.map(({ kind, day, after: told }) => ({ kind, day, ...told }))).toEqual(
    changes.map(([kind, day, kwh, eur]) => ({ kind, day, ...amounts(kwh, eur) })),
  );
  expect(merged.quarantinedNow).toEqual([]);
});

test('a change tells what was known before', () => {
  const { changes } = merge(ledgerOf([A]), buckets(['2025-06-01', 4.5, 1.2], B), 2);
  expect(changes.map(({ before }) => before)).toEqual([amounts(5, 1.3), null]);
});

test('the ledger merged from is left as it was', () => {
  const ledger = ledgerOf([A]);
  merge(ledger, buckets(['2025-06-01', 9, 9], B, ['2025-06-03', -1, 1]), 2);
  expect(ledger).toEqual(ledgerOf([A]));
});
