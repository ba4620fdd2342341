// Requests: what is answered, what is ignored, where the answers go, and what others may choose of them.
import { expect, test } from 'vitest';
import { failure } from '../../src/foundation/failure.ts';
import type { Incoming, Message } from '../../src/mqtt/message.ts';
import { type Handler, Requests } from '../../src/mqtt/requests.ts';
import { isAnswerPlace } from '../../src/mqtt/responseTopics.ts';
import { transaction } from '../../src/publication/payloads/requests.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { turn } from '../support/waitFor.ts';

const OURS = 'heat/bridge/response/refresh';
const DONE = { schema: 1, status: 'ok', data: { found: 1 } };

function open(handler: Handler = async () => ({ status: 'ok', data: { found: 1 } })) {
  const published: Message[] = [];
  const { log, lines } = logLines();
  const asked: unknown[] = [];
  const clock = handClock('2026-03-10T12:00:00Z');
  const requests = new Requests({
    mqtt: {
      base_topic: 'heat',
      discovery_prefix: 'homeassistant',
      response_topics: ['phone/inbox', 'mine'],
    },
    branches: ['heat/bridge', 'heat/meter'],
    transaction,
    handlers: {
      refresh: async (parameters, ...rest) => {
        asked.push(parameters);
        return handler(parameters, ...rest);
      },
    },
    link: { publish: (messages) => void published.push(...messages) },
    clock,
    log,
  });
  const send = (payload: string | Buffer = '', more: Partial<Incoming> = {}, name = 'refresh') =>
    requests.onMessage({
      topic: `heat/bridge/request/${name}`,
      payload: Buffer.from(payload),
      retained: false,
      responseTopic: undefined,
      correlationData: undefined,
      ...more,
    });
  /** The answers; `name` is that of the request. */
  const ask = async (...request: Parameters<typeof send>) => {
    published.splice(0);
    send(...request);
    await turn();
    return published.map(({ payload: text }) => JSON.parse(text) as Record<string, unknown>);
  };
  return { send, ask, asked, published, lines, clock };
}

const sized = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
const error = expect.objectContaining({ code: 'request_malformed' });
const malformed = { schema: 1, status: 'error', error };
test.each<[string, string | Buffer, object, object | null]>([
  ['nothing', '', DONE, {}],
  [
    'parameters',
    '{"chamber":"dail","transaction":"t-1"}',
    { ...DONE, transaction: 't-1' },
    { chamber: 'dail' },
  ],
  ['a transaction that is a number', ' {"transaction": 17} ', { ...DONE, transaction: 17 }, {}],
  ['one that is neither number nor text', '{"transaction":{"a":1}}', DONE, {}],
  ['one that is long', `{"transaction":"${'x'.repeat(300)}"}`, DONE, {}],
  ['half an object', '{"a":', malformed, null],
  ['a list', '[]', malformed, null],
  ['null', 'null', malformed, null],
  ['8 KiB', sized(8_192), DONE, { a: 'x'.repeat(8_184) }],
  ['a byte more', sized(8_193), malformed, null],
  [
    'a text with bytes that are none',
    Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xe4), Buffer.from('"}')]),
    malformed,
    null,
  ],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x80]), malformed, null],
])(
  '%s is answered on our response topic, not retained, and unquoted',
  async (_, payload, answer, parameters) => {
    const { ask, asked, published } = open();
    expect(await ask(payload)).toEqual([answer]);
    expect(published).toMatchObject([{ topic: OURS, retain: false }]);
    expect(published[0]?.payload).not.toContain('\ufffd');
    expect(asked).toEqual(parameters === null ? [] : [parameters]);
  },
);

test.each(['unknown', '__proto__', 'toString', 'x'.repeat(40)])(
  'request/%s is answered with the requests there are, and reaches no handler',
  async (name) => {
    const { ask, asked, published } = open();
    const message = `Unknown request "${name}"; there are: refresh.`;
    const error = { code: 'unknown_request', message };
    const [reply] = await ask('{"transaction":3}', { responseTopic: 'mine' }, name);
    expect(reply).toEqual({ schema: 1, status: 'error', error, transaction: 3 });
    expect(published.map(({ topic }) => topic)).toEqual([`heat/bridge/response/${name}`, 'mine']);
    expect(await ask('not JSON', {}, name)).toMatchObject([{ error }]);
    expect(asked).toEqual([]);
  },
);

