// Secrets from systemd's credentials directory, and those in the address of the broker.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { faultPaths, load, PROVIDER, refusal } from './loading.ts';
import { ACCOUNT_ONLY, secretFiles } from './secretFiles.ts';

const { path: directory, file } = secretFiles();

describe('credentials directory', () => {
  const TWO = `${PROVIDER}accounts: [{ id: my-flat, username: a }, { id: house, username: b }]\n`;
  const passwords = ({ accounts }: Config) => Promise.all(accounts.map(({ password }) => password?.read()));

  it('names are read generously', async () => {
    await file('heat2mqtt.MY-FLAT.password', 'one');
    await file('accounts_1_password', 'two');
    const { config, origins } = await load(TWO, { CREDENTIALS_DIRECTORY: directory() });
    expect(await passwords(config)).toEqual(['one', 'two']);
    expect(origins.get('accounts.0.password')).toBe('credentials directory');
  });

  it('with several accounts, "password" belongs to none', async () => {
    await file('password', 'x');
    expect(await faultPaths(TWO, { CREDENTIALS_DIRECTORY: directory() })).toEqual([
      'accounts.0.password',
      'accounts.1.password',
    ]);
  });

  it('two files for one secret are a fault', async () => {
    await file('house_password', 'x');
    await file('house.password', 'y');
    await file('my_flat_password', 'z');
    const { faults } = await refusal(TWO, { CREDENTIALS_DIRECTORY: directory() });
    expect(faults).toMatchObject([
      { path: 'accounts.1.password', found: expect.stringMatching(/two files/) },
    ]);
  });

  it("an account called mqtt does not take the broker's password", async () => {
    await file('mqtt_password', 'x');
    const yaml = `${PROVIDER}accounts: [{ id: mqtt, username: a }]\n`;
    expect((await refusal(yaml, { CREDENTIALS_DIRECTORY: directory() })).message).toContain(
      'accounts.0.password: found nothing',
    );
  });

  it("the broker's password needs no section, but a name", async () => {
    await file('mqtt_password', 'x');
    const { faults } = await refusal(ACCOUNT_ONLY, { CREDENTIALS_DIRECTORY: directory() });
    expect(faults.map(({ path, found }) => [path, found])).toEqual([
      ['mqtt.username', 'nothing, but a password'],
    ]);
  });

  it('a directory that is not there, or empty, only matters when something is missing', async () => {
    await mkdir(join(directory(), 'empty'));
    await load(ACCOUNT_ONLY, { CREDENTIALS_DIRECTORY: join(directory(), 'nowhere') });
    await load(ACCOUNT_ONLY, { CREDENTIALS_DIRECTORY: join(directory(), 'empty') });
  });
});

describe('credentials in mqtt.url', () => {
  const URL_WITH = 'mqtt://br%40ker:p%25%2F%3A@[::1]:1883/x';

  it('move into name and password, from the file and from the environment', async () => {
    for (const [yaml, env] of [
      [`${ACCOUNT_ONLY}mqtt: { url: '${URL_WITH}' }\n`, {}],
      [ACCOUNT_ONLY, { HEAT2MQTT_MQTT_URL: URL_WITH }],
      [`${ACCOUNT_ONLY}mqtt: { password_file: /nowhere, username: x }\n`, { HEAT2MQTT_MQTT_URL: URL_WITH }],
    ] as const) {
      const scrubber = createScrubber();
      const { config } = await load(yaml, env, { scrubber });
      expect(config.mqtt).toMatchObject({ url: 'mqtt://[::1]:1883/x', username: 'br@ker' });
      expect(await config.mqtt.password?.read()).toBe('p%/:');
      expect(scrubber.scrub('p%/: p%25%2F%3A')).toBe('[secret] [secret]');
    }
  });

  it('an address of the environment takes those in the address of the file away', async () => {
    const { config } = await load(`${ACCOUNT_ONLY}mqtt: { url: '${URL_WITH}' }\n`, {
      HEAT2MQTT_MQTT_URL: 'mqtt://other',
    });
    expect(config.mqtt.username).toBeUndefined();
    expect(config.mqtt.password).toBeUndefined();
  });

  it('and a second password in the environment are a fault', async () => {
    const env = { HEAT2MQTT_MQTT_URL: URL_WITH, HEAT2MQTT_MQTT_PASSWORD_FILE: '/nowhere' };
    expect(await faultPaths(ACCOUNT_ONLY, env)).toEqual(['mqtt.password']);
  });
});
