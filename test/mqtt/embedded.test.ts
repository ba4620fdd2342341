// The broker in this process: retained messages, wills, passwords, a taken port, and a quick end.
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { type BrokerOptions, type EmbeddedBroker, startBroker } from '../../src/mqtt/embedded.ts';
import { openStack } from '../support/stack.ts';

async function broker(options?: BrokerOptions): Promise<EmbeddedBroker> {
  return openStack().use(await startBroker(options));
}

async function connect({ url }: EmbeddedBroker, options: IClientOptions = {}): Promise<MqttClient> {
  const client = await connectAsync(url, { reconnectPeriod: 0, protocolVersion: 4, ...options });
  client.on('error', () => undefined);
  openStack().defer(() => client.endAsync(true));
  return client;
}

function nextMessage(client: MqttClient): Promise<[string, string, boolean]> {
  return new Promise((resolve) => {
    client.once('message', (topic, payload, { retain }) => resolve([topic, payload.toString(), retain]));
  });
}

test('keeps retained messages for those who come later', async () => {
  const one = await broker();
  await (await connect(one)).publishAsync('a/state', '7', { qos: 1, retain: true });
  const later = await connect(one);
  const message = nextMessage(later);
  await later.subscribeAsync('a/#', { qos: 1 });
  expect(await message).toEqual(['a/state', '7', true]);
});

test('publishes the will of a client that dies', async () => {
  const one = await broker();
  const watcher = await connect(one);
  await watcher.subscribeAsync('a/state');
  const message = nextMessage(watcher);
  const will = { topic: 'a/state', payload: Buffer.from('offline'), qos: 1 as const, retain: true };
  (await connect(one, { will })).stream.destroy();
  expect((await message).slice(0, 2)).toEqual(['a/state', 'offline']);
});

test('asks for user name and password when told to', async () => {
  const one = await broker({ username: 'bridge', password: 'pä:ss' });
  await expect(connect(one)).rejects.toThrow(/not authorized|bad user ?name/i);
  await expect(connect(one, { username: 'bridge', password: 'no' })).rejects.toThrow(
    /not authorized|bad user ?name/i,
  );
  expect((await connect(one, { username: 'bridge', password: 'pä:ss' })).connected).toBe(true);
});

test('a taken port is told with the original error', async () => {
  const { port } = await broker();
  await expect(startBroker({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('stops at once although clients are there, and can come back on its port', async () => {
  const one = await startBroker();
  const client = await connect(one);
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  const began = performance.now();
  await one.stop();
  expect(performance.now() - began).toBeLessThan(4_000);
  await closed;
  const again = await broker({ port: one.port });
  expect((await connect(again)).connected).toBe(true);
});
