// Relative paths: in a configuration file they count from its folder, in the environment from the working directory.
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { openStack } from '../support/stack.ts';
import { NOW, PROVIDER } from './loading.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await openStack().folder();
  path = join(folder, 'config.yaml');
});

async function load(yaml: string, env: Record<string, string> = {}) {
  await writeFile(path, `${PROVIDER}${yaml}`);
  return loadConfig({ path, env, now: () => NOW, scrubber: createScrubber() });
}
const ACCOUNT = 'accounts: [{ username: me, password_file: ./heat-password }]\n';

test('secrets, certificates and the state directory are beside the configuration', async () => {
  await writeFile(join(folder, 'heat-password'), 'word of the heat\n');
  await mkdir(join(folder, 'tls'));
  await writeFile(join(folder, 'tls/ca.pem'), 'x');
  const { config, warnings } = await load(`${ACCOUNT}mqtt: { ca_file: tls/ca.pem }\nstate_dir: ./state\n`);
  expect(await config.accounts[0]?.password?.read()).toBe('word of the heat');
  expect(config.mqtt.ca_file).toBe(join(folder, 'tls/ca.pem'));
  expect(config.state_dir).toBe(join(folder, 'state'));
  expect(warnings).toEqual([]);
});

test('in the environment they count from the working directory', async () => {
  await writeFile(join(folder, 'heat-password'), 'word of the heat');
  const from = relative('.', folder);
  const { config } = await load('accounts: [{ username: me }]\n', {
    HEAT2MQTT_PASSWORD_FILE: join(from, 'heat-password'),
    HEAT2MQTT_STATE_DIR: 'state-of-the-environment',
  });
  expect(await config.accounts[0]?.password?.read()).toBe('word of the heat');
  expect(config.state_dir).toBe('state-of-the-environment');
});

test('what is in the working directory only is taken from there, with a warning', async () => {
  const there = 'test/fixtures';
  const { config, warnings } = await load(
    `accounts: [{ username: me, password: x of y }]\nstate_dir: ${there}\n`,
  );
  expect(config.state_dir).toBe(resolve(there));
  expect(warnings).toEqual([expect.stringMatching(/^state_dir is taken from the working directory/)]);
});

test('a password in the place of its file is not told', async () => {
  const refused = load('accounts: [{ username: me, password_file: hunter2-of-the-heat }]\n');
  await expect(refused).rejects.toThrow('accounts.0.password_file: found no such file; allowed');
});
