// In a Home Assistant app: its options, the broker that a stub of the Supervisor names, and the way to Home Assistant.
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { KNOWN_PROVIDERS } from '../../src/config/providers.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { BASE, load, refusal } from './loading.ts';

const TOKEN = 'supervisor-token-of-the-test';
const ENV = { SUPERVISOR_TOKEN: TOKEN };
const ADDON = { addon: 'core_mosquitto', protocol: '3.1.1' };
const SERVICE = { ...ADDON, host: 'core-mosquitto', port: 1883, ssl: false };
const LOGIN = { username: 'addons', password: 'of-the-broker' };
const OPTIONS = {
  provider_issuer: 'https://id.example.org/auth/realms/energy',
  provider_api_url: 'https://api.example.org/api/v1',
  provider_client_id: 'self-care',
  username: 'me@example.org',
  password: '0123',
  more_accounts: [],
};

/** A Supervisor that answers so, and what it was asked. */
function supervised(options: unknown, status: number, body: unknown) {
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
const withBroker = (options: unknown, service: object = { ...SERVICE, ...LOGIN }) =>
  supervised(options, 200, { result: 'ok', data: service });

const loadApp = (options: unknown, service?: object) => load(undefined, ENV, withBroker(options, service));

describe('options', () => {
  test('are the configuration, and the broker is the one the Supervisor names', async () => {
    const home = withBroker(OPTIONS);
    const { config, origins } = await load(undefined, ENV, home);
    expect(home.asked).toEqual([
      { url: 'http://supervisor/services/mqtt', authorization: `Bearer ${TOKEN}` },
    ]);
    expect(config.provider?.issuer).toBe(OPTIONS.provider_issuer);
    expect(await config.accounts[0]?.password?.read()).toBe('0123');
    expect(config.mqtt).toMatchObject({ url: 'mqtt://core-mosquitto:1883', username: 'addons' });
    expect(await config.mqtt.password?.read()).toBe('of-the-broker');
    expect(origins.get('mqtt.url')).toBe('environment HEAT2MQTT_MQTT_URL');
  });

  test('empty ones count as not given, and numbers, lists and switches are understood', async () => {
    const more = { usage_timezone: '', usage_late_after_hours: 72, provider_scopes: ['openid', 'heat'] };
    const { config } = await loadApp({ ...OPTIONS, ...more, extras_balance: false });
    expect(config.usage).toMatchObject({ timezone: 'Europe/Dublin', late_after_hours: 72 });
    expect(config.provider?.scopes).toEqual(['openid', 'heat']);
    expect(config.extras).toMatchObject({ balance: false, invoices: true });
  });

  test('a known provider needs no addresses; what is filled in beside it counts more', async () => {
    const { username, password } = OPTIONS;
    const empty = { provider_issuer: '', provider_api_url: '', provider_client_id: '', username, password };
    const known = KNOWN_PROVIDERS[0];
    const { config } = await loadApp({ provider: known?.id, ...empty });
    expect(config).toMatchObject({ provider: known?.provider, usage: known?.usage });
    const own = await loadApp({ provider: known?.id, ...empty, provider_issuer: OPTIONS.provider_issuer });
    expect(own.config.provider).toMatchObject({
      issuer: OPTIONS.provider_issuer,
      scopes: ['openid', 'kaizen-energy'],
    });
    expect((await loadApp({ ...OPTIONS, provider: 'other' })).config.provider?.scopes).toEqual([
      'openid',
      'service-energy',
    ]);
    const { message } = await refusal(undefined, ENV, withBroker({ ...empty, provider: 'other' }));
    expect(message).toContain('provider: found nothing');
  });

  test('several accounts: the first is called home', async () => {
    const other = { id: 'parents', username: 'they@example.org', password: 'theirs' };
    const { config } = await loadApp({ ...OPTIONS, more_accounts: [other] });
    expect(config.accounts.map(({ id, username }) => [id, username])).toEqual([
      ['home', 'me@example.org'],
      ['parents', 'they@example.org'],
    ]);
  });

  test('a person signs in: the password stays empty; a second factor for each account', async () => {
    const secret = 'HEAT2MQTTEXAMPLE';
    const parents = { id: 'parents', username: 'they@example.org', totp_secret: secret };
    const alone = { ...OPTIONS, password: '', provider_sign_in: 'device' };
    const { config } = await loadApp({ ...alone, totp_secret: secret, more_accounts: [parents] });
    expect(config.accounts.map(({ password }) => password)).toEqual([undefined, undefined]);
    const secrets = config.accounts.map(({ totp_secret }) => totp_secret?.read());
    expect(await Promise.all(secrets)).toEqual([secret, secret]);
  });

  test('the environment wins over them', async () => {
    const env = { ...ENV, HEAT2MQTT_LOG_LEVEL: 'warn' };
    const { config } = await load(undefined, env, withBroker({ ...OPTIONS, log_level: 'debug' }));
    expect(config.log.level).toBe('warn');
  });

  test('that say nothing of an account are refused by name', async () => {
    const home = withBroker({ provider_issuer: 'no address', more_accounts: [] });
    const { message } = await refusal(undefined, ENV, home);
    expect(message).toContain('provider.issuer: found "no address"');
  });

  test.each(['{', '[1]', '"text"'])(
    'that are no options (%s) are refused without quoting them',
    async (text) => {
      const { message } = await refusal(undefined, ENV, withBroker(text));
      expect(message).toContain('/data/options.json: found something else than options');
    },
  );

  test('are not looked for without a Supervisor', async () => {
    const home = withBroker(OPTIONS);
    await refusal(undefined, {}, home);
    expect(home.asked).toEqual([]);
  });
});

describe('the broker', () => {
  test.each([
    [400, { result: 'error', message: 'Service not enabled' }, 'no broker that Home Assistant knows of'],
    [403, { result: 'error', message: 'No access' }, 'status 403 from the Supervisor'],
    [200, { result: 'ok', data: {} }, 'an answer of the Supervisor that names no broker'],
    [0, null, 'no answer from the Supervisor'],
  ])('status %i, %j: told with advice', async (status, body, found) => {
    const { message } = await refusal(undefined, ENV, supervised(OPTIONS, status, body));
    expect(message).toContain(`mqtt.url: found ${found}`);
    expect(message).toContain('"Mosquitto broker" installed and started, or mqtt_url in the options');
    expect(message.split('\n')).toHaveLength(1);
  });

  test('of the options is taken, and the Supervisor not asked', async () => {
    const home = supervised({ ...OPTIONS, mqtt_url: 'mqtt://broker.example.org' }, 400, {});
    const { config } = await load(undefined, ENV, home);
    expect([config.mqtt.url, config.mqtt.username, home.asked]).toEqual([
      'mqtt://broker.example.org',
      undefined,
      [],
    ]);
  });

  test('with TLS, and without a login', async () => {
    const { config } = await loadApp(OPTIONS, { ...SERVICE, ssl: true, port: 8883 });
    expect([config.mqtt.url, config.mqtt.username]).toEqual(['mqtts://core-mosquitto:8883', undefined]);
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

test.each([
  [true, 'ws://supervisor/core/websocket'],
  [false, undefined],
])('statistics %s: the way into Home Assistant is %s', async (statistics, url) => {
  const { config } = await loadApp({ ...OPTIONS, statistics });
  expect(config.home_assistant ? config.home_assistant.url : undefined).toBe(url);
});

test('the Supervisor is the way in when SUPERVISOR_TOKEN is there', async () => {
  const scrubber = createScrubber();
  const { config, origins } = await load(BASE, ENV, { scrubber });
  expect(config.home_assistant?.url).toBe('ws://supervisor/core/websocket');
  expect(await config.home_assistant?.token.read()).toBe(TOKEN);
  expect(origins.get('home_assistant.url')).toBe('environment SUPERVISOR_TOKEN');
  expect(scrubber.scrub(`a ${TOKEN}`)).toBe('a [secret]');
});

test('a sensor alone leaves the way to the Supervisor', async () => {
  const named = { HEAT2MQTT_HOME_ASSISTANT_OUTDOOR_TEMPERATURE: 'sensor.balcony' };
  const { config } = await load(BASE, { ...ENV, ...named });
  expect(config.home_assistant).toMatchObject({
    url: 'ws://supervisor/core/websocket',
    outdoor_temperature: 'sensor.balcony',
  });
  const off = { ...ENV, ...named, HEAT2MQTT_HOME_ASSISTANT: 'false' };
  expect((await load(BASE, off)).config.home_assistant).toBeUndefined();
});

test('another Home Assistant in the file or the environment counts', async () => {
  const own = `${BASE}home_assistant: { url: 'ws://ha:8123/api/websocket', token: mine-and-only }\n`;
  expect((await load(own, ENV)).config.home_assistant?.url).toBe('ws://ha:8123/api/websocket');
  const variables = { HEAT2MQTT_HOME_ASSISTANT_URL: 'ws://env:80/x', HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'mine' };
  expect((await load(BASE, { ...ENV, ...variables })).config.home_assistant?.url).toBe('ws://env:80/x');
});

test('nobody has to have it', async () => {
  expect((await load(`${BASE}home_assistant: false\n`, ENV)).config.home_assistant).toBeUndefined();
  const off = { ...ENV, HEAT2MQTT_HOME_ASSISTANT: 'false' };
  expect((await load(BASE, off)).config.home_assistant).toBeUndefined();
});

test.each([{}, { SUPERVISOR_TOKEN: '' }])('without it there is no Home Assistant: %j', async (env) => {
  expect((await load(BASE, env)).config.home_assistant).toBeUndefined();
});
