// Settings from the environment: each key can be set, types are understood, typing errors are seen.
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settableKeys, variableOf } from '../../src/config/keys.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { BASE, faultPaths, load, refusal } from './loading.ts';

const PROVIDER = {
  HEAT2MQTT_PROVIDER_ISSUER: 'https://id.example.org/r',
  HEAT2MQTT_PROVIDER_API_URL: 'https://api.example.org',
  HEAT2MQTT_PROVIDER_CLIENT_ID: 'self-care',
};
const ENOUGH = { ...PROVIDER, HEAT2MQTT_USERNAME: 'me', HEAT2MQTT_PASSWORD: `p ä"$'#:%\${HOME}` };
const account = (n: number) => ({
  [`HEAT2MQTT_ACCOUNTS_${n}_ID`]: `flat-${n}`,
  [`HEAT2MQTT_ACCOUNTS_${n}_USERNAME`]: `user-${n}`,
  [`HEAT2MQTT_ACCOUNTS_${n}_PASSWORD`]: `word-${n}`,
});

describe('without a file', () => {
  it('nothing at all is told as what is missing, not as each key', async () => {
    expect((await refusal(undefined)).message).toMatch(
      /^accounts: found neither accounts nor constituencies, and no configuration file \(config.yaml, .*heat2mqtt setup.*heat2mqtt demo.*config example/,
    );
  });

  it('several accounts have a number each, without a gap', async () => {
    const { config } = await load(undefined, { ...PROVIDER, ...account(1), ...account(0) });
    expect(config.accounts.map(({ id, username }) => [id, username])).toEqual([
      ['flat-0', 'user-0'],
      ['flat-1', 'user-1'],
    ]);
    expect(await config.accounts[1]?.password?.read()).toBe('word-1');
    expect(await faultPaths(undefined, { ...ENOUGH, ...account(2) })).toContain('accounts.1');
  });

  it('so has what the heat is made from', async () => {
    const gas = { HEAT2MQTT_STATEMENT_HEAT_SOURCE_0_NAME: 'gas' };
    const percent = { HEAT2MQTT_STATEMENT_HEAT_SOURCE_0_PERCENT: '80' };
    const { config } = await load(undefined, { ...ENOUGH, ...gas, ...percent });
    expect(config.statement.heat_source).toEqual([{ name: 'gas', percent: 80 }]);
    expect(await faultPaths(undefined, { ...ENOUGH, ...gas })).toEqual(['statement.heat_source.0.percent']);
  });
});

describe('every kind of value', () => {
  it.each([
    ['USAGE_CONCURRENCY', ' 8 ', 'usage.concurrency', 8],
    ['PROVIDER_KEEP_ALIVE', 'False', 'provider.keep_alive', false],
    ['PROVIDER_CLIENT_ID', '42', 'provider.client_id', '42'],
    ['PROVIDER_CLIENT_ID', ' a', 'provider.client_id', ' a'],
    ['PROVIDER_SCOPES', 'openid, a  b,c', 'provider.scopes', ['openid', 'a', 'b', 'c']],
    ['STATEMENT_CONTACTS', 'A, 01 808\r\n\n B ', 'statement.contacts', ['A, 01 808', 'B']],
    ['LOG_LEVEL', 'DEBUG', 'log.level', 'debug'],
    ['MQTT_PROTOCOL', '5', 'mqtt.protocol', '5'],
    ['MQTT_DISCOVERY_PREFIX', 'false', 'mqtt.discovery_prefix', false],
    ['MQTT_DISCOVERY_PREFIX', 'ha', 'mqtt.discovery_prefix', 'ha'],
    ['MQTT_EMBEDDED', 'true', 'mqtt.embedded', { port: 1883, host: '127.0.0.1' }],
    ['MQTT_EMBEDDED_PORT', '1884', 'mqtt.embedded', { port: 1884, host: '127.0.0.1' }],
    ['HTTP', 'false', 'http', false],
    ['HTTP', 'true', 'http', { listen: '127.0.0.1:8099', metrics: 'page' }],
    ['HTTP_LISTEN', '0.0.0.0:1', 'http', { listen: '0.0.0.0:1', metrics: 'page' }],
    ['METERS_70418235_NAME', '3', 'meters.70418235.name', '3'],
    ['METERS_70418235_AREA_M2', '50.5', 'meters.70418235.area_m2', 50.5],
    ['METERS_70418235_WITNESS_TOPIC', 'a/b', 'meters.70418235.witness', { topic: 'a/b' }],
    ['METERS_HM-7_name_NAME', 'Flat 3', 'meters.HM-7_name.name', 'Flat 3'],
  ] as const)('%s=%s', async (name, text, path, value) => {
    const { config, origins } = await load(BASE, { [`HEAT2MQTT_${name}`]: text });
    const found = path.split('.').reduce<unknown>((at, part) => Object(at)[part], config);
    expect(found).toEqual(value);
    expect([...origins.values()]).toContain(`environment HEAT2MQTT_${name}`);
  });

  it('each key of the schema has a variable that is known', async () => {
    const all = settableKeys().map(({ path }) => [variableOf(path).replace('<N>', '0'), 'x']);
    const { faults } = await refusal(BASE, { ...Object.fromEntries(all), HEAT2MQTT_NONSENSE: 'x' });
    const unknown = faults.filter(({ found }) => found === 'an unknown variable');
    expect(unknown.map(({ path }) => path)).toEqual(['HEAT2MQTT_NONSENSE']);
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
    const env = { HEAT2MQTT_MQTT_URL: 'mqtt://env', HEAT2MQTT_MQTT_BASE_TOPIC: '' };
    const { config, origins } = await load(yaml, env);
    expect(config.mqtt).toMatchObject({ url: 'mqtt://env', base_topic: 'file', protocol: '3.1.1' });
    expect(['url', 'base_topic', 'discovery_prefix'].map((key) => origins.get(`mqtt.${key}`))).toEqual([
      ...['environment HEAT2MQTT_MQTT_URL', 'file', undefined],
    ]);
  });

  const OWN = 'mqtt: { embedded: { port: 1999 } }';
  const port = (number: number) => ({ HEAT2MQTT_MQTT_EMBEDDED_PORT: String(number) });
  it.each([
    [OWN, { HEAT2MQTT_MQTT_EMBEDDED: 'true' }, { mqtt: { embedded: { port: 1999 } } }],
    [OWN, { HEAT2MQTT_MQTT_EMBEDDED: 'false', ...port(2000) }, { mqtt: { embedded: false } }],
    ['', { HEAT2MQTT_MQTT_EMBEDDED: 'true', ...port(2000) }, { mqtt: { url: 'mqtt://127.0.0.1:2000' } }],
    ['http: false', { HEAT2MQTT_HTTP_LISTEN: 'localhost:1' }, { http: { listen: 'localhost:1' } }],
    [
      'http: false',
      { HEAT2MQTT_HTTP_LISTEN: 'localhost:1', HEAT2MQTT_HTTP: 'true' },
      { http: { listen: 'localhost:1' } },
    ],
    [
      'http: { metrics: open }',
      { HEAT2MQTT_HTTP_LISTEN: 'localhost:1', HEAT2MQTT_HTTP: 'false' },
      { http: false },
    ],
  ])('%s and %j: a switch keeps or drops the details', async (yaml, env, wanted) => {
    expect((await load(`${BASE}${yaml}\n`, env)).config).toMatchObject(wanted);
  });

  const SEVERAL = BASE.replace(
    /accounts:.*$/s,
    'accounts: [{id: a, username: a, password: a}, {id: b, username: b, password: b}]\n',
  );
  it.each([
    [SEVERAL, { HEAT2MQTT_USERNAME: 'c' }, 'HEAT2MQTT_USERNAME'],
    [BASE, { HEAT2MQTT_USERNAME: 'c', HEAT2MQTT_ACCOUNTS_0_USERNAME: 'd' }, 'accounts.0.username'],
    [`${BASE}mqtt: broker\n`, { HEAT2MQTT_MQTT_URL: 'mqtt://env' }, 'mqtt'],
  ])('%# is refused where it cannot be understood', async (yaml, env, path) => {
    expect(await faultPaths(yaml, env)).toEqual([path]);
  });
});

describe('name and password in the address of the broker', () => {
  const LOGIN = 'mqtt://br%40ker:p%25%2F%3A@[::1]:1883/x';
  const yaml = `${BASE}mqtt: { url: '${LOGIN}' }\n`;

  it.each([
    [yaml, {}],
    [BASE, { HEAT2MQTT_MQTT_URL: LOGIN }],
    [`${BASE}mqtt: { password_file: /nowhere, username: x }\n`, { HEAT2MQTT_MQTT_URL: LOGIN }],
  ])('%# become keys of their own', async (text, env) => {
    const scrubber = createScrubber();
    const { mqtt } = (await load(text, env, { scrubber })).config;
    expect([mqtt.url, mqtt.username, await mqtt.password?.read()]).toEqual([
      'mqtt://[::1]:1883/x',
      'br@ker',
      'p%/:',
    ]);
    expect(scrubber.scrub('p%/: p%25%2F%3A')).toBe('[secret] [secret]');
  });

  it.each([
    [{ HEAT2MQTT_MQTT_URL: 'mqtt://other' }, undefined, undefined],
    [{ HEAT2MQTT_MQTT_PASSWORD: 'of the environment' }, 'br@ker', 'of the environment'],
  ])('%j takes those of the file away', async (env, username, password) => {
    const { mqtt } = (await load(yaml, env)).config;
    expect([mqtt.username, await mqtt.password?.read()]).toEqual([username, password]);
  });

  it('and a second password there are a fault', async () => {
    const env = { HEAT2MQTT_MQTT_URL: LOGIN, HEAT2MQTT_MQTT_PASSWORD_FILE: '/nowhere' };
    expect(await faultPaths(BASE, env)).toEqual(['mqtt.password']);
  });
});

describe('names', () => {
  it.each([
    ['PASSWROD', 'did you mean HEAT2MQTT_PASSWORD?'],
    ['MQTT_URI', 'did you mean HEAT2MQTT_MQTT_URL?'],
    ['MQTT_PORT', 'an unknown variable'],
    ['ACCOUNTS_0_PASWORD', 'did you mean HEAT2MQTT_ACCOUNTS_0_PASSWORD?'],
  ])('HEAT2MQTT_%s is unknown, and its value is not told', async (name, says) => {
    const { message, faults } = await refusal(BASE, { [`HEAT2MQTT_${name}`]: 'canary-1883' });
    expect(faults).toHaveLength(1);
    expect(message).toContain(says);
    expect(message).not.toContain('canary');
  });

  it('a misspelt variable is one fault, also when its key is missing then', async () => {
    const { HEAT2MQTT_PASSWORD: password, HEAT2MQTT_PROVIDER_ISSUER: issuer, ...rest } = ENOUGH;
    const misspelt = { HEAT2MQTT_PASSWROD: password, HEAT2MQTT_PROVIDER_ISUER: issuer };
    expect(await faultPaths(undefined, { ...rest, ...misspelt })).toEqual(Object.keys(misspelt));
  });

  it('an unknown variable hides no fault of the key that it may have meant', async () => {
    const section = { HEAT2MQTT_CONSTITUENCIES: 'true', HEAT2MQTT_CONSTITUENCIES_BASE_URL: 'ftp://x' };
    const paths = await faultPaths(BASE, section);
    expect(paths.sort()).toEqual(['HEAT2MQTT_CONSTITUENCIES', 'constituencies.base_url']);
  });

  it('what Kubernetes and Docker inject is no mistake', async () => {
    const address = 'tcp://10.0.0.1:8099';
    const names = ['HEAT2MQTT_SERVICE_HOST', 'HEAT2MQTT_SERVICE_PORT', 'HEAT2MQTT_SERVICE_PORT_HTTP'];
    const addresses = ['HEAT2MQTT_PORT', 'HEAT2MQTT_PORT_8099_TCP', 'HEAT2MQTT_PORT_8099_TCP_ADDR'];
    const injected = [...names, ...addresses, 'HEAT2MQTT_MQTT_PORT'].map((name) => [name, address]);
    const lower = { HEAT2MQTT_CONFIG: 'config.yaml', heat2mqtt_mqtt_url: 'lower case is not ours' };
    await load(BASE, { ...lower, ...Object.fromEntries(injected) });
  });

  it('systemd names the state directory where nothing else does', async () => {
    const env = { STATE_DIRECTORY: '/var/lib/heat2mqtt:/var/lib/other' };
    expect((await load(BASE, env)).config.state_dir).toBe('/var/lib/heat2mqtt');
    expect((await load(`${BASE}state_dir: here\n`, env)).config.state_dir).toBe(resolve('here'));
    expect((await load(BASE, { ...env, HEAT2MQTT_STATE_DIR: '/data' })).config.state_dir).toBe('/data');
    expect((await load(BASE)).config.state_dir).toBe('./state');
  });
});
