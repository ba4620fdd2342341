// Samples of each topic for docs/topics.md: made of the tests' invented home by the code that publishes, so that they change with it.

import { listMessage, summaryMessage } from '../../src/constituencies/lists.ts';
import { billMessage, changeMessage, infoMessage, lateMessage } from '../../src/publication/messages.ts';
import type { PayloadByTopic, TopicName } from '../../src/publication/payloads/payloads.ts';
import { statementOf } from '../../src/publication/statement/statement.ts';
import { Topics } from '../../src/publication/topics.ts';
import { ACCOUNT, bodyOf, bridgeView, DUBLIN, FULL, NOW, statesOf } from '../../test/support/inventedHome.ts';

const topics = new Topics('heat2mqtt');
const { meter } = FULL;
const at = DUBLIN.iso(NOW);
const soon = DUBLIN.iso(NOW + 300_000);
const schema = 1;
const transaction = 'abc';

/** What the invented home has said on this topic. */
const said = (topic: string) =>
  bodyOf(statesOf(topics).find((message) => message.topic === `heat2mqtt/${topic}`));

const CHANGE = {
  day: '2025-06-29',
  before: { energy: 4_750_000, cost: 1_275_000 },
  after: { energy: 5_250_000, cost: 1_337_000 },
};

const LIST = {
  question: { chamber: 'dail', houseNo: 34, chamberIds: [], skip: null, limit: null },
  list: {
    constituencies: [
      {
        uri: 'https://data.oireachtas.ie/ie/oireachtas/house/dail/34/constituency/D%C3%BAn-Laoghaire',
        name: 'Dún Laoghaire',
        code: 'Dún-Laoghaire',
        type: 'constituency',
        house: {
          chamber: 'dail',
          houseNo: 34,
          name: '34th Dáil',
          uri: 'https://data.oireachtas.ie/ie/oireachtas/house/dail/34',
        },
      },
    ],
    total: 1,
    complete: true,
    unreadable: 0,
    raw: null,
  },
  fetchedAt: NOW,
  stale: false,
} as const;
const list = bodyOf(listMessage({ topics, zone: DUBLIN }, 'dail/34', LIST)) as unknown as Omit<
  PayloadByTopic['constituencies/<chamber>/<house_no>'],
  'query'
>;
const { fetched_at, stale, count, total, complete, constituencies } = list;

const READ = { from: '2025-06-01', to: '2025-06-30', accounts: [{ account: 'home', changes: 1 }] };

/** One or more of each, as they stand on the topic; text where the payload is no JSON. */
export const SAMPLES: Readonly<Record<TopicName, readonly unknown[]>> = {
  'bridge/state': ['online'],
  'bridge/process/<number>/state': ['online'],
  // The version of a sample must not grow with each release.
  'bridge/info': [{ ...bodyOf(infoMessage(topics, bridgeView())), version: '1.2.3' }],
  'bridge/health': [said('bridge/health')],
  'bridge/event': [
    {
      schema,
      event_type: 'poll_failed',
      at,
      code: 'provider_unreachable',
      message: 'The provider does not answer.',
      account: 'home',
    },
  ],
  'bridge/constituencies': [bodyOf(summaryMessage({ topics, zone: DUBLIN }, 'dail/34', LIST))],
  'meter/<meter>/state': [said(`meter/${meter}/state`)],
  'meter/<meter>/usage/<interval>': [said(`meter/${meter}/usage/day`)],
  'meter/<meter>/history': [said(`meter/${meter}/history`)],
  'meter/<meter>/statement': [{ schema, ...statementOf('2025-05', { meter: FULL, account: ACCOUNT }) }],
  'meter/<meter>/event': [
    bodyOf(changeMessage(topics, meter, { kind: 'new_day', ...CHANGE, before: null }, at)),
    bodyOf(changeMessage(topics, meter, { kind: 'corrected', ...CHANGE }, at)),
    bodyOf(lateMessage(topics, meter, '2025-06-27T00:00:00+01:00', at)),
  ],
  'account/<account>/state': [said('account/home/state')],
  'account/<account>/invoices': [said('account/home/invoices')],
  'account/<account>/event': (ACCOUNT.invoices?.all ?? []).map((invoice) =>
    bodyOf(billMessage(topics, ACCOUNT, invoice, at)),
  ),
  'constituencies/<chamber>/<house_no>': [list],
  'bridge/request/refresh': [{ transaction }],
  'bridge/request/backfill': [{ from: '2025-06-01', to: '2025-06-30', transaction }],
  'bridge/request/constituencies': [{ chamber: 'dail', house_no: 34, transaction }],
  'bridge/request/health': [{ transaction }],
  'bridge/response/refresh': [
    { schema, status: 'ok', data: { accounts: READ.accounts }, transaction },
    { schema, status: 'skipped', data: { reason: 'cool_down', next_at: soon }, transaction },
  ],
  'bridge/response/backfill': [{ schema, status: 'ok', data: READ, transaction }],
  'bridge/response/constituencies': [
    {
      schema,
      status: 'ok',
      data: {
        topic: 'heat2mqtt/constituencies/dail/34',
        ...{ count, total, complete, fetched_at, stale, constituencies },
        fetched: true,
        changed: false,
      },
      transaction,
    },
  ],
  'bridge/response/health': [
    { schema, status: 'ok', data: { state: 'ok', failures_in_a_row: 0, reasons: [] }, transaction },
  ],
  'bridge/response/<other>': [
    {
      schema,
      status: 'error',
      error: { code: 'unknown_request', message: 'Unknown request "reload"; there are: backfill, refresh.' },
    },
  ],
};
