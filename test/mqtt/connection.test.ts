// One connection: what a refusal means, what an acknowledgement is worth, and the will when the socket dies.
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { type BrokerAddress, Connection } from '../../src/mqtt/connection.ts';
import { startBroker } from '../../src/mqtt/embedded.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { BrokerUnreachable } from '../../src/mqtt/refusal.ts';
import { handClock } from '../support/clock.ts';
import { startProbe } from '../support/probe.ts';
import { openStack } from '../support/stack.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';

const WILL = { topic: 'x/state', payload: 'offline', retain: true };
const address = (url: string, more: Partial<BrokerAddress> = {}): BrokerAddress => ({
  url,
  clientId: 'test',
  tls: { rejectUnauthorized: true },
  ...more,
});
const nobody = () => undefined;

async function refusal(attempt: Promise<unknown>): Promise<BrokerUnreachable> {
  const err = await attempt.then(
    () => new Error('the connection was made'),
    (thrown: unknown) => thrown,
  );
  if (err instanceof BrokerUnreachable) return err;
  throw err;
}

test('a broker of MQTT 3.1.1 is told apart from one that is not there', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const older = await refusal(Connection.open(address(broker.url), 5, WILL, nobody, systemClock));
  expect(older.code).toBe('broker_speaks_no_mqtt5');
  const connection = await Connection.open(address(broker.url), 4, WILL, nobody, systemClock);
  expect(connection.version).toBe(4);
  await connection.close(500);
  await broker.stop();
  const gone = await refusal(Connection.open(address(broker.url), 5, WILL, nobody, systemClock));
  expect(gone).toMatchObject({ code: 'broker_unreachable', exitCode: 6, retry: 'soon' });
  expect(gone.message).toContain('ECONNREFUSED');
});

test('a refused password is called that, and is not in the words', async () => {
  const broker = openStack().use(await startBroker({ username: 'bridge', password: 'right' }));
  const attempt = Connection.open(
    address(broker.url, { username: 'bridge', password: 'wr0ng' }),
    4,
    WILL,
    nobody,
    systemClock,
  );
  const { code, message, hint } = await refusal(attempt);
  expect(code).toBe('broker_refused');
  expect(`${message} ${hint}`).not.toContain('wr0ng');
});

test('a name that no address belongs to', async () => {
  const attempt = Connection.open(address('mqtt://broker.invalid:1883'), 4, WILL, nobody, systemClock);
  expect((await refusal(attempt)).code).toBe('broker_unreachable');
});

test('published and heard, retained flags told apart', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const probe = stack.use(await startProbe(broker.url));
  await probe.publish('in/old', 'before', { retain: true });
  const heard: Incoming[] = [];
  const connection = await Connection.open(
    address(broker.url),
    4,
    WILL,
    (one) => void heard.push(one),
    systemClock,
  );
  stack.defer(() => connection.close(500));
  await connection.subscribe(['in/+']);
  await probe.publish('in/new', 'now');
  await waitFor('both messages', () => heard.length === 2);
  expect(heard.map(({ topic, retained }) => [topic, retained])).toEqual([
    ['in/old', true],
    ['in/new', false],
  ]);
  await connection.publish({ topic: 'out', payload: 'ü', retain: true });
  expect(await waitFor('the message', () => probe.last('out'))).toMatchObject({ payload: 'ü', qos: 1 });
});

test('the will is spoken when the socket dies, and not after a polite goodbye', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const wire = stack.use(await openWire(broker.port));
  const probe = stack.use(await startProbe(broker.url));
  const polite = await Connection.open(address(wire.url), 4, WILL, nobody, systemClock);
  await polite.close(1_000);
  const killed = await Connection.open(
    address(wire.url),
    4,
    { ...WILL, topic: 'x/killed' },
    nobody,
    systemClock,
  );
  wire.cut();
  await waitFor('the will', () => probe.last('x/killed')?.payload === 'offline');
  expect(await killed.ended).toBeTruthy();
  expect(probe.on('x/state')).toEqual([]);
  const late = stack.use(await startProbe(broker.url));
  expect((await waitFor('the will', () => late.last('x/killed'))).retained).toBe(true);
});

test('a publish that nobody acknowledges fails after its time, or with the connection', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const wire = stack.use(await openWire(broker.port));
  const clock = handClock('2025-03-10T12:00:00Z');
  const connection = await Connection.open(address(wire.url), 4, WILL, nobody, clock);
  wire.mute(true);
  const first = connection.publish({ topic: 'a', payload: '1', retain: false });
  const settled: string[] = [];
  void first.catch((err: Error) => settled.push(err.message));
  clock.advance(19_000);
  await turn(20);
  expect(settled).toEqual([]);
  clock.advance(2_000);
  await waitFor('the end of patience', () => settled.length === 1);
  const second = connection.publish({ topic: 'a', payload: '2', retain: false });
  wire.cut();
  await expect(second).rejects.toThrow();
});

test('close ends within its time although the broker says nothing any more', async () => {
  const stack = openStack();
  const broker = stack.use(await startBroker());
  const wire = stack.use(await openWire(broker.port));
  const connection = await Connection.open(address(wire.url), 4, WILL, nobody, systemClock);
  wire.mute(true);
  void connection.publish({ topic: 'a', payload: '1', retain: false }).catch(nobody);
  const began = performance.now();
  await connection.close(200);
  expect(performance.now() - began).toBeLessThan(1_000);
  await connection.ended;
});

test('a connection that the broker gives to another client says so, however its socket breaks', async () => {
  const stack = openStack();
  const connack = Buffer.from([0x20, 3, 0, 0, 0]);
  const takenOver = Buffer.from([0xe0, 2, 142, 0]);
  const wire = stack.use(
    await openWire(undefined, (socket) => {
      socket.write(Buffer.concat([connack, takenOver]));
      setImmediate(() => socket.resetAndDestroy());
    }),
  );
  const connection = await Connection.open(address(wire.url), 5, WILL, nobody, systemClock);
  expect(await connection.ended).toBe('another client has taken over the client id');
});
