// Bills against their days: taxes, fees, wrong bills, missing days, and what cannot be compared.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkInvoices, type InvoiceCheck } from '../../../src/domain/insight/bills/invoiceCheck.ts';
import { invoiceSentence } from '../../../src/domain/insight/bills/invoiceWords.ts';
import type { Invoice } from '../../../src/domain/invoice.ts';
import type { Ledger } from '../../../src/domain/ledger.ts';
import { addDays, addMonths, type Day, daysBetween } from '../../../src/domain/period.ts';
import { drawFor } from '../../../src/simulator/random.ts';
import { type BillingOptions, DUBLIN, Household, type HouseholdOptions } from '../../support/household.ts';
import { holds } from '../../support/property.ts';
import { type Line, ledgerOf, row } from '../ledgers.ts';

const invoice = (
  id: string,
  from: Day,
  to: Day,
  eur: number | null,
  more: Partial<Invoice> = {},
): Invoice => ({
  id,
  status: 'invoice',
  startAt: DUBLIN.startOf(from),
  endAt: DUBLIN.startOf(to),
  dueAt: null,
  total: eur === null ? null : Math.round(eur * 1e6),
  open: 0,
  ...more,
});

const start = (at: number): Day => addDays('2025-01-06', 28 * at);

/** Bills of four weeks in a row, the newest last; `eur` of each of their days. */
function check(totals: readonly (number | null)[], eurOfDays: readonly number[], more: readonly Line[] = []) {
  const lines = eurOfDays.flatMap((eur, at) => row(start(at), 28, 10, eur));
  const invoices = totals.map((total, at) => invoice(String(at + 1), start(at), start(at + 1), total));
  const found = checkInvoices(invoices, [ledgerOf([...lines, ...more], { today: '2025-12-31' })], DUBLIN);
  return totals.map((_, at) => found.get(String(at + 1)));
}
const sentences = (checks: readonly (InvoiceCheck | undefined)[]) =>
  checks.map((one) => one && invoiceSentence(one, 'EUR'));

const withVat = (percent: number, ...eur: readonly number[]) =>
  eur.map((one) => Math.round(28 * one * (100 + percent)) / 100);

test('a tax of 13.5 percent, and the sentence of the newest', () => {
  const eur = [4.2, 4.37, 3.9, 4.61, 4.6003];
  expect(sentences(check(withVat(13.5, ...eur), eur)).at(-1)).toBe(
    '146.20 EUR billed; the days add up to 128.81; 13.5 % on top, as in the last four bills.',
  );
});

test('one bill alone is explained by nothing, unless nothing is on top', () => {
  expect(sentences(check([146.2], [4.6003]))).toEqual([
    '146.20 EUR billed; the days add up to 128.81; 17.39 more (13.5 %), which no other bill explains yet.',
  ]);
  expect(sentences(check([128.81], [4.6003]))).toEqual([
    '128.81 EUR billed; the days add up to 128.81; nothing on top.',
  ]);
  expect(check([146.2], [4.6003])[0]).toMatchObject({ usual: null, rest: null, difference: 17_391_600 });
});

test('12.40 too much after four bills is told, and the next one is right again', () => {
  const eur = [4.2, 4.37, 3.9, 4.61, 4.6003, 3.1];
  const totals = withVat(13.5, ...eur).map((total, at) => (at === 4 ? total + 12.4 : total));
  const found = check(totals, eur);
  expect(sentences(found).slice(-2)).toEqual([
    '158.60 EUR billed; the days add up to 128.81; 12.40 more than the days and the usual 13.5 % make.',
    '98.52 EUR billed; the days add up to 86.80; 13.5 % on top, as in other bills.',
  ]);
  expect(found[4]?.rest).toBeCloseTo(12_400_000, -4);
});

