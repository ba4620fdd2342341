// Rows of long-term statistics from a ledger: each day's amount at the hour in which it begins, or spread over its hours.
import { type Micro, toMicro, toUnits } from './amount.ts';
import { type Ledger, LONGEST_CARRIED_DAYS } from './ledger.ts';
import { addDays, type Day, daysBetween, type Zone } from './period.ts';

export type SeriesKind = 'energy' | 'cost';

/** The hours to which the days of a ledger are given. `even`: all hours of the days that a reading is of; an estimate. */
export interface Placement {
  readonly zone: Zone;
  readonly hours: 'midnight' | 'even';
}

/** Amounts in kWh or units of the currency, to three decimals. */
export interface StatisticsRow {
  /** Epoch milliseconds, on a full hour of UTC. */
  readonly start: number;
  /** The amount of the day, or of the hour. */
  readonly state: number;
  /** Everything up to and including it. */
  readonly sum: number;
}

const HOUR_MS = 3_600_000;

/** Statistics have rows at full hours of UTC. Where midnight is not one (India, Newfoundland), the next hour is the day's. */
export const statisticsHour = (day: Day, zone: Zone): number =>
  Math.ceil(zone.startOf(day) / HOUR_MS) * HOUR_MS;

/** The rows of the ledger alone, oldest first. The rows of a reading add up to it exactly, in states and in sums. */
export function ledgerRows(ledger: Ledger, kind: SeriesKind, { zone, hours }: Placement): StatisticsRow[] {
  const rows: StatisticsRow[] = [];
  let sum: Micro = 0;
  let previous: Day | null = null;
  for (const day of [...ledger.days.keys()].sort()) {
    const amount = ledger.days.get(day)?.[kind] ?? null;
    if (amount === null) continue;
    const starts = hours === 'even' ? hoursOfReading(day, previous, zone) : [statisticsHour(day, zone)];
    let before: Micro = 0;
    for (const [at, start] of starts.entries()) {
      const upTo = Math.round((amount * (at + 1)) / starts.length);
      rows.push({ start, state: difference(toUnits(upTo), toUnits(before)), sum: toUnits(sum + upTo) });
      before = upTo;
    }
    sum += amount;
    previous = day;
  }
  return rows;
}

/** The hours of its day, and of the missed days before it, which a reading carries unless they are too many. */
function hoursOfReading(day: Day, previous: Day | null, zone: Zone): number[] {
  const unread = previous === null ? day : addDays(previous, 1);
  const first = daysBetween(unread, day) <= LONGEST_CARRIED_DAYS ? unread : day;
  const from = statisticsHour(first, zone);
  const count = (statisticsHour(addDays(day, 1), zone) - from) / HOUR_MS;
  return Array.from({ length: count }, (_, at) => from + at * HOUR_MS);
}

// The noise of binary fractions is rounded away.
const difference = (one: number, other: number): number => toUnits(toMicro(one - other));

/**
 * The rows that a series should have from the first of `rows` on, oldest first, given those it has `stored` already. Rows cannot be
 * taken back, only replaced:
 * - stored days before the first row stay, and the sums go on from them: the ledger was opened anew, and its provider has
 *   forgotten those days;
 * - other stored rows (days were cut or spread differently then) are emptied: nothing used.
 */
export function withStored(
  rows: readonly StatisticsRow[],
  stored: readonly StatisticsRow[],
  zone: Zone,
): StatisticsRow[] {
  const [first] = rows;
  if (first === undefined) return [];
  const starts = new Set(rows.map(({ start }) => start));
  const storedStarts = new Set(stored.map(({ start }) => start));
  const others = stored.filter(({ start }) => !starts.has(start));
  // A day that was cut elsewhere has no row where it begins here.
  const isOfEarlierDay = ({ start, sum }: StatisticsRow) =>
    start < first.start && Number.isFinite(sum) && storedStarts.has(statisticsHour(zone.dayAt(start), zone));
  let sumOfEarlierDays = 0;
  let sum = 0;
  return [...rows, ...others]
    .sort((a, b) => a.start - b.start)
    .map((row) => {
      if (starts.has(row.start)) {
        sum = toUnits(toMicro(sumOfEarlierDays + row.sum));
        return { ...row, sum };
      }
      if (!isOfEarlierDay(row)) return { start: row.start, state: 0, sum };
      sumOfEarlierDays = row.sum;
      sum = row.sum;
      return row;
    });
}

/** The rows that are not stored as they should be. */
export function notStored(
  rows: readonly StatisticsRow[],
  stored: readonly StatisticsRow[],
): readonly StatisticsRow[] {
  const storedAt = new Map(stored.map((row) => [row.start, row]));
  return rows.filter((row) => !isSame(row, storedAt.get(row.start)));
}

/** The rows to send: all from the first one on that is not stored as it should be, or that starts at `from` or later. */
export function rowsToSend(
  rows: readonly StatisticsRow[],
  stored: readonly StatisticsRow[],
  from = Number.POSITIVE_INFINITY,
): readonly StatisticsRow[] {
  const [different] = notStored(rows, stored);
  const first = Math.min(from, different?.start ?? from);
  return rows.filter(({ start }) => start >= first);
}

// Databases keep binary fractions, and a change of unit there and back adds some noise.
const NOISE = 0.000_5;

const isSame = (row: StatisticsRow, stored: StatisticsRow | undefined): boolean =>
  stored !== undefined &&
  Math.abs(row.state - stored.state) < NOISE &&
  Math.abs(row.sum - stored.sum) < NOISE;
