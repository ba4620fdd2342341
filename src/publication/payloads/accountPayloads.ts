// What is published of an account, as schemas; its state is derived from the table of entities.
import * as z from 'zod';
import { VERDICTS } from '../../domain/insight/bill.ts';
import { ACCOUNT_ROWS } from '../entities/accountEntities.ts';
import { EVENT_ROWS } from '../entities/eventEntities.ts';
import { count, currency, day, instant, payload, stateOf, text } from './parts.ts';

export const accountState = stateOf(ACCOUNT_ROWS, {
  currency,
  invoice_status: text.nullable(),
  overdue_invoices: z.array(text).nullable(),
  invoice_difference_sentence: text.nullable(),
  requests_today: count,
  logins_today: count,
}).describe('Everything that is known of an account now.');

const check = z
  .strictObject({
    verdict: z
      .enum(VERDICTS)
      .describe('By the invoices before it. `rule_changed`: three in a row keep to another rule.'),
    sum_of_days: z.number().describe('Cost of the days of its period, of all meters.'),
    difference: z.number().describe('`amount` less `sum_of_days`.'),
    difference_percent: z.number().nullable().describe('Of the sum; null where that is 0.'),
    expected: z.number().nullable().describe('What the rule of the invoices before makes of the days.'),
    unexplained: z.number().nullable().describe('The total less that; null while the verdict is unknown.'),
    doubt: z
      .number()
      .describe(
        'How far off a right invoice may be: by readings at the ends of its period, and by what few invoices leave open.',
      ),
    explained_percent: z
      .number()
      .nullable()
      .describe(
        'What invoices have on top of their days, where the rule is a percentage, an amount or both.',
      ),
    explained_amount: z.number().nullable().describe('The same amount on each of them besides.'),
    rest: z.number().nullable().describe('`unexplained`, where the rule has that form.'),
    days_missing: count.describe('Days without a cost: they are not in the sum, and nothing is concluded.'),
    days_estimated: count.describe('Days whose cost came with a later reading.'),
    sentence: text.describe('All of it in words.'),
  })
  .nullable()
  .describe('The invoice against the days of its period; null where these are not known.');

const invoice = z.strictObject({
  id: text,
  status: text.nullable().describe("In the provider's own words."),
  period_start: day.nullable().describe('First day of its period.'),
  period_end: day.nullable().describe('Last day of its period.'),
  issued: day
    .nullable()
    .describe('The day on which its period ended. After an end at midnight it is the day that begins then.'),
  due: day.nullable().describe('To be paid by.'),
  amount: z.number().nullable(),
  amount_due: z.number().nullable().describe('What is still to be paid of it.'),
  check,
});

export const accountInvoices = payload({
  fetched_at: instant,
  currency,
  invoices: z.array(invoice).max(24).describe('Newest first.'),
}).describe('The newest 24 invoices.');

export const accountEvent = payload({
  event_type: z.literal('bill'),
  at: instant,
  currency,
  invoice,
}).describe(EVENT_ROWS['account/<account>/event'].help);
