// Limits that a broker announces: they are kept, and told where something is lost by them.
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { openConnection } from '../../src/mqtt/opening.ts';
import { settled } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { type Announced, startStrictBroker, type Verdicts } from '../support/strictBroker.ts';
import { waitFor } from '../support/waitFor.ts';
import { address, event, OFFLINE, ONLINE, openLink, state } from './linked.ts';

const RETAIN_NOT_SUPPORTED = 0x9a;
const QOS_NOT_SUPPORTED = 0x9b;
const many = (count: number) => Array.from({ length: count }, (_, at) => state('1', `x/${at}`));

async function limited(announced: Announced, more: Parameters<typeof openLink>[2] = {}) {
  const broker = await startStrictBroker({ announced });
  const opened = openLink(openStack(), broker.url, { at: () => ({ versions: [5] }), ...more });
  const { link } = opened;
  await waitFor('an empty outbox', () => link.status().connected && link.status().waiting === 0);
  return { ...opened, broker, codes: () => link.refusals().map(({ code }) => code) };
}

test.each([
  [1, 1],
  [3, 3],
  [10, 10],
  [100, 32],
  [undefined, 32],
])(
  'with a Receive Maximum of %o, %i messages wait for an answer, whoever sends them',
  async (receiveMaximum, most) => {
    const { broker, link, codes } = await limited(receiveMaximum === undefined ? {} : { receiveMaximum });
    broker.hold();
    link.publish(many(60));
    await waitFor('the first', () => broker.unanswered === most);
    const sent = receiveMaximum === most ? link.send([event('1'), event('2'), event('3')]) : null;
    await settled();
    expect(broker.mostUnanswered).toBe(most);
    const messages = 1 + 60 + (sent ? 3 : 0);
    while (broker.topics().length < messages || broker.unanswered > 0) {
      broker.answer(1);
      await settled();
    }
    await sent;
    await waitFor('all answers', () => link.status().waiting === 0);
    expect(broker.mostUnanswered).toBe(most);
    expect([broker.topics().length, broker.connections, codes()]).toEqual([messages, 1, []]);
  },
);

test.each([{ receiveMaximum: 0 }, { maximumPacketSize: 0 }])(
  'publishes everything when the broker announces what MQTT 5 forbids: %o',
  async (announced) => {
    const { broker, link, codes } = await limited(announced);
    link.publish(many(3));
    await waitFor('all', () => broker.topics().length === 4);
    expect([broker.connections, codes()]).toEqual([1, []]);
  },
);

test('rejects what waits for its turn when the connection ends, and does not send it', async () => {
  const broker = await startStrictBroker({ announced: { receiveMaximum: 2 } });
  const connection = await openConnection(address(broker.url, { versions: [5] }), systemClock, {});
  broker.hold();
  const fates = many(5).map((message) => connection.publish(message).then(String, ({ code }) => code));
  await waitFor('the first', () => broker.unanswered === 2);
  broker.dismiss(0x93);
  expect(await Promise.all(fates)).toEqual(Array(5).fill('not_acknowledged'));
  expect([broker.topics().length, (await connection.ended).code]).toEqual([2, 0x93]);
});

test('publishes everything without acknowledgement, and tells that, when the Maximum QoS is 0', async () => {
  const { broker, link, delivered, codes } = await limited({ maximumQos: 0 });
  link.publish([state('1'), event('1')]);
  await waitFor('both', () => broker.taken.length === 3);
  expect(broker.taken.map(({ qos }) => qos)).toEqual([0, 0, 0]);
  expect([delivered.length, codes(), broker.connections]).toEqual([3, ['qos_unavailable'], 1]);
});

