// The statement of one complete month, as a schema: each field is a value or a reason why there is none, and names its basis.
import * as z from 'zod';
import { count, currency, day, instant, name, payload, text } from './parts.ts';

/** Their words are in the languages. */
const REASONS = [
  'not_recorded',
  'days_missing',
  'needs_outdoor_temperature',
  'not_heated',
  'not_sure',
  'not_explained',
  'not_told',
  'switched_off',
  'no_bill',
  'not_configured',
] as const;

const basis = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('readings'), days: count.describe('That have a reading.'), of: count }),
    z.strictObject({ kind: z.literal('register'), at: instant }),
    z.strictObject({ kind: z.literal('fit'), from: day, to: day, days: count }),
    z.strictObject({ kind: z.literal('provider') }),
    z.strictObject({ kind: z.literal('bills'), ids: z.array(text) }),
    z.strictObject({ kind: z.literal('configuration'), keys: z.array(text), source: text.nullable() }),
  ])
  .describe('What the value rests on.');

const field = <T extends z.ZodType>(value: T, help: string) =>
  z
    .strictObject({
      value: value.nullable(),
      reason: z.enum(REASONS).nullable().describe('Why there is no value.'),
      basis: basis.nullable(),
    })
    .describe(help);

export const month = z.string().regex(/^\d{4}-\d{2}$/);
const kwh = z.number();
const money = z.number();
const use = (help: string) => ({
  energy: field(kwh, `${help}, kWh.`),
  cost: field(money, `${help}: what the provider asks for these days, standing charge included.`),
});
const band = z.strictObject({ kwh, low: kwh, high: kwh });
const register = (when: string) =>
  field(
    z.strictObject({ kwh, at: instant }),
    `What the meter's register showed at the ${when} of the month.`,
  );

export const meterStatement = payload({
  month,
  from: day.describe('First and last day.'),
  to: day,
  timezone: text.describe('Days and months are cut in it.'),
  currency,
  account: name,
  meter: name,
  meter_name: text.nullable().describe('What the configuration calls the meter.'),
  revision: count.describe('Grows with each correction of a day that the statement rests on.'),
  conclusion: z
    .strictObject({
      code: z.enum([
        'days_missing',
        'bill_differs',
        'rule_changed',
        'more',
        'less',
        'as_usual',
        'not_compared',
      ]),
      amount: z
        .number()
        .nullable()
        .describe('Of money with bill_differs, of percent with more and less, of days with days_missing.'),
    })
    .describe('The one thing to know.'),
  ...use('Used in the month'),
  month_before: z.strictObject({ month, ...use('The month before') }),
  year_before: z.strictObject({ month, ...use('The same month a year before') }),
  weather_adjusted: field(
    z.strictObject({ percent: z.number(), low: z.number(), high: z.number(), kwh }),
    'How much more was used than a year before, at the same weather, with its 80 % band; kwh is what the month would have taken as the year before.',
  ),
  months: z
    .array(
      z.strictObject({
        month,
        energy_kwh: kwh.nullable(),
        cost: money.nullable(),
        year_before_adjusted_kwh: kwh
          .nullable()
          .describe('The same month a year before, at the weather of this one.'),
      }),
    )
    .length(13)
    .describe('The month and the twelve before it, oldest first.'),
  prices: field(
    z.array(z.strictObject({ from: day, to: day, unit_rate: money, standing_charge: money })),
    'Unit rate (per kWh) and standing charge (per day), fitted from the days; two or more where the tariff changed in the month.',
  ),
  heating: field(band, 'The part of the heat that warmed rooms: estimated, with its 80 % band.'),
  hot_water: field(band, 'The other part: estimated.'),
  register_first: register('beginning'),
  register_last: register('end'),
  days: z
    .strictObject({
      of: count,
      missing: z.array(day).describe('No reading has them.'),
      carried: z.array(day).describe('Without a reading of their own: a later one has their heat too.'),
      estimated: z.array(day).describe('The same reading several days in a row.'),
      corrected: z.array(day),
    })
    .describe('Of the month, those that are not plain readings.'),
  bills: field(
    z.array(
      z.strictObject({
        id: text,
        from: day,
        to: day,
        amount: money.nullable(),
        amount_due: money.nullable(),
        due: day.nullable(),
        verdict: z.enum(['as_expected', 'differs', 'rule_changed', 'unknown']),
        unexplained: money.nullable(),
      }),
    ),
    'The bills of that time, and how each agrees with its days.',
  ),
  due: field(money, 'What is to be paid now.'),
  energy_per_m2: field(z.number(), 'Used in the month for each square metre, kWh.'),
  heat_source: field(
    z.array(z.strictObject({ name: text, percent: z.number() })),
    'What the heat is made from.',
  ),
  co2: field(
    z.strictObject({ g_per_kwh: z.number(), kg: z.number(), year: z.int() }),
    'Carbon dioxide of the heat of the month.',
  ),
  average_user: field(
    z.strictObject({
      kwh_m2_year: z.number(),
      own_kwh_m2_year: z.number().nullable().describe('Of the twelve months that end with this one.'),
    }),
    'What an average user of the same kind takes in a year.',
  ),
  contacts: field(z.array(text), 'Who advises, and who settles disputes.'),
}).describe(
  'The newest month that is complete: all of its days read, or late_after_hours past. Information, and not a bill.',
);
