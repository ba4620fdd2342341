// What is retained on a topic is read back whole, however slow the broker is; a silent one has nothing, and what comes late is told.
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';

import type { Incoming } from '../../src/mqtt/message.ts';
import type { ReadRetained } from '../../src/mqtt/subscriber.ts';
import { text, written } from '../support/packets.ts';
import { settled } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { openLink } from './linked.ts';

const TOPIC = 'x/old/1';
const CONNECT = 1;
const PUBACK = 4;
const SUBSCRIBE = 8;
const UNSUBSCRIBE = 10;
const CONNACK = Buffer.from([0x20, 2, 0, 0]);

/** A retained PUBLISH of QoS 0. */
function publish(payload: string): Buffer {
  const topic = Buffer.from(TOPIC);
  const body = Buffer.concat([Buffer.from([0, topic.length]), topic, Buffer.from(payload)]);
  return written({ type: 0x31, body });
}

/** A broker that says of retained messages what the test says. */
async function open() {
  let socket: Socket | null = null;
  let asked = 0;
  let acknowledged = 0;
  const wire = openStack().use(
    await openWire(undefined, (near, bytes) => {
      const type = (bytes[0] ?? 0) >> 4;
      if (type === CONNECT) near.write(CONNACK);
      if (type === PUBACK) acknowledged += 1;
      if (type === UNSUBSCRIBE) near.write(Buffer.from([0xb0, 2, bytes[2] ?? 0, bytes[3] ?? 0]));
      if (type !== SUBSCRIBE) return;
      socket = near;
      asked += 1;
      near.write(Buffer.from([0x90, 3, bytes[2] ?? 0, bytes[3] ?? 0, 1]));
    }),
  );
  const answers: (Incoming | null)[] = [];
  const late: string[] = [];
  const restore = async (read: ReadRetained) => {
    answers.push(await read({ filter: TOPIC }, ({ payload }) => void late.push(String(payload))));
  };
  const opened = openLink(openStack(), wire.url, { restore, subscriptions: [] });
  await waitFor('the question', () => asked === 1);
  await settled();
  return {
    ...opened,
    answers: () => answers.map((one) => one && String(one.payload)),
    late,
    acknowledged: () => acknowledged,
    asked: () => asked,
    cut: wire.cut,
    say: async (bytes: Buffer) => {
      socket?.write(bytes);
      await settled();
    },
  };
}

test('reads a message whole when it takes five seconds on its way', async () => {
  const { pass, say, answers } = await open();
  const bytes = publish('0123456789');
  for (let at = 0; at < bytes.length; at += 2) {
    expect(answers()).toEqual([]);
    await say(bytes.subarray(at, at + 2));
    await pass(500, 50);
  }
  await waitFor('the answer', () => answers().length === 1);
  expect(answers()).toEqual(['0123456789']);
});

test('gives nothing when no byte has come for 0.7 seconds, and tells once what comes all the same', async () => {
  const { pass, say, answers, late, link } = await open();
  await pass(650, 50);
  expect(answers()).toEqual([]);
  await pass(150, 50);
  await waitFor('the connection', () => link.status().connected);
  expect(answers()).toEqual([null]);
  await pass(5_000);
  await say(publish('late'));
  await waitFor('the late one', () => late.length === 1);
  await say(publish('again'));
  expect(late).toEqual(['late']);
});

test.each([
  ['acknowledgements', Buffer.from([0x40, 2, 0, 1])],
  ['messages that are not retained', Buffer.from([0x30, 5, 0, 3, 0x78, 0x2f, 0x79])],
])('gives nothing after 0.7 seconds when %s keep coming', async (_, bytes) => {
  const { pass, say, answers } = await open();
  for (let left = 650; left > 0; left -= 50) {
    await say(bytes);
    await pass(50, 50);
  }
  expect(answers()).toEqual([]);
  for (let left = 150; left > 0; left -= 50) {
    await say(bytes);
    await pass(50, 50);
  }
  await waitFor('the answer', () => answers().length === 1);
  expect(answers()).toEqual([null]);
});

test('reads a message whole when acknowledgements come before it and its header takes two seconds', async () => {
  const { pass, say, answers } = await open();
  await say(Buffer.from([0x40, 2, 0]));
  await pass(500, 50);
  const message = publish('0'.repeat(200));
  await say(Buffer.concat([Buffer.from([1, 0x40, 2, 0, 2]), message.subarray(0, 1)]));
  for (let at = 1; at < 4; at += 1) {
    await pass(600, 50);
    await say(message.subarray(at, at + 1));
  }
  expect(answers()).toEqual([]);
  await say(message.subarray(4));
  await pass(50, 50);
  await waitFor('the answer', () => answers().length === 1);
  expect(answers()).toEqual(['0'.repeat(200)]);
});

test('asks again over the next connection, and takes nothing for granted, when the connection ends before an answer', async () => {
  const { pass, say, cut, asked, answers, heard } = await open();
  await pass(300, 50);
  cut();
  await waitFor('the second question', async () => {
    await pass(500, 50);
    return asked() === 2;
  });
  expect(answers()).toEqual([]);
  await say(publish('kept'));
  await waitFor('its arrival', () => heard.length === 1);
  await pass(50, 50);
  await waitFor('the answer', () => answers().length === 1);
  expect(answers()).toEqual(['kept']);
});

test('gives nothing after a minute when the broker goes on', async () => {
  const { clock, say, answers, acknowledged } = await open();
  const topic = text('x/other');
  // Retained, with an id, so that its acknowledgement tells that it has come.
  const other = written({ type: 0x33, body: Buffer.concat([topic, Buffer.of(0, 9), Buffer.from('1')]) });
  for (let sent = 1; sent < 120; sent += 1) {
    await say(other);
    await waitFor('its arrival', () => acknowledged() === sent);
    clock.advance(500);
  }
  await settled();
  expect(answers()).toEqual([]);
  clock.advance(500);
  await waitFor('the answer', () => answers().length === 1);
  expect(answers()).toEqual([null]);
});
