// The lasting link: falls back, comes back, announces the current state first, and never retries in a busy loop.
import { connect as mqtt } from 'mqtt';
import { expect, test } from 'vitest';
import type { LinkConsumers } from '../../src/mqtt/link.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { startProbe } from '../support/probe.ts';
import { openStack } from '../support/stack.ts';
import { startStrictBroker } from '../support/strictBroker.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { address, connected, event, ONLINE, openLink, state, wired } from './linked.ts';

test('falls back from MQTT 5 to 3.1.1, remembers, and hears requests again', async () => {
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

test('before the first connection states are dropped, as the announcement has them, and events wait', async () => {
  const { stack, wire, probe } = await wired();
  const { link, isConnected } = openLink(stack, wire.url);
  link.publish([state('too early'), event('of the start')]);
  await isConnected();
  await waitFor('the event', () => probe.last('x/event'));
  expect([probe.on('x/value'), probe.on('x/event').length]).toEqual([[], 1]);
});

test('a connection that swallows messages is given up, and they are delivered over the next', async () => {
  const { wire, link, probe, pass, clock, delivered, isLost } = await connected();
  wire.turn('muted');
  link.publish([state('1'), event('1')]);
  await waitFor('their arrival', () => probe.last('x/event'));
  clock.advance(19_000);
  await turn(20);
  expect(link.status().connected).toBe(true);
  clock.advance(2_000);
  await isLost();
  expect(link.status().waiting).toBe(2);
  wire.turn('whole');
  await pass(3_000);
  await waitFor('acknowledgements', () => link.status().waiting === 0);
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
  const { link, pass } = openLink(stack, wire.url);
  await pass(10_000, 250);
  // After 1, 2, 4 and 8 seconds.
  expect(wire.attempts).toBeGreaterThanOrEqual(3);
  expect(wire.attempts).toBeLessThanOrEqual(5);
  const before = wire.attempts;
  // Then every half minute.
  await pass(120_000, 3_000);
  expect(wire.attempts - before).toBeGreaterThanOrEqual(3);
  expect(wire.attempts - before).toBeLessThanOrEqual(6);
  expect(link.status().connected).toBe(false);
});

test('a rival for the client id is suspected, fought with growing pauses, and outlived', async () => {
  const { stack, broker, wire, link, probe, clock, lines } = await connected();
  const times = (words: string) => lines.filter((line) => line.includes(words)).length;
  const rival = mqtt(broker.url, { clientId: 'test', reconnectPeriod: 5, protocolVersion: 4 });
  stack.defer(() => rival.endAsync(true));
  for (const [n, seconds] of [1, 2, 4, 8, 16].entries()) {
    await waitFor('the loss', () => times('connection to the broker lost') === n + 1);
    if (seconds === 16) await rival.endAsync(true);
    clock.advance(seconds * 1_000 - 1);
    await turn(20);
    expect([seconds, wire.attempts]).toEqual([seconds, n + 1]);
    probe.forget();
    clock.advance(1);
    await waitFor('the next connection', () => times('connected to the broker') === n + 2);
  }
  expect(times('another client may use the same client id')).toBe(5);
  await waitFor('the announcement', () => probe.last('x/state')?.payload === 'online');
  await turn(20);
  expect(link.status().connected).toBe(true);
});

test('once stop has begun, only the last words go out: whatever comes later, or waits, stays unsaid', async () => {
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
  await turn(20);
  expect(later.on('x/state').map(({ payload }) => payload)).toEqual(['offline']);
});

test('a connection that is made while stopping announces nothing, and is closed', async () => {
  const { stack, wire, probe } = await wired();
  const { link, stop } = openLink(stack, wire.url, {
    address: () => turn(20).then(() => address(wire.url)),
  });
  await stop();
  await waitFor('the goodbye', () => wire.attempts === 1 && wire.open === 0);
  expect(link.status().connected).toBe(false);
  expect(probe.heard.filter(({ payload }) => payload !== 'offline')).toEqual([]);
});

test('what is read back from the broker when stop begins is not taken for the whole', async () => {
  const { stack, broker, probe } = await wired();
  await probe.publish('x/old/1', 'kept', { retain: true });
  const taken: (readonly Incoming[])[] = [];
  const restore: LinkConsumers['restore'] = async (read) => void taken.push(await read('x/old/+'));
  const stopped = openLink(stack, broker.url, { restore });
  await waitFor('the retained message', () => stopped.heard.length === 1);
  await turn(20);
  await stopped.stop();
  expect(taken).toEqual([]);
  const whole = openLink(stack, broker.url, { restore });
  await waitFor('the connection', async () => {
    await whole.pass(700, 350);
    return whole.link.status().connected;
  });
  expect(taken.map((all) => all.map(({ topic }) => topic))).toEqual([['x/old/1']]);
});

const NOT_AUTHORIZED = 0x87;
const DOCUMENT = state('{}', 'homeassistant/device/x/config');

/** A link to a broker that gives its verdict on each topic. */
async function judged(
  verdict: (topic: string) => number | null,
  { limit, version = 5 }: { limit?: number; version?: 4 | 5 } = {},
) {
  const broker = await startStrictBroker(verdict, limit);
  const opened = openLink(openStack(), broker.url, {
    at: () => ({ versions: [version] }),
    announcement: () => [ONLINE, DOCUMENT, state('1')],
  });
  const { link, lines } = opened;
  return {
    ...opened,
    broker,
    isQuiet: () => waitFor('an empty outbox', () => link.status().connected && link.status().waiting === 0),
    told: (words: string) => lines.filter((line) => line.includes(words)),
  };
}

test('a message that the broker refuses is done with: the connection stays, others go out, and it is told once', async () => {
  let isStrict = true;
  const { broker, link, isQuiet, told } = await judged((topic) =>
    isStrict && !topic.startsWith('x/') ? NOT_AUTHORIZED : 0,
  );
  await isQuiet();
  expect(broker.taken).toEqual(['x/state', 'x/value']);
  const words = {
    code: 'publish_refused',
    message: `The broker refuses ${DOCUMENT.topic}: not authorized.`,
    hint: 'Give its user the right to write there.',
  };
  expect(link.refusals()).toMatchObject([words]);
  // An answer to a topic that somebody else has chosen is dropped, and no business of the health.
  link.publish([{ ...DOCUMENT, payload: '{"a":1}' }, { ...event('1'), topic: 'other/x' }, state('2')]);
  await isQuiet();
  expect(await link.send([DOCUMENT, state('3')])).toEqual(new Set([DOCUMENT.topic]));
  expect([link.status().drained, link.status().published, link.refusals().length]).toEqual([true, 4, 1]);
  const lines = told('refuses').map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toEqual([words.message, 'The broker refuses other/x: not authorized.']);
  expect(lines[0]).toMatchObject({ level: 'warn', hint: words.hint });
  expect(JSON.stringify(lines)).not.toContain('stack');
  isStrict = false;
  link.publish([DOCUMENT]);
  await isQuiet();
  expect([link.refusals(), broker.connections, told('not acknowledged')]).toEqual([[], 1, []]);
});

test('a message that is larger than the broker has announced to take is not sent, and told with the limit', async () => {
  const { broker, link, isQuiet, told } = await judged(() => 0, { limit: 300 });
  await isQuiet();
  link.publish([state('x'.repeat(300), 'x/long'), state('x'.repeat(250), 'x/short')]);
  await isQuiet();
  await waitFor('the last', () => broker.taken.includes('x/short'));
  expect([broker.taken.includes('x/long'), broker.connections]).toEqual([false, 1]);
  expect(told('The broker refuses x/long: larger than the 300 bytes that it takes.')).toHaveLength(1);
});

test('a message with which the broker ends the connection twice is left out, so that others go out', async () => {
  let isStrict = true;
  const verdict = (topic: string) => (isStrict && topic === DOCUMENT.topic ? null : 0);
  const { broker, link, pass, isQuiet, told } = await judged(verdict, { version: 4 });
  await pass(10_000);
  await isQuiet();
  expect([broker.connections, new Set(broker.taken)]).toEqual([3, new Set(['x/state', 'x/value'])]);
  expect(
    told(`The broker refuses ${DOCUMENT.topic}: it ends the connection when that is sent.`),
  ).toHaveLength(1);
  expect(link.refusals()).toHaveLength(1);
  // It may have been something else, so that the loss of a connection at rest gives it another chance.
  isStrict = false;
  broker.cut();
  await pass(5_000);
  await isQuiet();
  expect([link.refusals(), broker.taken.includes(DOCUMENT.topic)]).toEqual([[], true]);
});

test('a quota that is used up is no final answer: the message is sent again over the next connection', async () => {
  let isUsedUp = true;
  const verdict = (topic: string) => (isUsedUp && topic === DOCUMENT.topic ? 0x97 : 0);
  const { broker, link, pass, isQuiet, told } = await judged(verdict);
  await waitFor('its answer', () => told('(reason code 151)').length === 1);
  isUsedUp = false;
  await waitFor('the end of the connection', () => !link.status().connected);
  await pass(5_000);
  await isQuiet();
  expect([broker.taken.includes(DOCUMENT.topic), link.refusals(), broker.connections]).toEqual([true, [], 2]);
});
