// The embedded broker and what strangers and clients send to it, byte by byte: how much it takes, and for how long it waits.
import { connect as connectTcp } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startBroker } from '../../src/mqtt/broker.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { text, written, writtenLength } from '../support/packets.ts';
import { startProbe } from '../support/probe.ts';
import { settled } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { connect } from './linked.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const ACCEPTED = Buffer.of(0x20, 2, 0, 0).toString('hex');
const BAD_LOGIN = Buffer.of(0x20, 2, 0, 4).toString('hex');
const LOGIN = { username: 'home', password: 'broker word' };
const LONGEST_WAIT_MS = 5_000;
const TAKE_WITHIN_MS = 15_000;

const CLEAN = 0x02;
const WITH_LOGIN = 0xc0;

/** A CONNECT with keep alive off. */
function connectPacket(
  clientId: string,
  login?: { readonly username: string; readonly password: string },
): Buffer {
  const head = [text('MQTT'), Buffer.of(4, CLEAN | (login ? WITH_LOGIN : 0), 0, 0), text(clientId)];
  const last = login ? [text(login.username), text(login.password)] : [];
  return written({ type: 0x10, body: Buffer.concat([...head, ...last]) });
}

const subscribePacket = (filter: string): Buffer =>
  written({ type: 0x82, body: Buffer.concat([Buffer.of(0, 1), text(filter), Buffer.of(0)]) });

/** A PUBLISH with QoS 0 that is so long, header and all. */
function publishPacket(topic: string, bytes: number): Buffer {
  const head = text(topic);
  const frame = 1 + writtenLength(bytes).length;
  return written({ type: 0x30, body: Buffer.concat([head, Buffer.alloc(bytes - frame - head.length, 'x')]) });
}

async function open(options: Parameters<typeof startBroker>[0] = {}) {
  const stack = openStack();
  const clock = handClock('2025-03-10T12:00:00Z');
  const { log, lines } = logLines();
  const broker = stack.use(await startBroker({ clock, log, ...options }));
  /** A connection without a word. */
  function knock() {
    const socket = connectTcp(broker.port, '127.0.0.1');
    const answers: Buffer[] = [];
    let isClosed = false;
    let taken = 0;
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      answers.push(bytes);
      taken += bytes.length;
    });
    socket.on('close', () => {
      isClosed = true;
    });
    stack.defer(() => socket.destroy());
    const answer = () => Buffer.concat(answers).toString('hex');
    return {
      say: (...bytes: readonly Buffer[]) => void socket.write(Buffer.concat(bytes)),
      end: () => void socket.destroy(),
      /** Takes nothing more. */
      pause: () => void socket.pause(),
      /** Takes so many bytes in all. */
      async takeUpTo(end: number): Promise<void> {
        const pauseThen = () => taken >= end && void socket.pause();
        socket.on('data', pauseThen).resume();
        await waitFor('what it takes', () => taken >= end);
        socket.off('data', pauseThen);
      },
      answer,
      isClosed: () => isClosed,
      isAnswered: (hex: string) => waitFor('an answer', () => answer().startsWith(hex), { diagnose: answer }),
      untilClosed: () => waitFor('the end of the connection', () => isClosed),
      isOpen: () =>
        new Promise<boolean>((resolve) => {
          if (socket.readyState === 'open') return resolve(true);
          socket.once('connect', () => resolve(true));
        }),
    };
  }
  return { stack, broker, clock, lines, knock };
}

const LARGE_CONNECT = Buffer.concat([Buffer.of(0x10), writtenLength(16 * KIB)]);

