// The broker that the daemon brings along: who may reach it, and with which user.
import { expect, test } from 'vitest';
import { brokerAddress, startEmbedded } from '../../src/mqtt/broker.ts';
import { BASE, faultPaths, load } from './loading.ts';
import { secretFiles } from './secretFiles.ts';

const { path: directory, file } = secretFiles();
const embedded = (text: string, more = '') => `${BASE}mqtt: { embedded: { ${text} }${more} }\n`;

test.each(['0.0.0.0', '192.0.2.7', '"::"'])(
  'without a user, %s is reached from this machine only',
  async (host) => {
    const { config, notices } = await load(embedded(`host: ${host}`));
    expect(config.mqtt).toMatchObject({ embedded: { host: '127.0.0.1' }, url: 'mqtt://127.0.0.1:1883' });
    expect(notices).toMatchObject([
      { code: 'broker_on_loopback', hint: expect.stringContaining('mqtt.embedded.password_file') },
    ]);
  },
);

test.each([
  ['a user of its own', 'host: 0.0.0.0, username: home, password: broker word', ''],
  ['that of mqtt', 'host: 0.0.0.0', ', username: home, password: broker word'],
  ['no user, on loopback', 'host: 127.0.0.1', ''],
])('with %s it is as it was asked for', async (_, text, more) => {
  const { config, notices } = await load(embedded(text, more));
  expect(notices).toEqual([]);
  expect(config.mqtt.embedded).toMatchObject({ host: /host: ([\d.]+)/.exec(text)?.[1] });
});

test('a name without a password, and a password without a name, are faults', async () => {
  expect(await faultPaths(embedded('username: home'))).toEqual(['mqtt.embedded.password']);
  expect(await faultPaths(embedded('password: broker word'))).toEqual(['mqtt.embedded.username']);
});

test('the password may be in a file, in the environment, or in $CREDENTIALS_DIRECTORY', async () => {
  const named = embedded('username: home');
  const password = await file('broker', 'from a file\n');
  await file('mqtt_embedded_password', 'from systemd');
  for (const [env, found] of [
    [{ HEAT2MQTT_MQTT_EMBEDDED_PASSWORD: 'from a variable' }, 'from a variable'],
    [{ HEAT2MQTT_MQTT_EMBEDDED_PASSWORD_FILE: password }, 'from a file'],
    [{ CREDENTIALS_DIRECTORY: directory() }, 'from systemd'],
  ] as const) {
    const { config } = await load(named, env);
    expect(await (config.mqtt.embedded || undefined)?.password?.read()).toBe(found);
  }
});

test("its user is also the daemon's own, before that of mqtt", async () => {
  const text = 'port: 0, username: home, password: broker word';
  const { config } = await load(embedded(text, ', username: other, password: other word'));
  const broker = await startEmbedded(config.mqtt);
  const address = await brokerAddress(config.mqtt, broker?.url ?? '', 'me');
  await broker?.stop();
  expect(address).toMatchObject({ username: 'home', password: 'broker word' });
});
