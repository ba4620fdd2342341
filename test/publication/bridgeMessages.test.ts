// What is published of the bridge itself: state, info, health with its reasons, and events.
import { describe, expect, test } from 'vitest';
import type { HealthRecord } from '../../src/domain/health.ts';
import { about } from '../../src/foundation/about.ts';
import { healthMessage, infoMessage, stateMessage } from '../../src/publication/bridgeMessages.ts';
import { clear, Topics } from '../../src/publication/topics.ts';
import { bodyOf, bridgeView, DUBLIN, NOW, statesOf, WELL } from '../support/inventedHome.ts';

const topics = new Topics('heat/home');
const health = (more: Partial<HealthRecord> = {}) =>
  bodyOf(healthMessage(topics, { ...WELL, ...more }, DUBLIN));

test('the state is plain text, retained', () => {
  expect(stateMessage(topics, 'offline')).toEqual({
    topic: 'heat/home/bridge/state',
    payload: 'offline',
    retain: true,
  });
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

describe('health', () => {
  test('of a bridge that is well', () => {
    expect(healthMessage(topics, WELL, DUBLIN)).toMatchObject({
      topic: 'heat/home/bridge/health',
      retain: true,
    });
    expect(health()).toEqual({
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
    });
  });

  test('before anything happened is null, not 1970', () => {
    const young = health({ auth: {}, lastPollAt: null, lastSuccessAt: null, nextPollAt: null });
    expect(young).toMatchObject({ auth: {}, last_poll_at: null, last_success_at: null, next_poll_at: null });
  });

  test('in trouble gives its reasons whole, and the first one as the last error', () => {
    const reasons = [
      {
        code: 'provider_unreachable',
        message: 'The provider does not answer.',
        hint: 'Wait.',
        account: 'home',
      },
      { code: 'data_late', message: 'The newest reading is old.', meter: '70418235' },
    ];
    expect(health({ reasons, failuresInARow: 3, isSomeAccountWell: false })).toMatchObject({
      state: 'failing',
      reasons,
      last_error: 'The provider does not answer.',
      failures_in_a_row: 3,
    });
  });

  test('while the history is read tells how far it has come', () => {
    const progress = [{ account: 'home', meter: '70418235', daysRead: 366, daysTotal: 900 }];
    expect(health({ progress }).progress).toEqual([
      { account: 'home', meter: '70418235', days_read: 366, days_total: 900 },
    ]);
  });

  test('cuts the last error to what Home Assistant takes, and never through a character', () => {
    const message = `${'x'.repeat(249)}🔥🔥🔥`;
    const { last_error: short, reasons } = health({ reasons: [{ code: 'a', message }] });
    expect(short).toBe(`${'x'.repeat(249)}🔥`);
    expect(reasons).toEqual([{ code: 'a', message }]);
  });
});

test('an event of the bridge is not retained', () => {
  const poll = {
    event_type: 'poll_failed',
    code: 'provider_refused',
    message: 'No.',
    account: 'home',
  } as const;
  const event = { ...poll, at: DUBLIN.iso(NOW) };
  const message = topics.message('bridge/event', [], event);
  expect(message).toMatchObject({ topic: 'heat/home/bridge/event', retain: false });
  expect(bodyOf(message)).toEqual({ schema: 1, ...event });
});

test('a withdrawal is an empty payload, retained', () => {
  expect(clear('heat/home/meter/x/state')).toEqual({
    topic: 'heat/home/meter/x/state',
    payload: '',
    retain: true,
  });
});

test.each(['heat2mqtt', 'heat/home', 'Wärme'])('every JSON payload below %s carries schema 1', (base) => {
  const messages = statesOf(new Topics(base));
  const json = messages.filter(({ topic }) => topic !== `${base}/bridge/state`);
  expect(json.length).toBeGreaterThan(6);
  expect(json.every(({ payload }) => payload.startsWith('{"schema":1,'))).toBe(true);
  expect(messages.every(({ topic }) => topic.startsWith(`${base}/`))).toBe(true);
});
