// What the ledgers know of the days of a bill: their cost, the energy's part of it, and what may belong to another bill.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, daysOf } from '../period.ts';
import { type CarryingReading, FLAT_DAYS, readingOfEachDay } from './carriedDays.ts';
import { median } from './robust.ts';

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

const KWH = toMicro(1);

export type MeterDays = Pick<Ledger, 'origin' | 'days'>;

/** `null` where the ledgers begin later than the period, or know no cost in it. */
export function billFacts(meters: readonly MeterDays[], span: DaySpan): BillFacts | null {
  if (meters.some(({ origin }) => origin > span.from)) return null;
  const known = meters.flatMap(({ days }) => {
    const readings = readingOfEachDay('cost', days, span);
    // A meter that came later has nothing to do with the bill.
    return readings.some((reading) => reading !== null && reading.day < span.to) ? [{ days, readings }] : [];
  });
  const within = daysOf(span);
  const facts = { sum: 0, standing: 0, days: within.length, mayBeEarlier: 0, mayBeLater: 0 };
  for (const { days, readings } of known) {
    const booked = [...new Set(readings)].filter((one) => one !== null && one.day < span.to);
    facts.sum += booked.reduce((sum, one) => sum + (one?.amount ?? 0), 0);
    facts.standing += standingOf(days, within) * within.length;
    // An estimate may be too high or too low.
    const estimates = estimatedAround(span.from, days) + estimatedAround(span.to, days);
    facts.mayBeEarlier += estimates + carriedOver(span.from, readings[0]);
    facts.mayBeLater += estimates + carriedOver(span.to, readings.at(-1));
  }
  const count = (is: (reading: CarryingReading | null | undefined, day: Day) => boolean) =>
    within.filter((day, at) => known.some(({ readings }) => is(readings[at], day))).length;
  const missing = count((reading) => reading === null);
  const estimated = count((reading, day) => reading?.day !== day) - missing;
  const standing = Math.min(facts.sum, facts.standing);
  return known.length === 0 ? null : { ...facts, standing, missing, estimated };
}

/** The standing charge of a day: where the line through cost by energy begins, by the median of all slopes (Theil and Sen). */
function standingOf(days: MeterDays['days'], within: readonly Day[]): number {
  const step = Math.ceil(within.length / MOST_DAYS_OF_PRICE);
  const points = within.flatMap((day, at) => {
    const { energy = null, cost = null } = days.get(day) ?? {};
    const isPoint = at % step === 0 && days.has(addDays(day, -1));
    return isPoint && energy !== null && cost !== null ? [{ energy: inFull(energy), cost }] : [];
  });
  const slopes = points.flatMap((one, at) =>
    points.slice(at + 1).flatMap((other) => {
      const apart = other.energy - one.energy;
      return apart === 0 ? [] : [(other.cost - one.cost) / apart];
    }),
  );
  const slope = median(slopes);
  return slopes.length === 0
    ? 0
    : Math.max(0, median(points.map(({ energy, cost }) => cost - slope * energy)));
}

/** Price and standing charge are told apart by a month of days; more make it slower and no better. */
const MOST_DAYS_OF_PRICE = 31;

/** The amount of a reading with days on both sides of the midnight before `day`. */
const carriedOver = (day: Day, reading: CarryingReading | null | undefined): Micro =>
  reading && reading.day >= day && addDays(reading.day, 1 - reading.days) < day
    ? Math.abs(reading.amount)
    : 0;

/** How much of a run of equal estimates may belong to the other side: what puts them right, give or take their own size. */
function estimatedAround(day: Day, days: MeterDays['days']): Micro {
  const energyOf = (one: Day) => days.get(one)?.energy ?? 0;
  // Days without energy may go on giving back what was estimated too high.
  let last = addDays(day, -1);
  while (energyOf(last) === 0 && daysBetween(last, day) <= FLAT_DAYS) last = addDays(last, -1);
  const energy = energyOf(last);
  if (energy <= 0) return 0;
  let [first, next] = [last, addDays(last, 1)];
  while (energyOf(addDays(first, -1)) === energy) first = addDays(first, -1);
  while (energyOf(next) === energy) next = addDays(next, 1);
  let right = next;
  while (energyOf(right) === 0 && daysBetween(next, right) < FLAT_DAYS) right = addDays(right, 1);
  // A register of whole kWh repeats itself by chance.
  const fewest = energy % KWH === 0 ? FLAT_DAYS + 1 : FLAT_DAYS;
  if (daysBetween(first, next) < fewest || first >= day || right < day) return 0;
  const [usual, corrected] = [days.get(last)?.cost ?? 0, days.get(right)?.cost ?? 0];
  return usual * (1 + daysBetween(next, right)) + Math.abs(corrected - usual);
}
