// No secret in anything that is printed: faults, the effective configuration, or the configuration itself.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { showConfig } from '../../src/config/show.ts';
import { BASE, load, PROVIDER, refusal } from './loading.ts';

const CANARY = /canary|Y2FuYXJ5/i;

const WHOLE = `${PROVIDER}accounts:
  - { id: a, username: canary-name@example.org, password: Canary-1, totp_secret: CANARYCANARYCANARY }
  - { id: b, username: canaryname, password: Canary-2 }
mqtt: { url: 'mqtt://u:Canary-3@broker', key_password: Canary-4 }
home_assistant: { url: 'ws://ha:8123' }
`;

describe('a configuration with canaries', () => {
  it('is silent about secrets however it is printed', async () => {
    const loaded = await load(WHOLE, { HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'Canary-5' });
    const { config } = loaded;
    const withoutNames = { ...config, accounts: config.accounts.map(({ username: _, ...more }) => more) };
    expect(JSON.stringify(withoutNames)).not.toMatch(CANARY);
    expect(inspect(withoutNames, { depth: 20, showHidden: true })).not.toMatch(CANARY);
    expect(JSON.stringify(config)).toContain('"password":"[secret]"');
    expect(`${config.mqtt.password}`).toBe('[secret]');
    expect([...loaded.origins].join()).not.toMatch(CANARY);
  });

  it('is shown with origins, masked', async () => {
    const shown = showConfig(
      await load(WHOLE, { HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'Canary-5', HEAT2MQTT_HTTP: 'false' }),
    );
    expect(shown).not.toMatch(CANARY);
    expect(shown).toContain('# From config.yaml, environment and defaults.');
    expect(shown).toContain(
      '    username: c…@example.org # file\n    password: "[secret] (inline)" # file\n    totp_secret: "[secret] (inline)" # file\n',
    );
    expect(shown).toContain('  url: mqtt://broker # file\n');
    expect(shown).toContain('  token: "[secret] (environment HEAT2MQTT_HOME_ASSISTANT_TOKEN)" # environment');
    expect(shown).toContain('http: false # environment HEAT2MQTT_HTTP\n');
    expect(shown).toContain('  scopes: [ openid, service-energy ] # default\n');
    expect(shown).toMatch(/^ {2}- id: a # file\n {4}username/m);
  });
});

it("the name of a meter is its owner's to see, and nothing for a report", async () => {
  const loaded = await load(`${BASE}meters: { "70418235": { name: Flat of Aoife } }\n`);
  expect(showConfig(loaded)).toContain('meters:\n  70418235:\n    name: Flat of Aoife # file\n');
  expect(showConfig(loaded, 'stranger')).toContain('  70418235:\n    name: [private] # file\n');
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
accounts: [{ username: u, password: p, totp_secret: 'otpauth://totp/canary?secret=CANARY&algorithm=MD5' }]
accounts: [{ username: u, password: p, totp_secret: 'otpauth://totp/x?secret=CANARYCANARYCANARY' }]\nlog: { level: CANARYCANARYCANARY }
accounts: [{ username: u, password_file: canary }]
accounts: [{ username: u, password: Canary-7 }]\nlog: { level: Canary-7 }
mqtt: { url: 'mqtt://canary:canary/canary@broker' }
mqtt: { url: 'mqtt://canary:1#canary@broker' }
mqtt: { url: 'http://canary:canary@canary@broker' }
mqtt: { url: 'canary:canary@broker' }
mqtt: { url: "mqtt://canary:ca\nnary@broker" }
home_assistant: { token: x, url: 'http://ha?token=canary' }
provider: { issuer: 'http://canary:canary@id.example.org/r' }
accounts: [{ id: canary@example.org }]
mqtt: { password: canary, password_file: canary }
fleet: { database_url: canary, key: canary }
`;

it.each(WITH_CANARIES.trim().split('\n'))('a fault is silent about what was found: %s', async (row) => {
  const error = await refusal(row.replace('\\nlog', '\nlog'));
  for (const text of [error.message, error.hint, JSON.stringify(error), inspect(error, { depth: 9 })])
    expect(text).not.toMatch(CANARY);
});
