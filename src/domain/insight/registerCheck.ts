// The meter's register: whether it has grown by what the days add up to.
import { sumKnown } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, daysBetween, daysOf, type Zone } from '../period.ts';
import { type Register, type RegisterHistory, readingsByMeter } from '../reading.ts';
import { dayClosedBy, type ReadingCloses } from '../readingCloses.ts';

type Known = Pick<Ledger, 'days' | 'readTimes' | 'origin'>;

/** The register at the end of a day. */
type End = Pick<Register, 'energy'> & { readonly day: Day };

/** A shorter span of days that are all known tells less than a longer one with days missing. */
const SHORTEST_DAYS = 7;
const MINUTE_MS = 60_000;

/**
 * The check of the meter of now (between its registers and those of the one before it lies no use), over the longest span of days that are
 * all known; where that is less than a week, over all days with those missing. `null` without two readings that each end a day of the ledger.
 */
export function checkRegister(
  { readings }: RegisterHistory,
  ledger: Known,
  closes: ReadingCloses,
  zone: Zone,
): RegisterCheck | null {
  const ofMeter = readingsByMeter(readings).at(-1) ?? [];
  const lastOfDay = new Map(ofMeter.map((reading) => [dayClosedBy(reading.readAt, closes, zone), reading]));
  const ends = [...lastOfDay].flatMap(([day, { energy, readAt }]): End[] =>
    endsDay(ledger, day, readAt) ? [{ day, energy }] : [],
  );
  const [oldest, newest] = [ends[0], ends.at(-1)];
  if (!oldest || !newest || oldest === newest) return null;
  let begun = oldest;
  let [first, last] = [oldest, oldest];
  for (const [at, end] of ends.entries()) {
    if (checkOf(ends[at - 1] ?? end, end, ledger).daysMissing > 0) begun = end;
    if (daysBetween(begun.day, end.day) > daysBetween(first.day, last.day)) [first, last] = [begun, end];
  }
  const isLong = daysBetween(first.day, last.day) >= SHORTEST_DAYS;
  return isLong ? checkOf(first, last, ledger) : checkOf(oldest, newest, ledger);
}

export type RegisterCheck = ReturnType<typeof checkOf>;

/** `from`, `to`: first and last day between the two readings; `difference`: the growth less the sum of the days. */
function checkOf(first: End, last: End, { days }: Known) {
  const [from, to, growth] = [addDays(first.day, 1), last.day, last.energy - first.energy];
  const energies = daysOf({ from, to: addDays(to, 1) }).map((day) => days.get(day)?.energy ?? null);
  const daysMissing = energies.filter((energy) => energy === null).length;
  return { from, to, growth, difference: growth - (sumKnown(energies) ?? 0), daysMissing };
}

/** No later reading of the day is in the ledger, nor is this one still to come there. */
function endsDay({ days, readTimes, origin }: Known, day: Day, readAt: number) {
  if (day < addDays(origin, -1)) return false;
  const lastRead = readTimes.get(day);
  if (lastRead !== undefined) return Math.abs(lastRead - readAt) < MINUTE_MS;
  return day < origin || days.has(day);
}
