// The next bill: its days, and what they come to by the rule of the bills before.
import { type Micro, sumKnown } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { median } from '../leastSquares.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, type Zone } from '../period.ts';
import { billPeriods, byPlacing } from './billDays.ts';
import { type Prediction, predict } from './billRule.ts';
import type { Forecast, Forecasts } from './forecast.ts';
import { YEAR_DAYS } from './readings.ts';

export type BillForecast = ReturnType<typeof forecastBill>;

/** Half a year of months, and their middle one: a change of the length soon counts. */
const NEWEST_PERIODS = 7;
/** February, less a day at each end. */
const SHORTEST_MONTH_DAYS = 26;

/**
 * It begins at the end of the newest bill and is as long as its periods usually are, in whole months, or days below a month.
 * `null`: no invoice has a period that has begun, or two more should have come since.
 */
export function nextBillSpan(invoices: readonly Invoice[], today: Day, zone: Zone): DaySpan | null {
  const begun = billPeriods(invoices, zone).filter((period) => period.from <= today);
  const periods = begun.slice(-NEWEST_PERIODS);
  const from = periods.at(-1)?.to;
  if (from === undefined) return null;
  const usual = median(periods.map((period) => daysBetween(period.from, period.to)));
  const to = later(from, usual);
  return later(to, usual) < today ? null : { from, to };
}

/** The same day of the month, or the last one of a shorter month. */
function later(day: Day, length: number): Day {
  if (length < SHORTEST_MONTH_DAYS) return addDays(day, length);
  const months = Math.round((12 * length) / YEAR_DAYS);
  const [month, next] = [addMonths(day, months), addMonths(day, months + 1)];
  return addDays(month, Math.min(Number(day.slice(8)), daysBetween(month, next)) - 1);
}

/**
 * Sums all meters of the account. `rule`: of the newest bill that has one. The weather is the same for all: so are errors. An amount
 * is `null` while one of the meters does not know its own.
 */
export function forecastBill(span: DaySpan, meters: readonly Forecasts[], rule: Prediction | null) {
  const days = daysBetween(span.from, span.to);
  const billed = (sum: Micro): Micro => {
    // It makes no difference where exactly days to come begin.
    const prediction = rule && predict(rule, { sums: byPlacing(() => sum), days, bills: 1 });
    return Math.round(prediction?.expected ?? sum);
  };
  const sumOf = (kind: keyof Forecasts, priced = (sum: Micro) => sum): Forecast | null => {
    const sumOfPart = (part: keyof Forecast): Micro | null => {
      const amounts = meters.map((meter) => meter[kind]?.[part] ?? null);
      const sum = amounts.includes(null) ? null : sumKnown(amounts);
      return sum === null ? null : priced(sum);
    };
    const amount = sumOfPart('amount');
    return amount === null ? null : { amount, low: sumOfPart('low'), high: sumOfPart('high') };
  };
  return { span, energy: sumOf('energy'), cost: sumOf('cost', billed) };
}
