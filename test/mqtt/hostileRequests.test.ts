// What an MQTT 5 client may choose of an answer: where it goes and what it carries, within bounds.
import { expect, test } from 'vitest';
import type { Message } from '../../src/mqtt/message.ts';
import { Outbox } from '../../src/mqtt/outbox.ts';
import { requestListener } from '../../src/mqtt/requests.ts';
import { transaction } from '../../src/publication/payloads/requests.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

function open() {
  const published: Message[] = [];
  const { log } = logLines();
  const answer = requestListener({
    baseTopic: 'heat',
    guarded: ['homeassistant'],
    transaction,
    handlers: { refresh: async () => ({ status: 'ok' }) },
    publish: (messages) => void published.push(...messages),
    clock: handClock('2026-03-10T12:00:00Z'),
    log,
  });
  return async (responseTopic: string, correlationData?: Buffer) => {
    published.splice(0);
    const topic = 'heat/bridge/request/refresh';
    await answer({ topic, payload: Buffer.alloc(0), retained: false, responseTopic, correlationData });
    return published;
  };
}

test.each([
  ['512 characters', 'x'.repeat(512), true],
  ['one more', 'x'.repeat(513), false],
  ['as much as MQTT knows', 'x'.repeat(65_535), false],
  ['one more below our responses', `heat/bridge/response/${'x'.repeat(500)}`, false],
])('a response topic of %s', async (_, responseTopic, isAllowed) => {
  const published = await open()(responseTopic);
  expect(published.map(({ topic }) => topic)).toEqual([
    'heat/bridge/response/refresh',
    ...(isAllowed ? [responseTopic] : []),
  ]);
});

test.each([
  [0, true],
  [1_024, true],
  [1_025, false],
  [65_535, false],
])('correlation data of %i bytes', async (bytes, isAllowed) => {
  const data = Buffer.alloc(bytes, 7);
  const [, given] = await open()('mine', data);
  expect(given?.correlationData).toEqual(isAllowed ? data : undefined);
  expect(given !== undefined).toBe(isAllowed);
});

test('however many ask, and whatever they choose, what waits for a broker stays small', async () => {
  const ask = open();
  const outbox = new Outbox();
  for (let at = 0; at < 5_000; at += 1) {
    const published = await ask(`${at}`.padEnd(512, 'x'), Buffer.alloc(1_024));
    for (const message of published) outbox.put(message);
  }
  let bytes = 0;
  for (let next = outbox.take(); next; next = outbox.take()) {
    bytes += next.topic.length + next.payload.length + (next.correlationData?.length ?? 0);
  }
  expect(outbox.size).toBe(500);
  expect(bytes).toBeLessThan(1_000_000);
});

test('a flood of answers drowns no event', () => {
  const outbox = new Outbox();
  const event = { topic: 'heat/meter/1/event', payload: 'new day', retain: false };
  outbox.put(event);
  for (let at = 0; at < 2_000; at += 1) {
    outbox.put({ topic: 'heat/bridge/response/refresh', payload: `${at}`, retain: false });
  }
  expect(outbox.size).toBe(500);
  expect(outbox.take()).toBe(event);
  expect(outbox.take()?.payload).toBe('1501');
});
