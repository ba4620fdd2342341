// A broker that ends connections: what it ended them over is left out, by whichever way it was sent, and nothing else is.
import { expect, test } from 'vitest';
import { Culprit, subscriptionTo } from '../../src/mqtt/culprit.ts';
import { openStack } from '../support/stack.ts';
import { startStrictBroker, type Verdicts } from '../support/strictBroker.ts';
import { waitFor } from '../support/waitFor.ts';
import { ONLINE, openLink, state } from './linked.ts';

const CULPRIT = 'x/culprit';
const states = (...names: string[]) => names.map((name) => state('1', `x/${name}`));

async function judged(verdicts: Verdicts, more: Parameters<typeof openLink>[2] = {}) {
  const broker = await startStrictBroker(verdicts);
  const opened = openLink(openStack(), broker.url, { at: () => ({ versions: [4] }), ...more });
  const { link } = opened;
  return {
    ...opened,
    broker,
    refused: () => link.refusals().map(({ message }) => message),
    /** Resolves when that is so, while time goes on: there may be connections that end before. */
    inTheEnd: (what: string, isSo: () => boolean) =>
      waitFor(what, async () => {
        await opened.pass(500);
        return isSo();
      }),
  };
}

test('tries a subscription once more when a connection has lasted, and leaves it out for good when that ends, too', () => {
  const culprit = new Culprit();
  const end = { what: 'closed by the broker' };
  const name = subscriptionTo([{ filter: 'x/status' }]);
  expect([culprit.judge(name, end), culprit.judge(name, end), culprit.endOver(name)]).toEqual([
    false,
    true,
    end,
  ]);
  expect([culprit.retry(), culprit.endOver(name)]).toEqual([true, undefined]);
  expect([culprit.judge(name, end), culprit.endOver(name)]).toEqual([true, end]);
  expect([culprit.retry(), culprit.endOver(name)]).toEqual([false, end]);
  // A connection that ends at rest clears it.
  culprit.judge(undefined, end);
  expect(culprit.endOver(name)).toBeUndefined();
});

test('leaves nothing out when the broker goes away in the middle of the first publication, twice', async () => {
  const { broker, link, inTheEnd, refused } = await judged(
    { publish: (_, connections) => (connections <= 2 ? null : 0) },
    { announcement: () => [ONLINE, ...states('a', 'b')] },
  );
  await inTheEnd('an empty outbox', () => link.status().connected && link.status().waiting === 0);
  expect([broker.connections, broker.topics(), refused()]).toEqual([3, ['x/state', 'x/a', 'x/b'], []]);
});

test('publishes in the end what was left out when it was not what ended the connections', async () => {
  const { broker, link, inTheEnd, refused } = await judged(
    // As a rival for the client id does that comes back at once.
    { publish: (topic, connections) => (topic === CULPRIT && connections <= 2 ? null : 0) },
    { announcement: () => [ONLINE, ...states('culprit', 'a')] },
  );
  await inTheEnd('the accusation', () => refused().length === 1 && link.status().connected);
  await inTheEnd('the acquittal', () => refused().length === 0);
  expect([broker.connections, broker.topics().includes(CULPRIT)]).toEqual([3, true]);
});

test('sends one at a time until the connection has lasted when something has ended the one before, and then all at once', async () => {
  const { broker, link, pass, inTheEnd } = await judged({
    publish: (topic, connections) => (topic === CULPRIT && connections === 1 ? null : 0),
  });
  await inTheEnd('a connection', () => link.status().connected);
  link.publish([state('1', CULPRIT)]);
  await inTheEnd('the message', () => broker.topics().includes(CULPRIT));
  broker.hold();
  link.publish(states('a', 'b', 'c'));
  await waitFor('the first', () => broker.unanswered === 1);
  await pass(10_000);
  expect(broker.unanswered).toBe(1);
  broker.answer(1);
  await waitFor('the second', () => broker.topics().includes('x/b'));
  await pass(15_000);
  broker.answer(1);
  await pass(10_000);
  broker.answer(1);
  link.publish(states('d', 'e', 'f'));
  await waitFor('the others', () => broker.unanswered === 3);
});

