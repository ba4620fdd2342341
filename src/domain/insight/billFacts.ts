// What the ledgers know of the days of a bill: their cost, the energy's part of it, and what may belong to another bill.
import { inFull, type Micro } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';
import { leastSquares } from './leastSquares.ts';
import {
  AROUND_DAYS,
  estimatedRuns,
  FLAT_DAYS,
  type Reading,
  readingOfEachDay,
  readingsIn,
} from './readings.ts';

export interface BillFacts {
  readonly sum: Micro;
  /** The standing charges in it. */
  readonly standing: Micro;
  readonly days: number;
  /** Days without a cost that no later reading carries. */
  readonly missing: number;
  /** Days without a cost of their own: a later reading carries them. */
  readonly estimated: number;
  /** What of the sum may belong to the bill before, and what of the next one's to this: readings over an end of the period. */
  readonly mayBeEarlier: Micro;
  readonly mayBeLater: Micro;
}

export type MeterDays = Pick<Ledger, 'origin' | 'days'>;

/** `null` where the ledgers begin later than the period, or know no cost in it. */
export function billFacts(meters: readonly MeterDays[], span: DaySpan): BillFacts | null {
  if (meters.some(({ origin }) => origin > span.from)) return null;
  const within = daysOf(span);
  const facts = { sum: 0, standing: 0, days: within.length, mayBeEarlier: 0, mayBeLater: 0 };
  const [missing, estimated] = [new Set<Day>(), new Set<Day>()];
  let isKnown = false;
  for (const { days } of meters) {
    const readings = readingOfEachDay('cost', days, span);
    const booked = new Set(readings.filter((reading) => reading !== null && reading.day < span.to));
    // A meter that came later has nothing to do with the bill.
    if (booked.size === 0) continue;
    isKnown = true;
    for (const reading of booked) facts.sum += reading?.amount ?? 0;
    facts.standing += standingOf(days, within) * within.length;
    // An estimate may be too high or too low.
    const estimates = estimatedAround(span.from, days) + estimatedAround(span.to, days);
    facts.mayBeEarlier += estimates + carriedOver(span.from, readings[0]);
    facts.mayBeLater += estimates + carriedOver(span.to, readings.at(-1));
    for (const [at, day] of within.entries()) {
      if (readings[at] === null) missing.add(day);
      else if (readings[at]?.day !== day) estimated.add(day);
    }
  }
  const standing = Math.min(facts.sum, facts.standing);
  return isKnown ? { ...facts, standing, missing: missing.size, estimated: estimated.size } : null;
}

/** The standing charge of a day: where the line through cost by energy begins, by least squares. */
function standingOf(days: MeterDays['days'], within: readonly Day[]): number {
  const lines = within.flatMap((day) => {
    const { energy = null, cost = null } = days.get(day) ?? {};
    // After a missed day there may be two charges.
    const isAlone = days.has(addDays(day, -1));
    return isAlone && energy !== null && cost !== null ? [{ row: [1, inFull(energy)], value: cost }] : [];
  });
  return Math.max(0, leastSquares(lines)?.coefficients[0] ?? 0);
}

/** The amount of a reading with days on both sides of the midnight before `day`. */
const carriedOver = (day: Day, reading: Reading | null | undefined): Micro =>
  reading && reading.day >= day && addDays(reading.day, -reading.missed) < day ? Math.abs(reading.amount) : 0;

/** How much of equal estimates around the midnight before `day` may be on its other side: what puts them right, give or take a day. */
function estimatedAround(day: Day, days: MeterDays['days']): Micro {
  const span = { from: addDays(day, -AROUND_DAYS), to: addDays(day, AROUND_DAYS) };
  const readings = readingsIn('energy', days, span);
  const costAt = (at: number) => days.get(readings[at]?.day ?? '')?.cost ?? 0;
  for (const { first, next } of estimatedRuns(readings)) {
    // Days without energy go on giving back what was estimated too high.
    let right = next;
    while (readings[right]?.amount === 0 && right - next < FLAT_DAYS) right += 1;
    const [begun, ended] = [readings[first]?.day ?? day, readings[right]?.day ?? day];
    if (begun < day && ended >= day)
      return costAt(first) * (1 + right - next) + Math.abs(costAt(right) - costAt(first));
  }
  return 0;
}