test('another tax: the first bill differs from what was usual, with the second both are explained', () => {
  const eur = [4.2, 4.37, 3.9, 4.61, 4.6003];
  const totals = [...withVat(9, ...eur.slice(0, 3)), ...withVat(13.5, ...eur.slice(3))];
  expect(check(totals.slice(0, 4), eur).at(-1)).toMatchObject({ usual: { percent: 9 }, isExplained: false });
  const all = check(totals, eur);
  expect(all.map((one) => one?.usual?.percent)).toEqual([9, 9, 9, 13.5, 13.5]);
  expect(all.every((one) => one?.isExplained)).toBe(true);
  expect(sentences(all).at(-1)).toContain('13.5 % on top, as in the bill before.');
});

test('two bills with the same amount or an odd percentage on top may agree by chance: it takes a third', () => {
  for (const total of [(sum: number) => sum + 3.49, (sum: number) => sum * 1.1362]) {
    const totals = [4.2, 4.3].map((one) => Math.round(total(28 * one) * 100) / 100);
    expect(check(totals, [4.2, 4.3]).map((one) => one?.usual)).toEqual([null, null]);
  }
});

test.each([
  ['the same amount', [4.2, 4.37, 3.9], (sum: number) => sum + 3.49, { percent: 0, amount: 3_490_000 }],
  ['a tax, of two,', [4.2, 4.3], (sum: number) => sum * 1.135, { percent: 13.5, amount: 0 }],
  ['an amount off', [4.2, 4.37, 3.9], (sum: number) => sum - 5, { percent: 0, amount: -5_000_000 }],
  ['percent off', [4.2, 4.37, 3.9], (sum: number) => sum * 0.98, { percent: -2, amount: 0 }],
  ['an odd percentage', [4.2, 4.37, 3.9], (sum: number) => sum * 1.1362, { percent: 13.62, amount: 0 }],
  [
    'a tax and an amount',
    [4.2, 2.1, 1.3, 3.3],
    (sum: number) => sum * 1.135 + 3.49,
    { percent: 13.5, amount: 3_490_000 },
  ],
])('%s on each', (_, eur, total, usual) => {
  const totals = eur.map((one) => Math.round(total(28 * one) * 100) / 100);
  const found = check(totals, eur);
  expect(found.map((one) => [one?.usual, one?.isExplained])).toEqual(eur.map(() => [usual, true]));
  expect(sentences(found).at(-1)).toMatch(usual.percent < 0 || usual.amount < 0 ? / off, / : / on top, /);
});

test('bills that agree in nothing are explained by nothing', () => {
  const found = check([120, 133, 171], [4.2, 4.37, 4.9]);
  expect(found.map((one) => one?.usual)).toEqual([null, null, null]);
});

describe('days', () => {
  const known = [4.2, 4.37, 3.9];
  const totals = withVat(13.5, ...known);

  test('that are missing at the end: the difference stands, nothing is concluded', () => {
    const found = check([...totals, 100], known, row(start(3), 20, 10, 3));
    expect(found.at(-1)).toMatchObject({ missing: 8, estimated: 0, difference: 40_000_000, rest: null });
    expect(sentences(found).at(-1)).toBe(
      '100.00 EUR billed; the days add up to 60.00; the cost of 8 days is missing there, so that the two cannot be compared.',
    );
  });

  test('that a later reading carries do not spoil the comparison', () => {
    const day = start(3);
    const fourth = [
      ...row(day, 4, 10, 3),
      ...row(addDays(day, 6), 1, 30, 9),
      ...row(addDays(day, 7), 21, 10, 3),
    ];
    const found = check([...totals, 95.34], known, fourth);
    expect(found.at(-1)).toMatchObject({ missing: 0, estimated: 2, edge: 0, isExplained: true });
    expect(sentences(found).at(-1)).toContain('three bills; 2 days came with a later reading.');
  });

  test('that were carried over the edge of the period may explain a rest', () => {
    const fourth = [...row(start(3), 27, 10, 3), ...row(start(4), 1, 20, 6)];
    const found = check([...totals, 95.34], known, fourth);
    expect(found.at(-1)).toMatchObject({ missing: 0, estimated: 1, edge: 3_000_000, isExplained: false });
    expect(sentences(found).at(-1)).toContain(
      '3.40 more than the days and the usual 13.5 % make; 1 day came with a later reading.',
    );
    expect(sentences(check([...totals, 93.94], known, fourth)).at(-1)).toContain(
      'usual 13.5 % make, as the readings at the ends of the period may explain; 1 day',
    );
  });
});

