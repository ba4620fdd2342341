// Why a broker refuses or ends a connection: in words with what to do, and never that it cannot be reached.
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { openConnection } from '../../src/mqtt/opening.ts';
import { openStack } from '../support/stack.ts';
import { startStrictBroker } from '../support/strictBroker.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { address, openLink } from './linked.ts';

/** MQTT 5, section 3.2.2.2. */
const OF_CONNACK = [
  0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99, 0x9a, 0x9b,
  0x9c, 0x9d, 0x9f,
];
/** MQTT 5, section 3.14.2.1, those that a server sends. */
const OF_DISCONNECT = [
  0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
  0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2,
];
const IN_WORDS = /^The broker (refused|has ended) [^\d]+( \(reason code \d+\))?\.$/;
const UNSUPPORTED_VERSION = 0x84;

async function refusedWith(code: number, level: 4 | 5) {
  const broker = await startStrictBroker({ connect: () => code });
  return openConnection(address(broker.url, { versions: [level] }), systemClock).then(
    () => expect.unreachable(),
    ({ code, message, hint, exitCode }) => ({ code, message, hint, exitCode }),
  );
}

test.each([
  ...OF_CONNACK.map((code) => [5, code] as const),
  ...[1, 2, 3, 4, 5].map((code) => [4, code] as const),
])(
  'a CONNECT of MQTT level %i that is refused with code %i is told in words with what to do',
  async (level, code) => {
    const { message, hint, exitCode } = await refusedWith(code, level);
    if (code === UNSUPPORTED_VERSION) expect(message).toBe('The broker does not take MQTT 5.');
    else expect(message).toMatch(IN_WORDS);
    expect(message).not.toContain('for a reason of its own');
    expect([exitCode, hint]).toEqual([6, expect.stringMatching(/^[A-Zh].{15,}\.$/)]);
  },
);

test.each([
  [5, 0x9a, 'it does not retain messages (reason code 154).', 'Switch retained messages on at the broker.'],
  [5, 0x8a, 'this client is banned (reason code 138).', 'Lift the ban'],
  [4, 2, 'it does not take the client id (reason code 2).', 'Let the broker take client ids'],
  [4, 3, 'the server is unavailable (reason code 3).', 'connects again by itself'],
  [5, 0xef, 'for a reason of its own (reason code 239).', "The broker's log"],
] as const)('MQTT level %i, code %i: %s', async (level, code, what, hint) => {
  expect(await refusedWith(code, level)).toMatchObject({
    code: 'broker_refused',
    message: `The broker refused the connection: ${what}`,
    hint: expect.stringContaining(hint),
  });
});

test.each(OF_DISCONNECT)(
  'a connection that the broker ends with reason code %i: why, and what to do, is in the log',
  async (code) => {
    const { broker, link, lost } = await linked();
    broker.dismiss(code);
    await waitFor('the loss', () => lost().length === 1);
    const [{ why, hint }] = lost();
    expect(`The broker has ended the connection: ${why}.`).toMatch(IN_WORDS);
    expect(why).not.toContain('for a reason of its own');
    expect(hint).toMatch(/^[A-Zh].{15,}\.$/);
    const passing = [0x8b, 0x98, 0xa0];
    expect(link.refusals().map(({ code: one }) => one)).toEqual(passing.includes(code) ? [] : ['broker_cut']);
  },
);

async function linked() {
  const broker = await startStrictBroker();
  const changes: number[] = [];
  const opened = openLink(openStack(), broker.url, {
    at: () => ({ versions: [5] }),
    onRefusals: () => void changes.push(opened.link.refusals().length),
  });
  await opened.isConnected();
  const lost = () =>
    opened.lines.filter((line) => line.includes('broker lost')).map((line) => JSON.parse(line));
  return { ...opened, broker, changes, lost };
}

test('tells that the broker has ended the connection until one lasts', async () => {
  const { broker, link, isConnected, pass, changes } = await linked();
  broker.dismiss(0x93);
  await waitFor('the loss', () => !link.status().connected);
  const [cut] = link.refusals();
  expect(cut).toMatchObject({
    code: 'broker_cut',
    message:
      'The broker has ended the connection: more messages at once than its Receive Maximum (reason code 147).',
  });
  await pass(2_000);
  await isConnected();
  expect(link.refusals()).toEqual([cut]);
  await pass(31_000);
  await waitFor('the news', () => changes.length === 2);
  expect([link.refusals(), changes]).toEqual([[], [1, 0]]);
});

test.each([
  ['says nothing', '', 'takes the connection and gives no answer.'],
  ['speaks no MQTT', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'does not answer as a broker does ('],
])('what takes the connection and %s was reached', async (_, answer, words) => {
  const wire = openStack().use(await openWire(undefined, (socket) => void socket.end(answer)));
  const connecting = openConnection(address(wire.url, { versions: [5, 4] }), systemClock);
  await expect(connecting).rejects.toMatchObject({
    code: 'broker_unreachable',
    message: expect.stringContaining(`What is at mqtt.url ${words}`),
    hint: expect.stringContaining('mqtts'),
  });
});
