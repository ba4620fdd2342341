// No secret in anything that is printed: faults, the effective configuration, or the configuration itself.
import { inspect } from 'node:util';
import { expect, it, test } from 'vitest';
import { showConfig } from '../../src/config/commented.ts';
import { load, PROVIDER, refusal } from './loading.ts';

const CANARY = /canary|Y2FuYXJ5/i;

const WHOLE = `${PROVIDER}accounts:
  - { id: a, username: canary-name@example.org, password: Canary-1, totp_secret: CANARYCANARYCANARY }
  - { id: b, username: canaryname, password: Canary-2 }
mqtt: { url: 'mqtt://u:Canary-3@broker', key_password: Canary-4 }
home_assistant: { url: 'ws://ha:8123' }
meters: { "70418235": { name: Flat of Aoife } }
statement: { contacts: ['Aoife, 01 555 0199'] }
`;

test('a configuration is silent about secrets however it is printed, and shown with origins', async () => {
  const env = {
    HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'Canary-5',
    HEAT2MQTT_HTTP: 'false',
    HEAT2MQTT_METERS_80000002_NAME: 'Flat of Cormac',
  };
  const loaded = await load(WHOLE, env);
  const { config } = loaded;
  const withoutNames = { ...config, accounts: config.accounts.map(({ username: _, ...more }) => more) };
  const printed = [JSON.stringify(withoutNames), inspect(withoutNames, { depth: 20, showHidden: true })];
  const shown = showConfig(loaded);
  expect([...printed, ...loaded.origins, shown].join()).not.toMatch(CANARY);
  expect(printed[0]).toContain('"password":"[secret]"');
  expect(`${config.mqtt.password}`).toBe('[secret]');
  for (const lines of [
    '# From config.yaml, environment and defaults.\n',
    '\n  - id: a # file\n    username: c…@example.org # file\n    password: "[secret] (inline)" # file\n',
    '\n    totp_secret: "[secret] (inline)" # file\n',
    '\n  url: mqtt://broker # file\n',
    '\n  token: "[secret] (environment HEAT2MQTT_HOME_ASSISTANT_TOKEN)" # environment',
    '\nhttp: false # environment HEAT2MQTT_HTTP\n',
    '\n  scopes: [ openid, service-energy ] # default\n',
    // What is published anyhow is its owner's to see, and nothing for a report.
    '\nmeters:\n  "70418235":\n    name: Flat of Aoife # file\n',
    '\n  contacts: [ "Aoife, 01 555 0199" ] # file\n',
  ])
    expect(shown).toContain(lines);
  const told = showConfig(loaded, 'stranger');
  expect(told).toContain('\n  meter 1:\n    name: "[private]" # file\n');
  expect(told).toContain('\n  meter 2:\n    name: "[private]" # environment HEAT2MQTT_METERS_<METER>_NAME\n');
  expect(told).toContain('\n  contacts: [ "[private]" ] # file\n');
  expect(told).not.toMatch(/70418235|80000002|Aoife|Cormac|0199/);
});

test('leaves the query of an address out when the configuration is printed, which may be the key of a broker', async () => {
  const url = 'wss://broker.example.org/mqtt?token=Canary-7&v=1';
  const loaded = await load(`${PROVIDER}accounts: [{ username: u, password: p }]\nmqtt: { url: '${url}' }\n`);
  expect(loaded.config.mqtt.url).toBe(url);
  for (const reader of ['owner', 'stranger'] as const)
    expect(showConfig(loaded, reader)).toContain('\n  url: wss://broker.example.org/mqtt?… # file\n');
});

// Each with a secret or a name in a wrong place, or of a wrong form.
const WITH_CANARIES = String.raw`
accounts: [{ username: u, password: [Canary] }]
accounts: [{ username: u, password: { canary: canary } }]
accounts: [{ username: [canary], password: 12345 }]
accounts: [canary]
canary
accounts: [{ username: u, pasword: canary }]
accounts: [{ username: u, password: p, totp_secret: canary }]
accounts: [{ username: u, password: p, totp_secret: 'otpauth://totp/x?secret=CANARYCANARYCANARY' }]\nlog: { level: CANARYCANARYCANARY }
accounts: [{ username: u, password_file: canary }]
accounts: [{ username: u, password: Canary-7 }]\nlog: { level: Canary-7 }
mqtt: { url: 'mqtt://canary:canary/canary@broker' }
mqtt: { url: 'mqtt://canary:1#canary@broker' }
mqtt: { url: 'canary:canary@broker' }
mqtt: { url: "mqtt://canary:ca\nnary@broker" }
home_assistant: { token: x, url: 'http://ha?token=canary' }
accounts: [{ id: canary@example.org }]
mqtt: { password: canary, password_file: canary }
fleet: { database_url: canary, key: canary }
mqtt: canary
http: { listen: 7 }\nhome_assistant: { url: x, token: canary }
`;

it.each(WITH_CANARIES.trim().split('\n'))('a fault is silent about what was found: %s', async (row) => {
  const error = await refusal(row.replace('\\n', '\n'));
  for (const text of [error.message, error.hint, JSON.stringify(error), inspect(error, { depth: 9 })])
    expect(text).not.toMatch(CANARY);
});
