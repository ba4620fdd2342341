// The states as they go out: sums rounded once, null never 0, the schema in every payload.
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/mqtt/message.ts';
import { accountStateMessage } from '../../src/publication/states.ts';
import { clear, say, topicsBelow } from '../../src/publication/topics.ts';
import type { MeterView } from '../../src/publication/views.ts';
import { type Line, ledgerOf, row } from '../domain/ledgers.ts';
import {
  ACCOUNT,
  bodyOf,
  EMPTY,
  FULL,
  meterMessages,
  meterView,
  placeBelow,
  statesOf,
} from '../support/inventedHome.ts';

const topics = topicsBelow('heat2mqtt');
const states = (view: MeterView): Record<string, Message> =>
  Object.fromEntries(meterMessages(topics, view).map((message) => [message.topic, message]));
const state = (view: MeterView) => bodyOf(states(view)['heat2mqtt/meter/70418235/state']);

const viewOf = (lines: readonly Line[], options: { origin?: string; today?: string } = {}) =>
  meterView(ledgerOf(lines, options), options.today ? { today: options.today } : {});

test('a meter has its history, one state and three usage topics, retained', () => {
  expect(Object.keys(states(FULL))).toEqual([
    'heat2mqtt/meter/70418235/state',
    'heat2mqtt/meter/70418235/history',
    'heat2mqtt/meter/70418235/usage/day',
    'heat2mqtt/meter/70418235/usage/week',
    'heat2mqtt/meter/70418235/usage/month',
  ]);
  expect(Object.values(states(FULL)).every(({ retain }) => retain)).toBe(true);
});

test('the history is every day, oldest first, to the last millionth', () => {
  const lines: Line[] = [
    ['2025-06-03', 0, null],
    ['2025-06-01', 5.000001, 1.3],
  ];
  expect(bodyOf(states(viewOf(lines))['heat2mqtt/meter/70418235/history'])).toEqual({
    schema: 1,
    timezone: 'Europe/Dublin',
    reading_closes: 'same_day',
    currency: 'EUR',
    origin: '2025-01-01',
    days: [
      ['2025-06-01', 5.000001, 1.3],
      ['2025-06-03', 0, null],
    ],
  });
});

test.each(['heat2mqtt', 'heat/home', 'Wärme'])('every JSON payload below %s carries schema 1', (base) => {
  const messages = statesOf(placeBelow(base).topics, base);
  const json = messages.filter(({ topic }) => topic !== `${base}/bridge/state`);
  expect(json.length).toBeGreaterThan(6);
  expect(json.map(bodyOf).map(({ schema }) => schema)).toEqual(json.map(() => 1));
  expect(messages.every(({ topic }) => topic.startsWith(`${base}/`))).toBe(true);
});

describe('the state of a meter', () => {
  test('tells sums in whole units, rounded once', () => {
    expect(state(FULL)).toMatchObject({
      energy_total: 945,
      cost_total: 240.66,
      day: '2025-06-29',
      energy_day: 5.25,
      cost_day: 1.337,
      energy_month: 152.25,
      energy_week: null,
      cost_week: null,
      energy_last_month: 162.75,
      reading_at: '2025-06-30T00:00:00+01:00',
      data_late: false,
      missing_days: 0,
      origin: '2025-01-01',
      meter_identifiers: ['70418235', '70418236'],
      updated_at: '2025-06-30T13:00:00+01:00',
    });
  });

  test('says null for whatever is not known, and 0 for what is nothing', () => {
    const { schema, origin, meter_identifiers, missing_days, updated_at, ...rest } = state(EMPTY);
    expect({ schema, missing_days }).toEqual({ schema: 1, missing_days: 0 });
    expect(Object.entries(rest).filter(([, value]) => value !== null)).toEqual([]);
    expect(state(viewOf([['2025-06-29', 0, 0]]))).toMatchObject({
      energy_total: 0,
      cost_total: 0,
      energy_day: 0,
    });
  });

  test('does not take energy for cost, nor lend one to the other', () => {
    expect(state(viewOf([['2025-06-29', 4, null]]))).toMatchObject({
      energy_total: 4,
      cost_total: null,
      cost_day: null,
    });
    expect(state(viewOf([['2025-06-29', null, 2]]))).toMatchObject({
      energy_total: null,
      cost_total: 2,
      day: null,
    });
  });

  test('a sum is rounded after it was added, not before', () => {
    const third = viewOf(row('2025-06-01', 3, 0.0004, 0.0004));
    expect(state(third)).toMatchObject({ energy_total: 0.001, energy_day: 0 });
  });
});

test('an account says how its session stands, and null for what the provider has not given', () => {
  const nothing = { balance: null, credit: null, invoices: null, newestInvoice: null };
  const auth = { ...ACCOUNT.auth, state: 'backoff' as const };
  const message = accountStateMessage(topics, { ...ACCOUNT, ...nothing, auth });
  expect(message).toMatchObject({ topic: 'heat2mqtt/account/home/state', retain: true });
  expect(bodyOf(message)).toMatchObject({
    schema: 1,
    auth_state: 'backoff',
    balance_due: null,
    credit_balance: null,
    invoice_amount: null,
    invoice_due: null,
    invoice_status: null,
    invoice_issued: null,
    requests_today: 3,
    logins_today: 1,
  });
});

test('a payload of its own cannot do without the schema, and a withdrawal has none', () => {
  const event = {
    event_type: 'recovered' as const,
    at: '2025-06-30T13:00:00+01:00',
    code: 'recovered',
    message: 'Fine.',
  };
  const said = say('bridge/event', topics.bridgeEvent, event, { retain: false });
  expect(said.payload.startsWith('{"schema":1,')).toBe(true);
  expect(clear('heat2mqtt/meter/x/state')).toEqual({
    topic: 'heat2mqtt/meter/x/state',
    payload: '',
    retain: true,
  });
});
