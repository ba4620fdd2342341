// What the days of a period cost by the ledgers of an account, and how sure that is.
import type { Micro } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan } from '../period.ts';

export interface DaysCost {
  readonly sum: Micro;
  /** Days without a cost that no later reading carries. */
  readonly missing: number;
  /** Days without a cost of their own: a later reading carries them. */
  readonly estimated: number;
  /** How much of the readings around the first and the last day may belong to the other side of them. */
  readonly edge: Micro;
}

type Days = Ledger['days'];

/** A reading that comes later than this carries nothing. */
const LONGEST_GAP_DAYS = 31;

/** `null` where the ledgers begin later than the period, or know no cost in it. A meter of later readings does not count. */
export function costOfDays(
  ledgers: readonly Pick<Ledger, 'origin' | 'days'>[],
  span: DaySpan,
): DaysCost | null {
  if (ledgers.some(({ origin }) => origin > span.from)) return null;
  const present = ledgers.filter(({ days }) => hasReadingBefore(days, span.to));
  const costs = present.map(({ days }) => costOfMeter(days, span));
  if (costs.every(({ read }) => read === 0)) return null;
  const missing = new Set(costs.flatMap((cost) => cost.missing));
  const estimated = new Set(costs.flatMap((cost) => cost.estimated.filter((day) => !missing.has(day))));
  return {
    sum: costs.reduce((sum, cost) => sum + cost.sum, 0),
    missing: missing.size,
    estimated: estimated.size,
    edge: costs.reduce((sum, { edge }) => sum + edge, 0),
  };
}

function hasReadingBefore(days: Days, end: Day): boolean {
  for (const [day, { energy, cost }] of days) if (day < end && (energy ?? cost) !== null) return true;
  return false;
}

function costOfMeter(days: Days, { from, to }: DaySpan) {
  const missing: Day[] = [];
  const estimated: Day[] = [];
  let [sum, read, edge] = [0, 0, 0];
  let unread: Day[] = [];
  /** Days before the period that its first reading carries; `null` without a reading before them. */
  let before = unreadFrom(days, addDays(from, -1), -1);
  for (let day = from; day < to; day = addDays(day, 1)) {
    const cost = costOn(days, day);
    if (cost === null) {
      unread.push(day);
      continue;
    }
    (before === null || unread.length + before > LONGEST_GAP_DAYS ? missing : estimated).push(...unread);
    edge += share(cost, before ?? 0, unread.length + 1);
    sum += cost;
    read += 1;
    [unread, before] = [[], 0];
  }
  const after = unread.length === 0 ? null : unreadFrom(days, to, 1);
  const carrier = after === null ? null : costOn(days, addDays(to, after));
  (carrier === null || before === null ? missing : estimated).push(...unread);
  if (carrier !== null) edge += share(carrier, unread.length, (before ?? 0) + (after ?? 0) + 1);
  return { sum, read, missing, estimated, edge };
}

const costOn = (days: Days, day: Day): Micro | null => days.get(day)?.cost ?? null;

/** How many days without a cost follow each other from this one on, forwards or backwards; `null` for too many. */
function unreadFrom(days: Days, day: Day, step: 1 | -1): number | null {
  for (let count = 0; count < LONGEST_GAP_DAYS; count += 1)
    if (costOn(days, addDays(day, step * count)) !== null) return count;
  return null;
}

/** What so many of the days of a reading cost when all of them are alike. */
const share = (cost: Micro, days: number, others: number): Micro =>
  Math.round((Math.abs(cost) * days) / (days + others));
