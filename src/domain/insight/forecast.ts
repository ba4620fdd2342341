// What a span of days will come to by its end, with the band that it should lie in four times out of five.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, daysOf, monthStart } from '../period.ts';
import type { Days, Tariff } from '../tariff/tariff.ts';
import { readingOfEachDay, readingsIn } from './readings.ts';
import { BAND } from './robust.ts';
import { sumOfSquares } from './structuralModel.ts';

/** `low`, `high`: the 80 % band; `null` with fewer than 30 days of readings. */
export interface Forecast {
  readonly amount: Micro;
  readonly low: Micro | null;
  readonly high: Micro | null;
}

/** `null` when the last month has no reading at all. */
export interface Forecasts {
  readonly energy: Forecast | null;
  readonly cost: Forecast | null;
}

export interface Known {
  readonly days: Days;
  readonly today: Day;
  /** `null`: the cost follows its own past. */
  readonly tariff: Tariff | null;
}

/** The days that are left, in kWh or units of the currency. `variance`: `null` = too little is known. */
interface Outlook {
  readonly mean: number;
  readonly variance: number | null;
}

/** Two winters and two summers. */
const LEARNT_FROM_DAYS = 2 * 366;
const NEWEST_WITHIN_DAYS = 31;
/** Fewer days teach nothing: the mean of the newest readings goes on. */
const FEWEST_DAYS = 30;
const RECENT_READINGS = 14;
/** A reading of more days tells little of each. */
const LONGEST_POINT_DAYS = 7;

export const forecastMonth = (known: Known): Forecasts =>
  forecastSpan({ from: monthStart(known.today), to: addMonths(known.today, 1) }, known);

/** Energy and cost, each from the days that have it: those of the span without it count like days to come. */
export function forecastSpan(span: DaySpan, { days, tariff, today }: Known): Forecasts {
  const isRecent = (kind: keyof Amounts): boolean =>
    readingsIn(kind, days, { from: addDays(today, -NEWEST_WITHIN_DAYS), to: addDays(today, 1) }).length > 0;
  const followed = (kind: keyof Amounts) => outlook(kind, days, daysLeft(kind, days, span), today);
  const ahead = isRecent('energy') ? followed('energy') : null;
  const energy = ahead && banded(sumIn('energy', days, span), ahead);
  const costs = sumIn('cost', days, span);
  if (tariff && ahead) {
    // The cost so far, and the tariff's price of every other day.
    const left = daysLeft('cost', days, span);
    const read = left.reduce((sum, day) => sum + (days.get(day)?.energy ?? 0), 0);
    const sure = Math.round(tariff.unitRate * read) + tariff.standingCharge * left.length;
    return { energy, cost: banded(costs + sure, ahead, tariff.unitRate) };
  }
  return { energy, cost: isRecent('cost') ? banded(costs, followed('cost')) : null };
}

/** `price`: of one unit of what is ahead. */
function banded(sure: Micro, { mean, variance }: Outlook, price = 1): Forecast {
  const amount = sure + toMicro(price * mean);
  if (variance === null) return { amount, low: null, high: null };
  const half = toMicro(price * BAND * Math.sqrt(variance));
  return { amount, low: Math.max(Math.min(sure, amount), amount - half), high: amount + half };
}

const sumIn = (kind: keyof Amounts, days: Days, span: DaySpan): Micro =>
  readingsIn(kind, days, span).reduce((sum, { amount }) => sum + amount, 0);

/** Days of the span that no reading has in it. */
function daysLeft(kind: keyof Amounts, days: Days, span: DaySpan): Day[] {
  const readings = readingOfEachDay(kind, days, span);
  return daysOf(span).filter((_, at) => (readings[at]?.day ?? span.to) >= span.to);
}

function outlook(kind: keyof Amounts, days: Days, left: readonly Day[], today: Day): Outlook {
  if (left.length === 0) return { mean: 0, variance: 0 };
  const learnt = { from: addDays(today, -LEARNT_FROM_DAYS), to: addDays(today, 1) };
  const points = readingsIn(kind, days, learnt)
    .filter(({ missed }) => missed < LONGEST_POINT_DAYS)
    .map(({ day, amount, missed }) => {
      const use = Math.max(0, inFull(amount));
      return { at: daysBetween(today, day), use, value: Math.sqrt(use / (missed + 1)), days: missed + 1 };
    });
  const daysIn = (some: typeof points) => some.reduce((sum, one) => sum + one.days, 0);
  if (daysIn(points) < FEWEST_DAYS) {
    const newest = points.slice(-RECENT_READINGS);
    const use = newest.reduce((sum, one) => sum + one.use, 0);
    return { mean: (use / Math.max(1, daysIn(newest))) * left.length, variance: null };
  }
  const ahead = left.map((day) => daysBetween(today, day));
  return sumOfSquares(points, ahead, daysBetween(`${today.slice(0, 4)}-01-01`, today));
}
