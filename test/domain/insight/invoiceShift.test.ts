// Bills that count each reading for another day than the ledger: the shift is found, and no wrong percentage.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkInvoices, type InvoiceCheck } from '../../../src/domain/insight/bills/invoiceCheck.ts';
import { invoiceSentence } from '../../../src/domain/insight/bills/invoiceWords.ts';
import { type BillingOptions, DUBLIN, Household, type HouseholdOptions } from '../../support/household.ts';
import { holds } from '../../support/property.ts';

const checked = (seed: number, more: Partial<HouseholdOptions>, billing: BillingOptions) => {
  const house = new Household({ seed, ...more });
  const truth = house.invoices({ ...billing, vat: [{ from: '2000-01-01', percent: 13.5 }] });
  const ledgers = [{ origin: house.span.from, days: house.days }];
  const found = checkInvoices(truth.map((one) => one.invoice).toReversed(), ledgers, DUBLIN);
  return truth.map((one) => ({ ...one, check: found.get(one.invoice.id) }));
};

test('the shift is found, and the sentence names the days', () => {
  for (const countedLater of [1, -1]) {
    const told = checked(7, {}, { countedLater, wrong: { 20: 12.4 } }).flatMap(({ check }) => check ?? []);
    // Of the first or of the last bill a day is not in the ledger.
    const all = told.filter(({ missing }) => missing === 0);
    expect(all.length).toBeGreaterThan(33);
    for (const { shift, usual } of all)
      expect({ shift, usual }).toEqual({ shift: -countedLater, usual: { percent: 13.5, amount: 0 } });
    expect(all.filter(({ isExplained }) => !isExplained)).toHaveLength(1);
  }
  const [, may] = checked(7, { from: '2025-04-01', days: 160 }, { countedLater: 1 });
  expect(invoiceSentence(may?.check as InvoiceCheck, 'EUR')).toMatch(
    / billed; the days from 2025-04-30 to 2025-05-30 add up to .*; 13.5 % on top/,
  );
});

test('never a wrong rate, however few bills there are', () => {
  const house = fc.record({
    seed: fc.integer({ min: 1, max: 100_000 }),
    days: fc.integer({ min: 62, max: 500 }),
    missed: fc.constantFrom(0, 0.05),
    readEvery: fc.constantFrom(1, 2),
  });
  holds(house, fc.constantFrom(-1, 0, 1), ({ seed, ...more }, countedLater) => {
    for (const { check } of checked(seed, more, { countedLater }))
      if (check?.usual) expect(check.usual).toEqual({ percent: 13.5, amount: 0 });
  });
});

test('two days off: nothing is explained', () => {
  const found = checked(7, {}, { countedLater: 2 }).map(({ check }) => check?.usual ?? null);
  expect(new Set(found)).toEqual(new Set([null]));
});
