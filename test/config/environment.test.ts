// Settings from the environment: each key can be set, types are understood, typing errors are seen.
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settableKeys, variableOf } from '../../src/config/keys.ts';
import { BASE, faultPaths, load, refusal } from './loading.ts';

const ENOUGH = {
  HEAT2MQTT_PROVIDER_ISSUER: 'https://id.example.org/r',
  HEAT2MQTT_PROVIDER_API_URL: 'https://api.example.org',
  HEAT2MQTT_PROVIDER_CLIENT_ID: 'self-care',
  HEAT2MQTT_USERNAME: 'me@example.org',
  HEAT2MQTT_PASSWORD: `p ä"$'#:%\${HOME}`,
};

describe('without a file', () => {
  it('the environment alone says enough', async () => {
    const { config, path } = await load(undefined, ENOUGH);
    expect(path).toBeUndefined();
    expect(config.accounts[0]).toMatchObject({ id: 'home', username: 'me@example.org' });
    await expect(config.accounts[0]?.password?.read()).resolves.toBe(ENOUGH.HEAT2MQTT_PASSWORD);
  });

  it('nothing at all is told as what is missing, not as each key', async () => {
    expect((await refusal(undefined)).message).toMatch(
      /^accounts: found neither accounts nor constituencies, and no configuration file \(config.yaml, .*config example/,
    );
  });

  it('several accounts', async () => {
    const { HEAT2MQTT_USERNAME: _, HEAT2MQTT_PASSWORD: __, ...provider } = ENOUGH;
    const { config } = await load(undefined, {
      ...provider,
      HEAT2MQTT_ACCOUNTS_1_ID: 'flat',
      HEAT2MQTT_ACCOUNTS_1_USERNAME: 'b',
      HEAT2MQTT_ACCOUNTS_1_PASSWORD: 'two',
      HEAT2MQTT_ACCOUNTS_0_ID: 'house',
      HEAT2MQTT_ACCOUNTS_0_USERNAME: 'a',
      HEAT2MQTT_ACCOUNTS_0_PASSWORD: 'one',
    });
    expect(config.accounts.map(({ id, username }) => [id, username])).toEqual([
      ['house', 'a'],
      ['flat', 'b'],
    ]);
    await expect(config.accounts[1]?.password?.read()).resolves.toBe('two');
  });

  it('a gap between accounts is a fault', async () => {
    const env = {
      ...ENOUGH,
      HEAT2MQTT_ACCOUNTS_2_ID: 'c',
      HEAT2MQTT_ACCOUNTS_2_USERNAME: 'c',
      HEAT2MQTT_ACCOUNTS_2_PASSWORD: 'c',
    };
    expect(await faultPaths(undefined, env)).toContain('accounts.1');
  });
});

describe('every kind of value', () => {
  it.each([
    ['HEAT2MQTT_USAGE_CONCURRENCY', ' 8 ', 8, 'usage', 'concurrency'],
    ['HEAT2MQTT_USAGE_LATE_AFTER_HOURS', '1.5', 1.5, 'usage', 'late_after_hours'],
    ['HEAT2MQTT_PROVIDER_KEEP_ALIVE', 'False', false, 'provider', 'keep_alive'],
    ['HEAT2MQTT_PROVIDER_CLIENT_ID', '42', '42', 'provider', 'client_id'],
    ['HEAT2MQTT_PROVIDER_SCOPES', 'openid, a  b,c', ['openid', 'a', 'b', 'c'], 'provider', 'scopes'],
    ['HEAT2MQTT_PROVIDER_CLAIMS_CUSTOMER_CODE', 'cc', 'cc', 'provider', 'claims', 'customer_code'],
    ['HEAT2MQTT_STATE_DIR', '/data', '/data', 'state_dir'],
    ['HEAT2MQTT_LOG_LEVEL', 'DEBUG', 'debug', 'log', 'level'],
    ['HEAT2MQTT_MQTT_PROTOCOL', '5', '5', 'mqtt', 'protocol'],
    ['HEAT2MQTT_MQTT_DISCOVERY_PREFIX', 'false', false, 'mqtt', 'discovery_prefix'],
    ['HEAT2MQTT_MQTT_DISCOVERY_PREFIX', 'ha', 'ha', 'mqtt', 'discovery_prefix'],
    ['HEAT2MQTT_MQTT_EMBEDDED', 'true', { port: 1883, host: '127.0.0.1' }, 'mqtt', 'embedded'],
    ['HEAT2MQTT_MQTT_EMBEDDED_PORT', '1884', { port: 1884, host: '127.0.0.1' }, 'mqtt', 'embedded'],
    ['HEAT2MQTT_HTTP', 'false', false, 'http'],
    ['HEAT2MQTT_HTTP_LISTEN', '0.0.0.0:1', { listen: '0.0.0.0:1', metrics: 'page' }, 'http'],
    ['HEAT2MQTT_WEB', 'false', false, 'web'],
    ['HEAT2MQTT_WEB_HOSTS', 'heat.example.org heat', { hosts: ['heat.example.org', 'heat'] }, 'web'],
    ['HEAT2MQTT_CONSTITUENCIES_HOUSE_NO', '34', 34, 'constituencies', 'house_no'],
    ['HEAT2MQTT_METERS_70418235_NAME', '3', '3', 'meters', '70418235', 'name'],
    ['HEAT2MQTT_METERS_HM-7_name_NAME', 'Flat 3', 'Flat 3', 'meters', 'HM-7_name', 'name'],
  ] as [string, string, unknown, ...string[]][])('%s=%s', async (variable, text, value, ...path) => {
    const { config, origins } = await load(BASE, { [variable]: text });
    let found: unknown = config;
    for (const name of path) found = (found as Record<string, unknown>)[name];
    expect(found).toEqual(value);
    expect([...origins.values()]).toContain(`environment ${variable}`);
  });

  it('each key of the schema has a variable that is known', async () => {
    for (const { path } of settableKeys()) {
      const variable = variableOf(path).replace('<N>', '0');
      const unknown = await refusal(BASE, { [variable]: 'x', HEAT2MQTT_NONSENSE: 'x' });
      expect(
        unknown.faults.filter(({ found }) => found === 'an unknown variable').map(({ path: at }) => at),
      ).toEqual(['HEAT2MQTT_NONSENSE']);
    }
  });

  it('a value of the wrong type names the variable and the path', async () => {
    const { message } = await refusal(BASE, { HEAT2MQTT_USAGE_CONCURRENCY: 'many' });
    expect(message).toBe(
      'usage.concurrency: found "many" (environment HEAT2MQTT_USAGE_CONCURRENCY); allowed: a whole number from 1 to 64',
    );
  });
});

describe('over the file', () => {
  it('wins, key by key; an empty variable does not', async () => {
    const yaml = `${BASE}mqtt: { url: mqtt://file, base_topic: file, protocol: 3.1.1 }\n`;
    const { config, origins } = await load(yaml, {
      HEAT2MQTT_MQTT_URL: 'mqtt://env',
      HEAT2MQTT_MQTT_BASE_TOPIC: '',
    });
    expect(config.mqtt).toMatchObject({ url: 'mqtt://env', base_topic: 'file', protocol: '3.1.1' });
    expect(origins.get('mqtt.url')).toBe('environment HEAT2MQTT_MQTT_URL');
    expect(origins.get('mqtt.base_topic')).toBe('file');
    expect(origins.get('mqtt.discovery_prefix')).toBe('default');
  });

  it('a switch of the environment keeps or drops the details of the file', async () => {
    const yaml = `${BASE}mqtt: { embedded: { port: 1999 } }\n`;
    const on = await load(yaml, { HEAT2MQTT_MQTT_EMBEDDED: 'true' });
    expect(on.config.mqtt.embedded).toEqual({ port: 1999, host: '127.0.0.1' });
    const off = await load(yaml, { HEAT2MQTT_MQTT_EMBEDDED: 'false', HEAT2MQTT_MQTT_EMBEDDED_PORT: '2000' });
    expect(off.config.mqtt.embedded).toBe(false);
    const both = await load(BASE, { HEAT2MQTT_MQTT_EMBEDDED: 'true', HEAT2MQTT_MQTT_EMBEDDED_PORT: '2000' });
    expect(both.config.mqtt).toMatchObject({ embedded: { port: 2000 }, url: 'mqtt://127.0.0.1:2000' });
    const again = await load(`${BASE}http: false\n`, { HEAT2MQTT_HTTP_LISTEN: 'localhost:1' });
    expect(again.config.http).toEqual({ listen: 'localhost:1', metrics: 'page' });
  });

  it('with several accounts in the file HEAT2MQTT_USERNAME is a fault', async () => {
    const yaml = BASE.replace(
      /accounts:.*$/s,
      'accounts: [{id: a, username: a, password: a}, {id: b, username: b, password: b}]\n',
    );
    expect(await faultPaths(yaml, { HEAT2MQTT_USERNAME: 'c' })).toEqual(['HEAT2MQTT_USERNAME']);
  });

  it('one thing set by two variables is a fault', async () => {
    expect(await faultPaths(BASE, { HEAT2MQTT_USERNAME: 'c', HEAT2MQTT_ACCOUNTS_0_USERNAME: 'd' })).toEqual([
      'accounts.0.username',
    ]);
  });

  it('a wrong section in the file stays a fault', async () => {
    expect(await faultPaths(`${BASE}mqtt: broker\n`, { HEAT2MQTT_MQTT_URL: 'mqtt://env' })).toEqual(['mqtt']);
  });
});

describe('names', () => {
  it.each([
    ['HEAT2MQTT_PASWORD', /did you mean HEAT2MQTT_PASSWORD\?/],
    ['HEAT2MQTT_MQTT_URI', /did you mean HEAT2MQTT_MQTT_URL\?/],
    ['HEAT2MQTT_MQTT_PORT', /an unknown variable/],
    ['HEAT2MQTT_PORT', /an unknown variable/],
    ['HEAT2MQTT_ACCOUNTS_0_PASWORD', /did you mean HEAT2MQTT_ACCOUNTS_0_PASSWORD\?/],
  ])('%s is unknown, and its value is not told', async (variable, says) => {
    const { message, faults } = await refusal(BASE, { [variable]: 'canary-1883' });
    expect(faults).toHaveLength(1);
    expect(message).toMatch(says);
    expect(message).not.toContain('canary');
  });

  it('a misspelt variable is one fault, also when its key is missing then', async () => {
    const { HEAT2MQTT_PASSWORD, HEAT2MQTT_PROVIDER_ISSUER, ...rest } = ENOUGH;
    const env = {
      ...rest,
      HEAT2MQTT_PASSWROD: HEAT2MQTT_PASSWORD,
      HEAT2MQTT_PROVIDER_ISUER: HEAT2MQTT_PROVIDER_ISSUER,
    };
    expect(await faultPaths(undefined, env)).toEqual(['HEAT2MQTT_PASSWROD', 'HEAT2MQTT_PROVIDER_ISUER']);
  });

  it('what Kubernetes and Docker inject is no mistake', async () => {
    const address = 'tcp://10.0.0.1:8099';
    await load(BASE, {
      HEAT2MQTT_CONFIG: 'config.yaml',
      HEAT2MQTT_SERVICE_HOST: '10.0.0.1',
      HEAT2MQTT_SERVICE_PORT: '8099',
      HEAT2MQTT_SERVICE_PORT_HTTP: '8099',
      HEAT2MQTT_PORT: address,
      HEAT2MQTT_PORT_8099_TCP: address,
      HEAT2MQTT_PORT_8099_TCP_ADDR: '10.0.0.1',
      HEAT2MQTT_MQTT_PORT: 'tcp://10.0.0.1:1883',
      heat2mqtt_mqtt_url: 'lower case is not ours',
    });
  });

  it('systemd names the state directory unless somebody else did', async () => {
    const env = { STATE_DIRECTORY: '/var/lib/heat2mqtt:/var/lib/other' };
    expect((await load(BASE, env)).config.state_dir).toBe('/var/lib/heat2mqtt');
    expect((await load(`${BASE}state_dir: here\n`, env)).config.state_dir).toBe(resolve('here'));
    expect((await load(BASE, { ...env, HEAT2MQTT_STATE_DIR: '/data' })).config.state_dir).toBe('/data');
    expect((await load(BASE)).config.state_dir).toBe('./state');
  });
});
