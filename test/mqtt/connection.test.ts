// One connection: what a refusal means, what an acknowledgement is worth, and the will when the socket dies.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { Failure } from '../../src/foundation/failure.ts';
import { startBroker } from '../../src/mqtt/broker.ts';
import type { ProtocolVersion } from '../../src/mqtt/connection.ts';
import { Culprit } from '../../src/mqtt/culprit.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { openConnection } from '../../src/mqtt/opening.ts';
import { LOCALHOST } from '../support/certificate.ts';
import { handClock } from '../support/clock.ts';
import { text, written } from '../support/packets.ts';
import { startProbe } from '../support/probe.ts';
import { settled } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { startStrictBroker } from '../support/strictBroker.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire, type Wire } from '../support/wire.ts';
import { address, connect, event, OFFLINE, wired } from './linked.ts';

/** A connection to a broker of which nothing is heard any more. */
async function muted() {
  const { wire } = await wired();
  const clock = handClock('2025-03-10T12:00:00Z');
  const connection = await connect(wire.url, { clock });
  wire.turn('muted');
  return { wire, clock, connection };
}

const refusal = (attempt: Promise<unknown>): Promise<Failure> =>
  attempt.then(
    () => expect.unreachable(),
    (err) => {
      expect(err).toBeInstanceOf(Failure);
      return err;
    },
  );

