// Bills against their days: rules, wrong bills, changes of the rule, corrections, and what cannot be compared.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BillCheck, billJudge } from '../../../src/domain/insight/bill.ts';
import { billCheckRecord, billSentence } from '../../../src/domain/insight/billWords.ts';
import type { Invoice } from '../../../src/domain/invoice.ts';
import type { Ledger } from '../../../src/domain/ledger.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import { BILLINGS, type Billing, Building, DUBLIN, invoiceOf } from '../../support/building.ts';
import { holds, RUNS } from '../../support/property.ts';
import { type Line, ledgerOf, row } from '../ledgers.ts';
import { bill, billed, check, LEDGER, lines, sentenceOf, start, sumOf, verdicts } from './monthsOfBills.ts';

test.each<[string, (sum: number) => number, string, number | null, number | null]>([
  ['nothing on top', (sum) => sum, 'nothing on top', 0, 0],
  ['a tax', (sum) => sum * 1.135, '13.5 % on top', 13.5, 0],
  ['a discount', (sum) => sum * 0.98, '2 % off', -2, 0],
  ['an odd percentage', (sum) => sum * 1.0362, '3.6 % on top', 3.62, 0],
  ['a fee', (sum) => sum + 3.49, '3.49 on each bill', 0, 3.49],
  ['a tax and a fee', (sum) => sum * 1.135 + 3.49, '13.5 % on top and 3.49 on each bill', 13.5, 3.49],
])('explains bills when they have %s', (_, total, words, percent, amount) => {
  const bills = billed(total);
  const newest = check(bills).at(-1);
  expect(newest && billCheckRecord(newest, 'EUR')).toMatchObject({
    verdict: 'as_expected',
    explained_percent: percent,
    explained_amount: amount,
    rest: 0,
    unexplained: 0,
  });
  expect(sentenceOf(bills)).toMatch(new RegExp(`; ${words.replace('.', '\\.')}, as before\\.$`));
});

test('judges a bill anew when its total is put right under its number', () => {
  const judge = billJudge();
  const totals = (amount: number) => {
    const bills = billed((sum, at) => (at === 9 ? amount : sum * 1.135));
    return judge(bills.toReversed(), [LEDGER], DUBLIN).get('B9');
  };
  expect(totals(sumOf(9) * 1.135 + 25)?.verdict).toBe('differs');
  expect(totals(sumOf(9) * 1.135)?.verdict).toBe('as_expected');
});

test('explains no bill when fewer than three came before it', () => {
  expect(verdicts(billed((sum) => sum * 1.135)).slice(0, 5)).toEqual([
    'unknown',
    'unknown',
    'unknown',
    'as_expected',
    'as_expected',
  ]);
  expect(sentenceOf(billed((sum) => sum * 1.135, 1))).toMatch(
    /; 17\.56 more \(13.5 %\), which too few bills/,
  );
});

test.each<[Billing, string]>([
  ['monthly', '; 23 % on top, 0.56 less a day and 16.89 on each bill, as before.'],
  ['energyVat', '; 23 % on top and 0.10 less a day, as before.'],
])('tells apart what is not on the sum of the days when bills are %s', (kind, words) => {
  const building = new Building({ seed: 3, days: 20 * 31 });
  const invoices = building.bills({ kind }).map(({ invoice }) => invoice);
  const newest = billJudge()(invoices, [{ origin: building.from, days: building.days }], DUBLIN).get(
    invoices.at(-1)?.id ?? '',
  );
  expect(newest && billCheckRecord(newest, 'EUR')).toMatchObject({
    verdict: 'as_expected',
    explained_percent: null,
    explained_amount: null,
    rest: null,
    sentence: expect.stringContaining(words),
  });
});

test('adds up the days of both meters when an account has two', () => {
  const both = check(
    billed((sum) => 2 * sum * 1.135),
    [LEDGER, LEDGER],
  );
  expect(both.at(-1)?.verdict).toBe('as_expected');
  expect(both.at(-1)?.sum).toBeCloseTo(2e6 * sumOf(9), 0);
});

