// The statement of one complete month, as a schema: each field is a value or a reason why there is none, and names its basis.
import * as z from 'zod';
import { VERDICTS } from '../../domain/insight/bill.ts';
import { count, currency, day, instant, known, name, object, payload, text } from './parts.ts';

const basis = z
  .discriminatedUnion('kind', [
    object({ kind: z.literal('readings'), days: count.describe('That have a reading.'), of: count }),
    object({ kind: z.literal('register'), at: instant }),
    object({ kind: z.literal('fit'), from: day, to: day, days: count }),
    object({ kind: z.literal('provider') }),
    object({ kind: z.literal('bills'), ids: z.array(text) }),
    object({ kind: z.literal('configuration'), keys: z.array(text), source: text.nullable() }),
  ])
  .describe('What the value rests on.');

/** Their words are in the languages. */
const reason = z.enum([
  'not_recorded',
  'days_missing',
  'gap_at_edge',
  'needs_outdoor_temperature',
  'not_heated',
  'not_sure',
  'not_explained',
  'not_told',
  'switched_off',
  'no_bill',
  'not_configured',
]);
const why = reason.nullable().describe('Why there is no value.');

const field = <T extends z.ZodType>(help: string, value: T) =>
  object({ value: value.nullable(), reason: why, basis: basis.nullable() }).describe(help);
/** Several values that belong together. */
const fields = <T extends z.ZodRawShape>(help: string, values: T) => field(help, object(values));

export const month = z.string().regex(/^\d{4}-\d{2}$/);
const number = z.number();
const use = (help: string) => ({
  energy: field(`${help}, kWh.`, number),
  cost: field(`${help}: what the provider asks for these days, standing charge included.`, number),
});
const band = { kwh: number, low: number, high: number };
const register = { kwh: number, at: instant };
const reading = object({
  ...register,
  meter_identifier: text.nullable().describe('null: the provider does not tell it.'),
});
const margin = number.describe(
  'The true price lies this much above or below it in at least 95 of 100 cases.',
);
const price = {
  from: day,
  to: day,
  unit_rate: number,
  unit_rate_margin: margin,
  standing_charge: number,
  standing_charge_margin: margin,
};
const verdict = z.enum(VERDICTS);
const bill = {
  id: text,
  from: day,
  to: day,
  amount: known,
  amount_due: known,
  due: day.nullable(),
  sum_of_days: known.describe('What its days cost.'),
  difference: known.describe('What it is more than these, with what instalments within it have paid.'),
};
const days = z.array(day);
const code = z.enum([
  'days_missing',
  'gap_at_end',
  'gap_at_start',
  'bill_differs',
  'rule_changed',
  'more',
  'less',
  'perhaps_more',
  'perhaps_less',
  'as_usual',
  'not_compared',
]);
const amount = known.describe(
  'Of money with bill_differs, of percent with more and less and where that is not sure, of days with days_missing and with a gap.',
);
const adjusted = known.describe('The same month a year before, at the weather of this one.');

export const meterStatement = payload({
  month,
  from: day.describe('First and last day.'),
  to: day,
  timezone: text.describe('Days and months are cut in it.'),
  currency,
  account: name,
  meter: name,
  meter_name: text.nullable().describe('What the configuration calls the meter.'),
  meter_identifiers: z.array(text).describe('The heat meters at the end of the month.'),
  revision: count.describe('Grows with each correction of a day that the statement rests on.'),
  conclusion: object({
    code,
    amount,
    day: day.nullable().describe('Of the reading that carries the days of a gap.'),
  }).describe('The one thing to know.'),
  ...use('Used in the month'),
  month_before: object({ month, ...use('The month before') }),
  year_before: object({ month, ...use('The same month a year before') }),
  weather_adjusted: fields(
    'How much more was used than a year before, at the same weather, with its 80 % band; kwh is what the month would have taken as the year before.',
    { percent: number, low: number, high: number, kwh: number },
  ),
  months: z
    .array(object({ month, energy_kwh: known, cost: known, year_before_adjusted_kwh: adjusted }))
    .length(13)
    .describe('The month and the twelve before it, oldest first.'),
  prices: field(
    'Unit rate (per kWh) and standing charge (per day), fitted from the days; two or more where the tariff changed in the month.',
    z.array(object(price)),
  ),
  heating: fields('The part of the heat that warmed rooms: estimated, with its 80 % band.', band),
  hot_water: fields('The other part: estimated.', band),
  register_first: fields("What the meter's register showed at the beginning of the month.", register),
  register_last: fields("What the meter's register showed at the end of the month.", register),
  exchanges: z
    .array(object({ last: reading, first: reading }))
    .describe(
      'Where another meter was put in, or the register has begun anew: the last reading before, and the first one after it.',
    ),
  witness: fields(
    "What the meter itself says was used, where `meters.<meter>.witness` names a topic for its register, beside the sum of the provider's days.",
    { kwh: number, provider_kwh: known },
  ).optional(),
  days: object({
    of: count,
    missing: days.describe('No reading has them.'),
    carried: days.describe('Without a reading of their own: a later one has their heat too.'),
    estimated: days.describe('The same reading several days in a row.'),
    corrected: days,
  }).describe('Of the month, those that are not plain readings.'),
  bills: field(
    'The bills of that time, and how each agrees with its days.',
    z.array(object({ ...bill, verdict, unexplained: known })),
  ),
  due: field('What is to be paid now.', number),
  energy_per_m2: field('Used in the month for each square metre, kWh.', number),
  heat_source: field('What the heat is made from.', z.array(object({ name: text, percent: number }))),
  co2: fields('Carbon dioxide of the heat of the month.', { g_per_kwh: number, kg: number, year: z.int() }),
  average_user: fields('What an average user of the same kind takes in a year.', {
    kwh_m2_year: number,
    own_kwh_m2_year: known.describe('Of the twelve months that end with this one.'),
  }),
  contacts: field('Who advises, and who settles disputes.', z.array(text)),
}).describe(
  'The newest month that is complete: all of its days read, or late_after_hours past. Information, and not a bill.',
);
