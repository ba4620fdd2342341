// The next bill: which days it will be about, and what those come to.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, type Zone } from '../period.ts';
import type { BillCheck } from './bill.ts';
import { billPeriods } from './billPeriods.ts';
import { predict } from './billRule.ts';
import type { Forecast, Forecasts } from './forecast.ts';
import { quantile } from './robust.ts';

export interface BillForecast extends Forecasts {
  readonly span: DaySpan;
}

const NEWEST_PERIODS = 7;
const DAYS_OF_MONTH = 30.44;
const SHORTEST_MONTH_DAYS = 26;

/**
 * From the end of the newest invoice on, for as long as its periods usually are: whole months, or days below a month.
 * `invoices`: newest first. `null`: none has a period, or two more should have come since.
 */
export function nextBillSpan(invoices: readonly Invoice[], today: Day, zone: Zone): DaySpan | null {
  const periods = billPeriods(invoices, zone).slice(-NEWEST_PERIODS);
  const from = periods
    .map(({ to }) => to)
    .sort()
    .at(-1);
  if (from === undefined) return null;
  const usual = quantile(
    periods.map((period) => daysBetween(period.from, period.to)),
    0.5,
  );
  const to = later(from, usual);
  return later(to, usual) < today ? null : { from, to };
}

/** The same day of the month, or the last one of a shorter month. */
function later(day: Day, length: number): Day {
  if (length < SHORTEST_MONTH_DAYS) return addDays(day, length);
  const months = Math.round(length / DAYS_OF_MONTH);
  const within = addDays(addMonths(day, months), Number(day.slice(8)) - 1);
  const next = addMonths(day, months + 1);
  return within < next ? within : addDays(next, -1);
}

/**
 * Sums all meters of the account, by the rule of the bills before. The weather is the same for all: so are errors. `newest`: the
 * newest bill of which the rule is known; without one the days alone.
 */
export function forecastBill(
  span: DaySpan,
  meters: readonly Forecasts[],
  newest: BillCheck | null,
): BillForecast {
  const cost = sumOf(meters.map((meter) => meter.cost));
  const days = daysBetween(span.from, span.to);
  const standing = newest ? inFull((newest.standing / newest.days) * days) : 0;
  const billed = (micro: Micro): Micro => {
    const sum = inFull(micro);
    if (!newest?.rule) return micro;
    return toMicro(predict(newest.rule, { sum, energy: sum - standing, days, bills: 1 }).expected);
  };
  const total = cost && {
    amount: billed(cost.amount),
    low: cost.low === null ? null : billed(cost.low),
    high: cost.high === null ? null : billed(cost.high),
  };
  return { span, energy: sumOf(meters.map((meter) => meter.energy)), cost: total };
}

/** `null` while one of them is not known. */
function sumOf(forecasts: readonly (Forecast | null)[]): Forecast | null {
  let sum: Forecast | null = forecasts.length === 0 ? null : { amount: 0, low: 0, high: 0 };
  for (const one of forecasts) {
    if (one === null || sum === null) return null;
    const add = (a: Micro | null, b: Micro | null): Micro | null => (a === null || b === null ? null : a + b);
    sum = { amount: sum.amount + one.amount, low: add(sum.low, one.low), high: add(sum.high, one.high) };
  }
  return sum;
}
