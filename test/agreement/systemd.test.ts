// docs/systemd.md, typed with another folder in place of the root: no secret of the configuration that setup has written is lost.
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { load } from '../config/loading.ts';
import { openStack } from '../support/stack.ts';

const SECRETS = {
  'heat-password': 'heat',
  'mqtt-password': 'broker',
  'ha-token': 'assistant',
  'page-password': 'words of the page',
};

/** What the page says to type after setup, with the secrets of `mqtt`. */
async function follow(mqtt: string) {
  const root = await openStack().folder();
  const page = await readFile(new URL('../../docs/systemd.md', import.meta.url), 'utf8');
  const [, block = ''] = /## A user of its own[\s\S]*?```sh\n([\s\S]*?)```/.exec(page) ?? [];
  await mkdir(join(root, 'etc'));
  for (const [name, text] of Object.entries(SECRETS)) await writeFile(join(root, name), `${text}\n`);
  await writeFile(join(root, 'config.yaml'), configuration(mqtt));
  const script = block.replaceAll('sudo ', '').replaceAll('/etc/', `${root}/etc/`);
  execFileSync('sh', ['-euc', script], { cwd: root });
  const etc = join(root, 'etc');
  const dropIn = await readFile(join(etc, 'systemd/system/heat2mqtt.service.d/secrets.conf'), 'utf8');
  // The unit itself has the password of the account.
  const handedOver = [
    'password',
    ...[...dropIn.matchAll(/^LoadCredential=(\w+):/gm)].map(([, name]) => name),
  ];
  const text = await readFile(join(etc, 'heat2mqtt/config.yaml'), 'utf8');
  const { config } = await load(text, { CREDENTIALS_DIRECTORY: join(etc, 'heat2mqtt') }, { readFile });
  return { config, handedOver };
}

const configuration = (mqtt: string) => `
provider: { issuer: "https://id.example.org/realms/x", api_url: "https://api.example.org", client_id: x }
accounts:
  - username: me@example.org
    password_file: ./heat-password
mqtt:
${mqtt}
home_assistant:
  url: ws://homeassistant.local:8123/api/websocket
  token_file: ./ha-token
web:
  password_file: ./page-password
state_dir: ./state
`;

test('hands the passwords of a broker and of the page and the token of Home Assistant over, too', async () => {
  const { config, handedOver } = await follow(
    '  url: mqtt://broker.example.org\n  username: heat\n  password_file: ./mqtt-password',
  );
  expect(handedOver).toEqual(['password', 'mqtt_password', 'home_assistant_token', 'web_password']);
  expect(await config.accounts[0]?.password?.read()).toBe('heat');
  expect(await config.mqtt.password?.read()).toBe('broker');
  expect(await config.home_assistant?.token.read()).toBe('assistant');
  expect(config.web && (await config.web.password?.read())).toBe('words of the page');
});

test('so is the password of the own broker', async () => {
  const { config, handedOver } = await follow(
    '  embedded:\n    port: 1883\n    host: 0.0.0.0\n    username: home\n    password_file: ./mqtt-password',
  );
  expect(handedOver).toEqual(['password', 'mqtt_embedded_password', 'home_assistant_token', 'web_password']);
  expect(config.mqtt.embedded && (await config.mqtt.embedded.password?.read())).toBe('broker');
});
