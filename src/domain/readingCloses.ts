// A reading closes the day that it is taken on, or the one before. The local hours at which readings are taken tell.
import { addDays, type Day, type Zone } from './period.ts';

export type ReadingCloses = 'same_day' | 'previous_day';

/** Only the newest days are looked at. */
export const DAYS_LOOKED_AT = 28;

/** A reading in the first six hours says what was used until then: mostly on the day before. */
const FIRST_HOURS = 6;
/** Readings of more hours of one day than these divide the day, and each of them belongs to it. */
const MOST_HOURS_OF_A_DAY = 2;
const NEARLY_ALL = 0.8;

const FEWEST_DAYS_OF_EVIDENCE = 7;
// Narrower than what decides: with the clock change a reading at 05:30 moves to 06:30, which is no evidence.
const SURELY_FIRST_HOURS = 4;
const SURELY_LATER = 12;

const hourAt = (at: number, zone: Zone): number => Number(zone.iso(at).slice(11, 13));

/** The day that a reading says something about. `at`: epoch milliseconds. */
export function dayClosedBy(at: number, closes: ReadingCloses, zone: Zone): Day {
  const day = zone.dayAt(at);
  return closes === 'previous_day' ? addDays(day, -1) : day;
}

/** `times`: when readings were taken, at least to the hour; epoch milliseconds. `null` without any. */
export function closingOf(times: readonly number[], zone: Zone): ReadingCloses | null {
  if (times.length === 0) return null;
  const hoursOfDays = new Map<Day, Set<number>>();
  for (const at of times) {
    const day = zone.dayAt(at);
    hoursOfDays.set(day, (hoursOfDays.get(day) ?? new Set()).add(hourAt(at, zone)));
  }
  const days = [...hoursOfDays.values()];
  const closeTheDayBefore = days.filter(
    (hours) => hours.size <= MOST_HOURS_OF_A_DAY && Math.max(...hours) < FIRST_HOURS,
  );
  return closeTheDayBefore.length >= NEARLY_ALL * days.length ? 'previous_day' : 'same_day';
}

/** The newest readings contradict what was decided once. `lastOfDays`: the last reading of each day. */
export function isContradicted(closes: ReadingCloses, lastOfDays: readonly number[], zone: Zone): boolean {
  if (lastOfDays.length < FEWEST_DAYS_OF_EVIDENCE) return false;
  const against = lastOfDays.filter((at) => {
    const hour = hourAt(at, zone);
    return closes === 'same_day' ? hour < SURELY_FIRST_HOURS : hour >= SURELY_LATER;
  });
  return against.length >= NEARLY_ALL * lastOfDays.length;
}
