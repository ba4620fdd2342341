// Requests: what is answered, what is ignored, where the answers go, and what others may choose of them.
import { expect, test } from 'vitest';
import { failure } from '../../src/foundation/failure.ts';
import type { Incoming, Message } from '../../src/mqtt/message.ts';
import { type Handler, openRequests } from '../../src/mqtt/requests.ts';
import { transaction } from '../../src/publication/payloads/requests.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

function open(handler: Handler = async () => ({ status: 'ok', data: { found: 1 } })) {
  const published: Message[] = [];
  const { log, lines } = logLines();
  const asked: unknown[] = [];
  const clock = handClock('2026-03-10T12:00:00Z');
  const requests = openRequests({
    baseTopic: 'heat',
    protectedTopics: ['homeassistant'],
    transaction,
    handlers: {
      refresh: async (parameters, ...rest) => {
        asked.push(parameters);
        return handler(parameters, ...rest);
      },
    },
    publish: (messages) => void published.push(...messages),
    clock,
    log,
  });
  const ask = async (payload: string | Buffer = '', more: Partial<Incoming> = {}) => {
    published.splice(0);
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const topic = 'heat/bridge/request/refresh';
    await requests.onMessage({
      topic,
      payload: bytes,
      retained: false,
      responseTopic: undefined,
      correlationData: undefined,
      ...more,
    });
    return published.map(({ payload: text }) => JSON.parse(text) as Record<string, unknown>);
  };
  return { ask, asked, published, lines, clock };
}

test('parameters reach the handler; the answer goes to the response topic, not retained, with the transaction', async () => {
  const { ask, asked, published } = open();
  expect(await ask()).toEqual([{ schema: 1, status: 'ok', data: { found: 1 } }]);
  expect(published).toMatchObject([{ topic: 'heat/bridge/response/refresh', retain: false }]);
  expect(await ask('{"chamber":"dail","transaction":"t-1"}')).toMatchObject([{ transaction: 't-1' }]);
  expect(await ask(' {"transaction": 17} ')).toMatchObject([{ transaction: 17 }]);
  expect(asked).toEqual([{}, { chamber: 'dail' }, {}]);
});

test.each(['{"a":1}', JSON.stringify('x'.repeat(300))])(
  'a transaction is text or a number, anything else is not echoed: %.20s',
  async (transaction) => {
    const [reply] = await open().ask(`{"transaction":${transaction}}`);
    expect(reply).not.toHaveProperty('transaction');
  },
);

test.each(['{"a":', '[]', 'null'])('%s is no object: it is refused', async (payload) => {
  const { ask, asked } = open();
  expect(await ask(payload)).toMatchObject([{ status: 'error', error: { code: 'request_malformed' } }]);
  expect(asked).toEqual([]);
});

test('8 KiB are read, a byte more is not; nor are bytes that are no text, which are not quoted', async () => {
  const { ask, asked, published } = open();
  expect(await ask(Buffer.from([0xff, 0xfe, 0x00, 0x80]))).toMatchObject([{ status: 'error' }]);
  expect(published[0]?.payload).not.toContain('\ufffd');
  const sized = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
  expect(await ask(sized(8_192))).toMatchObject([{ status: 'ok' }]);
  expect(await ask(sized(8_193))).toMatchObject([{ status: 'error', error: { code: 'request_malformed' } }]);
  expect(asked).toHaveLength(1);
});

test.each(['refresh', 'unknown'])('a retained request %s is ignored, and the log says so', async (name) => {
  const { ask, asked, lines } = open();
  expect(await ask('', { retained: true, topic: `heat/bridge/request/${name}` })).toEqual([]);
  expect(asked).toEqual([]);
  expect(lines.join()).toContain('retained request ignored');
});

