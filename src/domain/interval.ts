// Days, weeks, months, quarters and years: where they begin, and a span cut into them.
import { addDays, addMonths, type Day, type DaySpan, weekStart } from './period.ts';

export const INTERVALS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Interval = (typeof INTERVALS)[number];

const MONTHS = { month: 1, quarter: 3, year: 12 } as const;

/** What a span has of one interval. */
export interface Piece extends DaySpan {
  /** First day of the whole interval. */
  readonly start: Day;
  /** The span begins or ends within the interval. */
  readonly isPartial: boolean;
}

/** The first day of the interval that the day lies in, or of the one that lies so many `further` (negative: before). */
export function intervalStart(interval: Interval, day: Day, further = 0): Day {
  if (interval === 'day') return addDays(day, further);
  if (interval === 'week') return addDays(weekStart(day), 7 * further);
  const months = MONTHS[interval];
  const month = Number(day.slice(5, 7)) - 1;
  return addMonths(day, further * months - (month % months));
}

/** Oldest first. */
export function piecesOf(span: DaySpan, interval: Interval): Piece[] {
  const pieces: Piece[] = [];
  for (let from = span.from; from < span.to; ) {
    const start = intervalStart(interval, from);
    const end = intervalStart(interval, from, 1);
    const to = end < span.to ? end : span.to;
    pieces.push({ start, from, to, isPartial: from !== start || to !== end });
    from = to;
  }
  return pieces;
}
