// In a Home Assistant app: its options, the broker that a stub of the Supervisor names, and the way to Home Assistant.
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { KNOWN_PROVIDERS } from '../../src/config/providers.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { BASE, faultPaths, folderOfFiles, load, refusal } from './loading.ts';

const { path: directory, file } = folderOfFiles();

const TOKEN = 'supervisor-token-of-the-test';
const ENV = { SUPERVISOR_TOKEN: TOKEN };
const SERVICE = { addon: 'core_mosquitto', host: 'core-mosquitto', port: 1883, ssl: false };
const LOGIN = { username: 'addons', password: 'of-the-broker' };
const OPTIONS = {
  provider_issuer: 'https://id.example.org/auth/realms/energy',
  provider_api_url: 'https://api.example.org/api/v1',
  provider_client_id: 'self-care',
  username: 'me@example.org',
  password: '0123',
  more_accounts: [],
};
const EMPTY = { ...OPTIONS, provider_issuer: '', provider_api_url: '', provider_client_id: '' };

/** A Supervisor that answers so, and what it was asked. Status 0: it does not. */
function supervised(options: unknown, status = 200, body: unknown = { data: { ...SERVICE, ...LOGIN } }) {
  const asked: { url: string; authorization: string | null }[] = [];
  const text = typeof options === 'string' ? options : JSON.stringify(options);
  return {
    asked,
    readFile: async (path: string) => {
      if (path === '/data/options.json') return text;
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    },
    fetch: async (input: string | URL | Request, init?: RequestInit) => {
      asked.push({ url: String(input), authorization: new Headers(init?.headers).get('authorization') });
      if (status === 0) throw new TypeError('fetch failed');
      return Response.json(body, { status });
    },
  };
}

const loadApp = async (options: unknown) => (await load(undefined, ENV, supervised(options))).config;

test('options are the configuration, and the broker is the one the Supervisor names', async () => {
  const home = supervised(OPTIONS);
  const { config, origins } = await load(undefined, ENV, home);
  expect(home.asked).toEqual([{ url: 'http://supervisor/services/mqtt', authorization: `Bearer ${TOKEN}` }]);
  expect(config.provider?.issuer).toBe(OPTIONS.provider_issuer);
  expect(await config.accounts[0]?.password?.read()).toBe('0123');
  expect(config.mqtt).toMatchObject({ url: 'mqtt://core-mosquitto:1883', username: 'addons' });
  expect(await config.mqtt.password?.read()).toBe('of-the-broker');
  expect(origins.get('mqtt.url')).toBe('environment HEAT2MQTT_MQTT_URL');
  expect(config.home_assistant?.url).toBe('ws://supervisor/core/websocket');
});

const [known] = KNOWN_PROVIDERS;
const parents = { id: 'parents', username: 'they@example.org' };
test("what is filled in counts more than the Supervisor's word about the broker", async () => {
  const { mqtt } = await loadApp({ ...OPTIONS, mqtt_username: 'mine', mqtt_password: 'my word' });
  expect(mqtt).toMatchObject({ url: 'mqtt://core-mosquitto:1883', username: 'mine' });
  expect(await mqtt.password?.read()).toBe('my word');
});

test.each([
  [
    'empty ones count as not given, numbers, lists and switches are understood',
    { ...OPTIONS, usage_timezone: '', usage_late_after_hours: 72, provider_scopes: ['openid', 'heat'] },
    { usage: { timezone: 'Europe/Dublin', late_after_hours: 72 }, provider: { scopes: ['openid', 'heat'] } },
  ],
  [
    'a known provider needs no addresses',
    { ...EMPTY, provider: known?.id },
    { provider: known?.provider, usage: known?.usage },
  ],
  [
    'what is filled in beside it counts more',
    { ...EMPTY, provider: known?.id, provider_issuer: OPTIONS.provider_issuer },
    { provider: { issuer: OPTIONS.provider_issuer, client_id: known?.provider.client_id } },
  ],
  ['another provider', { ...OPTIONS, provider: 'other' }, { provider: { client_id: 'self-care' } }],
  [
    'the first of several accounts is called home',
    { ...OPTIONS, more_accounts: [{ ...parents, password: 'theirs' }] },
    { accounts: [{ id: 'home', username: 'me@example.org' }, parents] },
  ],
  ['statistics may be off', { ...OPTIONS, statistics: false }, { home_assistant: undefined }],
])('%s', async (_, options, wanted) => {
  const config = await loadApp(options);
  expect({ home_assistant: undefined, ...config }).toMatchObject(wanted);
});

test('a person signs in: the password stays empty; a second factor for each account; the environment wins', async () => {
  const totp_secret = 'HEAT2MQTTEXAMPLE';
  const alone = { ...OPTIONS, password: '', provider_sign_in: 'device', totp_secret, log_level: 'debug' };
  const home = supervised({ ...alone, more_accounts: [{ ...parents, totp_secret }] });
  const { accounts, log } = (await load(undefined, { ...ENV, HEAT2MQTT_LOG_LEVEL: 'warn' }, home)).config;
  expect(accounts.map(({ password }) => password)).toEqual([undefined, undefined]);
  const secrets = accounts.map((account) => account.totp_secret?.read());
  expect(await Promise.all(secrets)).toEqual([totp_secret, totp_secret]);
  expect(log.level).toBe('warn');
});

