// Commands at the broker: each goes by the client id of its installation, so that two installations do not meet.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installationCodec } from '../../src/store/documents.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';

test.each([
  ['check', ['check', '--live']],
  ['uninstall', ['uninstall', '--yes']],
])('%s connects as its installation', async (name, words) => {
  const stack = openStack();
  const stateDir = join(await stack.folder(), 'state');
  let heard = '';
  const broker = createServer((socket) => {
    socket.once('data', (packet) => {
      heard += packet.toString('latin1');
      socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(broker, 'listening');
  stack.defer(() => void broker.close());
  const env = {
    HEAT2MQTT_CONSTITUENCIES_BASE_URL: 'https://127.0.0.1:1',
    HEAT2MQTT_STATE_DIR: stateDir,
    HEAT2MQTT_MQTT_URL: `mqtt://127.0.0.1:${(broker.address() as AddressInfo).port}`,
  };
  const visit = () => typed(words, { env }).catch(() => undefined);
  await visit();
  expect(heard).toMatch(new RegExp(`heat2mqtt_[0-9a-f]{8}_${name}`));
  heard = '';
  const installation = new StateDirectory(stateDir, logLines().log).document(
    'installation',
    installationCodec,
  );
  await installation.write({ clientId: 'heat2mqtt_0badcafe', jitterFraction: 0.5 });
  await visit();
  expect(heard).toContain(`heat2mqtt_0badcafe_${name}`);
});
