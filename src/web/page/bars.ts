// What the bars show: days added up to weeks and months, the same period of the year before, and what is missing.
import { addDays, daysBetween, intervalStart } from '../../domain/period.ts';

export type Interval = 'day' | 'week' | 'month';
export type What = 'kwh' | 'cost';
/** As in the retained history. */
export type DayRow = readonly [day: string, kwh: number | null, cost: number | null, ...more: unknown[]];

/** `null`: none of the days has a reading. */
type Sums = Readonly<Record<What, number | null>>;

export interface Bar extends Sums {
  /** First and last day, `YYYY-MM-DD`; the last one is before the end of the period while it runs. */
  readonly from: string;
  readonly to: string;
  readonly isRunning: boolean;
  /** As many days, a year before; not known when the first of them is before the origin. */
  readonly before: Sums;
  readonly days: number;
  /** Of these, without a reading. */
  readonly missing: number;
  readonly isCorrected: boolean;
}

export const SHOWN: Readonly<Record<Interval, number>> = { day: 31, week: 26, month: 12 };

/** The same day of the month, for weeks the same day of the week; `null` for 29 February. */
function yearBefore(interval: Interval, day: string): string | null {
  if (interval === 'week') return addDays(day, -364);
  const before = `${Number(day.slice(0, 4)) - 1}${day.slice(4)}`;
  return addDays(before, 0) === before ? before : null;
}

/** Of those that are known; `null`: none is. */
export function sumOf(values: readonly (number | null | undefined)[]): number | null {
  const known = values.flatMap((value) => value ?? []);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

function daysFrom(days: ReadonlyMap<string, DayRow>, from: string, count: number) {
  const rows = Array.from({ length: count }, (_, index) => days.get(addDays(from, index)));
  const [kwh, cost] = [sumOf(rows.map((row) => row?.[1])), sumOf(rows.map((row) => row?.[2]))];
  return { kwh, cost, missing: rows.filter((row) => row?.[1] == null).length };
}

/**
 * Bars up to `last`, oldest first, `page` windows back from there. `first`: the origin of the totals, before which nothing is missing.
 * `corrected`: first days of the periods with a revision.
 */
export function barsOf(
  rows: readonly DayRow[],
  { interval, first, last, page = 0 }: { interval: Interval; first: string; last: string; page?: number },
  corrected: ReadonlySet<string> = new Set(),
): Bar[] {
  const days = new Map(rows.map((row) => [row[0], row]));
  const count = SHOWN[interval];
  const bars = Array.from({ length: count }, (_, index): Bar | null => {
    const start = intervalStart(interval, last, index + 1 - count * (page + 1));
    const end = addDays(intervalStart(interval, start, 1), -1);
    if (end < first || start > last) return null;
    const from = start < first ? first : start;
    const to = end > last ? last : end;
    const length = daysBetween(from, to) + 1;
    const before = yearBefore(interval, from);
    const isWhole = interval === 'month' && end <= last && from === start;
    const lengthBefore = (day: string) =>
      isWhole ? daysBetween(day, intervalStart('month', day, 1)) : length;
    return {
      ...daysFrom(days, from, length),
      ...{ from, to, days: length, isRunning: end > last, isCorrected: corrected.has(start) },
      before:
        before === null || before < first
          ? { kwh: null, cost: null }
          : daysFrom(days, before, lengthBefore(before)),
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
