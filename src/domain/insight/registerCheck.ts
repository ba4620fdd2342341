// The meter's register over time: which of its readings are kept, and whether it has grown by what the days add up to.
import { sumKnown } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, daysBetween, daysOf, monthStart, type Zone } from '../period.ts';
import type { Register, RegisterHistory } from '../reading.ts';
import { dayClosedBy, type ReadingCloses } from '../readingCloses.ts';

type Known = Pick<Ledger, 'days' | 'readTimes' | 'origin'>;

/** What the register showed at the end of a day. */
type End = Pick<Register, 'energy'> & { readonly day: Day };

/** Two bills of a month: of the time before, one reading a month is enough. */
const NEWEST_DAYS = 60;
/** Of days that are all known, a shorter span tells less than a longer one with days missing. */
const SHORTEST_DAYS = 7;
const MINUTE_MS = 60_000;

/**
 * The readings that are kept, oldest first: of each day the last one, from the newest 60 days on the last of each month,
 * and the first of all. A register that went backwards is another one: what was before is dropped. `found` is newer.
 */
export function withReadings(
  known: RegisterHistory | null,
  found: readonly Register[],
  zone: Zone,
): RegisterHistory | null {
  const before = known ? [...known.readings, { energy: known.energy, readAt: known.readAt }] : [];
  const byInstant = new Map([...before, ...found].map((one) => [one.readAt, one]));
  const inOrder = [...byInstant.values()].sort((a, b) => a.readAt - b.readAt);
  const start = inOrder.findLastIndex(({ energy }, at) => energy < (inOrder[at - 1]?.energy ?? 0));
  const lastOf = (readings: readonly Register[], part: (day: Day) => Day) => [
    ...new Map(readings.map((one) => [part(zone.dayAt(one.readAt)), one])).values(),
  ];
  const daily = lastOf(inOrder.slice(Math.max(0, start)), (day) => day);
  const older = daily.slice(0, -NEWEST_DAYS);
  const readings = [
    ...new Set([...older.slice(0, 1), ...lastOf(older, monthStart), ...daily.slice(-NEWEST_DAYS)]),
  ];
  const newest = readings.at(-1);
  return newest ? { ...newest, readings } : null;
}

/**
 * Over the longest span of days that are all known; where that is less than a week, over all days with those missing.
 * `null` without two readings that each end a day of the ledger.
 */
export function checkRegister(
  { readings }: RegisterHistory,
  ledger: Known,
  closes: ReadingCloses,
  zone: Zone,
): RegisterCheck | null {
  const lastOfDay = new Map(readings.map((one) => [dayClosedBy(one.readAt, closes, zone), one]));
  const ends = [...lastOfDay].flatMap(([day, { energy, readAt }]): End[] =>
    endsDay(ledger, day, readAt) ? [{ day, energy }] : [],
  );
  const [oldest, newest] = [ends[0], ends.at(-1)];
  if (!oldest || !newest || oldest === newest) return null;
  let [begun, longest] = [oldest, [oldest, oldest] as const];
  const daysIn = ([first, last]: readonly [End, End]) => daysBetween(first.day, last.day);
  for (const [at, end] of ends.entries()) {
    if (checkOf(ends[at - 1] ?? end, end, ledger).daysMissing > 0) begun = end;
    if (daysIn([begun, end]) > daysIn(longest)) longest = [begun, end];
  }
  return checkOf(...(daysIn(longest) >= SHORTEST_DAYS ? longest : ([oldest, newest] as const)), ledger);
}

export type RegisterCheck = ReturnType<typeof checkOf>;

/** `from`, `to`: first and last day between the two readings; `difference`: the growth less the sum of the days. */
function checkOf(first: End, last: End, { days }: Known) {
  const span = { from: addDays(first.day, 1), to: addDays(last.day, 1) };
  const energies = daysOf(span).map((day) => days.get(day)?.energy ?? null);
  const daysMissing = energies.filter((energy) => energy === null).length;
  const growth = last.energy - first.energy;
  return {
    from: span.from,
    to: last.day,
    growth,
    difference: growth - (sumKnown(energies) ?? 0),
    daysMissing,
  };
}

/** No later reading of the day is in the ledger, nor is this one still to come there. */
function endsDay({ days, readTimes, origin }: Known, day: Day, readAt: number) {
  if (day < addDays(origin, -1)) return false;
  const lastRead = readTimes.get(day);
  if (lastRead !== undefined) return Math.abs(lastRead - readAt) < MINUTE_MS;
  return day < origin || days.has(day);
}
