// The meter's register has to grow by what the days add up to.
import { sumKnown } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, daysBetween, daysOf, type Zone } from '../period.ts';
import { type Register, type RegisterHistory, readingsByMeter } from '../reading.ts';
import { dayClosedBy, type ReadingCloses } from '../readingCloses.ts';

type DayReadings = Pick<Ledger, 'days' | 'readTimes' | 'origin'>;

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
  ledger: DayReadings,
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
  const [first, last] = longestKnown(ends, oldest, ledger);
  const isLong = daysBetween(first.day, last.day) >= SHORTEST_DAYS;
  return isLong ? checkOf(first, last, ledger) : checkOf(oldest, newest, ledger);
}

/** The longest span between two of the ends whose days are all known. */
function longestKnown(ends: readonly End[], oldest: End, ledger: DayReadings): readonly [End, End] {
  let longest: readonly [End, End] = [oldest, oldest];
  let [first, before] = longest;
  for (const end of ends) {
    if (checkOf(before, end, ledger).daysMissing > 0) first = end;
    if (daysBetween(first.day, end.day) > daysBetween(longest[0].day, longest[1].day)) longest = [first, end];
    before = end;
  }
  return longest;
}

export type RegisterCheck = ReturnType<typeof checkOf>;

/** `from`, `to`: first and last day between the two readings; `difference`: the growth less the sum of the days. */
function checkOf(first: End, last: End, { days }: DayReadings) {
  const [from, to, growth] = [addDays(first.day, 1), last.day, last.energy - first.energy];
  const energies = daysOf({ from, to: addDays(to, 1) }).map((day) => days.get(day)?.energy ?? null);
  const daysMissing = energies.filter((energy) => energy === null).length;
  return { from, to, growth, difference: growth - (sumKnown(energies) ?? 0), daysMissing };
}

/** No later reading of the day is in the ledger, nor is this one still to come there. */
function endsDay({ days, readTimes, origin }: DayReadings, day: Day, readAt: number) {
  if (day < addDays(origin, -1)) return false;
  const lastRead = readTimes.get(day);
  if (lastRead !== undefined) return Math.abs(lastRead - readAt) < MINUTE_MS;
  return day < origin || days.has(day);
}
