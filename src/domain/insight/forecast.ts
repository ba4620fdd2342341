// What a span of days will come to by its end, with the band that it should lie in four times out of five.
import { inFull, type Micro, toMicro } from '../amount.ts';
import { addMonths, type Day, type DaySpan, daysBetween, monthStart } from '../period.ts';
import type { Days } from '../tariff/billedDays.ts';
import type { Tariff } from '../tariff/tariff.ts';
import { daysLeft, type Offset, type OffsetSpan, type Reading, readingsOf } from './readings.ts';
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

const NEWEST_WITHIN_DAYS = 31;
/** Fewer days teach nothing: the mean of the newest readings goes on. */
const FEWEST_DAYS = 30;
const RECENT_READINGS = 14;

/** The days that are left, in kWh or units of the currency. `variance`: `null` = too little is known. */
interface Outlook {
  readonly mean: number;
  readonly variance: number | null;
}

export const forecastMonth = (known: Known): Forecasts =>
  forecastSpan({ from: monthStart(known.today), to: addMonths(known.today, 1) }, known);

/** Energy and cost, each from the days that have it: those of the span without it count like days to come. */
export function forecastSpan({ from, to }: DaySpan, known: Known): Forecasts {
  const { days, tariff, today } = known;
  const span = { from: daysBetween(today, from), to: daysBetween(today, to) };
  const energies = readingsOf('energy', days, tariff, today, span.to);
  const costs = readingsOf('cost', days, tariff, today, span.to);
  const ahead = isRecent(energies) ? outlook(energies, daysLeft(span, energies), today) : null;
  const followsItself = () =>
    isRecent(costs) ? banded(sumIn(span, costs), outlook(costs, daysLeft(span, costs), today)) : null;
  return {
    energy: ahead && banded(sumIn(span, energies), ahead),
    cost: tariff && ahead ? priced(tariff, energies, costs, span, ahead) : followsItself(),
  };
}

/** The cost so far, and the tariff's price of every other day. */
function priced(
  { unitRate, standingCharge }: Tariff,
  energies: readonly Reading[],
  costs: readonly Reading[],
  span: OffsetSpan,
  { mean, variance }: Outlook,
): Forecast {
  const left = new Set(daysLeft(span, costs));
  const read = energies.reduce((sum, { at, amount }) => (left.has(at) ? sum + amount : sum), 0);
  const sure = sumIn(span, costs) + Math.round(unitRate * read) + standingCharge * left.size;
  return banded(sure, { mean: unitRate * mean, variance: variance && unitRate ** 2 * variance });
}

function banded(sure: Micro, { mean, variance }: Outlook): Forecast {
  const amount = sure + toMicro(mean);
  if (variance === null) return { amount, low: null, high: null };
  const half = toMicro(BAND * Math.sqrt(variance));
  return { amount, low: Math.max(Math.min(sure, amount), amount - half), high: amount + half };
}

const isRecent = (readings: readonly Reading[]): boolean =>
  readings.some(({ at }) => at <= 0 && at >= -NEWEST_WITHIN_DAYS);

const sumIn = ({ from, to }: OffsetSpan, readings: readonly Reading[]): Micro =>
  readings.reduce((sum, { at, amount }) => (at >= from && at < to ? sum + amount : sum), 0);

function outlook(readings: readonly Reading[], left: readonly Offset[], today: Day): Outlook {
  if (left.length === 0) return { mean: 0, variance: 0 };
  const past = readings.filter(({ at }) => at <= 0);
  // A reading after a gap that carries an unknown number of days tells nothing of a day.
  const plain = past.filter(({ missed, carries }) => carries === missed + 1);
  const days = plain.reduce((sum, { carries }) => sum + carries, 0);
  if (days < FEWEST_DAYS) return { mean: recentMean(past) * left.length, variance: null };
  const points = plain.map(({ at, amount, carries }) => ({
    at,
    value: Math.sqrt(Math.max(0, inFull(amount)) / carries),
    days: carries,
  }));
  return sumOfSquares(points, left, daysBetween(`${today.slice(0, 4)}-01-01`, today));
}

function recentMean(past: readonly Reading[]): number {
  const newest = past.slice(-RECENT_READINGS);
  const sum = newest.reduce((all, { amount }) => all + amount, 0);
  return inFull(sum) / newest.reduce((days, { carries }) => days + carries, 0);
}
