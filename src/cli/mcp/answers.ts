// The answers of the six tools, as schemas: numbers, dates and our own sentences. Nothing in them is text of the provider or names anybody.
import * as z from 'zod';
import { VERDICTS } from '../../domain/insight/bill.ts';
import {
  known as amount,
  count,
  currency,
  day as localDay,
  instant as moment,
} from '../../publication/payloads/parts.ts';
import { meterStatement } from '../../publication/payloads/statement.ts';

const day = localDay.nullable();
const instant = moment.nullable();
const place = z.int().min(1);
const band = z
  .strictObject({ expected: amount, low: amount, high: amount })
  .describe('Holds the truth in 80 of 100 cases.')
  .nullable();

export const usageAnswer = z.strictObject({
  interval: z.string(),
  meters: z.array(
    z.strictObject({
      meter: place,
      currency,
      periods: z.array(z.strictObject({ from: day, to: day, energy_kwh: amount, cost: amount })),
    }),
  ),
});

const bill = z.strictObject({
  bill: place,
  period_start: day,
  period_end: day,
  issued: day,
  due: day,
  amount,
  amount_due: amount,
  verdict: z.enum(VERDICTS).nullable(),
  sum_of_days: amount,
  unexplained: amount,
  sentence: z.string().nullable(),
});

export const billsAnswer = z.strictObject({
  accounts: z.array(z.strictObject({ account: place, currency, bills: z.array(bill) })),
});

const { month, conclusion, months, days, weather_adjusted, prices, heating, hot_water } =
  meterStatement.shape;
const why = z.string().describe('Why there is no value.').nullable();
const field = <T extends z.ZodType>(value: T) => z.strictObject({ value, reason: why });
const number = field(amount);
const use = z.strictObject({ month, energy_kwh: number, cost: number });

const statement = z.strictObject({
  meter: place,
  month,
  from: day,
  to: day,
  currency,
  conclusion,
  energy_kwh: number,
  cost: number,
  month_before: use,
  year_before: use,
  weather_adjusted: field(weather_adjusted.shape.value),
  months,
  prices: field(prices.shape.value),
  heating_kwh: field(heating.shape.value),
  hot_water_kwh: field(hot_water.shape.value),
  days,
  due: number,
  energy_per_m2: number,
});

export const statementAnswer = z.strictObject({ statements: z.array(statement) });

export const forecastAnswer = z.strictObject({
  accounts: z.array(
    z.strictObject({
      account: place,
      currency,
      meters: z.array(
        z.strictObject({
          meter: place,
          month_so_far: z.strictObject({ energy_kwh: amount, cost: amount }),
          month: z.strictObject({ energy_kwh: band, cost: band }),
        }),
      ),
      next_bill: z.strictObject({ from: day, to: day, energy_kwh: band, amount: band }).nullable(),
    }),
  ),
});

export const costAnswer = z.strictObject({
  meters: z.array(
    z.strictObject({
      meter: place,
      currency,
      days_with_a_reading: count,
      did_cost: amount,
      would_cost: amount,
    }),
  ),
});

export const healthAnswer = z.strictObject({
  accounts: z.array(
    z.strictObject({
      account: place,
      last_poll_at: instant,
      last_good_poll_at: instant,
      failures_in_a_row: count,
      last_error: z.string().describe('A code.').nullable(),
      meters: z.array(
        z.strictObject({
          meter: place,
          newest_day: day,
          reading_at: instant,
          late: z.boolean().nullable(),
          days_missing: count,
          since: day,
        }),
      ),
    }),
  ),
});
