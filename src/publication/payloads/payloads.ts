// Every topic below the base topic, with the schema of its payload: types, docs/schemas and docs/topics.md come from here.

import * as z from 'zod';
import { CHAMBERS } from '../../domain/constituency.ts';
import { AUTH_STATES } from '../../domain/health.ts';
import { DIRECTIONS, EXPECTED_BY, UNUSUAL_REASONS } from '../../domain/insight/alarm.ts';
import { VERDICTS } from '../../domain/insight/bill.ts';
import { ACCOUNT_ROWS } from '../entities/accountEntities.ts';
import { EVENT_ROWS } from '../entities/bridgeEntities.ts';
import { METER_ROWS } from '../entities/meterEntities.ts';
import {
  costEur,
  count,
  currency,
  day,
  energyKwh,
  faultWords,
  instant,
  known,
  name,
  object,
  payload,
  readingCloses,
  stateOf,
  text,
} from './parts.ts';
import { REQUESTS, transaction } from './requests.ts';
import { meterStatement, month } from './statement.ts';

const accountState = stateOf(ACCOUNT_ROWS, {
  currency,
  invoice_status: text.nullable(),
  overdue_invoices: z.array(text).nullable(),
  invoice_difference_sentence: text.nullable(),
  requests_today: count,
  logins_today: count,
}).describe('Everything that is known of an account now.');

const check = object({
  verdict: z
    .enum(VERDICTS)
    .describe('By the invoices before it. `rule_changed`: three in a row keep to another rule.'),
  sum_of_days: z.number().describe('Cost of the days of its period, of all meters.'),
  difference: z.number().describe('`amount` less `sum_of_days`.'),
  difference_percent: known.describe('Of the sum; null where that is 0.'),
  expected: known.describe('What the rule of the invoices before makes of the days.'),
  unexplained: known.describe('The total less that; null while the verdict is unknown.'),
  doubt: z
    .number()
    .describe(
      'How far off a right invoice may be: by readings at the ends of its period, and by what few invoices leave open.',
    ),
  explained_percent: known.describe(
    'What invoices have on top of their days, where the rule is a percentage, an amount or both.',
  ),
  explained_amount: known.describe('The same amount on each of them besides.'),
  rest: known.describe('`unexplained`, where the rule has that form.'),
  days_missing: count.describe('Days without a cost: they are not in the sum, and nothing is concluded.'),
  days_estimated: count.describe('Days whose cost came with a later reading.'),
  sentence: text.describe('All of it in words.'),
})
  .nullable()
  .describe('The invoice against the days of its period; null where these are not known.');

const invoice = object({
  id: text,
  status: text.nullable().describe("In the provider's own words."),
  period_start: day.nullable().describe('First day of its period.'),
  period_end: day.nullable().describe('Last day of its period.'),
  issued: day
    .nullable()
    .describe('The day on which its period ended. After an end at midnight it is the day that begins then.'),
  due: day.nullable().describe('To be paid by.'),
  amount: known,
  amount_due: known.describe('What is still to be paid of it.'),
  check,
});

const accountInvoices = payload({
  fetched_at: instant,
  currency,
  invoices: z.array(invoice).max(24).describe('Newest first.'),
}).describe('The newest 24 invoices.');

const accountEvent = payload({
  event_type: z.literal('bill'),
  at: instant,
  currency,
  invoice,
}).describe(EVENT_ROWS['account/<account>/event'].help);

const meterState = stateOf(METER_ROWS, {
  currency,
  tariff: object({ from: day, to: day, days_explained: count, days_seen: count }).nullable(),
  weather_adjusted_change_days: count.nullable(),
  degree_days_month_days: count.nullable(),
  statement_month: month.nullable(),
  witness_differing_days: z.array(day).max(62),
  missing_days: count,
  missing_day_list: z.array(z.string().regex(/^\d{4}-\d{2}-\d{2}(\.\.\d{4}-\d{2}-\d{2})?$/)).max(100),
  origin: day,
  history_since: day,
  meter_identifiers: z.array(text),
}).describe(
  'Everything that is known of a heat meter now. A sum over days is that of its days with a reading since the origin; without any it is null.',
);

const usageBucket = object({
  start: instant.describe('First instant.'),
  end: instant.describe('First instant after the end.'),
  energy_kwh: energyKwh,
  cost_eur: costEur,
  revision: count.describe('0 as first given, one more for each correction; the highest of the days within.'),
  received_at: instant,
});

const meterUsage = payload({
  interval: z.enum(['day', 'week', 'month']),
  timezone: text.describe('Days, weeks and months are cut in it.'),
  currency,
  buckets: z.array(usageBucket).max(62).describe('Oldest first.'),
}).describe('The newest 62 days, 26 weeks or 36 months.');