test('publishes everything again with each connection, and tells that, when the broker retains nothing', async () => {
  const { broker, link, pass, codes } = await limited(
    { retainAvailable: 0 },
    { restore: async (read) => expect(await read({ filter: 'x/old/1' })).toBeNull() },
  );
  link.publish([state('1')]);
  await waitFor('the state', () => broker.topics().includes('x/value'));
  expect(broker.taken.map(({ retain }) => retain)).toEqual([false, false]);
  // There is nothing to be read back, so that nobody waits for it.
  expect(broker.subscribed).toEqual(['x/request/+']);
  expect(codes()).toEqual(['retain_unavailable']);
  broker.cut();
  await waitFor('the loss', () => !link.status().connected);
  await pass(3_000);
  await waitFor(
    'the announcement',
    () => broker.topics().filter((topic) => topic === 'x/state').length === 2,
  );
});

test.each<[string, number[], string[], { qos: number; retain: boolean }]>([
  ['is retained', [RETAIN_NOT_SUPPORTED], ['retain_unavailable'], { qos: 1, retain: false }],
  ['is acknowledged', [QOS_NOT_SUPPORTED], ['qos_unavailable'], { qos: 0, retain: true }],
  [
    'is either',
    [QOS_NOT_SUPPORTED, RETAIN_NOT_SUPPORTED],
    ['retain_unavailable', 'qos_unavailable'],
    { qos: 0, retain: false },
  ],
])('a broker that refuses a will that %s gets one that is not', async (_, codes, told, will) => {
  const left = [...codes];
  const connect: Verdicts['connect'] = (asked) =>
    left.length > 0 && asked.will !== null ? (left.shift() ?? 0) : 0;
  const broker = await startStrictBroker({ connect });
  const { link, isConnected, lines } = openLink(openStack(), broker.url, {
    at: () => ({ versions: [5, 4] }),
  });
  await isConnected();
  expect(broker.connects.at(-1)).toEqual({ level: 5, will });
  expect(broker.connects).toHaveLength(1 + codes.length);
  await waitFor('the announcement', () => broker.taken.length === 1);
  expect(broker.taken).toMatchObject([{ topic: ONLINE.topic, retain: will.retain, qos: will.qos }]);
  expect(link.refusals().map(({ code }) => code)).toEqual(told);
  expect(lines.filter((line) => line.includes('no connection'))).toEqual([]);
});

test('tells the reason when the broker refuses the will whatever it asks for', async () => {
  const broker = await startStrictBroker({ connect: () => RETAIN_NOT_SUPPORTED });
  const connecting = openConnection(address(broker.url, { versions: [5] }), systemClock, { will: OFFLINE });
  await expect(connecting).rejects.toMatchObject({ code: 'broker_refused' });
  expect(broker.connections).toBe(2);
});

test('does not send a message, and tells the limit, when it is larger than the broker has announced to take', async () => {
  const { broker, link, lines } = await limited({ maximumPacketSize: 300 });
  link.publish([state('x'.repeat(300), 'x/long'), state('x'.repeat(250), 'x/short')]);
  await waitFor('the last', () => broker.topics().includes('x/short'));
  await waitFor('the refusal', () => link.refusals().length === 1);
  expect([broker.topics().includes('x/long'), broker.connections]).toEqual([false, 1]);
  const told = 'The broker refuses x/long: larger than the 300 bytes that it takes.';
  expect(lines.filter((line) => line.includes(told))).toHaveLength(1);
});

test('sends no topic alias when the broker takes some', async () => {
  const { broker, link } = await limited({ topicAliasMaximum: 10 });
  link.publish([state('1'), state('2')]);
  link.publish([state('3')]);
  await waitFor('the state', () => broker.taken.at(-1)?.payload === '3');
  // An alias would stand in place of the topic.
  expect(broker.topics()).toEqual(['x/state', 'x/value', 'x/value']);
});

test('pings as often as the broker asks when its keep alive is shorter than ours', async () => {
  const { broker, link } = await limited({ serverKeepAlive: 1 });
  await waitFor('a ping', () => broker.pings > 0);
  expect([broker.connections, link.status().connected]).toEqual([1, true]);
});

test.each([5, 65_535])(
  'pings after half a minute at the latest when the broker asks for %i seconds',
  async (seconds) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { broker } = await limited({ serverKeepAlive: seconds });
    vi.advanceTimersByTime(Math.min(seconds, 30) * 1_000);
    await waitFor('a ping', () => broker.pings > 0);
  },
);
