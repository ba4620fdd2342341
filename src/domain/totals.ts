// Sums of a ledger: since the origin, and by local week, month and year, as seen on a given day.
import { sumKnown } from './amount.ts';
import type { Amounts, DayRecord, Ledger } from './ledger.ts';
import { addDays, addMonths, type Day, daysBetween, monthStart, weekStart, yearStart } from './period.ts';

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

/** The amounts of a stretch of local days. `revision` and `receivedAt` are the newest of its days. */
export interface Stretch extends DayRecord {
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
  const days = [...ledger.days];
  const within = (from: Day, to: Day): Amounts =>
    sumOf(days.filter(([day]) => day >= from && day < to).map(([, record]) => record));

  const read = days.filter(([, record]) => record.energy !== null).map(([day]) => day);
  const newestDay = read.reduce<Day | null>((newest, day) => (newest && newest > day ? newest : day), null);
  return {
    total: sumOf(ledger.days.values()),
    newestDay,
    day: newestDay === null ? NOTHING : (ledger.days.get(newestDay) ?? NOTHING),
    week: within(week, addDays(week, 7)),
    month: within(month, addMonths(month, 1)),
    year: within(year, addMonths(year, 12)),
    lastMonth: within(lastMonth, month),
    missingDays: newestDay === null ? 0 : daysBetween(ledger.origin, newestDay) + 1 - read.length,
  };
}

/** The days of the ledger summed by week or month (or each by itself), oldest first, the newest `most`. */
export function stretches(ledger: Ledger, interval: 'day' | 'week' | 'month', most: number): Stretch[] {
  const byStart = new Map<Day, DayRecord[]>();
  for (const [day, record] of ledger.days) {
    const start = startOf(interval, day);
    const members = byStart.get(start);
    if (members) members.push(record);
    else byStart.set(start, [record]);
  }
  const newest = [...byStart.keys()].sort().slice(-most);
  return newest.map((start) => {
    const members = byStart.get(start) ?? [];
    return {
      start,
      end: endOf(interval, start),
      ...sumOf(members),
      revision: Math.max(...members.map(({ revision }) => revision)),
      receivedAt: Math.max(...members.map(({ receivedAt }) => receivedAt)),
    };
  });
}

function sumOf(records: Iterable<Amounts>): Amounts {
  const all = [...records];
  return { energy: sumKnown(all.map(({ energy }) => energy)), cost: sumKnown(all.map(({ cost }) => cost)) };
}

function startOf(interval: 'day' | 'week' | 'month', day: Day): Day {
  if (interval === 'week') return weekStart(day);
  return interval === 'month' ? monthStart(day) : day;
}

function endOf(interval: 'day' | 'week' | 'month', start: Day): Day {
  if (interval === 'month') return addMonths(start, 1);
  return addDays(start, interval === 'week' ? 7 : 1);
}
