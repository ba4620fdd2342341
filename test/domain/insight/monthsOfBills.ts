// Ten months of days that differ as days do, and bills of them.
import { billJudge } from '../../../src/domain/insight/bill.ts';
import { billSentence } from '../../../src/domain/insight/billWords.ts';
import type { Invoice } from '../../../src/domain/invoice.ts';
import type { Ledger } from '../../../src/domain/ledger.ts';
import { addDays, addMonths, type Day, daysBetween } from '../../../src/domain/period.ts';
import { DUBLIN, invoiceOf } from '../../support/building.ts';
import { type Line, ledgerOf } from '../ledgers.ts';

export const start = (at: number): Day => addMonths('2024-01-01', at);
export const EUR = [4.2, 4.37, 3.9, 4.61, 2.6003, 3.1, 1.7, 2.2, 5.1, 4.05];
export const lengthOf = (at: number) => daysBetween(start(at), start(at + 1));
/** As different from one another as days are. */
export const lines = EUR.flatMap((eur, at) =>
  Array.from({ length: lengthOf(at) }, (_, day): Line => {
    const more = ((5 * day) % 7) - 3;
    return [addDays(start(at), day), 10 + more, eur + more / 10];
  }),
);
export const sumOf = (at: number) =>
  lines.reduce((sum, [day, , eur]) => (day >= start(at) && day < start(at + 1) ? sum + (eur ?? 0) : sum), 0);
export const LEDGER = ledgerOf(lines, { origin: '2024-01-01', today: '2025-12-31' });

export const bill = (at: number, eur: number, more: Partial<Invoice> = {}) =>
  invoiceOf(`B${at}`, start(at), start(at + 1), Math.round(eur * 100) * 10_000, more);

/** Bills of months in a row; `total`: of a month by its sum and number. */
export const billed = (total: (sum: number, at: number) => number, count = EUR.length) =>
  Array.from({ length: count }, (_, at) => bill(at, total(sumOf(at), at)));

export const check = (invoices: readonly Invoice[], ledgers: readonly Ledger[] = [LEDGER]) => {
  const checks = billJudge()(invoices.toReversed(), ledgers, DUBLIN);
  return invoices.map(({ id }) => checks.get(id));
};
export const verdicts = (invoices: readonly Invoice[]) => check(invoices).map((one) => one?.verdict);
export const sentenceOf = (invoices: readonly Invoice[], at = -1) => {
  const found = check(invoices).at(at);
  return found && billSentence(found, 'EUR');
};
