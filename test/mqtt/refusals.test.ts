// A broker that does not allow everything: what it refuses is told and left out, and everything else goes on.
import { expect, test } from 'vitest';
import type { Incoming } from '../../src/mqtt/message.ts';
import { openStack } from '../support/stack.ts';
import { SILENCE, startStrictBroker, type Verdicts } from '../support/strictBroker.ts';
import { waitFor } from '../support/waitFor.ts';
import { event, ONLINE, openLink, state } from './linked.ts';

const NOT_AUTHORIZED = 0x87;
const QUOTA_EXCEEDED = 0x97;
const DOCUMENT = state('{}', 'homeassistant/device/x/config');
const REQUESTS = { filter: 'x/request/+', lost: 'requests' };
const BIRTH = { filter: 'homeassistant/status', lost: 'the birth message' };
const HISTORY = { filter: 'x/old/+', lost: 'old histories' };

type More = Parameters<typeof openLink>[2] & { readonly version?: 4 | 5 };

/** A link to a broker that gives its verdicts. */
async function judged(verdicts: Verdicts, { version = 5, ...more }: More = {}) {
  const broker = await startStrictBroker(verdicts);
  const opened = openLink(openStack(), broker.url, {
    at: () => ({ versions: [version] }),
    announcement: () => [ONLINE, DOCUMENT, state('1')],
    subscriptions: [REQUESTS, BIRTH],
    ...more,
  });
  const { link, lines } = opened;
  return {
    ...opened,
    broker,
    isQuiet: () => waitFor('an empty outbox', () => link.status().connected && link.status().waiting === 0),
    /** The same, while time goes on: there may be connections that end before. */
    isQuietInTheEnd: (stepMs = 500) =>
      waitFor('an empty outbox', async () => {
        await opened.pass(stepMs, stepMs);
        return link.status().connected && link.status().waiting === 0;
      }),
    told: (words: string) => lines.filter((line) => line.includes(words)),
    refused: () => link.refusals().map(({ code, message }) => `${code} ${message}`),
  };
}

test('publishes everything else, and tells it once, when the broker refuses a message', async () => {
  let isStrict = true;
  const { broker, link, isQuiet, told } = await judged({
    publish: (topic) => (isStrict && !topic.startsWith('x/') ? NOT_AUTHORIZED : 0),
  });
  await isQuiet();
  expect(broker.topics()).toEqual(['x/state', 'x/value']);
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
  expect([link.refusals(), broker.connections, told('connection to the broker lost')]).toEqual([[], 1, []]);
});

test('an event is no news any more when the broker takes it, or refuses it for good', async () => {
  const answered: string[] = [];
  const told = (name: string) => ({
    ...event(name),
    topic: name,
    onAnswered: () => void answered.push(name),
  });
  let isStrict = true;
  const codes: Readonly<Record<string, number>> = { 'not/allowed': NOT_AUTHORIZED, later: QUOTA_EXCEEDED };
  const { link, clock, isQuiet } = await judged({ publish: (topic) => (isStrict && codes[topic]) || 0 });
  await isQuiet();
  link.publish(['taken', 'not/allowed', 'later'].map(told));
  await waitFor('the answers', () => link.status().waiting === 1);
  expect(answered.sort()).toEqual(['not/allowed', 'taken']);
  isStrict = false;
  clock.advance(60_000);
  await isQuiet();
  expect(answered).toEqual(['not/allowed', 'taken', 'later']);
});

test('leaves a message out when the broker ends the connection over it twice', async () => {
  let isStrict = true;
  const publish = (topic: string) => (isStrict && topic === DOCUMENT.topic ? null : 0);
  const { broker, link, pass, isQuiet, told } = await judged({ publish }, { version: 4 });
  await pass(10_000);
  await isQuiet();
  expect([broker.connections, new Set(broker.topics())]).toEqual([3, new Set(['x/state', 'x/value'])]);
  expect(
    told(`The broker refuses ${DOCUMENT.topic}: it ends the connection when that is sent.`),
  ).toHaveLength(1);
  expect(link.refusals()).toHaveLength(1);
  // It may have been something else, so that the loss of a connection at rest gives it another chance.
  isStrict = false;
  broker.cut();
  await pass(5_000);
  await isQuiet();
  expect([link.refusals(), broker.topics().includes(DOCUMENT.topic)]).toEqual([[], true]);
});