test('tells a tax alone when a rule with a term more is only a little likelier', () => {
  const building = new Building({ seed: 11, days: 14 * 31 });
  const invoices = building.bills({ kind: 'vat' }).map(({ invoice }) => invoice);
  const checks = billJudge()(invoices, [{ origin: building.from, days: building.days }], DUBLIN);
  const judged = invoices.slice(5).map(({ id }) => billCheckRecord(checks.get(id) as BillCheck, 'EUR'));
  for (const { sentence } of judged) expect(sentence).toMatch(/; [\d.]+ % on top, as before\.$/);
});

test('counts a day once when two meters miss it', () => {
  const days = new Map([...LEDGER.days].filter(([day]) => day !== '2024-10-12'));
  const [last] = check(
    billed((sum) => 2 * sum * 1.135),
    [
      { ...LEDGER, days },
      { ...LEDGER, days },
    ],
  ).slice(-1);
  expect(last).toMatchObject({ missing: 1, estimated: 0, reason: 'days_missing' });
});

test('leaves the other verdicts as they are when a bill is of the far future', () => {
  const far = {
    ...bill(1, 100),
    id: 'far',
    startAt: Date.parse('9998-01-01'),
    endAt: Date.parse('9998-02-01'),
  };
  const known = billed((sum) => sum * 1.135);
  expect(check([...known, far]).at(-1)).toBeUndefined();
  expect(verdicts([...known, far]).slice(0, -1)).toEqual(verdicts(known));
});

test('tells nothing when bills scatter by more than a rule may be unsure of', () => {
  const scattered = billed((sum, at) => sum * 1.135 + (at % 2 === 0 ? 0.4 : -0.4) * (at % 3));
  expect(new Set(verdicts(scattered))).toEqual(new Set(['unknown']));
});

test('tells 12.40 too much when one bill is wrong, and acquits the next', () => {
  const bills = billed((sum, at) => sum * 1.135 + (at === 7 ? 12.4 : 0));
  expect(verdicts(bills).slice(-3)).toEqual(['differs', 'as_expected', 'as_expected']);
  expect(sentenceOf(bills, 7)).toMatch(/; 12\.40 more than the days with 13\.5 % on top make\.$/);
});

test('tells a third wrong bill when two of the first ones are wrong', () => {
  const tooMuch = new Map([
    [0, 13],
    [1, 21],
    [9, 17],
  ]);
  const told = verdicts(billed((sum, at) => sum * 1.135 + (tooMuch.get(at) ?? 0)));
  expect(told.slice(7)).toEqual(['as_expected', 'as_expected', 'differs']);
});

test('tells another tax when the third bill has it, and judges by it from there on', () => {
  const bills = billed((sum, at) => sum * (at < 6 ? 1.09 : 1.19));
  expect(verdicts(bills.slice(0, 8)).slice(-2)).toEqual(['differs', 'differs']);
  expect(verdicts(bills).slice(5)).toEqual([
    'as_expected',
    'rule_changed',
    'rule_changed',
    'rule_changed',
    'as_expected',
  ]);
  expect(sentenceOf(bills, 8)).toMatch(
    /the rule has changed: 19 % on top since 2024-07-01, 9 % on top before\.$/,
  );
  expect(sentenceOf(bills)).toMatch(/19 % on top, since 2024-07-01, as before\.$/);
});

test('tells a change when every bill from one on has a fee', () => {
  const bills = billed((sum, at) => sum * 1.09 + (at < 6 ? 0 : 5));
  expect(sentenceOf(bills, 8)).toMatch(/the rule has changed: 9 % on top and 5\.00 on each bill since/);
});

test('tells no change when three wrong bills have nothing in common', () => {
  const bills = billed((sum, at) => sum * 1.09 + ([7, -19, 31][at - 6] ?? 0));
  expect(verdicts(bills).slice(6)).toEqual(['differs', 'differs', 'differs', 'as_expected']);
});

test('explains a correction together with its estimate when it puts that right', () => {
  const bills = billed((sum, at) => sum * 1.135 + (at === 6 ? 20 : at === 7 ? -20 : 0));
  expect(verdicts(bills).slice(-4)).toEqual(['differs', 'as_expected', 'as_expected', 'as_expected']);
  expect(sentenceOf(bills, 7)).toMatch(/together with the bill before it, which it puts right/);
});

