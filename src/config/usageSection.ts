// The keys of reading usage: when to ask, how far back, and how days are cut.
import * as z from 'zod';
import { calendarDate, cronExpression, key, timeZone, wholeNumber } from './fields.ts';

export const usageSection = z
  .strictObject({
    schedule: key(cronExpression.default('23 */4 * * *'), {
      description: 'When to ask the provider: a cron expression, in the time zone below.',
      example: '23 */4 * * *',
      allowed: 'a cron expression of 5 or 6 fields, such as "23 */4 * * *"',
    }),
    timezone: key(timeZone.default('Europe/Dublin'), {
      description: 'The time zone of the site. Days, weeks and months are cut there.',
      example: 'Europe/Dublin',
      allowed: 'the IANA name of a time zone, such as Europe/Dublin',
    }),
    jitter_seconds: key(wholeNumber(0, 4 * 3600).default(600), {
      description:
        'Each installation asks up to this many seconds later, so that not all knock at once. Drawn once, then kept.',
      example: 600,
    }),
    history_since: key(calendarDate.optional(), {
      description:
        'The first day that counts for the totals. Default: 1 January two years back, then kept in the state directory.',
      example: '2024-01-01',
      allowed: 'a day as YYYY-MM-DD, from 2000-01-01 until today',
    }),
    reread_days: key(wholeNumber(1, 366).default(14), {
      description: 'How many days are read again at each poll, for late and corrected readings.',
      example: 14,
    }),
    reading_closes: key(z.enum(['same_day', 'previous_day']).default('same_day'), {
      description: 'Which day a reading belongs to: the one it is dated, or the one before.',
      example: 'same_day',
    }),
    late_after_hours: key(z.number().positive().max(8784).default(60), {
      description: 'Data counts as late when the newest reading is older than this.',
      example: 60,
    }),
    concurrency: key(wholeNumber(1, 64).default(4), {
      description: 'How many requests to the provider may be under way at once.',
      example: 4,
    }),
  })
  .meta({ description: 'Reading the usage.' });
