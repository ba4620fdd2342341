// The values of the bars: days added up to weeks and months, the same period of the year before, and missing days.
import { addDays, daysBetween, daysOf, intervalStart, piecesOf } from '../../domain/period.ts';

export const INTERVALS = ['day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];
export type What = 'kwh' | 'cost';
/** A row of the retained history. */
export type DayRow = readonly [day: string, kwh: number | null, cost: number | null, ...more: unknown[]];

export type Bar = Readonly<ReturnType<typeof barsOf>[number]>;

const SHOWN: Readonly<Record<Interval, number>> = { day: 31, week: 26, month: 12 };

/** The same day of the month, for weeks the same day of the week; `null` for 29 February. */
function yearBefore(interval: Interval, day: string): string | null {
  if (interval === 'week') return addDays(day, -364);
  const before = `${Number(day.slice(0, 4)) - 1}${day.slice(4)}`;
  return addDays(before, 0) === before ? before : null;
}

/** The sum of those that are known; `null`: none is. */
export function sumOf(values: readonly (number | null | undefined)[]): number | null {
  const numbers = values.flatMap((value) => value ?? []);
  return numbers.length === 0 ? null : numbers.reduce((sum, value) => sum + value, 0);
}

/**
 * Bars up to `last`, oldest first, `page` windows back from there. `first`: the origin of the totals, before which nothing is missing.
 * `corrected`: first days of the periods with a revision.
 */
export function barsOf(
  rows: readonly DayRow[],
  { interval, first, last, page = 0 }: { interval: Interval; first: string; last: string; page?: number },
  corrected: ReadonlySet<string> = new Set(),
) {
  const rowOf = new Map(rows.map((row) => [row[0], row]));
  /** `until`: the day after the last one. `missing`: days without a reading; a sum is `null` where none has one. */
  function sumsOf(from: string, until: string) {
    const days = daysOf({ from, to: until }).map((day) => rowOf.get(day));
    return {
      kwh: sumOf(days.map((row) => row?.[1])),
      cost: sumOf(days.map((row) => row?.[2])),
      missing: days.filter((row) => row?.[1] == null).length,
    };
  }
  const begin = intervalStart(interval, last, 1 - SHOWN[interval] * (page + 1));
  const end = page === 0 ? addDays(last, 1) : intervalStart(interval, last, 1 - SHOWN[interval] * page);
  const span = { from: begin < first ? first : begin, to: end };
  return piecesOf(span, interval).map(({ start, from, to, isPartial }) => {
    const days = daysBetween(from, to);
    const earlier = yearBefore(interval, from);
    const isWholeMonth = interval === 'month' && !isPartial;
    const endOf = (day: string) => (isWholeMonth ? intervalStart('month', day, 1) : addDays(day, days));
    const hasBefore = earlier !== null && earlier >= first;
    return {
      ...sumsOf(from, to),
      /** First and last day, `YYYY-MM-DD`; the last one is before the end of the period while it runs. */
      from,
      to: addDays(to, -1),
      days,
      /** The same number of days, a year before; not known when the first of them is before the origin. */
      before: hasBefore ? sumsOf(earlier, endOf(earlier)) : { kwh: null, cost: null },
      isRunning: to < intervalStart(interval, start, 1),
      isCorrected: corrected.has(start),
    };
  });
}

/** The top of the axis and the steps to it: round figures. */
export function axis(highest: number): { top: number; ticks: number[] } {
  if (highest <= 0) return { top: 1, ticks: [] };
  const power = 10 ** Math.floor(Math.log10(highest / 2));
  const factor = [1, 2, 5].find((times) => highest / (times * power) <= 4) ?? 10;
  const step = factor * power;
  const steps = Math.ceil(highest / step - 1e-9);
  return { top: steps * step, ticks: Array.from({ length: steps }, (_, index) => (index + 1) * step) };
}
