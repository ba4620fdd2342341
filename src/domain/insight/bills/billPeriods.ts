// The days that the bills of an account are about, as far as their periods tell.
import { type Invoice, invoiceRecord } from '../../invoice.ts';
import { addDays, type DaySpan, daysBetween, type Zone } from '../../period.ts';

const LONGEST_PERIOD_DAYS = 400;

/** Oldest first. Without bills that are cancelled, or have no period that can be. */
export function billPeriods(invoices: readonly Invoice[], zone: Zone): (DaySpan & { invoice: Invoice })[] {
  const periods = invoices
    .flatMap((invoice) => {
      const span = periodOf(invoice, zone);
      return span ? [{ invoice, ...span }] : [];
    })
    .sort((a, b) => (a.from < b.from ? -1 : 1));
  const off = daysOff(periods);
  return periods.map((period) => ({ ...period, to: addDays(period.to, off) }));
}

/** `null`: cancelled, or without a period that can be. */
function periodOf(invoice: Invoice, zone: Zone): DaySpan | null {
  const { period_start: from, period_end: last } = invoiceRecord(invoice, zone);
  if (from === null || last === null || last < from || isCancelled(invoice)) return null;
  return daysBetween(from, last) < LONGEST_PERIOD_DAYS ? { from, to: addDays(last, 1) } : null;
}

/**
 * How many days later the periods end than they say. Most follow one another: an end at the beginning of the last day leaves
 * a day between two, and an end within the first day of the next names that day twice.
 */
function daysOff(periods: readonly DaySpan[]): number {
  const gaps = periods.slice(1).map(({ from }, at) => daysBetween(periods[at]?.to ?? from, from));
  // Once may be another bill for the same days.
  const isUsual = (days: number) => {
    const { length } = gaps.filter((gap) => gap === days);
    return length > 1 && length * 2 > gaps.length;
  };
  return [1, -1].find(isUsual) ?? 0;
}

const isCancelled = ({ status }: Invoice): boolean => /^(cancell?ed|void(ed)?)$/i.test(status ?? '');
