// What must hold of a ledger after every step, however often it was lost.
import { expect } from 'vitest';
import { totals } from '../../src/domain/totals.ts';
import type { Fate, Lives } from './losses.ts';
import { birth } from './providerModel.ts';

/** Its totals are the newest words; after the whole history was asked for, all that the provider gives is in it. */
export function expectNewestWords({ life }: Lives, { turn }: Fate): void {
  const { ledger, newestWord, truth, today, asked } = life;
  if (!ledger.complete) return;
  expect(ledger.origin).toBe(birth().ledger.origin);
  for (const kind of ['energy', 'cost'] as const) {
    const words = [...newestWord.values()].flatMap((word) => word[kind] ?? []);
    expect(totals(ledger, today).total[kind] ?? 0).toBe(words.reduce((sum, one) => sum + one, 0));
  }
  if (asked[0]?.from !== ledger.origin || turn.answers !== null) return;
  for (const [day, { energy, cost }] of truth) {
    if (day < ledger.origin || day > today) continue;
    if (energy !== null) expect(ledger.days.get(day)?.energy).toBe(energy);
    if (cost !== null) expect(ledger.days.get(day)?.cost).toBe(cost);
  }
}