describe('what cannot be compared', () => {
  const ledger = ledgerOf(row('2025-01-01', 120, 10, 4), { today: '2025-12-31' });
  const march = invoice('march', '2025-03-01', '2025-04-01', 124);
  test.each<[string, Invoice[], Pick<Ledger, 'origin' | 'days'>[]]>([
    ['no meter', [march], []],
    ['no day', [march], [ledgerOf([])]],
    ['days without cost', [march], [ledgerOf(row('2025-01-01', 120, 10, null))]],
    ['a period before the origin', [{ ...march, startAt: DUBLIN.startOf('2024-12-31') }], [ledger]],
    ['one of two ledgers begins later', [march], [ledger, { ...ledger, origin: '2025-03-02' }]],
    ['no beginning', [{ ...march, startAt: null }], [ledger]],
    ['no end', [{ ...march, endAt: null }], [ledger]],
    ['an end in the year 9999', [{ ...march, endAt: Date.UTC(9999, 0, 1) }], [ledger]],
    ['an end before the beginning', [{ ...march, endAt: DUBLIN.startOf('2025-02-01') }], [ledger]],
    ['no total', [{ ...march, total: null }], [ledger]],
    ['cancelled', [{ ...march, status: 'CANCELLED' }], [ledger]],
    ['a period after the newest day', [invoice('june', '2025-06-01', '2025-07-01', 3)], [ledger]],
  ])('%s', (_, invoices, ledgers) => {
    expect(checkInvoices(invoices, ledgers, DUBLIN).size).toBe(0);
  });

  test('two bills for the same days; a cancelled one does not count', () => {
    const other = {
      ...march,
      id: 'other',
      startAt: DUBLIN.startOf('2025-03-31'),
      endAt: DUBLIN.startOf('2025-04-20'),
    };
    expect(checkInvoices([march, other], [ledger], DUBLIN).size).toBe(0);
    expect(checkInvoices([march, { ...other, status: 'void' }], [ledger], DUBLIN).size).toBe(1);
  });
});

test('two meters: their days together; one that came later does not spoil the bills before it', () => {
  const first = ledgerOf(row('2025-01-01', 120, 10, 4));
  const second = ledgerOf(row('2025-03-01', 61, 10, 1));
  const invoices = [
    invoice('jan', '2025-01-01', '2025-02-01', 124),
    invoice('mar', '2025-03-01', '2025-04-01', 155),
    invoice('gap', '2025-02-15', '2025-03-01', 56),
  ];
  const found = checkInvoices(invoices, [first, second], DUBLIN);
  expect([...found.values()].map(({ from, sum, missing }) => [from, sum, missing])).toEqual([
    ['2025-01-01', 124_000_000, 0],
    ['2025-02-15', 56_000_000, 0],
    ['2025-03-01', 155_000_000, 0],
  ]);
});

describe('of simulated years', () => {
  const checked = (options: HouseholdOptions, billing: BillingOptions) => {
    const house = new Household(options);
    const truth = house.invoices(billing);
    const ledger = { origin: house.span.from, days: house.days };
    const found = checkInvoices(truth.map((one) => one.invoice).toReversed(), [ledger], DUBLIN);
    return truth.map((one) => ({ ...one, check: found.get(one.invoice.id) }));
  };

  test.each<[string, Partial<HouseholdOptions>, BillingOptions]>([
    ['a reading each day', {}, {}],
    ['bills of two months that end a millisecond early', {}, { months: 2, endsBefore: true }],
    ['bills from the 12th on', {}, { shift: 20 }],
    ['a reading each second day', { readEvery: 2 }, {}],
    ['a reading each second day with one standing charge', { readEvery: 2, chargedOnce: true }, {}],
    ['readings that are missed', { missed: 0.05 }, {}],
    ['costs in cents', { costDecimals: 2 }, {}],
  ])('%s: 9 percent, then 13.5, and one bill with 12.40 too much', (_, more, billing) => {
    for (let seed = 1; seed <= 4; seed += 1) {
      const vat = [
        { from: '2000-01-01', percent: 9 },
        { from: '2024-01-01', percent: 13.5 },
      ];
      const all = checked({ seed, ...more }, { ...billing, vat, wrong: { 15: 12.4 } });
      const late = all.at(-1);
      expect(late?.check).toMatchObject({ usual: { percent: 13.5, amount: 0 }, isExplained: true });
      for (const { check, wrong, percent, sum } of all.filter((one) => one.check?.missing === 0)) {
        expect(check?.sum).toBe(sum);
        expect(check?.usual).toEqual({ percent, amount: 0 });
        expect(Math.abs((check?.rest ?? 0) - wrong)).toBeLessThan(60_000);
        expect(check?.isExplained).toBe(wrong === 0);
      }
    }
  });
});

