// One connection: what a refusal means, what an acknowledgement is worth, and the will when the socket dies.
import { expect, test } from 'vitest';
import { Failure } from '../../src/foundation/failure.ts';
import { startBroker } from '../../src/mqtt/broker.ts';
import type { Incoming } from '../../src/mqtt/message.ts';
import { handClock } from '../support/clock.ts';
import { startProbe } from '../support/probe.ts';
import { openStack } from '../support/stack.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { connect, event, OFFLINE, wired } from './linked.ts';

/** A connection to a broker of which nothing is heard any more. */
async function muted() {
  const { wire } = await wired();
  const clock = handClock('2025-03-10T12:00:00Z');
  const connection = await connect(wire.url, { clock });
  wire.mute(true);
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

test('a refused password is told as such, and not quoted', async () => {
  const broker = openStack().use(await startBroker({ username: 'bridge', password: 'pä:ss' }));
  const { code, message, hint } = await refusal(
    connect(broker.url, { username: 'bridge', password: 'wr0ng' }),
  );
  expect(code).toBe('broker_refused');
  expect(`${message} ${hint}`).not.toContain('wr0ng');
  await (await connect(broker.url, { username: 'bridge', password: 'pä:ss' })).close(500);
});

test('published and heard, retained flags told apart', async () => {
  const { stack, broker, probe } = await wired();
  await probe.publish('in/old', 'before', { retain: true });
  const heard: Incoming[] = [];
  const connection = await connect(broker.url, { onMessage: (one) => void heard.push(one) });
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

test('the will is published when the socket dies, and not after a polite close', async () => {
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

test('a publish without an acknowledgement fails after its time, or with the connection', async () => {
  const { wire, clock, connection } = await muted();
  const first = connection.publish(event('1'));
  const settled: string[] = [];
  void first.catch((err: Error) => settled.push(err.message));
  clock.advance(19_000);
  await turn(20);
  expect(settled).toEqual([]);
  clock.advance(2_000);
  await waitFor('the end of patience', () => settled.length === 1);
  const second = connection.publish(event('2'));
  wire.cut();
  await expect(second).rejects.toThrow();
});

test('close ends within its time although the broker says nothing any more', async () => {
  const { clock, connection } = await muted();
  void connection.publish(event('1')).catch(() => undefined);
  const closed = connection.close(200);
  clock.advance(200);
  await closed;
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
  const connection = await connect(wire.url, { versions: [5] });
  expect(await connection.ended).toBe('another client has taken over the client id');
});
