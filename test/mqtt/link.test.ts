// The lasting link: falls back, comes back, announces the current state first, and never retries in a busy loop.
import { connect as mqtt } from 'mqtt';
import { expect, test } from 'vitest';
import type { Incoming } from '../../src/mqtt/message.ts';
import { startProbe } from '../support/probe.ts';
import { settled } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { type StrictBroker, startStrictBroker } from '../support/strictBroker.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { address, connected, event, ONLINE, openLink, state, wired } from './linked.ts';

const ACCEPTED = 0;
const UNSUPPORTED_VERSION = 0x84;

test('falls back to MQTT 3.1.1 when the broker does not take MQTT 5, and remembers that', async () => {
  const { wire, lines, pass, lose, isConnected, probe, heard } = await connected({
    at: () => ({ versions: [5, 4] }),
  });
  expect(lines.some((line) => line.includes('"mqtt":"3.1.1"'))).toBe(true);
  expect(wire.attempts).toBe(2);
  await lose();
  await pass(3_000);
  await isConnected();
  expect(wire.attempts).toBe(3);
  await probe.publish('x/request/refresh', 'now');
  await waitFor('the request', () => heard.length === 1);
});

const silentAt = (isSilent: boolean) => (isSilent ? null : ACCEPTED);

// Ports that Docker publishes accept connections, and close them while the container behind them restarts.
test.each<[string, '5' | '3.1.1', readonly string[], (attempt: number, level: number) => number | null]>([
  ['closes ten', '5', ['broker_unreachable'], (attempt) => silentAt(attempt <= 10)],
  // As where one of two stands still behind a balancer.
  ['closes every second one', '5', ['broker_unreachable'], (attempt) => silentAt(attempt % 2 === 1)],
  ['closes all of MQTT 5', '3.1.1', ['broker_unreachable'], (_, level) => silentAt(level === 5)],
  ['refuses all of MQTT 5', '3.1.1', [], (_, level) => (level === 5 ? UNSUPPORTED_VERSION : ACCEPTED)],
])(
  'when a broker of MQTT 5 takes new connections and %s, the next one is of MQTT %s',
  async (_, version, codes, verdict) => {
    const broker: StrictBroker = await startStrictBroker({
      connect: ({ level }) => (broker.connections === 1 ? ACCEPTED : verdict(broker.connections - 1, level)),
    });
    const { link, lines, pass, isConnected } = openLink(openStack(), broker.url, {
      at: () => ({ versions: [5, 4] }),
    });
    const said = (words: string) =>
      lines.filter((line) => line.includes(words)).map((line) => JSON.parse(line));
    await isConnected();
    broker.cut();
    await waitFor('the loss', () => !link.status().connected);
    await waitFor('the connection', async () => {
      await pass(3_000);
      return link.status().connected;
    });
    expect(said('connected to the broker').map(({ mqtt }) => mqtt)).toEqual(['5', version]);
    expect(said('no connection to the broker').map(({ code }) => code)).toEqual(codes);
  },
);

test('keeps events and drops states when there was no connection yet: the announcement has those', async () => {
  const { stack, wire, probe } = await wired();
  const { link, isConnected } = openLink(stack, wire.url);
  link.publish([state('too early'), event('of the start')]);
  await isConnected();
  await waitFor('the event', () => probe.last('x/event'));
  expect([probe.on('x/value'), probe.on('x/event').length]).toEqual([[], 1]);
});

test('gives a connection up when it swallows messages, and delivers them over the next', async () => {
  const { wire, link, probe, pass, clock, delivered, isLost, lines } = await connected();
  wire.turn('muted');
  link.publish([state('1'), event('1')]);
  await waitFor('their arrival', () => probe.last('x/event'));
  clock.advance(19_000);
  await settled();
  expect(link.status().connected).toBe(true);
  clock.advance(2_000);
  await isLost();
  expect(link.status().waiting).toBe(2);
  wire.turn('whole');
  await pass(3_000);
  await waitFor('acknowledgements', () => link.status().waiting === 0);
  expect(lines.filter((line) => line.includes('"unanswered":"PUBLISH x/value"'))).toHaveLength(1);
  expect(delivered.map(({ payload }) => payload)).toEqual(['online', 'online', '1', '1']);
  expect(probe.on('x/value')).toHaveLength(2);
  // More than may be under way at once.
  link.publish(Array.from({ length: 40 }, (_, at) => state('1', `x/${at}`)));
  await waitFor('all of them', () => probe.last('x/39') && link.status().waiting === 0);
  expect(link.status()).toMatchObject({ drained: true, published: 44 });
});

