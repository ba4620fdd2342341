// The days of a meter's own register beside those of the provider: which of them differ, and which day a reading of the provider is about.
import { toMicro } from '../amount.ts';
import { meanOf } from '../leastSquares.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type Zone } from '../period.ts';
import type { RegisterHistory } from '../reading.ts';
import { checkRegister } from './registerCheck.ts';

/** The provider reads at another hour than midnight: less than these is no difference. */
const SMALLEST_DIFFERENCE = toMicro(1);
const SMALLEST_SHARE = 0.25;
/** The fewest days that tell which of them a reading is about. */
const FEWEST_DAYS = 7;
const CLEARLY = 0.5;

export type WitnessDays = Readonly<ReturnType<typeof compareWitness>>;

export function compareWitness(midnights: RegisterHistory | null, ledger: Ledger, zone: Zone) {
  const readings = midnights?.readings ?? [];
  const days = new Map(
    readings.flatMap(({ energy, readAt }, at): [Day, number][] => {
      const day = zone.dayAt(readAt);
      const next = readings[at + 1];
      return next && zone.dayAt(next.readAt) === addDays(day, 1) ? [[day, next.energy - energy]] : [];
    }),
  );
  const energyOn = (day: Day) => ledger.days.get(day)?.energy ?? null;
  const differing = [...days].flatMap(([day, grown]) => {
    const reported = energyOn(day);
    // A reading after a day without one has that day in it.
    if (reported === null || energyOn(addDays(day, -1)) === null) return [];
    const difference = Math.abs(grown - reported);
    return difference > SMALLEST_DIFFERENCE && difference > SMALLEST_SHARE * Math.max(grown, reported)
      ? [day]
      : [];
  });
  // The first register of a day closes the day before it, and no other reading of the ledger is to be compared with it.
  const withoutTimes = { ...ledger, readTimes: new Map() };
  return {
    /** The growth of the register between two midnights. */
    days,
    /** Over the longest span that both have. */
    check: midnights && checkRegister(midnights, withoutTimes, 'previous_day', zone),
    /** Days on which the two differ, oldest first. */
    differing,
    /** The provider's day is this many days after the meter's own; `null`: too few days tell. */
    daysLate: daysLate(days, energyOn),
  };
}

function daysLate(days: ReadonlyMap<Day, number>, energyOn: (day: Day) => number | null): number | null {
  const errorAt = (late: number): number | null => {
    const errors = [...days].flatMap(([day, grown]) => {
      const reported = energyOn(addDays(day, late));
      return reported === null ? [] : [Math.abs(grown - reported)];
    });
    return errors.length < FEWEST_DAYS ? null : meanOf(errors, (error) => error);
  };
  const asCalled = errorAt(0);
  if (asCalled === null) return null;
  const isClearlyBetter = (late: number) => (errorAt(late) ?? asCalled) < CLEARLY * asCalled;
  return [1, -1].find(isClearlyBetter) ?? 0;
}
