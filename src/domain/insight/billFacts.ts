// What the ledgers know of the days of a bill: their cost, the energy's part of it, and what may belong to another bill.
import { inFull, type Micro } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, daysOf } from '../period.ts';
import { AROUND_DAYS, type CarryingReading, FLAT_DAYS, readingOfEachDay } from './carriedDays.ts';
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

export type MeterDays = Pick<Ledger, 'origin' | 'days'>;

/** Days by which price and standing charge are told apart; more make it slower and no better. */
const MOST_DAYS_OF_PRICE = 31;

/** The same as `billFacts`, without computing again what no changed day has to do with. */
export function rememberedFacts() {
  let known: readonly MeterDays[] = [];
  const facts = new Map<string, BillFacts | null>();
  return (meters: readonly MeterDays[]) => {
    const isComparable =
      meters.length === known.length && meters.every(({ origin }, at) => origin === known[at]?.origin);
    if (!isComparable) facts.clear();
    const changed = isComparable ? meters.flatMap(({ days }, at) => changedDays(known[at]?.days, days)) : [];
    const mayDiffer = ({ from, to }: DaySpan) =>
      changed.some((day) => day >= addDays(from, -AROUND_DAYS) && day < addDays(to, AROUND_DAYS));
    known = meters;
    const fresh = new Set<string>();
    return (span: DaySpan): BillFacts | null => {
      const key = `${span.from} ${span.to}`;
      const found = facts.get(key);
      if (found !== undefined && (fresh.has(key) || !mayDiffer(span))) return found;
      const now = billFacts(meters, span);
      fresh.add(key);
      // The same object for the same facts: a day beside the period changes nothing.
      if (found !== undefined && JSON.stringify(now) === JSON.stringify(found)) return found;
      facts.set(key, now);
      return now;
    };
  };
}

function changedDays(before: MeterDays['days'] | undefined, after: MeterDays['days']): Day[] {
  const changed: Day[] = [];
  if (before !== after) for (const [day, record] of after) if (before?.get(day) !== record) changed.push(day);
  return changed;
}

/** `null` where the ledgers begin later than the period, or know no cost in it. */
export function billFacts(meters: readonly MeterDays[], span: DaySpan): BillFacts | null {
  if (meters.some(({ origin }) => origin > span.from)) return null;
  const within = daysOf(span);
  const known = meters.flatMap((meter) => {
    const readings = readingOfEachDay('cost', meter.days, span);
    // A meter that came later has nothing to do with the bill.
    return readings.some((reading) => reading !== null) ? [{ meter, readings }] : [];
  });
  const isMissing = within.map((_, at) => known.some(({ readings }) => readings[at] === null));
  const isCarried = within.map((day, at) => known.some(({ readings }) => readings[at]?.day !== day));
  let [sum, standing, mayBeEarlier, mayBeLater, read] = [0, 0, 0, 0, 0];
  for (const { meter, readings } of known) {
    const booked = [...new Set(readings)].filter(
      (one): one is CarryingReading => one !== null && one.day < span.to,
    );
    sum += booked.reduce((all, { amount }) => all + amount, 0);
    standing += standingOf(meter.days, booked) * within.length;
    // An estimate may be too high or too low.
    const estimates = estimatedAround(span.from, meter.days) + estimatedAround(span.to, meter.days);
    mayBeEarlier += estimates + carriedOver(span.from, readings[0]);
    mayBeLater += estimates + carriedOver(span.to, readings.at(-1));
    read += booked.length;
  }
  if (read === 0) return null;
  const missing = isMissing.filter(Boolean).length;
  const estimated = isCarried.filter(Boolean).length - missing;
  return {
    sum,
    standing: Math.min(sum, standing),
    days: within.length,
    missing,
    estimated,
    mayBeEarlier,
    mayBeLater,
  };
}

/** The standing charge of a day: the line through cost by energy, by the median of all slopes (Theil and Sen). */
function standingOf(days: MeterDays['days'], readings: readonly CarryingReading[]): number {
  const step = Math.max(1, readings.length / MOST_DAYS_OF_PRICE);
  const points = readings
    .filter((reading, at) => reading.days === 1 && Math.floor(at / step) !== Math.floor((at - 1) / step))
    .flatMap(({ day, amount }) => {
      const energy = days.get(day)?.energy ?? null;
      return energy === null ? [] : [{ energy: inFull(energy), cost: amount }];
    });
  const slopes = points.flatMap((one, at) =>
    points.slice(at + 1).flatMap((other) => {
      const apart = other.energy - one.energy;
      return apart === 0 ? [] : [(other.cost - one.cost) / apart];
    }),
  );
  if (slopes.length === 0) return 0;
  const slope = median(slopes);
  return Math.max(0, median(points.map(({ energy, cost }) => cost - slope * energy)));
}

/** The amount of a reading with days on both sides of the midnight before `day`. */
const carriedOver = (day: Day, reading: CarryingReading | null | undefined): Micro =>
  reading && reading.day >= day && addDays(reading.day, 1 - reading.days) < day
    ? Math.abs(reading.amount)
    : 0;

/** The cost of a run of equal estimates on both sides, or of one that ends there and is put right on the other side. */
function estimatedAround(day: Day, days: MeterDays['days']): Micro {
  const energyOf = (one: Day) => days.get(one)?.energy ?? 0;
  // The day that puts the estimates right may be the first one of the period.
  for (const inside of [addDays(day, -1), addDays(day, -2)]) {
    const energy = energyOf(inside);
    if (energy <= 0) continue;
    let [first, last] = [inside, inside];
    while (energyOf(addDays(first, -1)) === energy) first = addDays(first, -1);
    while (energyOf(addDays(last, 1)) === energy) last = addDays(last, 1);
    const trueUp = addDays(last, 1);
    if (daysBetween(first, trueUp) >= FLAT_DAYS && first < day && trueUp >= day)
      return daysOf({ from: first, to: addDays(trueUp, 1) }).reduce(
        (sum, one) => sum + Math.abs(days.get(one)?.cost ?? 0),
        0,
      );
  }
  return 0;
}