test.each([
  ['a message of which the broker has too many', QUOTA_EXCEEDED, 'a quota is exceeded (reason code 151)'],
  ['one that a rule of its own does not allow now', 0x83, 'a rule of its own does not allow it'],
])('%s is offered again after a while on the same connection, and others go on', async (_, code, words) => {
  let isStrict = true;
  const { broker, link, clock, isQuiet, refused } = await judged({
    publish: (topic) => (isStrict && topic === DOCUMENT.topic ? code : 0),
  });
  await waitFor('the others', () => broker.topics().includes('x/value'));
  await waitFor('the answer', () => refused().length === 1);
  expect(refused()[0]).toContain(`publish_refused The broker refuses ${DOCUMENT.topic}: ${words}`);
  expect([link.status().waiting, link.status().drained]).toEqual([1, true]);
  await expect(link.send([DOCUMENT])).rejects.toMatchObject({ code: 'publish_refused', retry: 'later' });
  isStrict = false;
  clock.advance(60_000);
  await isQuiet();
  expect([broker.topics().at(-1), refused(), broker.connections]).toEqual([DOCUMENT.topic, [], 1]);
});

test.each<[string, 4 | 5, string, string[], string]>([
  ['one of them', 5, 'homeassistant/', [BIRTH.filter], 'not authorized'],
  ['one of them', 4, 'homeassistant/', [BIRTH.filter], 'it does not say why'],
  ['all', 5, '', [REQUESTS.filter, BIRTH.filter], 'not authorized'],
  ['all', 4, '', [REQUESTS.filter, BIRTH.filter], 'it does not say why'],
])(
  'subscriptions, %s of which a broker (MQTT level %i) refuses: everything is published, and each is told with what is lost',
  async (_, version, place, filters, why) => {
    const { broker, link, pass, isQuiet, told, refused } = await judged(
      { subscribe: (filter) => (filter.startsWith(place) ? NOT_AUTHORIZED : 1) },
      { version },
    );
    await isQuiet();
    await pass(120_000, 5_000);
    expect([broker.connections, broker.topics()]).toEqual([1, ['x/state', DOCUMENT.topic, 'x/value']]);
    const losses = new Map([REQUESTS, BIRTH].map(({ filter, lost }) => [filter, lost]));
    expect(refused()).toEqual(
      filters.map(
        (filter) =>
          `subscribe_refused The broker refuses the subscription to ${filter}: ${why}. Lost with it: ${losses.get(filter)}.`,
      ),
    );
    expect(link.refusals()[0]).toMatchObject({ exitCode: 6, hint: expect.stringContaining('right to read') });
    expect(told('refuses the subscription')).toHaveLength(filters.length);
    expect(told('stack')).toEqual([]);
  },
);

test('names the filter that is refused when another one is a number', async () => {
  const number = { filter: '58496405', lost: 'a register' };
  const { isQuiet, refused } = await judged(
    { subscribe: (filter) => (filter === REQUESTS.filter ? NOT_AUTHORIZED : 1) },
    { subscriptions: [REQUESTS, number] },
  );
  await isQuiet();
  expect(refused()).toEqual([expect.stringContaining(`subscription to ${REQUESTS.filter}: not authorized`)]);
});

test('asks for a refused subscription now and then, and tells nothing any more when it is granted', async () => {
  let isStrict = true;
  const changes: number[] = [];
  const { broker, link, pass, isQuiet, refused } = await judged(
    { subscribe: (filter) => (isStrict && filter === BIRTH.filter ? NOT_AUTHORIZED : 1) },
    { onRefusals: () => void changes.push(link.refusals().length) },
  );
  await isQuiet();
  const asks = () => broker.subscribed.filter((filter) => filter === BIRTH.filter).length;
  const inTheEnd = (what: string, is: () => boolean) =>
    waitFor(what, async () => {
      await pass(60_000, 30_000);
      return is();
    });
  await pass(14 * 60_000, 60_000);
  expect(asks()).toBe(1);
  await inTheEnd('the second question', () => asks() === 2);
  // A later answer has come, so the one to the question has, too: no time may pass between the two.
  link.publish([state('2')]);
  await isQuiet();
  expect(refused()).toHaveLength(1);
  isStrict = false;
  await inTheEnd('the news', () => changes.length > 1);
  expect([changes, refused(), broker.connections]).toEqual([[1, 0], [], 1]);
  const asked = broker.subscribed.length;
  await pass(60 * 60_000, 60_000);
  expect(broker.subscribed).toHaveLength(asked);
});

