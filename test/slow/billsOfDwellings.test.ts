// Bills of dwellings that the methods were not made by: correct ones that are accused, and wrong ones that are told.
import { expect, test } from 'vitest';
import { type BillCheck, billJudge } from '../../src/domain/insight/bill.ts';
import { zone } from '../../src/domain/period.ts';
import { Dwelling, type DwellingOptions } from './dwelling.ts';
import { type BillsOptions, billsOf, type DwellingBill, KINDS } from './dwellingBills.ts';
import { seeds, share, tell } from './figures.ts';

const DUBLIN = zone('Europe/Dublin');
const DAYS = 1_100;
/** So many bills have to be known before one is judged here. */
const FIRST = 4;

interface Judged {
  readonly bill: DwellingBill;
  readonly check: BillCheck | undefined;
}

/** Of each kind of bill nine. Of bills that hardly ever are accused more have to be seen. */
const DWELLINGS = 99;
const MANY_DWELLINGS = 330;

/** Each bill on the day on which it is the newest. */
function inTurn(options: DwellingOptions, billing: BillsOptions): Judged[] {
  const dwelling = new Dwelling({ days: DAYS, ...options });
  const bills = billsOf(dwelling, billing, options.money?.perEuro);
  const judge = billJudge();
  const ledgers = [{ origin: dwelling.from, days: dwelling.days }];
  const invoices = bills.map(({ invoice }) => invoice);
  return bills.slice(FIRST).map((bill, at) => {
    const checks = judge(invoices.slice(0, at + FIRST + 1), ledgers, DUBLIN);
    return { bill, check: checks.get(bill.invoice.id) };
  });
}

const is = (verdict: string) => (one: Judged) => one.check?.verdict === verdict;
const kindOf = (seed: number) => KINDS[seed % KINDS.length] ?? 'vat';

/** Shares of bills of dwellings of all kinds. */
function figuresOf(
  what: string,
  dwelling: Partial<DwellingOptions>,
  billing: (seed: number) => Partial<BillsOptions> = () => ({}),
  { count = DWELLINGS, counted = (_: Judged): boolean => true } = {},
) {
  const judged = seeds(count)
    .flatMap((seed) => inTurn({ seed, ...dwelling }, { kind: kindOf(seed), ...billing(seed) }))
    .filter(counted);
  const figures = {
    bills: judged.length,
    explained: share(judged, is('as_expected')),
    accused: share(judged, is('differs')),
    unknown: share(judged, is('unknown')),
  };
  tell(what, figures);
  return { judged, ...figures };
}

test('correct bills of eleven kinds are explained and hardly ever accused', () => {
  const { explained, accused } = figuresOf('correct bills', {});
  expect(accused).toBeLessThanOrEqual(0.003);
  expect(explained).toBeGreaterThanOrEqual(0.98);
});

test.each([1, -1, 3, -25])(
  'a bill that is wrong by %d EUR is told, and acquitted within its doubt only',
  (eur) => {
    const wrong = (seed: number) => ({
      wrong: new Map([
        [7 + (seed % 12), eur],
        [22 + (seed % 12), eur],
      ]),
    });
    const counted = ({ bill }: Judged) => bill.kind === 'wrong';
    const { judged, accused } = figuresOf(`bills ${eur} EUR wrong`, {}, wrong, { counted });
    expect(accused).toBeGreaterThanOrEqual(0.93);
    for (const { check } of judged.filter(is('as_expected')))
      expect(Math.abs(eur) * 1e6).toBeLessThanOrEqual(check?.doubt ?? 0);
  },
);

test.each<[NonNullable<DwellingOptions['gaps']>, number, number, number]>([
  [{ chance: 0.01, kind: 'lost' }, 0.005, 0.33, MANY_DWELLINGS],
  [{ chance: 0.05, kind: 'carried' }, 0.01, 0.08, DWELLINGS],
  [{ chance: 0.05, kind: 'carried_without_charges' }, 0.015, 1, DWELLINGS],
])('days without a reading accuse no correct bill: %o', (gaps, accusedAtMost, unknownAtMost, count) => {
  const { accused, unknown } = figuresOf(`days ${gaps.kind}, ${gaps.chance}`, { gaps }, undefined, { count });
  expect(accused).toBeLessThanOrEqual(accusedAtMost);
  expect(unknown).toBeLessThanOrEqual(unknownAtMost);
});

test.each<[string, Partial<DwellingOptions>, Partial<BillsOptions>, number, number]>([
  ['estimates that are cut at zero', { estimates: 0.02 }, {}, 0.01, 0.1],
  ['a register that is read at 08:00', { readAt: 8 }, {}, 0.05, 0.95],
  ['periods printed a day late', {}, { printed: [1, 1] }, 0.01, 0.3],
  ['periods printed a day early', {}, { printed: [-1, -1] }, 0.03, 0.3],
  ['periods printed a day too long at both ends', {}, { printed: [-1, 1] }, 0.01, 0.3],
  ['kronor: bills in whole units', { money: { perEuro: 11, decimals: 2 } }, { step: 1 }, 0.01, 0.08],
  [
    'forint: days and bills in whole units',
    { money: { perEuro: 390, decimals: 0 } },
    { step: 1 },
    0.01,
    0.08,
  ],
])('correct bills are not accused: %s', (what, dwelling, billing, accusedAtMost, unknownAtMost) => {
  const { accused, unknown } = figuresOf(what, dwelling, () => billing);
  expect(accused).toBeLessThanOrEqual(accusedAtMost);
  expect(unknown).toBeLessThanOrEqual(unknownAtMost);
});

test('instalments and the bills of their years accuse nobody', () => {
  const { accused } = figuresOf('instalments', {}, () => ({ instalments: true }));
  expect(accused).toBe(0);
});