test.each(['unknown', '__proto__', 'toString', 'x'.repeat(40)])(
  'request/%s is answered with the requests there are, and reaches no handler',
  async (name) => {
    const { ask, asked, published } = open();
    const topic = `heat/bridge/request/${name}`;
    const [reply] = await ask('{"transaction":3}', { topic, responseTopic: 'mine' });
    expect(reply).toEqual({
      schema: 1,
      status: 'error',
      error: { code: 'unknown_request', message: `Unknown request "${name}"; there are: refresh.` },
      transaction: 3,
    });
    expect(published.map((answer) => [answer.topic, answer.retain])).toEqual([
      [`heat/bridge/response/${name}`, false],
      ['mine', false],
    ]);
    const [malformed] = await ask('not JSON', { topic });
    expect(malformed?.error).toEqual(reply?.error);
    expect(asked).toEqual([]);
  },
);

test.each(['', 'a/b', 'x'.repeat(41), 'Wärme', 'a+', 'a\n'])(
  'request/%s cannot be the name of an answer: there is none',
  async (name) => {
    const { ask, lines } = open();
    const topic = `heat/bridge/request/${name}`;
    expect(await ask('', { topic, responseTopic: 'mine' })).toEqual([]);
    expect(lines.join()).toContain('unknown request');
  },
);

test('the log says which request is unknown, shortened; other topics are not looked at', async () => {
  const { ask, asked, lines } = open();
  await ask('', { topic: `heat/bridge/request/refrehs${'h'.repeat(1_000)}` });
  expect(JSON.parse(lines[0] ?? '').request).toMatch(/^refrehsh{33}$/);
  expect(await ask('', { topic: 'heat/bridge/response/refresh' })).toEqual([]);
  expect(await ask('', { topic: 'other/bridge/request/refresh' })).toEqual([]);
  expect(asked).toEqual([]);
});

test('MQTT 5: the answer goes to the response topic too, with the correlation data', async () => {
  const { ask, published } = open();
  await ask('', { responseTopic: 'node-red/reply/7', correlationData: Buffer.from('c-7') });
  expect(published.map(({ topic, retain }) => [topic, retain])).toEqual([
    ['heat/bridge/response/refresh', false],
    ['node-red/reply/7', false],
  ]);
  expect(published[0]?.payload).toBe(published[1]?.payload);
  expect(published[1]?.correlationData?.toString()).toBe('c-7');
});

test.each([
  ['our own state', 'heat/meter/1/state', false],
  ['our own requests', 'heat/bridge/request/refresh', false],
  ['a filter', 'a/+/b', false],
  ['everything', '#', false],
  ["the broker's topics", '$SYS/broker', false],
  ['nothing', '', false],
  ['our responses', 'heat/bridge/response/mine', true],
  ['a neighbour that begins like us', 'heating/reply', true],
  ['512 characters', 'x'.repeat(512), true],
  ['one more', 'x'.repeat(513), false],
  ['one more below our responses', `heat/bridge/response/${'x'.repeat(500)}`, false],
])('a response topic of %s: %.40s is allowed: %s', async (_, responseTopic, isAllowed) => {
  const { ask, published } = open();
  await ask('', { responseTopic });
  expect(published.map(({ topic }) => topic)).toEqual([
    'heat/bridge/response/refresh',
    ...(isAllowed ? [responseTopic] : []),
  ]);
});

test('what a handler says: skipped, a Failure in its own safe words, anything else to the log only', async () => {
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

test('a flood of what is ignored is told once, and an hour later as a number', async () => {
  const { ask, lines, clock } = open();
  const flood = async () => {
    for (let at = 0; at < 100; at += 1) {
      await ask('', { topic: `heat/bridge/request/${at}` });
      await ask('', { retained: true });
    }
  };
  await flood();
  expect(lines).toHaveLength(2);
  clock.advance(3_600_000);
  await flood();
  expect(lines).toHaveLength(4);
  expect(lines.slice(2).map((line) => JSON.parse(line).repeated)).toEqual([99, 99]);
});

test.each([
  [1_024, true],
  [1_025, false],
])('correlation data of %i bytes', async (bytes, isAllowed) => {
  const data = Buffer.alloc(bytes, 7);
  const { ask, published } = open();
  await ask('', { responseTopic: 'mine', correlationData: data });
  const [, given] = published;
  expect(given?.correlationData).toEqual(isAllowed ? data : undefined);
  expect(given !== undefined).toBe(isAllowed);
});
