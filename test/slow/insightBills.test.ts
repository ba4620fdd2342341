// The check of bills on simulated households: VAT that changes, a fee, a wrong bill, and never a false explanation.
import { expect, test } from 'vitest';
import { checkInvoices, type InvoiceCheck } from '../../src/domain/insight/bills/invoiceCheck.ts';
import { addMonths } from '../../src/domain/period.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { seeds, share, tell } from '../support/figures.ts';
import {
  type BillingOptions,
  DUBLIN,
  Household,
  type HouseholdOptions,
  type TrueInvoice,
} from '../support/household.ts';

const FROM = '2023-01-01';
const CENT = 10_000;
const WRONG = 12.4;

type Told = { readonly bill: TrueInvoice; readonly check: InvoiceCheck | undefined; readonly number: number };

/** What is said of each bill on the day on which it is the newest. */
function toldInTurn(household: Household, billing: BillingOptions): Told[] {
  const ledgers = [{ origin: household.span.from, days: household.days }];
  const bills = household.invoices(billing);
  const invoices = bills.map(({ invoice }) => invoice);
  return bills.map((bill, at) => {
    const known = invoices.slice(0, at + 1).reverse();
    return { bill, number: at, check: checkInvoices(known, ledgers, DUBLIN).get(bill.invoice.id) };
  });
}

/** Some kind of household and of billing for each seed; the number of the first bill of 13.5 % and of the wrong one. */
function drawn(seed: number, careless: boolean) {
  const draw = drawFor(seed, 0, 'bills');
  const one = <T>(...of: readonly T[]): T => of[Math.floor(draw() * of.length)] as T;
  const months = one(1, 1, 2);
  const changed = 5 + Math.floor(draw() * 4);
  const wrongAt = changed + 4 + Math.floor(draw() * 2);
  const options: HouseholdOptions = {
    seed,
    from: FROM,
    days: 31 * months * 15,
    holidays: one(0, 2),
    noise: one(0.1, 0.15, 0.3),
    costDecimals: one(2, 4, 6),
    tariffs: [
      { from: '2000-01-01', unitRate: 0.1 + 0.1 * draw(), standing: draw() },
      { from: one(addMonths(FROM, 4), addMonths(FROM, 9), '2100-01-01'), unitRate: 0.15, standing: 0.9 },
    ],
    ...(careless && {
      readEvery: one(1, 1, 2),
      missed: one(0, 0.05),
      lost: one(0, 0, 0.01),
      chargedOnce: one(false, true),
    }),
  };
  const billing: BillingOptions = {
    months,
    vat: [
      { from: '2000-01-01', percent: 9 },
      { from: addMonths(FROM, months * changed), percent: 13.5 },
    ],
    endsBefore: one(false, true),
    wrong: { [wrongAt]: one(WRONG, -WRONG) },
  };
  return { household: new Household(options), billing, changed, wrongAt };
}

/** Everything that the bill has on top is named as it is, and nothing else. */
const isTrue = ({ bill, check }: Told, percentOff = 0.05, centsOff = 5) =>
  Math.abs((check?.usual?.percent ?? Number.NaN) - bill.percent) <= percentOff &&
  Math.abs((check?.usual?.amount ?? Number.NaN) - bill.fee) <= centsOff * CENT;

const isFalse = (told: Told) => told.check?.isExplained === true && (!isTrue(told) || told.bill.wrong !== 0);

test('9 %, then 13.5 %, and a bill that is wrong by 12.40: each is told', () => {
  for (const seed of seeds(200)) {
    const { household, billing, changed, wrongAt } = drawn(seed, false);
    for (const told of toldInTurn(household, billing)) {
      const { bill, check, number } = told;
      expect.soft(isFalse(told), `seed ${seed}, bill ${number}: false`).toBe(false);
      expect.soft(check?.difference).toBe((bill.invoice.total ?? 0) - bill.sum);
      expect.soft(check?.missing).toBe(0);
      const isKnown = (number > 0 && number < changed) || number > changed;
      if (isKnown)
        expect.soft(isTrue(told), `seed ${seed}, bill ${number}: ${check?.usual?.percent} %`).toBe(true);
      if (isKnown) expect.soft(check?.isExplained, `seed ${seed}, bill ${number}`).toBe(number !== wrongAt);
      if (number === wrongAt) expect.soft(Math.abs((check?.rest ?? 0) - bill.wrong)).toBeLessThan(5 * CENT);
      // The first bill with another VAT: told against the usual one.
      if (number === changed) expect.soft(check).toMatchObject({ usual: { percent: 9 }, isExplained: false });
    }
  }
});

test('readings that carry days, or are lost: less is explained, nothing falsely', () => {
  const all = seeds(200).flatMap((seed) => {
    const { household, billing } = drawn(seed, true);
    return toldInTurn(household, billing).map((told) => ({ ...told, seed }));
  });
  const falsely = all.filter(isFalse);
  tell('careless readings', {
    bills: all.length,
    explained: share(all, ({ check }) => check?.isExplained === true),
  });
  expect(
    falsely.map(({ seed, number, bill, check }) => ({ seed, number, percent: bill.percent, check })),
  ).toEqual([]);
});

test('a fee on each bill', () => {
  const all = seeds(200).flatMap((seed) => {
    const { household, billing, changed } = drawn(seed, false);
    const told = toldInTurn(household, { ...billing, vat: [], fee: 3.25 });
    return told.map((one) => ({ ...one, seed, changed }));
  });
  expect(
    all.filter(isFalse).map(({ seed, number, check }) => ({ seed, number, usual: check?.usual })),
  ).toEqual([]);
  const later = all.filter(({ number }) => number >= 4);
  expect(share(later, (told) => isTrue(told))).toBeGreaterThan(0.95);
});
test('VAT and a fee together are both named, or neither is', () => {
  const all = seeds(200).flatMap((seed) => {
    const { household, billing, changed, wrongAt } = drawn(seed, false);
    const told = toldInTurn(household, { ...billing, fee: 3.25 });
    return told.map((one) => ({
      ...one,
      seed,
      isSettled: one.number >= 4 && (one.number < changed || one.number >= changed + 3),
      wrongAt,
    }));
  });
  const falsely = all.filter((told) => told.check?.isExplained === true && !isTrue(told, 0.3, 60));
  tell('VAT and fee', {
    falsely: falsely.length / all.length,
    settled: share(
      all.filter(({ isSettled }) => isSettled),
      (told) => isTrue(told, 0.3, 60),
    ),
  });
  expect(falsely.length / all.length).toBeLessThan(0.06);
});

test('bills that follow nothing are not explained', () => {
  const all = seeds(200).flatMap((seed) => {
    const { household } = drawn(seed, false);
    const draw = drawFor(seed, 1, 'bills');
    const wrong = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [at, Math.round(draw() * 1500) / 100]),
    );
    return toldInTurn(household, { wrong }).map((told) => ({ ...told, seed }));
  });
  const explained = share(all, ({ check }) => check?.isExplained === true);
  tell('without any rule', { explained, usual: share(all, ({ check }) => check?.usual != null) });
  expect(explained).toBeLessThan(0.02);
});
