// What the bars show: days added up to weeks and months, the same period of the year before, and what is missing.
import { addDays, daysBetween, intervalStart } from '../../domain/period.ts';

export type Interval = 'day' | 'week' | 'month';
export type What = 'kwh' | 'cost';
/** As in the retained history. */
export type DayRow = readonly [day: string, kwh: number | null, cost: number | null, ...more: unknown[]];
export type Days = ReadonlyMap<string, DayRow>;

export interface Bar {
  /** First and last day, `YYYY-MM-DD`; the last one is before the end of the period while it runs. */
  readonly from: string;
  readonly to: string;
  readonly isRunning: boolean;
  /** `null`: none of its days has a reading. */
  readonly kwh: number | null;
  readonly cost: number | null;
  /** As many days, a year before; not known when the first of them is before the origin. */
  readonly before: { readonly kwh: number | null; readonly cost: number | null };
  readonly days: number;
  /** Of these, without a reading. */
  readonly missing: number;
  readonly isCorrected: boolean;
}

export const SHOWN: Readonly<Record<Interval, number>> = { day: 31, week: 26, month: 12 };

export const dayMap = (rows: readonly DayRow[]): Days => new Map(rows.map((row) => [row[0], row]));

/** The same day of the month, for weeks the same day of the week; `null` for 29 February. */
function yearBefore(interval: Interval, day: string): string | null {
  if (interval === 'week') return addDays(day, -364);
  const before = `${Number(day.slice(0, 4)) - 1}${day.slice(4)}`;
  return addDays(before, 0) === before ? before : null;
}

function sum(days: Days, from: string, count: number) {
  const rows = Array.from({ length: count }, (_, index) => days.get(addDays(from, index)));
  const add = (column: 1 | 2) => {
    const known = rows.flatMap((row) => row?.[column] ?? []);
    return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
  };
  return { kwh: add(1), cost: add(2), missing: rows.filter((row) => row?.[1] == null).length };
}

/**
 * Bars up to `last`, oldest first, `page` windows back from there. `first`: the origin of the totals, before which nothing is missing.
 * `corrected`: first days of the periods with a revision.
 */
export function barsOf(
  days: Days,
  { interval, first, last, page = 0 }: { interval: Interval; first: string; last: string; page?: number },
  corrected: ReadonlySet<string> = new Set(),
): Bar[] {
  const count = SHOWN[interval];
  const bars = Array.from({ length: count }, (_, index): Bar | null => {
    const start = intervalStart(interval, last, index + 1 - count * (page + 1));
    const end = addDays(intervalStart(interval, start, 1), -1);
    if (end < first || start > last) return null;
    const from = start < first ? first : start;
    const to = end > last ? last : end;
    const length = daysBetween(from, to) + 1;
    const before = yearBefore(interval, from);
    const isWholeMonth = interval === 'month' && end <= last && from === start;
    const lengthBefore = (day: string) =>
      isWholeMonth ? daysBetween(day, intervalStart('month', day, 1)) : length;
    return {
      ...sum(days, from, length),
      ...{ from, to, days: length, isRunning: end > last, isCorrected: corrected.has(start) },
      before:
        before === null || before < first
          ? { kwh: null, cost: null }
          : sum(days, before, lengthBefore(before)),
    };
  });
  return bars.filter((bar) => bar !== null);
}

/** The top of the axis and the steps to it: round figures. */
export function axis(highest: number): { top: number; ticks: number[] } {
  if (!(highest > 0)) return { top: 1, ticks: [] };
  const power = 10 ** Math.floor(Math.log10(highest / 2));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => highest / one <= 4) ?? 10 * power;
  const steps = Math.ceil(highest / step - 1e-9);
  return { top: steps * step, ticks: Array.from({ length: steps }, (_, index) => (index + 1) * step) };
}
