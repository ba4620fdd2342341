// The next bill: which days it will be about, and what those come to.
import { inFull, type Micro, sumKnown, toMicro } from '../amount.ts';
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
  const from = periods.at(-1)?.to;
  if (from === undefined) return null;
  const lengths = periods.map((period) => daysBetween(period.from, period.to));
  const usual = quantile(lengths, 0.5);
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
  const days = daysBetween(span.from, span.to);
  const standing = newest ? inFull((newest.standing / newest.days) * days) : 0;
  const billed = (micro: Micro): Micro => {
    const sum = inFull(micro);
    if (!newest?.rule) return micro;
    return toMicro(predict(newest.rule, { sum, energy: sum - standing, days, bills: 1 }).expected);
  };
  const sums = sumOf(meters.map(({ cost }) => cost));
  const cost = sums && {
    amount: billed(sums.amount),
    low: sums.low === null ? null : billed(sums.low),
    high: sums.high === null ? null : billed(sums.high),
  };
  return { span, energy: sumOf(meters.map(({ energy }) => energy)), cost };
}

/** `null` while one of them is not known. */
function sumOf(forecasts: readonly (Forecast | null)[]): Forecast | null {
  const known = forecasts.filter((one) => one !== null);
  const sum = (amounts: readonly (Micro | null)[]) => (amounts.includes(null) ? null : sumKnown(amounts));
  const amount = sum(forecasts.map((one) => one?.amount ?? null));
  return amount === null
    ? null
    : { amount, low: sum(known.map(({ low }) => low)), high: sum(known.map(({ high }) => high)) };
}
