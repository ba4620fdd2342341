// The answers of the six tools, as schemas: numbers, dates and our own sentences. Each takes of a published record what it names and
// leaves out the rest, so that no text of the provider and no name gets through.
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

export const usageAnswer = z.object({
  interval: z.string(),
  meters: z.array(
    z.object({
      meter: place,
      currency,
      periods: z.array(z.object({ from: day, to: day, energy_kwh: amount, cost: amount })),
    }),
  ),
});

const bill = z.object({
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

export const billsAnswer = z.object({
  accounts: z.array(z.object({ account: place, currency, bills: z.array(bill) })),
});

const { month, conclusion, months, days, weather_adjusted, prices, heating, hot_water } =
  meterStatement.shape;
const why = z.string().describe('Why there is no value.').nullable();
const field = <T extends z.ZodType>(value: T) => z.object({ value, reason: why });
const number = field(amount);
const use = z.object({ month, energy_kwh: number, cost: number });

const statement = z.object({
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

export const statementAnswer = z.object({ statements: z.array(statement) });

export const forecastAnswer = z.object({
  accounts: z.array(
    z.object({
      account: place,
      currency,
      meters: z.array(
        z.object({
          meter: place,
          month_so_far: z.object({ energy_kwh: amount, cost: amount }),
          month: z.object({ energy_kwh: band, cost: band }),
        }),
      ),
      next_bill: z.object({ from: day, to: day, energy_kwh: band, amount: band }).nullable(),
    }),
  ),
});

export const costAnswer = z.object({
  meters: z.array(
    z.object({
      meter: place,
      currency,
      days_with_a_reading: count,
      did_cost: amount,
      would_cost: amount,
    }),
  ),
});

export const healthAnswer = z.object({
  accounts: z.array(
    z.object({
      account: place,
      last_poll_at: instant,
      last_good_poll_at: instant,
      failures_in_a_row: count,
      last_error: z.string().describe('A code.').nullable(),
      meters: z.array(
        z.object({
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
