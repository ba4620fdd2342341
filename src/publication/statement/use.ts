// The fields about the days of a meter: use and cost of its months, days that are missing, and the comparison at the same weather.
import { sumKnown, toTenths, toUnits } from '../../domain/amount.ts';
import {
  estimatedRuns,
  type HeldBy,
  LONGEST_SPAN_DAYS,
  type Reading,
  readingOfEachDay,
  readingsIn,
  SEASON_DAYS,
  YEAR_DAYS,
} from '../../domain/insight/readings.ts';
import type { HeatLine, House, Part } from '../../domain/insight/weather.ts';
import type { Amounts, Ledger } from '../../domain/ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, daysOf } from '../../domain/period.ts';
import { isRead } from '../../domain/totals.ts';
import { type Basis, type Field, monthBefore, type Statement, spanOf, unknown, valued } from './fields.ts';

export interface MeterUse {
  readonly days: Ledger['days'];
  readonly heldBy: HeldBy;
  /** `null`: no outdoor temperature is known. */
  readonly house: House | null;
}

type MonthUse = Statement['month_before'];

export const recordsIn = (days: Ledger['days'], span: DaySpan) =>
  daysOf(span).flatMap((day) => days.get(day) ?? []);

export function usedIn(days: Ledger['days'], month: string): MonthUse {
  const span = spanOf(month);
  const field = (kind: keyof Amounts): Field<number> => {
    const amounts = recordsIn(days, span).flatMap((record) => record[kind] ?? []);
    const sum = sumKnown(amounts);
    if (sum === null) return unknown('not_recorded');
    return valued(toUnits(sum), { kind: 'readings', days: amounts.length, of: daysOf(span).length });
  };
  return { month, energy: field('energy'), cost: field('cost') };
}

/** Another month to compare with: none of which a reading carries days over an end. */
export function comparedIn(use: MeterUse, month: string): MonthUse {
  if (!hasEndGap(use, spanOf(month))) return usedIn(use.days, month);
  const silent = unknown('gap_at_edge');
  return { month, energy: silent, cost: silent };
}

/**
 * Gaps over the ends of a month, and the reading that has the days of each in it: days of the month before in the first reading, and days of
 * the month in a reading after it.
 */
export function endGapsOf(use: MeterUse, { from, to }: DaySpan) {
  const [before, ...within] = readingsOf(use, { from: addDays(from, -1), to });
  return { atStart: gapAtStart(before, within[0], { from, to }), atEnd: gapAtEnd(within, to) };
}

type MaybeReading = Reading | null | undefined;

function gapAtStart(before: MaybeReading, first: MaybeReading, { from, to }: DaySpan) {
  // A reading after the end is told there.
  if (!first || before !== first || first.day >= to) return null;
  return { days: daysBetween(addDays(first.day, -first.missed), from), reading: first.day };
}

function gapAtEnd(within: readonly MaybeReading[], to: Day) {
  const last = within.at(-1);
  if (!last || last.day < to) return null;
  return { days: within.filter((reading) => reading === last).length, reading: last.day };
}

function hasEndGap(use: MeterUse, span: DaySpan): boolean {
  const { atStart, atEnd } = endGapsOf(use, span);
  return atStart !== null || atEnd !== null;
}

/** The readings that show that they have the heat of the span's days in them, one for each day. */
const readingsOf = ({ days, heldBy }: MeterUse, span: DaySpan) =>
  readingOfEachDay('energy', days, span, heldBy);

/** The answer of the fit to a question about whole months, or why there is none. */
function askHouse<T>(use: MeterUse, months: readonly string[], ask: (house: House) => T) {
  if (use.house === null) return 'needs_outdoor_temperature' as const;
  return months.some((month) => hasEndGap(use, spanOf(month))) ? ('gap_at_edge' as const) : ask(use.house);
}

/** The 365 days before `end`. */
function fitBasis(days: Ledger['days'], end: Day): Basis {
  const year = { from: addDays(end, -YEAR_DAYS), to: end };
  return { kind: 'fit', from: year.from, to: addDays(end, -1), days: recordsIn(days, year).length };
}

/** `isSure`: a headline may tell the change. */
export function weatherAdjusted(use: MeterUse, month: string, line: HeatLine | undefined) {
  const span = spanOf(month);
  const change = askHouse(use, [month, monthBefore(month, 12)], (house) => house.changeOver(span, line));
  if (typeof change === 'string') return { change: unknown(change), isSure: false };
  const value = {
    percent: toTenths(change.percent),
    low: toTenths(change.low),
    high: toTenths(change.high),
    kwh: Number(change.expected.toFixed(3)),
  };
  return { change: valued(value, fitBasis(use.days, span.from)), isSure: change.isSure };
}

export function heatParts(use: MeterUse, month: string) {
  const span = spanOf(month);
  const parts = askHouse(use, [month], (house) => house.split(span));
  if (typeof parts === 'string') return { heating: unknown(parts), hot_water: unknown(parts) };
  const basis = fitBasis(use.days, span.to);
  const field = ({ energy, low, high }: Part) =>
    valued({ kwh: toTenths(energy), low: toTenths(low), high: toTenths(high) }, basis);
  return { heating: field(parts.heating), hot_water: field(parts.hotWater) };
}

/** The days of the month that are not plain readings. */
export function marksOf(use: MeterUse, span: DaySpan): Statement['days'] {
  const { days } = use;
  const dates = daysOf(span);
  const readings = readingsOf(use, span);
  // The season before tells how often readings are equal by chance.
  const season = { from: addDays(span.from, -SEASON_DAYS), to: addDays(span.to, LONGEST_SPAN_DAYS) };
  const energies = readingsIn('energy', days, season);
  const estimates = estimatedRuns(energies).flatMap(({ first, next }) => energies.slice(first, next));
  return {
    of: dates.length,
    missing: dates.filter((_, at) => !readings[at]),
    carried: dates.filter((day, at) => readings[at] && !isRead(days, day)),
    estimated: estimates.map(({ day }) => day).filter((day) => day >= span.from && day < span.to),
    corrected: dates.filter((day) => (days.get(day)?.revision ?? 0) > 0),
  };
}