const meterHistory = payload({
  timezone: text.describe('Days are cut in it.'),
  reading_closes: readingCloses,
  currency,
  origin: day.describe('First day of the totals. Never moves.'),
  days: z
    .array(z.tuple([day, energyKwh, costEur]))
    .describe('Every day since the origin that has a reading, oldest first, not rounded.'),
}).describe('What the totals are made of. A daemon that has lost its state directory goes on from here.');

const kwh = z.number().describe('kWh.');

const tariff = object({
  unit_rate: z.number().describe('EUR/kWh.'),
  standing_charge: z.number().describe('EUR/d.'),
  from: day.describe('First and last day that it explains.'),
  to: day,
});

const read = { at: instant, day, energy_kwh: energyKwh, cost_eur: costEur };

const meterEvent = z
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
      low: kwh.describe('Ends of the band that holds 95 of 100 usual days.'),
      high: kwh,
      by: z.enum(EXPECTED_BY),
      direction: z.enum(DIRECTIONS).describe('More than usual, or less.'),
      reason: z.enum(UNUSUAL_REASONS).describe('One day far off, or two or three days together.'),
    }),
  ])
  .describe(EVENT_ROWS['meter/<meter>/event'].help);

const online = z.enum(['online', 'offline']);

const bridgeInfo = payload({
  version: text,
  started_at: instant,
  instance: text.describe(
    'Drawn at each start (once for a fleet): another one means that two installations have the same base topic.',
  ),
  schedule: text.nullable().describe('The cron expression; null without an account.'),
  timezone: text,
  base_topic: text,
  meters: z.array(
    object({
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

const auth = object({
  state: z.enum(AUTH_STATES),
  next_attempt_at: instant.nullable(),
  access_expires_at: instant.nullable(),
  refresh_expires_at: instant.nullable(),
});

const reason = faultWords.extend({ account: name.optional(), meter: name.optional() });

const statistics = object({
  state: z.enum(['waiting', 'importing', 'ok', 'failing']),
  hours: z
    .enum(['midnight', 'even'])
    .describe('Where days stand; even: spread evenly over their hours, which is an estimate.'),
  series: text.nullable().describe('While importing: which one.'),
  rows_stored: count.nullable().describe('Of it, stored and read back so far.'),
  rows_total: count.nullable(),
  last_success_at: instant.nullable(),
  next_attempt_at: instant.nullable().describe('While failing.'),
});

const healthState = z.enum(['ok', 'degraded', 'failing']);
const bridgeHealth = payload({
  state: healthState,
  reasons: z.array(reason).describe('What is wrong now, the worst first.'),
  auth: z.record(name, auth).describe('The session of each account.'),
  progress: z
    .array(object({ account: name, meter: name, days_read: count, days_total: count }))
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
  fleet: object({
    processes: z.array(object({ number: count, version: text, started_at: instant })),
    accounts: count,
    paused: count,
    failing: count.describe('Their last poll failed.'),
    overdue: count.describe('Due for longer than a claim lasts.'),
    oldest_due_at: instant.nullable().describe('Of those that are overdue.'),
  })
    .optional()
    .describe('Only of a fleet: `auth` and `progress` are empty there.'),
}).describe('Whether the bridge does its work, and what keeps it from doing so.');

const bridgeEvent = payload({
  event_type: z.enum(EVENT_ROWS['bridge/event'].types),
  at: instant,
  code: text,
  message: text,
  account: name.optional(),
  request: text.optional().describe('With `request_skipped`: its name.'),
  next_at: instant.optional().describe('With `request_skipped`: when the same request will be accepted.'),
}).describe(EVENT_ROWS['bridge/event'].help);

const total = count
  .nullable()
  .describe('How many match in all, whatever skip and limit leave out; null when the service does not tell.');
const complete = z
  .boolean()
  .nullable()
  .describe(
    'Whether the list has all that match: false for a page of them; null when the service does not tell.',
  );

const constituenciesSummary = payload({
  count: count.nullable(),
  topic: text.nullable().describe('Where the whole list is; null until the sitting house is known.'),
  fetched_at: instant.nullable(),
  stale: z.boolean().nullable(),
  names: z
    .array(z.string())
    .nullable()
    .describe('Each once; null while not fetched, and when they are too many for Home Assistant.'),
  note: text
    .nullable()
    .describe(
      'What names and count do not tell: why they differ, or that the list is not whole. null: nothing.',
    ),
}).describe('The configured list in short.');

const words = z.string().nullable();
const number = z.int().nullable();

const constituencyRecord = object({
  uri: text,
  name: z.string(),
  code: words,
  type: words,
  house: object({ chamber: words, house_no: number, name: words, uri: words }),
});

const constituencies = z.array(constituencyRecord).nullable();

const constituencyList = payload({
  fetched_at: instant,
  stale: z.boolean().describe('A later fetch has failed.'),
  query: object({
    chamber: z.enum(CHAMBERS).nullable(),
    house_no: number,
    chamber_id: z.array(text),
    skip: number,
    limit: number,
  }),
  count: count
    .nullable()
    .describe('null when no reply has had a known shape yet: the newest one is in raw then.'),
  total,
  complete,
  constituencies,
  raw: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The reply, when its shape is unknown and no list is known.'),
}).describe('The list of a house or a chamber, published on request. `all` stands for a missing part.');

const skipped = object({
  reason: z.enum(['cool_down', 'retry_after']),
  next_at: instant.describe('When the same request will be accepted.'),
});

const answer = (text: string) =>
  `${text} Also published to the MQTT 5 response topic, with its correlation data.`;

const ok = (data: z.ZodType) => payload({ status: z.literal('ok'), data, transaction });
/** `more`: what an error of this request still tells. */
const failed = (more: z.ZodRawShape = {}) =>
  payload({ status: z.literal('error'), error: faultWords, ...more, transaction });
const response = (done: z.ZodType, notDone: z.ZodType, more?: z.ZodRawShape) =>
  z.discriminatedUnion('status', [
    ok(done),
    payload({ status: z.literal('skipped'), data: notDone, transaction }),
    failed(more),
  ]);

const accounts = z.array(
  object({
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
const fetched = object({
  ...cached,
  fetched: z.boolean().describe('false: answered from the cached list.'),
  changed: z.boolean().describe('The list differs from the one before.'),
  warning: text.optional(),
});

const readAgain = { from: day, to: day, accounts };
const backfilled = object({
  ...readAgain,
  statistics: z
    .array(object({ series: text, rows: count }))
    .optional()
    .describe('What was sent to Home Assistant and read back there; absent when it is not configured.'),
});
const backfillProgress = payload({
  status: z.literal('progress'),
  data: z.discriminatedUnion('step', [
    object({ step: z.literal('read'), ...readAgain }),
    object({ step: z.literal('statistics'), series: text, stored: count, total: count }),
  ]),
  transaction,
}).describe('How far it is, before the answer; not said to an MQTT 5 response topic.');

/** topics.ts says which of them the broker keeps; the description of a schema is the documentation. */
export const TOPICS = {
  'bridge/state': online.describe(
    '`online` or `offline`, plain text, not JSON; also the last will. The availability of every entity.',
  ),
  'bridge/process/<number>/state': online.describe(
    'Of one process of a fleet, by its number: `online` or `offline`, plain text; also its last will.',
  ),
  'bridge/info': bridgeInfo,
  'bridge/health': bridgeHealth,
  'bridge/event': bridgeEvent,
  'bridge/constituencies': constituenciesSummary,
  'meter/<meter>/state': meterState,
  'meter/<meter>/usage/<interval>': meterUsage,
  'meter/<meter>/history': meterHistory,
  'meter/<meter>/statement': meterStatement,
  'meter/<meter>/event': meterEvent,
  'account/<account>/state': accountState,
  'account/<account>/invoices': accountInvoices,
  'account/<account>/event': accountEvent,
  'constituencies/<chamber>/<house_no>': constituencyList,
  'bridge/request/refresh': REQUESTS.refresh,
  'bridge/request/backfill': REQUESTS.backfill,
  'bridge/request/constituencies': REQUESTS.constituencies,
  'bridge/request/health': REQUESTS.health,
  'bridge/response/refresh': response(object({ accounts }), skipped).describe(answer('What came of a poll.')),
  'bridge/response/backfill': z
    .union([response(backfilled, skipped, { data: backfilled.optional() }), backfillProgress])
    .describe(answer('What came of reading days again, and of writing them to Home Assistant again.')),
  'bridge/response/constituencies': response(
    fetched,
    object({ ...cached, reason: z.enum(['rate_limit', 'retry_after']), next_at: instant }),
    { data: fetched.optional() },
  ).describe(answer('The list, where it is retained, and how it came there.')),
  'bridge/response/health': z
    .discriminatedUnion('status', [
      ok(object({ state: healthState, failures_in_a_row: count, reasons: z.array(reason) })),
      failed(),
    ])
    .describe(answer('Given once bridge/health is current.')),
  'bridge/response/<other>': failed().describe(
    answer('To a request of unknown name: an error that lists the requests there are.'),
  ),
};

export type TopicName = keyof typeof TOPICS;

/** Payloads are not changed. */
export type Fixed<T> = T extends object ? { readonly [K in keyof T]: Fixed<T[K]> } : T;
/** The number of the schema is added with the topic. */
type Unnumbered<T> = T extends unknown ? Omit<T, 'schema'> : never;
type JsonTopic = Exclude<
  TopicName,
  'bridge/state' | 'bridge/process/<number>/state' | `bridge/request/${string}` | `bridge/response/${string}`
>;

/** The payloads that the bridge publishes by itself. Instants are ISO 8601 with offset, days `YYYY-MM-DD`; `null` = not known. */
export type PayloadByTopic = { [T in JsonTopic]: Fixed<Unnumbered<z.infer<(typeof TOPICS)[T]>>> };
export type ConstituencyRecord = Fixed<z.infer<typeof constituencyRecord>>;