test('a broker of MQTT 3.1.1 is told apart from one that is not there, and from a taken port', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const older = await refusal(connect(broker.url, { versions: [5] }));
  expect(older).toMatchObject({ code: 'broker_speaks_no_mqtt5', hint: 'Set mqtt.protocol to auto.' });
  const connection = await connect(broker.url, { versions: [5, 4] });
  expect(connection.version).toBe(4);
  await connection.close(500);
  await expect(startBroker({ port: broker.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await broker.stop();
  const gone = await refusal(connect(broker.url, { versions: [5, 4] }));
  expect(gone).toMatchObject({ code: 'broker_unreachable', exitCode: 6, retry: 'soon' });
  expect(gone.message).toContain('ECONNREFUSED');
});

test.each<[string, readonly number[], ProtocolVersion, number]>([
  [
    'speaks MQTT 5 when the broker has closed the first connection without a word, and takes it later',
    [1],
    5,
    3,
  ],
  ['speaks MQTT 3.1.1 when the broker closes connections of MQTT 5 without a word', [1, 3], 4, 4],
])('%s', async (_, closed, version, attempts) => {
  const stack = openStack();
  const wire: Wire = stack.use(
    await openWire(undefined, (socket, bytes) => {
      if (closed.includes(wire.attempts)) socket.destroy();
      else if (bytes[0] === 0x10)
        socket.write(bytes[8] === 5 ? Buffer.of(0x20, 3, 0, 0, 0) : Buffer.of(0x20, 2, 0, 0));
    }),
  );
  const connection = await connect(wire.url, { versions: [5, 4] });
  expect([connection.version, wire.attempts]).toEqual([version, attempts]);
});

test.each([
  ['takes connections of MQTT 3.1.1', (level: number) => (level === 4 ? 0 : null), 'broker_speaks_no_mqtt5'],
  ['takes none of them', () => null, 'broker_unreachable'],
])(
  'with MQTT 5 only, a broker that closes connections without a word and %s is told as such',
  async (_, verdict, code) => {
    const broker = await startStrictBroker({ connect: ({ level }) => verdict(level) });
    expect((await refusal(connect(broker.url, { versions: [5] }))).code).toBe(code);
  },
);

test('leaves no will, and suspects nothing, when it looks whether a silent broker takes MQTT 3.1.1', async () => {
  const broker = await startStrictBroker({ connect: ({ level }) => (level === 5 ? null : 0) });
  const culprit = new Culprit();
  culprit.judge('PUBLISH x', { what: 'closed by the broker' });
  const options = { will: OFFLINE, culprit };
  await openConnection(address(broker.url, { versions: [5, 4] }), systemClock, options);
  const wills = broker.connects.map(({ level, will }) => [level, will !== null]);
  expect(wills).toEqual([
    [5, true],
    [4, false],
    [5, true],
    [4, true],
  ]);
  expect(culprit.isSought).toBe(true);
});

/** A broker of which only the first bytes are told; it answers each packet of a client as it is told. */
async function answering(answer: (packet: Buffer) => readonly number[] | null) {
  const packets: Buffer[] = [];
  const wire = openStack().use(
    await openWire(undefined, (socket: Socket, bytes) => {
      packets.push(bytes);
      const said = answer(bytes);
      if (said === null) socket.destroy();
      else if (said.length > 0) socket.write(Buffer.from(said));
    }),
  );
  return { url: wire.url, packets };
}

test.each<[ProtocolVersion, number]>([
  [4, 4],
  [4, 5],
  [5, 134],
  [5, 135],
])('a login that a broker of MQTT level %i refuses with code %i is told as such', async (level, code) => {
  const { url } = await answering(() => (level === 4 ? [0x20, 2, 0, code] : [0x20, 3, 0, code, 0]));
  expect((await refusal(connect(url, { versions: [level] }))).code).toBe('broker_refused');
});

const CLEAN = 0x02;
/** A will, with quality of service 1, to be retained. */
const WILL = 0x04 | 0x08 | 0x20;
/** A property of MQTT 5 with a number of four bytes. */
const property = (id: number, value: number) =>
  Buffer.of(id, 0, value >> 16, (value >> 8) & 0xff, value & 0xff);
const [SESSION_EXPIRES, LARGEST_PACKET, WILL_DELAY] = [0x11, 0x27, 0x18];

test.each<[ProtocolVersion, number, number, Buffer[]]>([
  [4, 60, WILL | CLEAN, []],
  [5, 0, WILL | CLEAN, [property(LARGEST_PACKET, 1 << 20)]],
  [
    5,
    60,
    WILL,
    [property(SESSION_EXPIRES, 120), property(LARGEST_PACKET, 1 << 20), property(WILL_DELAY, 60)],
  ],
])(
  'MQTT level %i with a will after %i s asks the broker for just that',
  async (level, seconds, flags, all) => {
    const { url, packets } = await answering(() => null);
    const options = { will: OFFLINE, willAfterSeconds: seconds };
    await refusal(openConnection(address(url, { versions: [level] }), systemClock, options));
    const [asked = Buffer.alloc(0)] = packets;
    // Behind the length and the six bytes of the name.
    expect([asked[8], asked[9], asked.readUInt16BE(10)]).toEqual([level, flags, 30]);
    const ids = [SESSION_EXPIRES, LARGEST_PACKET, WILL_DELAY];
    expect(ids.filter((id) => asked.includes(Buffer.of(id, 0)))).toEqual(all.map(([id]) => id));
    for (const one of all) expect(asked.includes(one)).toBe(true);
  },
);

test('hints at an odd password when the login is refused, and not otherwise', async () => {
  const broker = openStack().use(await startBroker({ username: 'me', password: 'right' }));
  const caution = 'The file has a blank at its end.';
  const odd = { username: 'me', password: 'right ', caution };
  const { code, hint } = await refusal(connect(broker.url, { ...odd, versions: [5, 4] }));
  expect([code, hint]).toEqual(['broker_refused', `Check mqtt.username and mqtt.password. ${caution}`]);
  expect((await refusal(connect('mqtt://127.0.0.1:9', odd))).hint).not.toContain(caution);
});

test('subscriptions are acknowledged, and with MQTT 5 a request keeps the retain flag it was published with', async () => {
  const { url, packets } = await answering((packet) => (packet[0] === 0x10 ? [0x20, 3, 0, 0, 0] : []));
  const connection = await connect(url, { versions: [5] });
  void connection
    .subscribe([{ filter: 'a', retainAsPublished: true }, { filter: 'b' }])
    .catch(() => undefined);
  const asked = await waitFor('the subscription', () => packets.find((packet) => packet[0] === 0x82));
  expect(asked.includes(Buffer.of(0, 1, 0x61, 0x09))).toBe(true);
  expect(asked.includes(Buffer.of(0, 1, 0x62, 0x01))).toBe(true);
  await connection.close(0);
});

test('speaks TLS with the name of the broker, also when only a certificate of our own asks for TLS', async () => {
  const stack = openStack();
  const asked: (string | false | null)[] = [];
  const server = createServer(LOCALHOST, (socket: TLSSocket) => {
    asked.push(socket.servername);
    socket.on('error', () => undefined).destroy();
  });
  await once(server.listen(0, 'localhost'), 'listening');
  stack.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const trusted = { ca: Buffer.from(LOCALHOST.cert), rejectUnauthorized: true };
  const own = { cert: Buffer.from(LOCALHOST.cert), key: Buffer.from(LOCALHOST.key) };
  await refusal(connect(`mqtts://localhost:${port}`, { tls: trusted }));
  await refusal(connect(`mqtt://localhost:${port}`, { tls: { ...trusted, ...own } }));
  expect(asked).toEqual(['localhost', 'localhost']);
  const untrusted = await refusal(connect(`mqtts://localhost:${port}`));
  expect(untrusted.code).toBe('broker_not_trusted');
});

test('leaves its will when the socket dies, and none after a polite close', async () => {
  const { stack, broker, wire, probe } = await wired();
  const polite = await connect(wire.url);
  await polite.close(1_000);
  const killed = await connect(wire.url, { will: { ...OFFLINE, topic: 'x/killed' } });
  wire.cut();
  await waitFor('the will', () => probe.last('x/killed')?.payload === 'offline');
  expect(await killed.ended).toBeTruthy();
  expect(probe.on('x/state')).toEqual([]);
  const late = stack.use(await startProbe(broker.url));
  expect((await waitFor('the will', () => late.last('x/killed'))).retained).toBe(true);
});

test('closes within its time when the broker says nothing any more', async () => {
  const { clock, connection } = await muted();
  void connection.publish(event('1')).catch(() => undefined);
  await settled();
  const closed = connection.close(200);
  clock.advance(200);
  await settled();
  expect(connection.isOpen).toBe(false);
  await closed;
  await connection.ended;
});

test('rejects what is not acknowledged when the connection ends, also where the session stays on the broker', async () => {
  const { url } = await answering((packet) => (packet[0] === 0x10 ? [0x20, 3, 0, 0, 0] : null));
  const clock = handClock('2025-03-10T12:00:00Z');
  const options = { will: OFFLINE, willAfterSeconds: 60 };
  const connection = await openConnection(address(url, { versions: [5] }), clock, options);
  const told = connection.publish(event('1')).catch(({ message }) => message);
  const { what } = await connection.ended;
  clock.advance(20_000);
  expect(await told).toContain(what);
});

test('names the other client when the broker gives it the connection, however the socket breaks', async () => {
  const stack = openStack();
  const connack = Buffer.from([0x20, 3, 0, 0, 0]);
  const takenOver = Buffer.from([0xe0, 2, 142, 0]);
  const wire = stack.use(
    await openWire(undefined, (socket) => {
      socket.write(Buffer.concat([connack, takenOver]));
      setImmediate(() => socket.resetAndDestroy());
    }),
  );
  const connection = await connect(wire.url, { versions: [5] });
  expect((await connection.ended).what).toContain('another client has taken over the client id');
});

test('closes the connection when the broker has said goodbye and keeps it open', async () => {
  const { url } = await answering((packet) =>
    packet[0] === 0x10 ? [0x20, 3, 0, 0, 0, 0xe0, 2, 139, 0] : [],
  );
  const connection = await connect(url, { versions: [5] });
  await waitFor('the end', () => !connection.isOpen);
  expect((await connection.ended).what).toContain('the server shuts down');
});

test('gives a slow link a second more for each kilobyte that is under way', async () => {
  const { clock, connection } = await muted();
  const answers = [event('x'.repeat(30_000)), event('1')].map((message) =>
    connection.publish(message).catch(({ message: words }: Failure) => words),
  );
  await settled();
  clock.advance(49_900);
  expect(connection.isOpen).toBe(true);
  clock.advance(1_000);
  for (const answer of answers) expect(await answer).toContain('no answer in time');
});

test('gives a slow link no more time for what has been answered', async () => {
  const { wire, stack } = await wired();
  const clock = handClock('2025-03-10T12:00:00Z');
  const connection = await connect(wire.url, { clock });
  stack.defer(() => connection.close(0));
  await connection.publish(event('x'.repeat(30_000)));
  wire.turn('muted');
  const answer = connection.publish(event('1')).catch(({ message }: Failure) => message);
  await settled();
  clock.advance(21_000);
  expect(await answer).toContain('no answer in time');
});

test('keeps the connection when the broker never answers that a subscription has ended', async () => {
  const { clock, connection } = await muted();
  connection.unsubscribe('x/+');
  clock.advance(21_000);
  await settled();
  expect(connection.isOpen).toBe(true);
});

test('ends the connection when the broker answers one of two filters', async () => {
  const { url } = await answering((packet) => {
    if (packet[0] === 0x10) return [0x20, 2, 0, 0];
    return packet[0] === 0x82 ? [0x90, 3, packet[2] ?? 0, packet[3] ?? 0, 1] : [];
  });
  const connection = await connect(url);
  const asked = connection.subscribe([{ filter: 'a' }, { filter: 'b' }]);
  await expect(asked).rejects.toMatchObject({ code: 'not_acknowledged' });
  expect(await connection.ended).toBeTruthy();
});

test('takes the first response topic when a message names two', async () => {
  const place = (name: string) => Buffer.concat([Buffer.of(8), text(name), Buffer.of(9), text(name)]);
  const properties = Buffer.concat([place('a/reply'), place('b/reply')]);
  const body = Buffer.concat([text('x/request/a'), Buffer.of(properties.length), properties]);
  const { url } = await answering((packet) =>
    packet[0] === 0x10 ? [0x20, 3, 0, 0, 0, ...written({ type: 0x30, body })] : [],
  );
  const heard: Incoming[] = [];
  await connect(url, { versions: [5], onMessage: (incoming) => void heard.push(incoming) });
  await waitFor('the message', () => heard.length === 1);
  expect(heard).toMatchObject([{ responseTopic: 'a/reply', correlationData: Buffer.from('a/reply') }]);
});

test('connects when the broker announces something twice', async () => {
  const keepAlive = [0x13, 0, 5, 0x13, 0, 6];
  const maximum = [0x21, 0, 3, 0x21, 0, 4];
  const { url } = await answering((packet) =>
    packet[0] === 0x10 ? [0x20, 15, 0, 0, 12, ...keepAlive, ...maximum] : [],
  );
  const connection = await connect(url, { versions: [5] });
  expect(connection.limits.receiveMaximum).toBe(3);
  await settled();
  expect(connection.isOpen).toBe(true);
});

/** Three messages to a broker that answers the first of them so, and no other. */
async function underWay(answer: readonly number[]) {
  let publishes = 0;
  const { url } = await answering((packet) => {
    if (packet[0] === 0x10) return [0x20, 3, 0, 0, 0];
    publishes += 1;
    return publishes === 1 ? answer : [];
  });
  const connection = await connect(url, { versions: [5] });
  const sent = [1, 2, 3].map(() => connection.publish(event('1')));
  const areRejected = async () => {
    for (const message of sent) await expect(message).rejects.toMatchObject({ code: 'not_acknowledged' });
    await connection.ended;
  };
  return { areRejected };
}

test.each([
  ['a second CONNACK', [0x20, 3, 0, 0, 0]],
  ['a packet that is none', [0xff, 0xff, 0xff, 0xff, 0xff]],
])('rejects everything that is under way when the broker answers with %s', async (_, answer) => {
  const { areRejected } = await underWay(answer);
  await areRejected();
});

test('rejects everything that is under way when the broker answers no ping', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { areRejected } = await underWay([]);
  await settled();
  vi.advanceTimersByTime(60_000);
  await areRejected();
});
