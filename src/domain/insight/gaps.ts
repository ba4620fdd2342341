// The days of a gap are in one of the readings around it, or lost: the standing charges of a reading tell, or its size.
import { inFull, type Micro } from '../amount.ts';
import { median, medianDeviation } from '../leastSquares.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, type Day } from '../period.ts';
import { chargesByNeighbours, type DayLookup } from '../tariff/tariff.ts';

interface GapEvidence {
  /** `previous`: two readings of one day leave the next day without one. `none`: no reading shows that it has these days. */
  readonly heldBy: 'next' | 'previous' | 'none';
  /** The standing charges of the gap's days that the cost of the reading lacks. */
  readonly unbilled: Micro;
}

/** Days before a gap that tell how large readings are. */
const DAYS_COMPARED = 14;
const FEWEST_COMPARED = 5;
/** However even the days were: the standard deviation of a day's logarithm. */
const LEAST_DEVIATION = 0.1;
/** A reading of one day is so many standard deviations larger once in a thousand times. */
const TOO_LARGE = 3.1;
/** A reading of all of the days is within so many of their sum 99 times of a hundred. */
const NEAR = 2.6;

export type GapJudge = (days: DayLookup, day: Day, missed: number) => GapEvidence;

interface Remembered {
  readonly missed: number;
  readonly daysRead: ReadonlyMap<Day, Amounts | undefined>;
  readonly evidence: GapEvidence;
}

/** Keeps its evidence while every day that was read for it is the same record: a tariff is searched for at each gap. */
export function gapJudge(): GapJudge {
  const byDay = new Map<Day, Remembered>();
  return (days, day, missed) => {
    const before = byDay.get(day);
    if (before?.missed === missed && isUnchanged(before, days)) return before.evidence;
    const daysRead = new Map<Day, Amounts | undefined>();
    function get(read: Day): Amounts | undefined {
      const amounts = days.get(read);
      daysRead.set(read, amounts);
      return amounts;
    }
    const evidence = gapEvidence({ get }, day, missed);
    byDay.set(day, { missed, daysRead, evidence });
    return evidence;
  };
}

const isUnchanged = ({ daysRead }: Remembered, days: DayLookup): boolean =>
  [...daysRead].every(([day, amounts]) => days.get(day) === amounts);

/** `missed`: days without a reading directly before that of `day`. */
function gapEvidence(days: DayLookup, day: Day, missed: number): GapEvidence {
  const gap = addDays(day, -missed);
  const charged = chargesByNeighbours(days, day, gap);
  if (charged && charged.charges > missed) return { heldBy: 'next', unbilled: 0 };
  if (missed === 1 && holdsNextDay(days, addDays(gap, -1))) return { heldBy: 'previous', unbilled: 0 };
  if (!isOfAllDays(days, day, missed)) return { heldBy: 'none', unbilled: 0 };
  const unbilled = charged ? (1 + missed - charged.charges) * charged.standingCharge : 0;
  return { heldBy: 'next', unbilled };
}

/** The day's cost has the standing charge of the day after it as well, and cannot have that of the day before. */
function holdsNextDay(days: DayLookup, day: Day): boolean {
  return days.get(addDays(day, -1)) !== undefined && chargesByNeighbours(days, day, day)?.charges === 2;
}

/**
 * Tests the logarithm of the reading against those of the days before the gap: too large for one day, and right for all of them. By energy,
 * which no tariff changes, where it is known.
 */
function isOfAllDays(days: DayLookup, day: Day, missed: number): boolean {
  const kind = days.get(day)?.energy == null ? 'cost' : 'energy';
  const amount = days.get(day)?.[kind] ?? 0;
  const compared = Array.from({ length: DAYS_COMPARED }, (_, at) => addDays(day, -missed - 1 - at));
  const amounts = compared.flatMap((earlier) => days.get(earlier)?.[kind] ?? []);
  if (amount <= 0 || amounts.length < FEWEST_COMPARED || amounts.some((value) => value <= 0)) return false;
  const logarithms = amounts.map((value) => Math.log(inFull(value)));
  const usual = median(logarithms);
  const ofOneDay = Math.max(LEAST_DEVIATION, medianDeviation(logarithms, usual));
  const deviation = ofOneDay * Math.sqrt(1 + 1 / amounts.length);
  const off = Math.log(inFull(amount)) - usual;
  return off > TOO_LARGE * deviation && Math.abs(off - Math.log(1 + missed)) < NEAR * deviation;
}
