// What is published of the bridge itself: state, info, health with its reasons, and events.
import { expect, test } from 'vitest';
import type { HealthRecord } from '../../src/domain/health.ts';
import { about } from '../../src/foundation/about.ts';
import { healthMessage, infoMessage, stateMessage } from '../../src/publication/messages.ts';
import { clear, Topics } from '../../src/publication/topics.ts';
import { bodyOf, bridgeView, DUBLIN, NOW, statesOf, WELL } from '../support/inventedHome.ts';

const topics = new Topics('heat/home');
const health = (more: Partial<HealthRecord> = {}) =>
  bodyOf(healthMessage(topics, { ...WELL, ...more }, DUBLIN));
const CALM = {
  schema: 1,
  state: 'ok',
  reasons: [],
  auth: {
    home: {
      state: 'ok',
      next_attempt_at: null,
      access_expires_at: '2025-06-30T13:05:00+01:00',
      refresh_expires_at: '2025-06-30T13:30:00+01:00',
    },
  },
  progress: [],
  statistics: null,
  last_poll_at: '2025-06-30T12:59:00+01:00',
  last_success_at: '2025-06-30T12:59:00+01:00',
  next_poll_at: '2025-06-30T14:00:00+01:00',
  poll_now_at: null,
  failures_in_a_row: 0,
  requests_today: 3,
  logins_today: 1,
  last_error: null,
};
const REASONS = [
  { code: 'provider_unreachable', message: 'It does not answer.', hint: 'Wait.', account: 'home' },
  { code: 'data_late', message: 'The newest reading is old.', meter: '70418235' },
];
const LONG = `${'x'.repeat(249)}🔥🔥🔥`;

test('the state is plain text; an event passes; a withdrawal is empty and retained', () => {
  const [topic, retain] = ['heat/home/bridge/state', true];
  expect(stateMessage(topics, 'offline')).toEqual({ topic, payload: 'offline', retain });
  const event = { event_type: 'poll_failed', code: 'provider_refused', message: 'No.' } as const;
  const message = topics.message('bridge/event', [], { ...event, at: DUBLIN.iso(NOW) });
  expect(message).toMatchObject({ topic: 'heat/home/bridge/event', retain: false });
  expect(bodyOf(message)).toEqual({ schema: 1, ...event, at: '2025-06-30T13:00:00+01:00' });
  expect(clear(topic)).toEqual({ topic, payload: '', retain });
});

test('info tells version, schedule, zone, and each meter with its topic', () => {
  const message = infoMessage(topics, bridgeView());
  expect(message).toMatchObject({ topic: 'heat/home/bridge/info', retain: true });
  expect(bodyOf(message)).toEqual({
    schema: 1,
    version: about.version,
    started_at: '2025-06-30T12:00:00+01:00',
    schedule: '23 */4 * * *',
    timezone: 'Europe/Dublin',
    base_topic: 'heat/home',
    meters: [
      {
        meter: '70418235',
        name: null,
        account: 'home',
        identifiers: ['70418235', '70418236'],
        reading_closes: 'same_day',
        topic: 'heat/home/meter/70418235/state',
      },
    ],
    links: { documentation: about.url, issues: `${about.url}/issues` },
  });
});

test.each<[string, Partial<HealthRecord>, object]>([
  ['of a bridge that is well', {}, {}],
  [
    'before anything happened: null, not 1970',
    { auth: {}, lastPollAt: null, lastSuccessAt: null, nextPollAt: null },
    { auth: {}, last_poll_at: null, last_success_at: null, next_poll_at: null },
  ],
  [
    'in trouble: the reasons whole, and the first one as the last error',
    { reasons: REASONS, failuresInARow: 3, isSomeAccountWell: false },
    { state: 'failing', reasons: REASONS, last_error: 'It does not answer.', failures_in_a_row: 3 },
  ],
  [
    'while the history is read',
    { progress: [{ account: 'home', meter: '70418235', days_read: 366, days_total: 900 }] },
    { progress: [{ account: 'home', meter: '70418235', days_read: 366, days_total: 900 }] },
  ],
  [
    'the last error cut to what Home Assistant takes, and never through a character',
    { reasons: [{ code: 'a', message: LONG }] },
    { state: 'degraded', reasons: [{ code: 'a', message: LONG }], last_error: `${'x'.repeat(249)}🔥` },
  ],
])('health %s', (_, record, expected) => {
  expect(health(record)).toEqual({ ...CALM, ...expected });
});

test.each(['heat2mqtt', 'heat/home', 'Wärme'])('every JSON payload below %s carries schema 1', (base) => {
  const messages = statesOf(new Topics(base));
  const json = messages.filter(({ topic }) => topic !== `${base}/bridge/state`);
  expect(json.length).toBeGreaterThan(6);
  expect(json.every(({ payload }) => payload.startsWith('{"schema":1,'))).toBe(true);
  expect(messages.every(({ topic }) => topic.startsWith(`${base}/`))).toBe(true);
});