describe('bills of a period add up', () => {
  const taxed = billed((sum) => sum * 1.135, 8);

  test('explains both when a credit note follows a wrong bill', () => {
    const wrong = taxed.map((one, at) => (at === 7 ? { ...one, total: (one.total ?? 0) + 12_400_000 } : one));
    const note = { ...bill(7, -12.4), id: 'C7', dueAt: DUBLIN.startOf('2024-12-31') };
    expect(verdicts([...wrong, note]).slice(-2)).toEqual(['differs', 'as_expected']);
    expect(sentenceOf([...wrong, note])).toMatch(/together with the other bill for these days/);
  });

  test.each([
    ['of the same due day', 'A7', 14],
    ['that is due before it', 'C7', 2],
  ])('a credit note %s accuses nothing by itself', (_, id, days) => {
    const dueAt = DUBLIN.startOf(addDays(start(8), days));
    const note = { ...bill(7, -20), id, dueAt };
    const wrong = taxed.map((one, at) => (at === 7 ? { ...one, total: (one.total ?? 0) + 20_000_000 } : one));
    const told = check([...wrong, note]).map((one) => [one?.verdict, one?.reason]);
    expect(told.filter(([verdict]) => verdict === 'as_expected').length).toBeGreaterThan(4);
    const [ofBill, ofNote] = told.slice(-2);
    if (days === 14)
      expect([ofBill, ofNote]).toEqual([
        ['differs', null],
        ['as_expected', null],
      ]);
    else
      expect([ofBill, ofNote]).toEqual([
        ['as_expected', null],
        ['unknown', 'credit_alone'],
      ]);
  });

  test('explains the last one when a bill is taken back and replaced', () => {
    const [last] = taxed.slice(-1) as [Invoice];
    const late = (id: string, total: number, day: Day) => ({
      ...last,
      id,
      total,
      dueAt: DUBLIN.startOf(day),
    });
    const wrong = { ...last, total: (last.total ?? 0) + 30_000_000 };
    const back = late('C7', -(wrong.total ?? 0), '2024-12-30');
    const again = late('D7', last.total ?? 0, '2024-12-31');
    const all = [...taxed.slice(0, -1), wrong, back, again];
    expect(verdicts(all).slice(-3)).toEqual(['differs', 'unknown', 'as_expected']);
  });

  test('goes on judging when months are billed anew with notes that take the first bills back', () => {
    const all = billed((sum) => sum * 1.135).flatMap((one, at) => {
      if (at !== 2 && at !== 4) return [one];
      const total = (one.total ?? 0) + 20_000_000;
      return [
        { ...one, id: `B${at}a`, total },
        { ...one, id: `B${at}b`, total: -total },
        { ...one, id: `B${at}c` },
      ];
    });
    const told = new Map(check(all).map((one) => [one?.id, one?.verdict]));
    expect(told.get('B4a')).toBe('differs');
    for (const id of ['B5', 'B6', 'B7', 'B8', 'B9']) expect([id, told.get(id)]).toEqual([id, 'as_expected']);
  });

  test.each([
    ['repeats them', (_sum: number, paid: number) => paid],
    ['is the bill of all', (sum: number) => sum * 1.135],
  ])('a longer statement that %s', (_, total) => {
    const [sum, paid] = [0, 1, 2, 3, 4, 5, 6, 7].reduce<[number, number]>(
      ([sum, paid], at) => [sum + sumOf(at), paid + (taxed[at]?.total ?? 0) / 1e6],
      [0, 0],
    );
    const statement = invoiceOf('Y', start(0), start(8), Math.round(total(sum, paid) * 100) * 10_000);
    expect(verdicts([...taxed, statement]).at(-1)).toBe('as_expected');
    const more = { ...statement, total: (statement.total ?? 0) + 5_000_000 };
    expect(verdicts([...taxed, more]).at(-1)).toBe('differs');
  });

  test('judges both with the second bill when two flats are billed apart', () => {
    const half = ({ id, total, ...one }: Invoice, side: string) => ({
      ...one,
      id: `${id}${side}`,
      total: (total ?? 0) / 2,
    });
    const apart = taxed.flatMap((one) => [half(one, 'a'), half(one, 'b')]);
    expect(verdicts(apart).slice(-4)).toEqual(['unknown', 'as_expected', 'unknown', 'as_expected']);
  });
});