test.each([4, 5] as const)(
  'what a broker (MQTT level %i) does not let be read back is nothing, and everything is published',
  async (version) => {
    const read: (Incoming | null)[] = [];
    const { isQuiet, refused, broker } = await judged(
      { subscribe: (filter) => (filter === HISTORY.filter ? NOT_AUTHORIZED : 1) },
      { version, restore: async (readRetained) => void read.push(await readRetained(HISTORY)) },
    );
    await isQuiet();
    expect([read, broker.connections]).toEqual([[null], 1]);
    expect(refused()).toEqual([expect.stringContaining('Lost with it: old histories.')]);
  },
);

test('tells no more that a topic may not be read back when the next connection does not ask for it', async () => {
  let asks = 0;
  const { broker, link, pass, isQuiet, refused } = await judged(
    { subscribe: (filter) => (filter === HISTORY.filter ? NOT_AUTHORIZED : 1) },
    {
      async restore(read) {
        asks += 1;
        if (asks === 1) await read(HISTORY);
      },
    },
  );
  await isQuiet();
  expect(refused()).toHaveLength(1);
  broker.cut();
  await waitFor('the loss', () => !link.status().connected);
  await pass(5_000);
  await isQuiet();
  expect([asks, refused()]).toEqual([2, []]);
});

test.each([
  ['one subscription', [BIRTH.filter], 4],
  ['all of them', [HISTORY.filter, REQUESTS.filter, BIRTH.filter], 6],
])(
  'a broker that ends the connection over %s is not asked for it in the end, and everything is published',
  async (_, filters, connections) => {
    let isStrict = true;
    const { broker, link, clock, pass, isQuietInTheEnd, refused, told } = await judged(
      { subscribe: (filter) => (isStrict && filters.includes(filter) ? null : 1) },
      { version: 4, restore: async (read) => void (await read(HISTORY)) },
    );
    await isQuietInTheEnd();
    expect(broker.connections).toBeLessThanOrEqual(connections + 1);
    // Each that is left out lets the next connection get further, so that the pauses begin anew.
    expect(clock.monotonic()).toBeLessThan(45_000);
    expect(broker.topics()).toEqual(['x/state', DOCUMENT.topic, 'x/value']);
    expect(refused()).toEqual(
      filters.map((filter) =>
        expect.stringMatching(`subscription to ${filter.replace('+', '\\+')}: it ends`),
      ),
    );
    for (const filter of filters) expect(told(`the subscription to ${filter}: it ends`)).toHaveLength(1);
    expect(told('stack')).toEqual([]);
    // Such a question would end this connection, too.
    const asked = broker.subscribed.length;
    await pass(31_000);
    await isQuietInTheEnd();
    await pass(13 * 60_000, 60_000);
    expect([broker.subscribed.length, link.status().connected]).toEqual([asked, true]);
    isStrict = false;
    broker.cut();
    await waitFor('the loss', () => !link.status().connected);
    await isQuietInTheEnd();
    expect([refused(), broker.subscribed.slice(-1)]).toEqual([[], [BIRTH.filter]]);
  },
);

test('leaves a subscription out when the broker that ends the connection over it also closes each of MQTT 5 without a word', async () => {
  const { broker, isQuietInTheEnd, refused } = await judged(
    {
      connect: ({ level }) => (level === 5 ? null : 0),
      subscribe: (filter) => (filter === BIRTH.filter ? null : 1),
    },
    { at: () => ({ versions: [5, 4] }) },
  );
  await isQuietInTheEnd();
  expect(refused()).toEqual([expect.stringContaining(`${BIRTH.filter}: it ends the connection`)]);
  expect(broker.topics()).toContain(DOCUMENT.topic);
});

