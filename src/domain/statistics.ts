// Rows of long-term statistics from a ledger: each day's amount at the hour in which the day begins, and the running sum.
import { type Micro, toMicro, toUnits } from './amount.ts';
import type { Ledger } from './ledger.ts';
import type { Day, Zone } from './period.ts';

export type SeriesKind = 'energy' | 'cost';

/** Amounts in kWh or units of the currency, to three decimals. */
export interface StatisticsRow {
  /** Epoch milliseconds, on a full hour of UTC. */
  readonly start: number;
  /** The amount of the day. */
  readonly state: number;
  /** Everything up to and including the day. */
  readonly sum: number;
}

const HOUR_MS = 3_600_000;

/** Statistics have rows at full hours of UTC. Where midnight is not one (India, Newfoundland), the next hour is the day's. */
export const statisticsHour = (day: Day, zone: Zone): number =>
  Math.ceil(zone.startOf(day) / HOUR_MS) * HOUR_MS;

/**
 * The rows that a series should have, oldest first, given those it has stored already. Rows cannot be taken back, only replaced:
 * - stored days before the ledger's first one stay, and the sums go on from them: the ledger was opened anew, and its
 *   provider has forgotten those days;
 * - stored rows where the ledger has no day (days were cut differently then) are emptied: nothing used.
 */
export function statisticsRows(
  ledger: Ledger,
  kind: SeriesKind,
  zone: Zone,
  stored: readonly StatisticsRow[] = [],
): StatisticsRow[] {
  const amounts = new Map<number, Micro>();
  for (const [day, { [kind]: amount }] of ledger.days) {
    if (amount !== null) amounts.set(statisticsHour(day, zone), amount);
  }
  if (amounts.size === 0) return [];
  const starts = [...amounts.keys()].sort((a, b) => a - b);
  const [first = 0] = starts;
  const isEarlierDay = ({ start, sum }: StatisticsRow) =>
    start < first && Number.isFinite(sum) && statisticsHour(zone.dayAt(start), zone) === start;
  const others = stored.filter(({ start }) => !amounts.has(start));
  const earlier = new Map(others.filter(isEarlierDay).map((row) => [row.start, row]));

  const rows: StatisticsRow[] = [];
  let sum: Micro = 0;
  for (const start of [...starts, ...others.map((row) => row.start)].sort((a, b) => a - b)) {
    const kept = earlier.get(start);
    if (kept) sum = toMicro(kept.sum);
    const amount = amounts.get(start) ?? 0;
    sum += amount;
    rows.push(kept ?? { start, state: toUnits(amount), sum: toUnits(sum) });
  }
  return rows;
}

/** The rows to send: all from the first one on that is not stored as it should be, or that starts at `from` or later. */
export function rowsToSend(
  wanted: readonly StatisticsRow[],
  stored: readonly StatisticsRow[],
  from = Number.POSITIVE_INFINITY,
): readonly StatisticsRow[] {
  const storedAt = new Map(stored.map((row) => [row.start, row]));
  const at = wanted.findIndex((row) => row.start >= from || !isSame(row, storedAt.get(row.start)));
  return at < 0 ? [] : wanted.slice(at);
}

/** Every wanted row is stored, and no other. */
export const agree = (wanted: readonly StatisticsRow[], stored: readonly StatisticsRow[]): boolean =>
  wanted.length === stored.length && rowsToSend(wanted, stored).length === 0;

// Databases keep binary fractions, and a change of unit there and back adds some noise.
const NOISE = 0.000_5;

const isSame = (wanted: StatisticsRow, stored: StatisticsRow | undefined): boolean =>
  stored !== undefined &&
  Math.abs(wanted.state - stored.state) < NOISE &&
  Math.abs(wanted.sum - stored.sum) < NOISE;
