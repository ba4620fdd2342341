// heat2mqtt check, offline: which secrets it names, and what it says of them.
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';

const SECRET = 'HEAT2MQTTEXAMPLE';

/** Every line of check with a single account. */
async function checked(env: Record<string, string>): Promise<string> {
  const { out } = await typed(['check'], {
    env: {
      HEAT2MQTT_PROVIDER_ISSUER: 'https://id.example.org/auth/realms/energy',
      HEAT2MQTT_PROVIDER_API_URL: 'https://api.example.org/api/v1',
      HEAT2MQTT_PROVIDER_CLIENT_ID: 'self-care',
      HEAT2MQTT_USERNAME: 'me@example.org',
      HEAT2MQTT_STATE_DIR: join(await openStack().folder(), 'state'),
      ...env,
    },
  });
  return out;
}

test('password and secret of one-time codes are counted, and not shown', async () => {
  const out = await checked({
    HEAT2MQTT_PASSWORD: 'demo-of-the-heat',
    HEAT2MQTT_TOTP_SECRET: `otpauth://totp/me?secret=${SECRET}`,
  });
  expect(out).toContain('ok     password of home: 16 characters, environment HEAT2MQTT_PASSWORD\n');
  expect(out).toContain(
    'ok     totp_secret of home: 16 characters of base32, environment HEAT2MQTT_TOTP_SECRET\n',
  );
  expect(out).not.toMatch(new RegExp(`${SECRET}|demo-of`));
});

test('an account without them has no line about them', async () => {
  const out = await checked({ HEAT2MQTT_PROVIDER_SIGN_IN: 'device' });
  expect(out).toContain('ok     state directory');
  expect(out).not.toMatch(/password|totp/);
});

test('a password file that every user of the machine can read is named, with what to do', async () => {
  const path = join(await openStack().folder(), 'heat_password');
  await writeFile(path, 'demo-of-the-heat', { mode: 0o644 });
  await chmod(path, 0o644);
  const line = `ok     password of home: 16 characters, file ${path}`;
  expect(await checked({ HEAT2MQTT_PASSWORD_FILE: path })).toContain(
    `${line}. Every user of this machine can read it: chmod 600 ${path}\n`,
  );
  await chmod(path, 0o640);
  expect(await checked({ HEAT2MQTT_PASSWORD_FILE: path })).toContain(`${line}\n`);
});

test('so is every other secret that every user of the machine can read, and a configuration with one in it', async () => {
  const folder = await openStack().folder();
  const path = join(folder, 'config.yaml');
  const file = join(folder, 'secret');
  await writeFile(file, 'demo-of-the-heat', { mode: 0o644 });
  const configuration = {
    mqtt: { username: 'me', password: 'demo-of-the-house' },
    web: { password_file: file },
    home_assistant: { url: 'http://homeassistant.local:8123', token_file: file },
  };
  await writeFile(path, JSON.stringify(configuration), { mode: 0o644 });
  const env = { HEAT2MQTT_CONFIG: path, HEAT2MQTT_PASSWORD_FILE: file, HEAT2MQTT_TOTP_SECRET: SECRET };
  const everyone = (which: string, what: string) =>
    `. Every user of this machine can read ${which}: chmod 600 ${what}\n`;
  const out = await checked(env);
  expect(out).toContain(`ok     password of the broker: 17 characters, inline${everyone(path, path)}`);
  for (const name of ['password of home', 'password of the page', 'token of Home Assistant'])
    expect(out).toContain(`ok     ${name}: 16 characters, file ${file}${everyone('it', file)}`);
  await chmod(path, 0o600);
  await chmod(file, 0o600);
  expect(await checked(env)).not.toContain('Every user');
});

test('a symbolic link in the state directory is told', async () => {
  const folder = await openStack().folder();
  const state = join(folder, 'state');
  await mkdir(join(state, 'accounts'), { recursive: true });
  await symlink(folder, join(state, 'accounts/home'));
  const out = await checked({ HEAT2MQTT_STATE_DIR: state, HEAT2MQTT_PROVIDER_SIGN_IN: 'device' });
  expect(out).toContain('accounts/home is a symbolic link, and is not followed).\n       Take the link away');
});