test.each(['', 'a/b', 'x'.repeat(41), 'Wärme', 'a+', 'a\n'])(
  'request/%s cannot be the name of an answer: there is none',
  async (name) => {
    const { ask, lines } = open();
    expect(await ask('', { responseTopic: 'mine' }, name)).toEqual([]);
    expect(lines.join()).toContain('unknown request');
  },
);

test.each([
  ['our responses', 'heat/bridge/response/mine'],
  ['below our base, where nothing of ours is', 'heat/mine'],
  ['a response by its last level', 'node-red/response'],
  ['a response by the level before it', 'node-red/reply/17'],
  ['the first level', 'Response/node-red'],
  ['answers', 'node-red/heat2mqtt/answers'],
  ['a neighbour that begins like us', 'heating/reply'],
  ['what the configuration allows', 'phone/inbox'],
  ['what is below that', 'phone/inbox/7'],
  ['eight levels', `${'a/'.repeat(7)}reply`],
  ['512 characters', `mine/${'x'.repeat(507)}`],
])('MQTT 5: an answer also goes to %s: %.40s', async (_, responseTopic) => {
  const { ask, asked, published } = open();
  const correlationData = Buffer.alloc(1_024, 7);
  await ask('', { responseTopic, correlationData });
  const [{ payload = '' } = {}] = published;
  expect(published).toEqual([
    { topic: OURS, retain: false, payload },
    { topic: responseTopic, retain: false, payload, correlationData },
  ]);
  expect(asked).toHaveLength(1);
});

test.each([
  ['a lamp', 'zigbee2mqtt/lamp/set'],
  ["another program's commands", 'zigbee2mqtt/bridge/request/restart'],
  ['a level that only begins like it', 'cmnd/responses-of-mine/POWER'],
  ['what begins like an allowed one', 'phone/inboxes'],
  ['what is above an allowed one', 'phone'],
  ['our own state', 'heat/meter/1/state'],
  ['our own state, called a reply', 'heat/meter/1/reply'],
  ['our requests', 'heat/bridge/request/refresh'],
  ['our base', 'heat'],
  ['what is protected, called a response', 'homeassistant/response'],
  ['where that begins', 'homeassistant'],
  ['a filter', 'a/+/reply'],
  ['everything', '#'],
  ["the broker's topics", '$SYS/reply'],
  ['513 characters', `mine/${'x'.repeat(508)}`],
  ['nine levels', `${'a/'.repeat(8)}reply`],
  ['nine levels below our responses', `heat/bridge/response/${'/'.repeat(5)}`],
  ['a character that cannot be printed', 'reply/\u0001'],
  ['513 characters below our responses', `heat/bridge/response/${'x'.repeat(492)}`],
])(
  'MQTT 5: a response topic of %s is refused on ours, and nothing is done: %.40s',
  async (_, responseTopic) => {
    const { ask, asked, published, lines } = open();
    const [reply] = await ask('{"transaction":7}', { responseTopic, correlationData: Buffer.of(1) });
    expect(reply).toMatchObject({
      status: 'error',
      error: { code: 'response_topic_refused', hint: expect.stringContaining('mqtt.response_topics') },
      transaction: 7,
    });
    expect(Object(reply?.error).message).toMatch(
      /^response topic: found ".*; allowed: .*heat\/bridge\/response\/mine/,
    );
    expect(published.map(({ topic }) => topic)).toEqual([OURS]);
    expect(asked).toEqual([]);
    expect(lines.join()).toContain('request refused');
  },
);

test('lets an answer go below our responses when the base topic has more levels than others may have', () => {
  const base = 'a/b/c/d/e/f';
  expect(isAnswerPlace(`${base}/bridge/response/mine`, base, { published: [base], allowed: [] })).toBe(true);
});

