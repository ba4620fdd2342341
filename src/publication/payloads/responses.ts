// What is answered on `bridge/response/<name>`, as schemas.
import * as z from 'zod';
import { reason } from './bridgePayloads.ts';
import { complete, constituencies, total } from './constituencyPayloads.ts';
import { count, day, faultWords, instant, name, payload, text } from './parts.ts';
import { transaction } from './requests.ts';

const skipped = z.strictObject({
  reason: z.enum(['cool_down', 'retry_after']),
  next_at: instant.describe('When the same request will be accepted.'),
});

const answer = (text: string) =>
  `${text} Also published to the MQTT 5 response topic, with its correlation data.`;

const ok = (data: z.ZodType) => payload({ status: z.literal('ok'), data, transaction });
/** `more`: what an error of this request still tells. */
const failed = (more: z.ZodRawShape = {}) =>
  payload({ status: z.literal('error'), error: faultWords, ...more, transaction });
const response = (done: z.ZodType, notDone: z.ZodType, more: z.ZodRawShape = {}) =>
  z.discriminatedUnion('status', [
    ok(done),
    payload({ status: z.literal('skipped'), data: notDone, transaction }),
    failed(more),
  ]);

const accounts = z.array(
  z.strictObject({
    account: name,
    changes: count.describe('Days that are new or corrected.'),
    error: faultWords.optional(),
  }),
);

const cached = {
  topic: text
    .nullable()
    .describe(
      'Where the list of a house is retained; null for any other list, for a new one with nothing in it, and while the sitting house is not known.',
    ),
  count: count.nullable(),
  total,
  complete,
  fetched_at: instant.nullable(),
  stale: z.boolean().nullable(),
  constituencies: constituencies.describe('The list itself.'),
};
const fetched = z.strictObject({
  ...cached,
  fetched: z.boolean().describe('false: answered from the cached list.'),
  changed: z.boolean().describe('The list differs from the one before.'),
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
  refresh: response(z.strictObject({ accounts }), skipped).describe(answer('What came of a poll.')),
  backfill: z
    .union([response(backfilled, skipped, { data: backfilled.optional() }), backfillProgress])
    .describe(answer('What came of reading days again, and of writing them to Home Assistant again.')),
  constituencies: response(
    fetched,
    z.strictObject({ ...cached, reason: z.enum(['rate_limit', 'retry_after']), next_at: instant }),
    { data: fetched.optional() },
  ).describe(answer('The list, where it is retained, and how it came there.')),
  health: z
    .discriminatedUnion('status', [
      ok(
        z.strictObject({
          state: z.enum(['ok', 'degraded', 'failing']),
          failures_in_a_row: count,
          reasons: z.array(reason),
        }),
      ),
      failed(),
    ])
    .describe(answer('Given once bridge/health is current.')),
};

export const unknownRequest = failed().describe(
  answer('To a request of unknown name: an error that lists the requests there are.'),
);
