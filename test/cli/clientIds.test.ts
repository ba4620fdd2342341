// Commands at the broker: each connection has a client id of its own, so that two at once do not throw each other out.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { openStack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';

test.each([
  ['check', ['check', '--live']],
  ['uninstall', ['uninstall', '--yes']],
])('two of %s at once', async (name, words) => {
  const stack = openStack();
  const heard = new Set<string>();
  const broker = createServer((socket) => {
    socket.once('data', (packet) => {
      heard.add(/heat2mqtt_\w+/.exec(packet.toString('latin1'))?.[0] ?? 'none');
      socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(broker, 'listening');
  stack.defer(() => void broker.close());
  const env = {
    HEAT2MQTT_CONSTITUENCIES_BASE_URL: 'https://127.0.0.1:1',
    HEAT2MQTT_STATE_DIR: await stack.folder(),
    HEAT2MQTT_MQTT_URL: `mqtt://127.0.0.1:${(broker.address() as AddressInfo).port}`,
    HEAT2MQTT_MQTT_PROTOCOL: '3.1.1',
  };
  const visit = () => typed(words, { env }).catch(() => undefined);
  await Promise.all([visit(), visit()]);
  expect([...heard].map((id) => id.replace(/[0-9a-f]{8}$/, ''))).toEqual(Array(2).fill(`heat2mqtt_${name}_`));
});