describe('days', () => {
  const taxed = billed((sum) => sum * 1.135, 7);

  test('that are missing leave the difference and no verdict when a bill has twelve of them', () => {
    const [last] = check(
      [...taxed, bill(7, 100)],
      [{ ...LEDGER, days: new Map([...LEDGER.days].filter(([day]) => day < '2024-08-20')) }],
    ).slice(-1);
    expect(last).toMatchObject({
      verdict: 'unknown',
      missing: 12,
      reason: 'days_missing',
      unexplained: null,
    });
    expect(last && billSentence(last, 'EUR')).toMatch(/the cost of 12 days is in no reading/);
  });

  /** Without a day, whose kWh and EUR are then in the reading of another one, or in none. */
  function ledgerWithout(day: Day, inReadingOf: Day | null, ledger = LEDGER) {
    const days = new Map(ledger.days);
    const gone = days.get(day);
    days.delete(day);
    const other = inReadingOf === null ? undefined : days.get(inReadingOf);
    if (inReadingOf && gone && other) {
      const energy = (other.energy ?? 0) + (gone.energy ?? 0);
      days.set(inReadingOf, { ...other, energy, cost: (other.cost ?? 0) + (gone.cost ?? 0) });
    }
    return { ...ledger, days };
  }

  test.each(['2024-08-31', '2024-08-10', '2024-08-02'])('that never come accuse no bill: %s', (day) => {
    const [last] = check([...taxed, bill(7, sumOf(7) * 1.135)], [ledgerWithout(day, null)]).slice(-1);
    expect(last).toMatchObject({ verdict: 'unknown', reason: 'days_missing', missing: 1, estimated: 0 });
    expect(last && billSentence(last, 'EUR')).toMatch(/the cost of 1 day is in no reading/);
  });

  test.each(['2024-08-10', '2024-08-12'])(
    'that the reading of %s has with their charges are known',
    (reading) => {
      const ledger = ledgerWithout('2024-08-11', reading);
      const [last] = check([...taxed, bill(7, sumOf(7) * 1.135)], [ledger]).slice(-1);
      expect(last).toMatchObject({ verdict: 'as_expected', missing: 0, estimated: 1 });
      expect(Math.abs(last?.unexplained ?? 1e9)).toBeLessThan(10_000);
      expect(last?.doubt).toBeLessThan(700_000);
    },
  );

  test('that were carried over the end of the period leave a doubt, which is told', () => {
    const even = ledgerOf(
      lines.map(([day, kwh]): Line => [day, kwh, 2 + (kwh ?? 0) / 10]),
      { origin: '2024-01-01', today: '2025-12-31' },
    );
    const costIn = (at: number) =>
      [...even.days].reduce(
        (sum, [day, { cost }]) => sum + (day >= start(at) && day < start(at + 1) ? (cost ?? 0) : 0),
        0,
      );
    const bills = Array.from({ length: 8 }, (_, at) => bill(at, (costIn(at) / 1e6) * 1.135));
    const ledger = ledgerWithout('2024-08-31', '2024-09-01', even);
    const [last] = check(bills, [ledger]).slice(-1);
    const carried = ledger.days.get('2024-09-01')?.cost ?? 0;
    expect(last).toMatchObject({ verdict: 'as_expected', estimated: 1 });
    expect(last?.doubt).toBeGreaterThan(1.135 * carried);
    expect(last && billSentence(last, 'EUR')).toMatch(/ more or less is left open/);
  });
});

describe('what cannot be compared', () => {
  const march = bill(2, 124);
  test.each<[string, Invoice[], Ledger[]]>([
    ['no meter', [march], []],
    ['days without cost', [march], [ledgerOf(row('2024-01-01', 120, 10, null))]],
    ['a period before the origin', [march], [{ ...LEDGER, origin: '2024-03-02' }]],
    ['no beginning', [{ ...march, startAt: null }], [LEDGER]],
    ['an end before the beginning', [{ ...march, endAt: DUBLIN.startOf('2024-02-01') }], [LEDGER]],
    ['no total', [{ ...march, total: null }], [LEDGER]],
    ['cancelled', [{ ...march, status: 'CANCELLED' }], [LEDGER]],
  ])('%s', (_, invoices, ledgers) => {
    expect(check(invoices, ledgers)).toEqual([undefined]);
  });

  test('tells nothing when a period overlaps another', () => {
    const other = {
      ...march,
      id: 'other',
      startAt: DUBLIN.startOf('2024-03-20'),
      endAt: DUBLIN.startOf('2024-04-20'),
    };
    expect(check([march, other]).map((one) => one?.reason)).toEqual(['no_rule', 'overlaps']);
  });
});

