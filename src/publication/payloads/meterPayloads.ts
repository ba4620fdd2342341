// What is published of a heat meter, as schemas; its state is derived from the table of entities.
import * as z from 'zod';
import { EVENT_ROWS } from '../entities/eventEntities.ts';
import { METER_ROWS } from '../entities/meterEntities.ts';
import {
  costEur,
  count,
  currency,
  day,
  energyKwh,
  instant,
  payload,
  readingCloses,
  stateOf,
  text,
} from './parts.ts';
import { month } from './statement.ts';

const expectedBy = z.enum(['weather', 'season']);
const unusualDirection = z.enum(['high', 'low']);
const silence = z.enum(['days_missing', 'not_heated', 'not_sure']);
const unusualReason = z.enum(['day', 'drift']);

export const meterState = stateOf(METER_ROWS, {
  currency,
  energy_day_expected_by: expectedBy.nullable(),
  unusual_use_since: day.nullable(),
  unusual_use_direction: unusualDirection.nullable(),
  unusual_use_reason: unusualReason.nullable(),
  tariff: z.strictObject({ from: day, to: day, days_explained: count, days_seen: count }).nullable(),
  weather_adjusted_change_reason: silence.nullable(),
  energy_month_heating_reason: silence.nullable(),
  energy_month_hot_water_reason: silence.nullable(),
  weather_adjusted_change_from: day.nullable(),
  weather_adjusted_change_to: day.nullable(),
  weather_adjusted_change_days: count.nullable(),
  degree_days_month_days: count.nullable(),
  statement_month: month.nullable(),
  missing_days: count,
  missing_day_list: z.array(z.string().regex(/^\d{4}-\d{2}-\d{2}(\.\.\d{4}-\d{2}-\d{2})?$/)).max(100),
  origin: day,
  history_since: day,
  meter_identifiers: z.array(text),
  meter_reading_at: instant.nullable(),
  meter_reading_day: day.nullable(),
  updated_at: instant.nullable(),
}).describe(
  'Everything that is known of a heat meter now. A sum over days is that of its days with a reading since the origin; without any it is null.',
);

const usageBucket = z.strictObject({
  start: instant.describe('First instant.'),
  end: instant.describe('First instant after the end.'),
  energy_kwh: energyKwh,
  cost_eur: costEur,
  revision: count.describe('0 as first given, one more for each correction; the highest of the days within.'),
  received_at: instant,
});

export const meterUsage = payload({
  interval: z.enum(['day', 'week', 'month']),
  timezone: text.describe('Days, weeks and months are cut in it.'),
  currency,
  buckets: z.array(usageBucket).max(62).describe('Oldest first.'),
}).describe('The newest 62 days, 26 weeks or 36 months.');

export const meterHistory = payload({
  timezone: text.describe('Days are cut in it.'),
  reading_closes: readingCloses,
  currency,
  origin: day.describe('First day of the totals. Never moves.'),
  days: z
    .array(z.tuple([day, energyKwh, costEur]))
    .describe('Every day since the origin that has a reading, oldest first, not rounded.'),
}).describe('What the totals are made of. A daemon that has lost its state directory goes on from here.');

const kwh = z.number().describe('kWh.');

const tariff = z.strictObject({
  unit_rate: z.number().describe('EUR/kWh.'),
  standing_charge: z.number().describe('EUR/d.'),
  from: day.describe('First and last day that it explains.'),
  to: day,
});

const read = { at: instant, day, energy_kwh: energyKwh, cost_eur: costEur };

export const meterEvent = z
  .discriminatedUnion('event_type', [
    payload({ event_type: z.literal('new_day'), ...read }),
    payload({
      event_type: z.literal('corrected'),
      ...read,
      old_energy_kwh: energyKwh,
      old_cost_eur: costEur,
    }),
    payload({
      event_type: z.literal('late'),
      at: instant,
      day: z.null(),
      reading_at: instant.nullable().describe('When the newest reading was taken, else the end of its day.'),
    }),
    payload({
      event_type: z.literal('tariff_changed'),
      at: instant,
      day: day.describe('With `tariff_changed` the first day of the new one.'),
      before: tariff,
      after: tariff,
    }),
    payload({
      event_type: z.literal('unusual_use'),
      at: instant,
      day: day.describe('With `unusual_use` the newest day that was judged.'),
      energy_kwh: kwh.describe('Used on the day.'),
      expected: kwh.describe('On such a day, by the days before it.'),
      low: kwh.describe('Ends of the band that holds 99 of 100 usual days.'),
      high: kwh,
      by: expectedBy,
      direction: unusualDirection.describe('More than usual, or less.'),
      reason: unusualReason.describe('One day far off, or two or three days together.'),
    }),
  ])
  .describe(EVENT_ROWS['meter/<meter>/event'].help);
