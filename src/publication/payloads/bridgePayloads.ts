// What is published of the bridge itself, as schemas.
import * as z from 'zod';
import { EVENT_ROWS } from '../entities/eventEntities.ts';
import { count, faultWords, instant, name, payload, readingCloses, text } from './parts.ts';

export const bridgeState = z
  .enum(['online', 'offline'])
  .describe(
    '`online` or `offline`, plain text, not JSON; also the last will. The availability of every entity.',
  );

export const processState = z
  .enum(['online', 'offline'])
  .describe(
    'Of one process of a fleet, by its number: `online` or `offline`, plain text; also its last will.',
  );

export const bridgeInfo = payload({
  version: text,
  started_at: instant,
  schedule: text.nullable().describe('The cron expression; null without an account.'),
  timezone: text,
  base_topic: text,
  meters: z.array(
    z.strictObject({
      meter: name,
      name: text.nullable().describe('What the configuration calls it (`meters`); null without.'),
      account: name,
      identifiers: z.array(text),
      reading_closes: readingCloses,
      topic: text.describe('Its state.'),
    }),
  ),
  links: z.record(z.string(), z.url()),
}).describe('What runs here and since when.');

const auth = z.strictObject({
  state: text,
  next_attempt_at: instant.nullable(),
  access_expires_at: instant.nullable(),
  refresh_expires_at: instant.nullable(),
});

export const reason = faultWords.extend({ account: name.optional(), meter: name.optional() });

const statistics = z.strictObject({
  state: z.enum(['waiting', 'importing', 'ok', 'failing']),
  series: text.nullable().describe('While importing: which one.'),
  rows_stored: count.nullable().describe('Of it, stored and read back so far.'),
  rows_total: count.nullable(),
  last_success_at: instant.nullable(),
  next_attempt_at: instant.nullable().describe('While failing.'),
});

export const bridgeHealth = payload({
  state: z.enum(['ok', 'degraded', 'failing']),
  reasons: z.array(reason).describe('What is wrong now, the worst first.'),
  auth: z.record(name, auth).describe('The session of each account.'),
  progress: z
    .array(z.strictObject({ account: name, meter: name, days_read: count, days_total: count }))
    .describe('While the history is read for the first time.'),
  statistics: statistics
    .nullable()
    .describe("Home Assistant's long-term statistics; null when it is not configured."),
  last_poll_at: instant.nullable(),
  last_success_at: instant.nullable(),
  next_poll_at: instant.nullable(),
  poll_now_at: instant.nullable().describe('From when on *Poll now* asks the provider again; null: at once.'),
  failures_in_a_row: count,
  requests_today: count,
  logins_today: count.describe('Successful logins of the running bridge, all accounts together.'),
  last_error: text.max(255).nullable(),
  fleet: z
    .strictObject({
      processes: z.array(z.strictObject({ number: count, version: text, started_at: instant })),
      accounts: count,
      paused: count,
      failing: count.describe('Their last poll failed.'),
      overdue: count.describe('Due for longer than a claim lasts.'),
      oldest_due_at: instant.nullable().describe('Of those that are overdue.'),
    })
    .optional()
    .describe('Only of a fleet: `auth` and `progress` are empty there.'),
}).describe('Whether the bridge does its work, and what keeps it from doing so.');

export const bridgeEvent = payload({
  event_type: z.enum(EVENT_ROWS['bridge/event'].types),
  at: instant,
  code: text,
  message: text,
  account: name.optional(),
  request: text.optional().describe('With `request_skipped`: its name.'),
  next_at: instant.optional().describe('With `request_skipped`: when the same request will be accepted.'),
}).describe(EVENT_ROWS['bridge/event'].help);