test('judges as without a memory when any days are corrected, lost or estimated', () => {
  const bills = billed((sum, at) => sum * 1.135 + (at === 7 ? 12.4 : 0));
  const known = [...LEDGER.days.keys()];
  const changes = fc.array(
    fc.record({
      first: fc.integer({ min: 0, max: known.length - 1 }),
      count: fc.constantFrom(1, 1, 5, 40),
      to: fc.constantFrom('more', 'lost', 'flat'),
    }),
    { minLength: 1, maxLength: 3 },
  );
  holds(changes, (drawn) => {
    const judge = billJudge();
    for (const at of [7, bills.length]) judge(bills.slice(0, at), [LEDGER], DUBLIN);
    let days = new Map(LEDGER.days);
    for (const { first, count, to } of drawn) {
      days = new Map(days);
      for (const day of known.slice(first, first + count)) {
        const record = days.get(day);
        if (record === undefined || to === 'lost') days.delete(day);
        else if (to === 'more') days.set(day, { ...record, cost: (record.cost ?? 0) + 12_400_000 });
        else days.set(day, { ...record, energy: 7_000_000, cost: 1_200_000 });
      }
      const found = judge(bills, [{ ...LEDGER, days }], DUBLIN);
      expect(found).toEqual(billJudge()(bills, [{ ...LEDGER, days }], DUBLIN));
    }
  });
});

/** What a bill is billed wrong by, and how. */
interface Wrong {
  readonly seed: number;
  readonly kind: Billing;
  readonly wrongAt: number;
  readonly cents: number;
  readonly carried: number;
}

/** A bill changes no verdict before it but by telling a change, and none that is wrong by more than its doubt is acquitted. */
function isJudged({ seed, kind, wrongAt, cents, carried }: Wrong) {
  const building = new Building({ seed, days: 12 * 31, carried });
  const bills = building.bills({ kind, wrong: new Map([[wrongAt, cents / 100]]) });
  const all = bills.map(({ invoice }) => invoice);
  const ledgers = [{ origin: building.from, days: building.days }];
  const judge = billJudge();
  let checks = judge([], ledgers, DUBLIN);
  for (let at = 1; at <= all.length; at += 1) {
    const before = checks;
    checks = judge(all.slice(0, at), ledgers, DUBLIN);
    for (const [id, { verdict }] of before) {
      const now = checks.get(id)?.verdict;
      if (now !== 'rule_changed') expect([id, now]).toEqual([id, verdict]);
    }
  }
  const wrong = checks.get(all[wrongAt]?.id ?? '');
  if (wrong?.verdict === 'as_expected') expect(cents * 10_000).toBeLessThanOrEqual(wrong.doubt);
}

test.each<[string, Wrong]>([
  ['beside a fee', { seed: 1_000_000, kind: 'fee', wrongAt: 4, cents: 100, carried: 0 }],
  [
    'where days of whole kWh in cents hide the standing charge',
    { seed: 984_205, kind: 'monthly', wrongAt: 4, cents: 100, carried: 0 },
  ],
  [
    'as far above what is expected as the doubt reaches below',
    { seed: 230_079, kind: 'wholeKwh', wrongAt: 3, cents: 174, carried: 0 },
  ],
  [
    'beside days that were carried over the end',
    { seed: 331_520, kind: 'percent', wrongAt: 7, cents: 660, carried: 0.05 },
  ],
])('acquits within its doubt only when too much is billed %s', (_, wrong) => {
  isJudged(wrong);
});

test('changes no earlier verdict but by telling a change when a bill comes, and acquits a wrong one within its doubt only', () => {
  const house = fc.record({
    seed: fc.integer({ min: 1, max: 1e6 }),
    kind: fc.constantFrom(...BILLINGS.filter((kind) => kind !== 'estimated')),
    wrongAt: fc.integer({ min: 3, max: 11 }),
    cents: fc.integer({ min: 100, max: 5_000 }),
    carried: fc.constantFrom(0, 0, 0.05),
  });
  fc.assert(fc.property(house, isJudged), { numRuns: Math.ceil(RUNS / 4) });
});