test.each([
  [{ ...EMPTY, provider: 'other' }, 'provider: found nothing'],
  [{ provider_issuer: 'no address', more_accounts: [] }, 'provider.issuer: found "no address"'],
  [{ ...OPTIONS, provider: 'unknown' }, 'HEAT2MQTT_PROVIDER: found an unknown variable'],
  ['{', '/data/options.json: found something else than options'],
  ['[1]', '/data/options.json: found something else than options'],
])('%j is refused by name', async (options, says) => {
  expect((await refusal(undefined, ENV, supervised(options))).message).toContain(says);
});

test('options are not looked for without a Supervisor', async () => {
  const home = supervised(OPTIONS);
  await refusal(undefined, {}, home);
  expect(home.asked).toEqual([]);
});

describe('the broker', () => {
  test.each([
    [400, { message: 'Service not enabled' }, 'no broker that Home Assistant knows of'],
    [403, { message: 'No access' }, 'status 403 from the Supervisor'],
    [200, { data: {} }, 'no broker that Home Assistant knows of'],
    [0, null, 'no answer from the Supervisor'],
  ])('status %i, %j: told with advice', async (status, body, found) => {
    const { message } = await refusal(undefined, ENV, supervised(OPTIONS, status, body));
    expect(message).toContain(`mqtt.url: found ${found}`);
    expect(message).toContain('"Mosquitto broker" installed and started, or mqtt_url in the options');
    expect(message.split('\n')).toHaveLength(1);
  });

  test.each([
    ['of the options, and the Supervisor is not asked', 'mqtt://broker.example.org', 400, {}],
    ['with TLS', undefined, 200, { data: { ...SERVICE, ssl: true, port: 8883 } }],
  ])('%s', async (_, mqtt_url, status, body) => {
    const home = supervised({ ...OPTIONS, mqtt_url: mqtt_url ?? null }, status, body);
    const { mqtt } = (await load(undefined, ENV, home)).config;
    expect([mqtt.url, mqtt.username]).toEqual([mqtt_url ?? 'mqtts://core-mosquitto:8883', undefined]);
    expect(home.asked).toHaveLength(mqtt_url ? 0 : 1);
  });
});

test('every option of the app is one that the program knows', async () => {
  const text = await readFile(new URL('../../app/config.yaml', import.meta.url), 'utf8');
  const { schema, options } = parse(text);
  const values: Record<string, unknown> = {
    usage_timezone: 'Europe/Dublin',
    usage_history_since: '2024-01-01',
    home_assistant_outdoor_temperature: 'sensor.balcony',
  };
  const sample = Object.fromEntries(
    Object.entries(schema).map(([name, type]) => [name, values[name] ?? example(String(type)) ?? '']),
  );
  await loadApp({ ...sample, ...OPTIONS });
  expect(Object.keys(options).filter((name) => !(name in schema))).toEqual([]);
});

/** A value that the Supervisor would accept for a type of its own; nothing for a text. */
function example(type: string): unknown {
  if (type.startsWith('bool')) return true;
  if (/^(int|float)\(/.test(type)) return Number(/\d+/.exec(type)?.[0]);
  return /^list\(([^|)]+)/.exec(type)?.[1];
}

const SENSOR = { HEAT2MQTT_HOME_ASSISTANT_OUTDOOR_TEMPERATURE: 'sensor.balcony' };
const OTHER = { HEAT2MQTT_HOME_ASSISTANT_URL: 'ws://env:80/x', HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'mine' };
const SUPERVISOR = 'ws://supervisor/core/websocket';
test.each([
  ['', { ...ENV, ...SENSOR }, SUPERVISOR],
  ['', { ...ENV, ...SENSOR, HEAT2MQTT_HOME_ASSISTANT: 'false' }, undefined],
  ['home_assistant: false', ENV, undefined],
  ["home_assistant: { url: 'ws://ha:8123/x', token: mine-only }", ENV, 'ws://ha:8123/x'],
  ['', { ...ENV, ...OTHER }, 'ws://env:80/x'],
  ['', { SUPERVISOR_TOKEN: '' }, undefined],
])('with %s and %j Home Assistant is at %s', async (yaml, env, url) => {
  const scrubber = createScrubber();
  const { config } = await load(`${BASE}${yaml}\n`, { ...env }, { scrubber });
  expect(config.home_assistant?.url).toBe(url);
  if (url === SUPERVISOR) {
    expect(await config.home_assistant?.token.read()).toBe(TOKEN);
    expect(scrubber.scrub(`a ${TOKEN}`)).toBe('a [secret]');
  }
});

test("the Supervisor's token counts more than a token among the credentials", async () => {
  await file('home_assistant_token', 'of the credentials');
  const { config } = await load(BASE, { ...ENV, CREDENTIALS_DIRECTORY: directory() });
  expect(await config.home_assistant?.token.read()).toBe(TOKEN);
});

test("the Supervisor's token is for the Supervisor alone: another address needs one of its own", async () => {
  const yaml = `${BASE}home_assistant: { url: 'ws://ha:8123/x' }\n`;
  expect(await faultPaths(yaml, ENV)).toEqual(['home_assistant.token']);
});
