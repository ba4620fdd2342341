// A lost ledger: as if it had never been lost, whatever the provider forgets, fills in or gives back at that moment.
import { expect, test } from 'vitest';
import { type RetainedHistory, restoreLedger } from '../../src/domain/recovery.ts';
import { holds } from '../support/property.ts';
import { amounts, type Line, ledgerOf, row } from './ledgers.ts';
import { beginning, expectNewestWords, fates, published, suffer } from './losses.ts';

const ORIGIN = '2025-01-01';
const CUT = { timezone: 'Europe/Dublin', readingCloses: 'same_day' } as const;
const memoryOf = (...lines: readonly Line[]): RetainedHistory => ({ ...CUT, ...ledgerOf(lines) });

const FIRST: Line = ['2025-01-01', 10, 1];
const SECOND: Line = ['2025-01-02', 20, 2];
const FOURTH: Line = ['2025-01-04', 30, 3];
const THREE = memoryOf(FIRST, SECOND, FOURTH);

test('days of net credit come back from the retained history too', () => {
  const ledger = ledgerOf([FIRST, ['2025-01-02', 1, 0]]);
  const days = new Map(ledger.days).set('2025-01-02', { ...amounts(-1, -0.5), revision: 0, receivedAt: 1 });
  expect(published({ ...ledger, days }).days.get('2025-01-02')).toEqual(amounts(-1, -0.5));
});

test.each(['2025-02-01', '2024-12-01'])('not our own origin (%s) counts but the remembered one', (own) => {
  const ledger = restoreLedger(ledgerOf(row('2024-12-30', 60, 1, 1), { origin: own }), THREE, 9);
  expect(ledger).toMatchObject({ origin: ORIGIN, readTo: ORIGIN, complete: false });
  expect([...ledger.days.keys()].sort()[0]).toBe(ORIGIN);
  const newest = own > ORIGIN ? { ...amounts(20, 2), receivedAt: 9 } : { ...amounts(1, 1), receivedAt: 1 };
  expect(ledger.days.get('2025-01-02')).toEqual({ ...newest, revision: 0 });
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
