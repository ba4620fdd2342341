// The next bill: which days it will be about, and what those come to.
import { inFull, type Micro, sumKnown, toMicro } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, type Zone } from '../period.ts';
import { type BillCheck, billPeriods } from './bill.ts';
import { predict } from './billRule.ts';
import type { Forecast, Forecasts } from './forecast.ts';
import { median } from './leastSquares.ts';

export interface BillForecast extends Forecasts {
  readonly span: DaySpan;
}

/** Half a year of months, and their middle one: a change of the length soon counts. */
const NEWEST_PERIODS = 7;
const DAYS_OF_MONTH = 30.44;
/** February, less a day at each end. */
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
  const usual = median(lengths);
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
  const standing = newest ? inFull((newest.charges / newest.days) * days) : 0;
  const billed = (micro: Micro): Micro => {
    const sum = inFull(micro);
    if (!newest?.rule) return micro;
    return toMicro(predict(newest.rule, [sum, sum - standing, days, 1]).expected);
  };
  return {
    span,
    energy: sumOf(meters.map(({ energy }) => energy)),
    cost: sumOf(
      meters.map(({ cost }) => cost),
      billed,
    ),
  };
}

/** `null` while one of them is not known. */
function sumOf(forecasts: readonly (Forecast | null)[], billed = (micro: Micro) => micro): Forecast | null {
  const sum = (part: keyof Forecast): Micro | null => {
    const amounts = forecasts.map((one) => one?.[part] ?? null);
    const all = amounts.includes(null) ? null : sumKnown(amounts);
    return all === null ? null : billed(all);
  };
  const amount = sum('amount');
  return amount === null ? null : { amount, low: sum('low'), high: sum('high') };
}
