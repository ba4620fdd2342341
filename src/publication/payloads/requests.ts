// What may be asked on `bridge/request/<what>`, and what is answered on `bridge/response/<what>`, as schemas.
import * as z from 'zod';
import { reason } from './bridge.ts';
import { count, day, faultWords, instant, name, payload, text } from './parts.ts';

const transaction = z
  .union([z.string().max(256), z.number()])
  .optional()
  .describe('Comes back in the answer, unaltered.');

const request = (shape: z.ZodRawShape) =>
  z.strictObject({ ...shape, transaction }).describe('An empty payload asks without parameters.');

const houseUri = z
  .string()
  .regex(/^(https?:\/\/[^/?#\s]+)?\/ie\/[a-z0-9_-]+\/house\/(dail|seanad)\/[1-9]\d{0,3}$/);

export const REQUESTS = {
  refresh: request({}),
  backfill: request({
    from: day.describe('First day to be read again.'),
    to: day.optional().describe('Last day; default: today.'),
  }),
  constituencies: request({
    chamber: z.enum(['dail', 'seanad', '']).optional(),
    house_no: z.int().min(1).max(9_999).optional(),
    chamber_id: z.union([houseUri, z.array(houseUri).max(50)]).optional(),
    skip: z.int().min(0).max(1_000_000).optional(),
    limit: z.int().min(1).max(5_000).optional(),
    force: z.boolean().optional().describe('Fetch although the list is younger than a minute.'),
  }),
  health: request({}),
};

const held = z.strictObject({
  reason: z.enum(['cool_down', 'retry_after']),
  next_at: instant.describe('When the same request will be heard.'),
});

/** `more`: what an error of this request still tells. */
function response(done: z.ZodType, skipped: z.ZodType, more: z.ZodRawShape = {}) {
  return z.discriminatedUnion('status', [
    payload({ status: z.literal('ok'), data: done, transaction }),
    payload({ status: z.literal('skipped'), data: skipped, transaction }),
    payload({ status: z.literal('error'), error: faultWords, ...more, transaction }),
  ]);
}

const accounts = z.array(
  z.strictObject({
    account: name,
    changes: count.describe('Days that are new or corrected.'),
    error: faultWords.optional(),
  }),
);

const standing = {
  topic: text.describe('Where the list stands, retained.'),
  count: count.nullable(),
  fetched_at: instant.nullable(),
  stale: z.boolean().nullable(),
};
const fetched = z.strictObject({
  ...standing,
  fetched: z.boolean().describe('false: answered from what stood.'),
  changed: z.boolean().describe('The list says something else than before.'),
  warning: text.optional(),
});

const readAgain = { from: day, to: day, accounts };
const backfilled = z.strictObject({
  ...readAgain,
  statistics: z
    .array(z.strictObject({ series: text, rows: count }))
    .optional()
    .describe('What was sent to Home Assistant and read back there; absent when it is not configured.'),
});
const backfillProgress = payload({
  status: z.literal('progress'),
  data: z.discriminatedUnion('step', [
    z.strictObject({ step: z.literal('read'), ...readAgain }),
    z.strictObject({ step: z.literal('statistics'), series: text, stored: count, total: count }),
  ]),
  transaction,
}).describe('How far it is, before the answer; not said to an MQTT 5 response topic.');

export const RESPONSES = {
  refresh: response(z.strictObject({ accounts }), held).describe('What came of a poll.'),
  backfill: z
    .union([response(backfilled, held, { data: backfilled.optional() }), backfillProgress])
    .describe('What came of reading days again, and of writing them to Home Assistant again.'),
  constituencies: response(
    fetched,
    z.strictObject({ ...standing, reason: z.enum(['rate_limit', 'retry_after']), next_at: instant }),
    { data: fetched.optional() },
  ).describe('Where the list is, and how it came there.'),
  health: response(
    z.strictObject({
      state: z.enum(['ok', 'degraded', 'failing']),
      failures_in_a_row: count,
      reasons: z.array(reason),
    }),
    z.never(),
  ).describe('Given once bridge/health is current.'),
};