test('publishes all the rest when the broker ends the connection over a subscription and over a topic', async () => {
  const { broker, link, pass, isQuietInTheEnd, refused } = await judged(
    {
      subscribe: (filter) => (filter === BIRTH.filter ? null : 1),
      publish: (topic) => (topic === DOCUMENT.topic ? null : 0),
    },
    { version: 4 },
  );
  await isQuietInTheEnd();
  expect(refused().map((words) => words.split(' ')[0])).toEqual(['subscribe_refused', 'publish_refused']);
  const before = broker.connections;
  await pass(29_000);
  expect([broker.connections, link.status().connected]).toEqual([before, true]);
});

test('waits longer and longer when the broker is gone after it has ended connections over a subscription', async () => {
  let asks = 0;
  const { broker, pass } = await judged(
    {
      connect: () => (asks < 2 ? 0 : null),
      subscribe: (filter) => {
        if (filter !== BIRTH.filter) return 1;
        asks += 1;
        return null;
      },
    },
    { version: 4 },
  );
  await waitFor('the second end', async () => {
    await pass(500);
    return asks === 2;
  });
  const before = broker.connections;
  await pass(30_000);
  expect(broker.connections - before).toBeLessThanOrEqual(6);
});

test('quotes the broker when it says why it ends the connection over something', async () => {
  const { broker, link, isQuietInTheEnd, pass, refused } = await judged({
    subscribe: (filter) => (filter === BIRTH.filter ? { dismiss: NOT_AUTHORIZED } : 1),
    publish: (topic) => (topic === DOCUMENT.topic ? { dismiss: 0x95 } : 0),
  });
  await isQuietInTheEnd();
  await waitFor('a lasting connection', async () => {
    await pass(1_000);
    return refused().length === 2 && !refused()[0]?.startsWith('broker_cut');
  });
  const ends = 'it ends the connection when that is';
  expect(refused()).toEqual([
    `subscribe_refused The broker refuses the subscription to ${BIRTH.filter}: ${ends} asked for: not authorized (reason code 135). Lost with it: the birth message.`,
    `publish_refused The broker refuses ${DOCUMENT.topic}: ${ends} sent: the packet is too large (reason code 149).`,
  ]);
  expect([broker.topics().includes('x/value'), link.status().connected]).toEqual([true, true]);
});

test('suspects nothing when another client takes over', async () => {
  let isTakenOver = true;
  const { broker, pass, isQuietInTheEnd, refused } = await judged({
    publish: (topic) => (isTakenOver && topic === DOCUMENT.topic ? { dismiss: 0x8e } : 0),
  });
  await waitFor('some take-overs', async () => {
    await pass(1_000);
    return broker.connections > 4;
  });
  isTakenOver = false;
  await isQuietInTheEnd();
  expect(broker.topics()).toContain(DOCUMENT.topic);
  expect(refused().filter((words) => words.startsWith('publish'))).toEqual([]);
});

test('leaves a subscription out when the broker never answers it', async () => {
  const { broker, isQuietInTheEnd, refused } = await judged({
    subscribe: (filter) => (filter === BIRTH.filter ? SILENCE : 1),
  });
  await isQuietInTheEnd(5_000);
  expect(broker.topics()).toEqual(['x/state', DOCUMENT.topic, 'x/value']);
  expect(refused()).toEqual([
    expect.stringContaining(`${BIRTH.filter}: it gives no answer when that is asked for`),
  ]);
});

test('does not send a subscription when the broker has announced not to take it', async () => {
  const shared = { filter: '$share/x/x/request/y', lost: 'requests' };
  const { broker, isQuiet, refused } = await judged(
    { announced: { wildcards: 0, shared: 0 } },
    { subscriptions: [shared, REQUESTS, BIRTH] },
  );
  await isQuiet();
  expect([broker.subscribed, broker.connections]).toEqual([[BIRTH.filter], 1]);
  expect(refused()).toEqual([
    expect.stringContaining('it does not share subscriptions'),
    expect.stringContaining('it does not take wildcards'),
  ]);
});