describe('before a login', () => {
  test.each([
    ['a publish of 268 MB', Buffer.of(0x30, 0xff, 0xff, 0xff, 0x7f)],
    ['a CONNECT of 268 MB', Buffer.of(0x10, 0xff, 0xff, 0xff, 0x7f)],
    ['a CONNECT of more than 16 KiB', LARGE_CONNECT],
    ['a length without an end', Buffer.of(0x10, 0xff, 0xff, 0xff, 0xff, 0x7f)],
    ['another packet than CONNECT', written({ type: 0xc0, body: Buffer.alloc(0) })],
    ['a question of the web', Buffer.from('GET / HTTP/1.1\r\nHost: heat\r\n\r\n')],
  ])('%s ends the connection at its first bytes', async (_, bytes) => {
    const { knock } = await open();
    const stranger = knock();
    stranger.say(bytes);
    await stranger.untilClosed();
    expect(stranger.answer()).toBe('');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['half a header', Buffer.of(0x10)],
    ['half a CONNECT', connectPacket('slow').subarray(0, 9)],
  ])('who says %s has five seconds', async (_, bytes) => {
    const { knock, clock } = await open();
    const stranger = knock();
    await stranger.isOpen();
    if (bytes.length > 0) stranger.say(bytes);
    await waitFor('the broker to wait', () => clock.sleepers > 0);
    clock.advance(LONGEST_WAIT_MS - 1);
    await settled();
    expect(stranger.isClosed()).toBe(false);
    clock.advance(1);
    await stranger.untilClosed();
    expect(clock.sleepers).toBe(0);
  });

  test('one that drips is not given more time, and one that has logged in waits as long as it likes', async () => {
    const { knock, clock } = await open();
    const client = knock();
    client.say(connectPacket('client'));
    await client.isAnswered(ACCEPTED);
    const dripping = knock();
    for (const byte of connectPacket('x'.repeat(40)).subarray(0, 5)) {
      dripping.say(Buffer.of(byte));
      await settled();
      clock.advance(999);
    }
    clock.advance(5);
    await dripping.untilClosed();
    clock.advance(24 * 3_600_000);
    await settled();
    expect(client.isClosed()).toBe(false);
  });

  test('a wrong password is answered, and what was sent behind it is not looked at', async () => {
    const { knock, broker, stack } = await open(LOGIN);
    const probe = stack.use(await startProbe(broker.url, LOGIN));
    const stranger = knock();
    stranger.say(connectPacket('x', { ...LOGIN, password: 'another word' }), publishPacket('a/b', 900 * KIB));
    await stranger.isAnswered(BAD_LOGIN);
    await stranger.untilClosed();
    expect(probe.heard).toEqual([]);
  });

  test('of many that say nothing the oldest make room, and a client gets in', async () => {
    const { knock } = await open();
    const strangers = Array.from({ length: 200 }, knock);
    await Promise.all(strangers.map(({ isOpen }) => isOpen()));
    await waitFor('room', () => strangers.filter(({ isClosed }) => !isClosed()).length <= 64);
    const client = knock();
    client.say(connectPacket('client'));
    await client.isAnswered(ACCEPTED);
  });
});

