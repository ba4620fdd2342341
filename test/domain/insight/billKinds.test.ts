// Bills of kinds that are not those of a month in cents: instalments, currencies without cents, and periods that are printed a day off.
import { describe, expect, test } from 'vitest';
import { billJudge } from '../../../src/domain/insight/bill.ts';
import { billSentence } from '../../../src/domain/insight/billWords.ts';
import type { Invoice } from '../../../src/domain/invoice.ts';
import { addDays, addMonths, type Day } from '../../../src/domain/period.ts';
import { Building, DUBLIN, invoiceOf } from '../../support/building.ts';
import { type Line, ledgerOf } from '../ledgers.ts';
import { bill, check, EUR, lines, start } from './monthsOfBills.ts';

describe('instalments', () => {
  /** Months of 60.00, and what is left of the year's days with a tax. */
  function yearsOf(years: number) {
    const building = new Building({ seed: 5, from: '2021-01-01', days: 366 + 365 * years });
    const costIn = (from: Day, to: Day) =>
      [...building.days].reduce(
        (sum, [day, { cost }]) => sum + (day >= from && day < to ? (cost ?? 0) : 0),
        0,
      ) / 1e6;
    const invoices = Array.from({ length: years }, (_, year) => {
      const from = addMonths('2021-01-01', 12 * year);
      const to = addMonths(from, 12);
      const months = Array.from({ length: 12 }, (_, at) =>
        invoiceOf(`M${year}-${at}`, addMonths(from, at), addMonths(from, at + 1), 60_000_000),
      );
      const left = Math.round((costIn(from, to) * 1.135 - 720) * 100) * 10_000;
      return [...months, invoiceOf(`Y${year}`, from, to, left)];
    }).flat();
    const ledgers = [{ origin: building.from, days: building.days }];
    const judged = (all: readonly Invoice[]) => billJudge()(all, ledgers, DUBLIN);
    return { invoices, judged };
  }

  test('tells nothing of the days when the amount does not depend on them', () => {
    const { invoices, judged } = yearsOf(1);
    const newest = judged(invoices.slice(0, 8)).get('M0-7');
    expect(newest).toMatchObject({ verdict: 'unknown', reason: 'instalments', unexplained: null });
    expect(newest && billSentence(newest, 'EUR')).toMatch(/it is an instalment/);
  });

  test('compares the bill of a year with its days less what was paid when instalments came before it', () => {
    const { invoices, judged } = yearsOf(6);
    const checks = judged(invoices);
    const first = checks.get('Y0');
    expect(first).toMatchObject({ verdict: 'unknown', reason: 'no_rule', paid: 720_000_000 });
    expect(first && billSentence(first, 'EUR')).toMatch(/720\.00 paid in instalments; .* more \(13\.5 %\)/);
    expect(checks.get('Y5')).toMatchObject({
      verdict: 'as_expected',
      together: { how: 'within', bills: 12 },
    });
    const wrong = invoices.map((one) =>
      one.id === 'Y5' ? { ...one, total: (one.total ?? 0) + 9_000_000 } : one,
    );
    expect(judged(wrong).get('Y5')?.verdict).toBe('differs');
  });
});

describe('steps of a currency', () => {
  test.each([
    ['without cents', 390, 1, 0],
    ['whose bills are in whole units', 11, 1, 2],
  ])('%s: bills are explained, and a wrong one is told', (_, perEuro, step, decimals) => {
    const days = lines.map(
      ([day, kwh, eur]): Line => [
        day,
        kwh,
        Math.round((eur ?? 0) * perEuro * 10 ** decimals) / 10 ** decimals,
      ],
    );
    const ledger = ledgerOf(days, { origin: '2024-01-01', today: '2025-12-31' });
    const bills = EUR.map((_, at) => {
      const sum = days.reduce(
        (all, [day, , cost]) => (day >= start(at) && day < start(at + 1) ? all + (cost ?? 0) : all),
        0,
      );
      return bill(at, Math.round((sum * 1.27) / step) * step + (at === 7 ? perEuro : 0));
    });
    const told = check(bills, [ledger]).map((one) => one?.verdict);
    expect(told.slice(4)).toEqual([
      'as_expected',
      'as_expected',
      'as_expected',
      'differs',
      'as_expected',
      'as_expected',
    ]);
  });
});

test.each([
  [1, 1],
  [-1, -1],
  [-1, 1],
])('explains bills when their periods are printed a day off, %d and %d', (first, last) => {
  const building = new Building({ seed: 6, days: 14 * 31 });
  const bills = building.bills({ kind: 'vat' }).map(({ invoice }) => invoice);
  const printed = bills.map((one) => ({
    ...one,
    startAt: DUBLIN.startOf(addDays(DUBLIN.dayAt(one.startAt ?? 0), first)),
    endAt: DUBLIN.startOf(addDays(DUBLIN.dayAt(one.endAt ?? 0), last)),
  }));
  const checks = billJudge()(printed, [{ origin: addDays(building.from, -1), days: building.days }], DUBLIN);
  const newest = checks.get(bills.at(-1)?.id ?? '');
  expect(newest?.verdict).toBe('as_expected');
  expect(newest && billSentence(newest, 'EUR')).toMatch(
    /of days that begin and end a day (earlier|later) than is printed/,
  );
});
