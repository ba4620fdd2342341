// The opening balance after a lost state directory: the provider's truth where it has it, never less than was said.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toMicro, toUnits } from '../../src/domain/amount.ts';
import { type Ledger, markRead, merge, openLedger } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import { openingAfter, type Remembered, reopen } from '../../src/domain/recovery.ts';
import { totals } from '../../src/domain/totals.ts';

const ORIGIN = '2025-01-01';
const TODAY = '2025-03-01';

interface Use {
  readonly day: Day;
  readonly kwh: number;
}

const asLedger = (uses: readonly Use[], from: Ledger = openLedger(ORIGIN)): Ledger => {
  const buckets = uses.map(({ day, kwh }) => ({ day, energy: toMicro(kwh), cost: toMicro(kwh / 8) }));
  const span = { from: ORIGIN, to: addDays(TODAY, 1) };
  return markRead(merge(from, buckets, 0, span).ledger, span, TODAY);
};

/** As it would be read back from the retained state: three decimals. */
function published(ledger: Ledger): Remembered {
  const { total, newestDay, missingDays } = totals(ledger, TODAY);
  const rounded = (amount: number | null) => toMicro(toUnits(amount ?? 0));
  return {
    origin: ledger.origin,
    energy: rounded(total.energy),
    cost: rounded(total.cost),
    opening: { energy: rounded(ledger.opening.energy), cost: rounded(ledger.opening.cost) },
    newestDay: newestDay ?? ORIGIN,
    missingDays,
  };
}

const energyOf = (ledger: Ledger) => toUnits(totals(ledger, TODAY).total.energy ?? 0);

function recovered(before: Ledger, uses: readonly Use[]): Ledger {
  const remembered = published(before);
  const after = asLedger(uses, reopen(remembered));
  return { ...after, opening: openingAfter(after, remembered) };
}

const use = (day: Day, kwh: number): Use => ({ day, kwh });

test('a provider that still has every day needs no opening balance, and its corrections count', () => {
  const before = asLedger([use('2025-01-01', 10), use('2025-01-02', 20)]);
  const after = recovered(before, [use('2025-01-01', 10), use('2025-01-02', 15), use('2025-01-03', 1)]);
  expect(after.opening).toEqual({ energy: 0, cost: 0 });
  expect(energyOf(after)).toBe(26);
});

test('days that the provider has forgotten come back as opening balance', () => {
  const before = asLedger([use('2025-01-01', 10), use('2025-01-02', 20), use('2025-01-03', 30)]);
  const after = recovered(before, [use('2025-01-03', 30), use('2025-01-04', 5)]);
  expect(toUnits(after.opening.energy)).toBe(30);
  expect(energyOf(after)).toBe(65);
});

test('an opening balance survives a second loss', () => {
  const before = asLedger([use('2025-01-01', 10), use('2025-01-02', 20), use('2025-01-03', 30)]);
  const once = recovered(before, [use('2025-01-03', 30), use('2025-01-04', 5)]);
  const twice = recovered(once, [use('2025-01-03', 30), use('2025-01-04', 5), use('2025-01-05', 1)]);
  expect(energyOf(twice)).toBe(66);
});

test('however much the provider forgets, and however often the state is lost, no total falls', () => {
  const amounts = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 50 });
  const losses = fc.array(fc.record({ forgets: fc.integer({ min: 0, max: 12 }) }), { maxLength: 4 });
  fc.assert(
    fc.property(amounts, losses, (milliKwh, all) => {
      const uses = milliKwh.map((milli, at) => use(addDays(ORIGIN, at), milli / 1000));
      let ledger = asLedger(uses);
      let first = 0;
      const truth = energyOf(ledger);
      for (const { forgets } of all) {
        // The newest day stays: a provider without any day has no total to compare.
        first = Math.min(first + forgets, uses.length - 1);
        ledger = recovered(ledger, uses.slice(first));
        expect(energyOf(ledger)).toBe(truth);
      }
    }),
  );
});