test('answers on our response topic alone when the one of MQTT 5 is empty', async () => {
  const { ask, published } = open();
  expect(await ask('', { responseTopic: '' })).toEqual([DONE]);
  expect(published.map(({ topic }) => topic)).toEqual([OURS]);
});

test('answers once, with the correlation data, when the response topic of MQTT 5 is our own', async () => {
  const { ask, published } = open();
  const correlationData = Buffer.of(7);
  expect(await ask('', { responseTopic: OURS, correlationData })).toEqual([DONE]);
  expect(published).toMatchObject([{ topic: OURS, correlationData }]);
});

test('refuses a request on our response topic when its correlation data has more than 1,024 bytes', async () => {
  const { ask, asked, published } = open();
  const correlationData = Buffer.alloc(1_025, 7);
  const [reply] = await ask('', { responseTopic: 'mine', correlationData });
  const message = 'bytes of correlation data: found 1025; allowed: at most 1024.';
  expect(reply).toEqual({ schema: 1, status: 'error', error: { code: 'request_malformed', message } });
  expect(published.map(({ topic }) => topic)).toEqual([OURS]);
  expect(asked).toEqual([]);
});

test('answers twenty a second, lets two hundred wait and leaves the others out when requests of a kind come as a flood', async () => {
  const { send, ask, asked, published, lines, clock } = open();
  const large = Buffer.alloc(1024 * 1024, ' ');
  for (let at = 0; at < 5_000; at += 1) send(at === 30 ? large : '');
  await turn();
  expect(asked).toHaveLength(20);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', msg: expect.stringContaining('left out') },
  ]);
  expect(await ask('', {}, 'refrehs')).toMatchObject([{ error: { code: 'unknown_request' } }]);
  published.splice(0);
  for (let second = 1; second <= 10; second += 1) {
    clock.advance(1_000);
    await turn();
    expect(published).toHaveLength(20 * second);
  }
  // One was too large.
  expect(asked).toHaveLength(219);
  expect(clock.sleepers).toBe(0);
});

test('answers in safe words when a handler fails, and tells what was not foreseen to the log only', async () => {
  const skipped = open(async () => ({ status: 'skipped', data: { next_at: 'later' } }));
  expect(await skipped.ask()).toEqual([{ schema: 1, status: 'skipped', data: { next_at: 'later' } }]);
  const tired = open(() =>
    Promise.reject(failure('tired', 'It is late.', { exit: 5, retry: 'later', hint: 'Sleep.' })),
  );
  const error = { code: 'tired', message: 'It is late.', hint: 'Sleep.' };
  expect(await tired.ask('{"transaction":1}')).toEqual([
    { schema: 1, status: 'error', error, transaction: 1 },
  ]);
  const { ask, lines } = open(() => Promise.reject(new TypeError('secret of row 7')));
  const [reply] = await ask();
  expect(reply).toMatchObject({ status: 'error', error: { code: 'unexpected' } });
  expect(JSON.stringify(reply)).not.toContain('row 7');
  expect(lines.join()).toContain('request failed');
});

test('tells what is unknown or retained once, and an hour later as a number, when it comes as a flood', async () => {
  const { send, ask, asked, published, lines, clock } = open();
  const flood = async () => {
    for (let at = 0; at < 100; at += 1) {
      send('', {}, `refrehs${'h'.repeat(1_000)}${at}`);
      clock.advance(50);
      send('', { retained: true });
    }
    await turn();
    expect(published).toEqual([]);
  };
  await flood();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'unknown request', request: `refrehs${'h'.repeat(33)}` },
    { msg: expect.stringContaining('retained request ignored') },
  ]);
  clock.advance(3_600_000);
  await flood();
  expect(lines.slice(2).map((line) => JSON.parse(line).repeated)).toEqual([99, 99]);
  for (const topic of [OURS, 'other/bridge/request/refresh']) expect(await ask('', { topic })).toEqual([]);
  expect(asked).toEqual([]);
});
