// Sums of a ledger: since the origin, and by local week, month and year, as seen on a given day.
import { sumKnown } from './amount.ts';
import type { Amounts, DayRecord, Ledger } from './ledger.ts';
import {
  addDays,
  addMonths,
  type Day,
  daysBetween,
  intervalStart,
  monthStart,
  weekStart,
  yearStart,
} from './period.ts';

export interface Totals {
  /** Since the origin; `null` while no day is known. */
  readonly total: Amounts;
  /** The newest day with an energy reading. */
  readonly newestDay: Day | null;
  readonly day: Amounts;
  readonly week: Amounts;
  readonly month: Amounts;
  readonly year: Amounts;
  readonly lastMonth: Amounts;
  /** Days without an energy reading from the origin to the newest one. */
  readonly missingDays: number;
}

/** The sum of a period of local days. `revision` and `receivedAt` are the newest of its days. */
export interface PeriodSum extends DayRecord {
  readonly start: Day;
  /** The day after its last one. */
  readonly end: Day;
}

const NOTHING: Amounts = { energy: null, cost: null };

export function totals(ledger: Ledger, today: Day): Totals {
  const week = weekStart(today);
  const month = monthStart(today);
  const year = yearStart(today);
  const lastMonth = addMonths(today, -1);
  const [oldest = week] = [week, year, lastMonth].sort();
  const recent: [Day, DayRecord][] = [];
  let newestDay: Day | null = null;
  let daysRead = 0;
  for (const [day, record] of ledger.days) {
    if (day >= oldest) recent.push([day, record]);
    if (record.energy === null) continue;
    daysRead += 1;
    if (newestDay === null || day > newestDay) newestDay = day;
  }
  const within = (from: Day, to: Day): Amounts =>
    sumOf(recent.filter(([day]) => day >= from && day < to).map(([, record]) => record));
  return {
    total: sumOf(ledger.days.values()),
    newestDay,
    day: newestDay === null ? NOTHING : (ledger.days.get(newestDay) ?? NOTHING),
    week: within(week, addDays(week, 7)),
    month: within(month, addMonths(month, 1)),
    year: within(year, addMonths(year, 12)),
    lastMonth: within(lastMonth, month),
    missingDays: newestDay === null ? 0 : daysBetween(ledger.origin, newestDay) + 1 - daysRead,
  };
}

/** The days of the ledger summed by week or month (or each by itself), oldest first, the newest `most`. */
export function periodSums(ledger: Ledger, interval: 'day' | 'week' | 'month', most: number): PeriodSum[] {
  const byStart = new Map<Day, DayRecord[]>();
  // The newest first, so that of twenty years only those that are wanted are looked at: 6 ms instead of 16.
  for (const [day, record] of [...ledger.days].sort(([a], [b]) => (a > b ? -1 : 1))) {
    const start = intervalStart(interval, day);
    const members = byStart.get(start);
    if (members) members.push(record);
    else if (byStart.size === most) break;
    else byStart.set(start, [record]);
  }
  return [...byStart].reverse().map(([start, members]) => ({
    start,
    end: intervalStart(interval, start, 1),
    ...sumOf(members),
    revision: Math.max(...members.map(({ revision }) => revision)),
    receivedAt: Math.max(...members.map(({ receivedAt }) => receivedAt)),
  }));
}

function sumOf(records: Iterable<Amounts>): Amounts {
  const all = [...records];
  return { energy: sumKnown(all.map(({ energy }) => energy)), cost: sumKnown(all.map(({ cost }) => cost)) };
}
