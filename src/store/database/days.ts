// The days of a ledger in the database. Each is a row that SQL can ask about; those of long ago are packed into one value as well, the
// block, because a thousand rows, each on a page of its own, take longer to read than everything else that is kept of an account.
import { compareText } from '../../domain/order.ts';
import { type Day, epochDay, fromEpochDay } from '../../domain/period.ts';
import type { DayRow } from '../ledgerDocument.ts';

/** The newest days may still be corrected: they stay out of the block, which is then seldom written. */
const LEAST_LOOSE_DAYS = 21;
/** The block is written anew if there are more of them than this. */
const MOST_LOOSE_DAYS = 52;

/** Days packed together: a list for each column, which is half as long as a list of rows. */
export interface Block {
  /** Days since 1970. */
  readonly day: readonly number[];
  readonly energy: readonly (number | null)[];
  readonly cost: readonly (number | null)[];
  readonly revision: readonly number[];
  readonly receivedAt: readonly number[];
}

/** The days of one ledger as the database has them. */
export interface StoredDays {
  /** `null`: they could not be read. */
  readonly rows: readonly DayRow[] | null;
  /** The block has all days before this one; `null`: there is no block that counts. */
  readonly blockTo: Day | null;
}

/** The days of one ledger that have to be written. */
export interface DaysToWrite {
  readonly days: readonly DayRow[];
  /** Days to delete; `null`: `days` are all that there are, and `block` takes the place of the one that is stored. */
  readonly gone: readonly Day[] | null;
  readonly blockTo: Day | null;
  readonly block: Block | null;
}

export function pack(rows: readonly DayRow[]): Block {
  return {
    day: rows.map(([day]) => epochDay(day)),
    energy: rows.map(([, energy]) => energy),
    cost: rows.map(([, , cost]) => cost),
    revision: rows.map(([, , , revision]) => revision),
    receivedAt: rows.map(([, , , , receivedAt]) => receivedAt),
  };
}

/** `null`: it is no block. What is in the rows is looked at by the codec of the ledger. */
export function unpack({ day, energy, cost, revision, receivedAt }: Block): DayRow[] | null {
  const columns: readonly unknown[] = [day, energy, cost, revision, receivedAt];
  if (!columns.every((column) => Array.isArray(column) && column.length === day.length)) return null;
  return day.map((number, at) => [
    fromEpochDay(number),
    energy[at] ?? null,
    cost[at] ?? null,
    revision[at] ?? 0,
    receivedAt[at] ?? 0,
  ]);
}

/** `days`: all of the ledger. */
export function daysToWrite(days: readonly DayRow[], { rows, blockTo }: StoredDays): DaysToWrite {
  const before = new Map(rows?.map((row) => [row[0], row]));
  const changed = days.filter((row) => !isSame(row, before.get(row[0])));
  for (const [day] of days) before.delete(day);
  const gone = [...before.keys()];
  const end = blockTo ?? '';
  const isBlockTrue = [...changed.map(([day]) => day), ...gone].every((day) => day >= end);
  const loose = days.filter(([day]) => day >= end);
  if (rows !== null && isBlockTrue && loose.length <= MOST_LOOSE_DAYS)
    return { days: changed, gone, blockTo, block: null };
  const sorted = [...days].sort(([one], [other]) => compareText(one, other));
  const packed = sorted.slice(0, Math.max(0, sorted.length - LEAST_LOOSE_DAYS));
  const firstLoose = sorted[packed.length]?.[0] ?? null;
  // All rows are compared once for each block, so that these two do not drift apart.
  return packed.length === 0
    ? { days, gone: null, blockTo: null, block: null }
    : { days, gone: null, blockTo: firstLoose, block: pack(packed) };
}

const isSame = (row: DayRow, stored: DayRow | undefined): boolean =>
  stored?.every((value, at) => value === row[at]) === true;