describe('a client', () => {
  test.each([1, 7, 100_000])(
    'may send everything at once, or in pieces of %d bytes',
    async (piece) => {
      const { knock, broker, stack } = await open(LOGIN);
      const probe = stack.use(await startProbe(broker.url, LOGIN));
      const client = knock();
      const all = Buffer.concat([
        connectPacket('client', LOGIN),
        subscribePacket('a/+'),
        publishPacket('a/b', 60 * KIB),
        publishPacket('a/c', 20),
      ]);
      for (let at = 0; at < all.length; at += piece) {
        client.say(all.subarray(at, at + piece));
        if (at < 200) await turn();
      }
      await waitFor('both', () => probe.heard.length === 2);
      expect(probe.heard.map(({ topic, payload }) => [topic, payload.length])).toEqual([
        ['a/b', 60 * KIB - 4 - 5],
        ['a/c', 20 - 2 - 5],
      ]);
      expect(client.isClosed()).toBe(false);
    },
    30_000,
  );

  test('may log in with a CONNECT of 16 KiB', async () => {
    const { knock } = await open();
    const client = knock();
    const usual = 'x'.repeat(200);
    const packet = connectPacket('x'.repeat(16 * KIB - connectPacket(usual).length + usual.length));
    expect(packet.length).toBe(16 * KIB);
    client.say(packet);
    await client.isAnswered(ACCEPTED);
  });

  test('may send a packet of 1 MiB; a byte more ends its connection, is told once, and is no matter of the others', async () => {
    const { knock, broker, stack, lines } = await open();
    const probe = stack.use(await startProbe(broker.url));
    const client = knock();
    client.say(connectPacket('client'), publishPacket('a/whole', MIB));
    await waitFor('the message', () => probe.last('a/whole'));
    expect(client.isClosed()).toBe(false);
    for (let count = 0; count < 2; count += 1) {
      const other = knock();
      other.say(connectPacket(`other-${count}`), publishPacket('a/more', MIB + 1));
      await other.untilClosed();
    }
    client.say(publishPacket('a/after', 100));
    await waitFor('the message', () => probe.last('a/after'));
    expect(probe.last('a/more')).toBeUndefined();
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', msg: expect.stringContaining('1 MiB') },
    ]);
  });

  test('loses its connection when it takes nothing for a quarter of a minute, and the others get all that it held up', async () => {
    const { knock, broker, stack, clock } = await open();
    const stalled = knock();
    stalled.say(connectPacket('stalled'), subscribePacket('#'));
    await stalled.isAnswered(`${ACCEPTED}90`);
    stalled.pause();
    const probe = stack.use(await startProbe(broker.url, {}));
    const payload = 'x'.repeat(200 * KIB);
    const MESSAGES = 300;
    for (let at = 0; at < MESSAGES; at += 1) await probe.publish(`a/${at}`, payload);
    await settled();
    await waitFor('the broker to wait for the stalled one only', () => clock.sleepers === 1);
    clock.advance(TAKE_WITHIN_MS - 1);
    await settled();
    expect(probe.heard.length).toBeLessThan(MESSAGES);
    clock.advance(1);
    await waitFor('all messages', () => probe.heard.length === MESSAGES);
    expect(clock.sleepers).toBe(0);
  });

  test('stays connected when it takes a part of what waits for it every ten seconds', async () => {
    const { knock, broker, stack, clock } = await open();
    const slow = knock();
    slow.say(connectPacket('slow'), subscribePacket('#'));
    await slow.isAnswered(`${ACCEPTED}90`);
    slow.pause();
    const probe = stack.use(await startProbe(broker.url, {}));
    const payload = 'x'.repeat(200 * KIB);
    const MESSAGES = 100;
    for (let at = 0; at < MESSAGES; at += 1) await probe.publish(`a/${at}`, payload);
    await waitFor('the broker to wait for it', () => clock.sleepers === 1);
    for (let message = 10; message <= MESSAGES; message += 10) {
      clock.advance(10_000);
      await slow.takeUpTo(message * payload.length);
      await settled();
    }
    expect([slow.isClosed(), clock.sleepers]).toEqual([false, 0]);
  });

  test('gets the longest history of ours', async () => {
    const { broker, stack } = await open();
    const heard: Incoming[] = [];
    const daemon = await connect(broker.url, { onMessage: (one) => void heard.push(one) });
    stack.defer(() => daemon.close(500));
    await daemon.subscribe([{ filter: 'heat/meter/+/history' }]);
    const days = Array.from({ length: 30 * 366 }, () => ['2000-01-01', 1234.567891, 1234.567891]);
    const history = { topic: 'heat/meter/1/history', payload: JSON.stringify({ days }), retain: true };
    await daemon.publish(history);
    const [message] = await waitFor('the history', () => heard.length > 0 && heard);
    expect(message?.payload.toString()).toBe(history.payload);
  });

  test('may announce what it has no room for: nothing waits for the rest', async () => {
    const { knock } = await open();
    const client = knock();
    client.say(connectPacket('client'), Buffer.of(0x30, 0xff, 0xff, 0xff, 0x7f), text('a/b'));
    await client.isAnswered(ACCEPTED);
    await client.untilClosed();
  });
});
