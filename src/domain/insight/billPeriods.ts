// The days that the bills of an account are about, as far as their periods tell.
import { type Invoice, invoiceRecord } from '../invoice.ts';
import { compareText } from '../order.ts';
import { addDays, type DaySpan, daysBetween, type Zone } from '../period.ts';

export interface BillPeriod extends DaySpan {
  readonly invoice: Invoice;
}

const LONGEST_PERIOD_DAYS = 400;

/**
 * The periods by their ends; of those that end together the longest comes last, and of one period by the day they are due. Without bills
 * that are cancelled, or have no period that can be.
 */
export function billPeriods(invoices: readonly Invoice[], zone: Zone): BillPeriod[] {
  const periods = invoices
    .flatMap((invoice) => {
      const { period_start: from, period_end: last, status } = invoiceRecord(invoice, zone);
      const isCancelled = /^(cancell?ed|void(ed)?)$/i.test(status ?? '');
      if (isCancelled || from === null || last === null || last < from) return [];
      return daysBetween(from, last) < LONGEST_PERIOD_DAYS ? [{ invoice, from, to: addDays(last, 1) }] : [];
    })
    .sort(
      (a, b) =>
        compareText(a.to, b.to) ||
        compareText(b.from, a.from) ||
        (a.invoice.dueAt ?? 0) - (b.invoice.dueAt ?? 0) ||
        compareText(a.invoice.id, b.invoice.id),
    );
  const gaps = periods.map(({ from }, at) => daysBetween(periods[at - 1]?.to ?? from, from));
  return periods.map((period, at) => ({ ...period, to: addDays(period.to, daysOff(gaps.slice(1, at + 1))) }));
}

/**
 * How many days later the periods end than they say. Most follow one another: an end at the beginning of the last day leaves
 * a day between two, and an end within the first day of the next names that day twice.
 */
function daysOff(gaps: readonly number[]): number {
  // Once may be another bill for the same days.
  const isUsual = (days: number) => {
    const { length } = gaps.filter((gap) => gap === days);
    return length > 1 && length * 2 > gaps.length;
  };
  return [1, -1].find(isUsual) ?? 0;
}