test('tries once more what it has left out when a connection has lasted, and then no more', async () => {
  let sent = 0;
  const { broker, link, inTheEnd, pass } = await judged(
    {
      publish(topic) {
        if (topic !== CULPRIT) return 0;
        sent += 1;
        return null;
      },
    },
    { announcement: () => [ONLINE, ...states('culprit', 'a')] },
  );
  await inTheEnd('the third end', () => sent === 3);
  await inTheEnd('a connection', () => link.status().connected && link.status().waiting === 0);
  await pass(3_600_000, 60_000);
  expect([sent, broker.connections, link.status().connected]).toEqual([3, 4, true]);
});

test('leaves out what the broker ends the connection over when it answers the newest first', async () => {
  const { broker, link, inTheEnd, refused } = await judged(
    {
      publish(topic) {
        // What was sent before is answered by the broker in another order, and in part.
        if (topic === CULPRIT) broker.answer(-2);
        return topic === CULPRIT ? null : 0;
      },
    },
    { announcement: () => [ONLINE, ...states('a', 'b', 'c', 'culprit', 'd')] },
  );
  broker.hold();
  await inTheEnd('an empty outbox', () => {
    broker.answer(-1);
    return link.status().connected && link.status().waiting === 0;
  });
  expect(refused()).toEqual([
    expect.stringContaining(`${CULPRIT}: it ends the connection when that is sent`),
  ]);
  expect(new Set(broker.topics())).toEqual(new Set(['x/state', 'x/a', 'x/b', 'x/c', 'x/d']));
});

test('leaves out what the broker ends the connection over when it is sent past the outbox', async () => {
  let isStrict = true;
  const { broker, link, pass, inTheEnd, isConnected } = await judged({
    publish: (topic) => (isStrict && topic === CULPRIT ? null : 0),
  });
  const turnOf = async () => {
    await inTheEnd('a connection', () => link.status().connected);
    return link.send(states('a', 'culprit', 'b')).catch(() => null);
  };
  await isConnected();
  expect([await turnOf(), await turnOf(), await turnOf()]).toEqual([null, null, new Set([CULPRIT])]);
  await pass(31_000);
  expect([await turnOf(), await turnOf()]).toEqual([null, new Set([CULPRIT])]);
  const before = broker.connections;
  await pass(31_000);
  expect([await turnOf(), broker.connections]).toEqual([new Set([CULPRIT]), before]);
  isStrict = false;
  broker.cut();
  await waitFor('the loss', () => !link.status().connected);
  expect(await turnOf()).toEqual(new Set());
});

test('asks for all filters in one packet when a message is the suspect', async () => {
  const { broker, inTheEnd } = await judged(
    { publish: (topic, connections) => (topic === CULPRIT && connections === 1 ? null : 0) },
    {
      announcement: () => [ONLINE, ...states('culprit')],
      subscriptions: [{ filter: 'x/request/+' }, { filter: 'x/status' }],
    },
  );
  await inTheEnd('the message', () => broker.topics().includes(CULPRIT));
  expect([broker.connections, broker.questions]).toEqual([2, 2]);
});

test('suspects no subscription any more when each was answered by itself', async () => {
  let isHeld = false;
  const { broker, link, inTheEnd } = await judged(
    {
      subscribe: (_, connections) => (connections === 1 ? null : 1),
      // Another client takes over while a message is under way, so that nothing is forgiven.
      publish: () => (isHeld ? { dismiss: 0x8e } : 0),
    },
    {
      at: () => ({ versions: [5] }),
      subscriptions: [{ filter: 'x/request/+' }, { filter: 'x/status' }],
    },
  );
  await inTheEnd('a connection', () => link.status().connected && link.status().waiting === 0);
  expect([broker.connections, broker.questions]).toEqual([2, 3]);
  isHeld = true;
  link.publish([state('1')]);
  await waitFor('the loss', () => !link.status().connected);
  isHeld = false;
  await inTheEnd('a connection', () => link.status().connected);
  expect(broker.questions).toBe(4);
});