describe('a reading each second day, and bills of what was used from the first to the last day', () => {
  const from: Day = '2025-01-01';
  const VAT_RISES = 16;
  const months = Array.from({ length: 22 }, (_, at) => addMonths(from, at));

  test.each([1, 2, 3, 4, 5, 6])('no percentage by chance, seed %i', (seed) => {
    const draw = drawFor(seed, 0, 'days');
    const eur = Array.from({ length: 680 }, () => 1 + Math.round(4 * 1e4 * draw()) / 1e4);
    const readings = eur.flatMap((cost, at): Line[] =>
      at % 2 ? [[addDays(from, at), 10, cost + (eur[at - 1] ?? 0)]] : [],
    );
    const bills = months.slice(0, -1).map((month, at) => {
      const next = addMonths(month, 1);
      const used = eur.slice(daysBetween(from, month), daysBetween(from, next)).reduce((a, b) => a + b, 0);
      const total = Math.round(used * (at < VAT_RISES ? 109 : 113.5)) / 100;
      return invoice(String(at), month, next, total);
    });
    const ledger = ledgerOf(readings, { today: '2026-12-01' });
    const found = checkInvoices(bills.toReversed(), [ledger], DUBLIN);
    const usual = bills.map(({ id }) => found.get(id)?.usual);
    for (const one of usual.slice(1, VAT_RISES)) expect(one).toEqual({ percent: 9, amount: 0 });
    for (const one of usual.slice(VAT_RISES)) expect([9, 13.5]).toContain(one?.percent);
    expect(found.get('13')).toMatchObject({ edge: 0, isExplained: true });
  });
});

test('the parts add up to the total, whatever the bills and days are', () => {
  const line = fc.tuple(fc.integer({ min: 0, max: 200 }), fc.option(fc.integer({ min: 0, max: 9_000 })));
  const bill = fc.tuple(
    fc.integer({ min: 0, max: 200 }),
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: -9_000, max: 90_000 }),
  );
  holds(fc.array(line), fc.array(bill, { maxLength: 8 }), (lines, bills) => {
    const ledger = ledgerOf(
      lines.map(([at, cents]): Line => [addDays('2025-01-01', at), 1, cents === null ? null : cents / 100]),
    );
    const invoices = bills.map(([at, length, cents], id) => {
      const from = addDays('2025-01-01', at);
      return invoice(String(id), from, addDays(from, length), cents / 100);
    });
    for (const one of checkInvoices(invoices, [ledger], DUBLIN).values()) {
      expect(one.difference).toBe(one.total - one.sum);
      expect(one.missing + one.estimated).toBeLessThanOrEqual(60);
      if (one.usual) {
        const onTop = Math.round((one.sum * one.usual.percent) / 100) + one.usual.amount;
        expect(one.sum + onTop + (one.rest ?? 0)).toBe(one.total);
      } else expect([one.rest, one.isExplained]).toEqual([null, false]);
      expect(one.missing === 0 || one.usual === null).toBe(true);
      expect(invoiceSentence(one, 'EUR')).not.toMatch(/NaN|undefined|--/);
    }
  });
});
