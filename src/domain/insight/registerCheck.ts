// The meter's register over time: which of its readings are kept, and whether it has grown by what the days add up to.
import { type Micro, sumKnown } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, daysBetween, daysOf, monthStart, type Zone } from '../period.ts';
import type { Register, RegisterHistory } from '../reading.ts';
import { dayClosedBy, type ReadingCloses } from '../readingCloses.ts';

export interface RegisterCheck {
  /** First and last day between the two readings. */
  readonly from: Day;
  readonly to: Day;
  readonly growth: Micro;
  /** The growth less the sum of the days. */
  readonly difference: Micro;
  readonly daysMissing: number;
}

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
  ledger: Pick<Ledger, 'days' | 'readTimes' | 'origin'>,
  closes: ReadingCloses,
  zone: Zone,
): RegisterCheck | null {
  const lastOfDay = new Map(readings.map((one) => [dayClosedBy(one.readAt, closes, zone), one]));
  const ends = [...lastOfDay].filter(([day, { readAt }]) => endsDay(ledger, day, readAt));
  const spans = ends.slice(1).map(([day, { energy }], at) => {
    const [before, first] = ends[at] ?? [day, { energy }];
    return spanOf(addDays(before, 1), day, energy - first.energy, ledger.days);
  });
  const runs: RegisterCheck[] = [];
  for (const span of spans) {
    const last = runs.at(-1);
    if (last?.daysMissing === 0 && span.daysMissing === 0) runs[runs.length - 1] = joined(last, span);
    else runs.push(span);
  }
  const complete = runs.filter(({ daysMissing }) => daysMissing === 0);
  const longest = complete.sort((a, b) => lengthOf(b) - lengthOf(a))[0];
  if (longest && lengthOf(longest) >= SHORTEST_DAYS) return longest;
  return spans.reduce<RegisterCheck | null>((all, span) => (all ? joined(all, span) : span), null);
}

function spanOf(from: Day, to: Day, growth: Micro, days: Ledger['days']): RegisterCheck {
  const energies = daysOf({ from, to: addDays(to, 1) }).map((day) => days.get(day)?.energy ?? null);
  const daysMissing = energies.filter((energy) => energy === null).length;
  return { from, to, growth, difference: growth - (sumKnown(energies) ?? 0), daysMissing };
}

const joined = (one: RegisterCheck, next: RegisterCheck): RegisterCheck => ({
  from: one.from,
  to: next.to,
  growth: one.growth + next.growth,
  difference: one.difference + next.difference,
  daysMissing: one.daysMissing + next.daysMissing,
});

const lengthOf = ({ from, to }: RegisterCheck): number => daysBetween(from, to) + 1;

/** No later reading of the day is in the ledger, nor is this one still to come there. */
function endsDay(
  { days, readTimes, origin }: Pick<Ledger, 'days' | 'readTimes' | 'origin'>,
  day: Day,
  readAt: number,
) {
  if (day < addDays(origin, -1)) return false;
  const lastRead = readTimes.get(day);
  if (lastRead !== undefined) return Math.abs(lastRead - readAt) < MINUTE_MS;
  return day < origin || days.has(day);
}