test.each([
  ['at once', undefined],
  ['after the CONNACK', (socket: import('node:net').Socket) => void socket.end(Buffer.from([0x20, 2, 0, 0]))],
])('a broker that cuts %s is asked with growing pauses', async (_, onData) => {
  const stack = openStack();
  const wire = stack.use(await openWire(undefined, onData));
  const { pass } = openLink(stack, wire.url);
  await pass(10_000, 250);
  // After 1, 2, 4 and 8 seconds.
  expect(wire.attempts).toBeGreaterThanOrEqual(3);
  expect(wire.attempts).toBeLessThanOrEqual(5);
  const before = wire.attempts;
  // Then every half minute.
  await pass(120_000, 3_000);
  expect(wire.attempts - before).toBeGreaterThanOrEqual(3);
  expect(wire.attempts - before).toBeLessThanOrEqual(6);
});

test('waits longer and longer when a rival has the client id, and outlives it', async () => {
  const { stack, broker, wire, link, probe, clock, lines } = await connected();
  const times = (words: string) => lines.filter((line) => line.includes(words)).length;
  const rival = mqtt(broker.url, { clientId: 'test', reconnectPeriod: 5, protocolVersion: 4 });
  stack.defer(() => rival.endAsync(true));
  for (const [n, seconds] of [1, 2, 4, 8, 16].entries()) {
    await waitFor('the loss', () => times('connection to the broker lost') === n + 1);
    if (seconds === 16) await rival.endAsync(true);
    clock.advance(seconds * 1_000 - 1);
    await settled();
    expect([seconds, wire.attempts]).toEqual([seconds, n + 1]);
    probe.forget();
    clock.advance(1);
    await waitFor('the next connection', () => times('connected to the broker') === n + 2);
  }
  expect(times('another client may use the same client id')).toBe(5);
  await waitFor('the announcement', () => probe.last('x/state')?.payload === 'online');
  await settled();
  expect(link.status().connected).toBe(true);
});

test('tells that another may have the client id when the third connection in a row ends early without a word', async () => {
  const { link, pass, lose, isConnected } = await connected();
  const loseAgain = async () => {
    await pass(20_000);
    await isConnected();
    await waitFor('an empty outbox', () => link.status().waiting === 0);
    await lose();
    await settled();
  };
  await lose();
  await loseAgain();
  expect(link.refusals()).toEqual([]);
  await loseAgain();
  const hint = expect.stringContaining('same client id');
  expect(link.refusals()).toMatchObject([{ code: 'broker_cut', hint }]);
  await pass(20_000);
  await isConnected();
  expect(link.refusals()).toHaveLength(1);
  await pass(31_000);
  expect(link.refusals()).toEqual([]);
  // It has lasted: the next one that ends early is the first again.
  await lose();
  expect(link.refusals()).toEqual([]);
});

test('publishes only the last words when stop has begun', async () => {
  const { stack, broker, wire, link, stop } = await connected();
  wire.turn('muted');
  link.publish(Array.from({ length: 40 }, (_, at) => state('before', `x/${at}`)));
  const stopped = stop();
  // As after Home Assistant's start: everything once more, a moment too late.
  link.publish([ONLINE]);
  wire.turn('whole');
  link.publish([ONLINE]);
  await stopped;
  const later = stack.use(await startProbe(broker.url));
  await waitFor('what is retained', () => later.last('x/state'));
  await settled();
  expect(later.on('x/state').map(({ payload }) => payload)).toEqual(['offline']);
});

test('announces nothing when a connection is made while it stops, and closes that', async () => {
  const { stack, wire, probe } = await wired();
  const { link, stop } = openLink(stack, wire.url, {
    address: () => settled().then(() => address(wire.url)),
  });
  await stop();
  await waitFor('the goodbye', () => wire.attempts === 1 && wire.open === 0);
  expect(link.status().connected).toBe(false);
  expect(probe.heard.filter(({ payload }) => payload !== 'offline')).toEqual([]);
});

test('does not take nothing for an answer when stop begins while it reads back', async () => {
  const { stack, broker } = await wired();
  const taken: (Incoming | null)[] = [];
  let isAsked = false;
  const { stop } = openLink(stack, broker.url, {
    async restore(read) {
      isAsked = true;
      taken.push(await read({ filter: 'x/old/1' }));
    },
  });
  await waitFor('the question', () => isAsked);
  await settled();
  await stop();
  expect(taken).toEqual([]);
});

test('hears a request once, and acknowledges it, when it comes in the segment of the CONNACK', async () => {
  const request = Buffer.from([0x32, 7, 0, 3, ...Buffer.from('x/r'), 0, 9]);
  const packets: Buffer[] = [];
  const wire = openStack().use(
    await openWire(undefined, (socket, bytes) => {
      packets.push(bytes);
      if (bytes[0] === 0x10) socket.write(Buffer.concat([Buffer.from([0x20, 2, 0, 0]), request]));
    }),
  );
  const { heard } = openLink(openStack(), wire.url);
  await waitFor('the acknowledgement', () =>
    packets.some((packet) => packet.includes(Buffer.of(0x40, 2, 0, 9))),
  );
  expect(heard.map(({ topic }) => topic)).toEqual(['x/r']);
});
