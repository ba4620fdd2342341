// The cost of days by another tariff.
import type { Micro } from '../amount.ts';
import type { DaySpan } from '../period.ts';
import type { Days, Tariff } from '../tariff/tariff.ts';
import { readingOfEachDay, sumOf } from './readings.ts';

/** Currency units per kWh; of one day, in millionths of a currency unit. */
export type Prices = Pick<Tariff, 'unitRate' | 'standingCharge'>;

/**
 * The days of the span that have a reading, and those that a later reading carries, each with a standing charge.
 * `days`: with those around the span, by which gaps at its ends are judged. `null` when nothing of the span is known.
 */
export function costAt({ unitRate, standingCharge }: Prices, days: Days, span: DaySpan): Micro | null {
  const readings = readingOfEachDay('energy', days, span).filter((reading) => reading !== null);
  if (readings.length === 0) return null;
  return Math.round(unitRate * sumOf(readings, span)) + readings.length * standingCharge;
}
