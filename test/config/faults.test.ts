// One row per rule: the mistake, and the one path that is named for it.
import { describe, expect, it } from 'vitest';
import { FILES, issuer, LINES } from './faultRows.ts';
import { BASE, load, refusal } from './loading.ts';

const validateCron = (expression: string) => !expression.startsWith('99');

describe('each mistake is one fault', () => {
  const expectOne = async (yaml: string, path: string, says: RegExp) => {
    const { faults, message } = await refusal(yaml, {}, { validateCron });
    expect(faults.map((fault) => fault.path)).toEqual([path]);
    expect(message).toMatch(says);
  };
  it.each(LINES)('%s', (line, path, says) => expectOne(`${BASE}${line}\n`, path, says));
  it.each(FILES)('%s', (_, yaml, path, says) => expectOne(yaml, path, says));
});

describe('what is no mistake', () => {
  it.each([
    ['only constituencies', 'constituencies:\n'],
    ['an empty section', `${BASE}usage:\nmqtt:\n`],
    ['http to this machine', issuer('http://127.0.0.1:8080/r')],
    ['http to this machine by IPv6', issuer('http://[::1]:8080/r')],
    ['http where it was allowed', issuer('http://id.example.org/r', ', allow_insecure: true')],
    ['both chambers', "constituencies: { chamber: '' }\n"],
    ['MQTT 5 as a number', `${BASE}mqtt: { protocol: 5 }\n`],
    ['a history that begins today', `${BASE}usage: { history_since: 2025-06-15 }\n`],
    ['a topic with levels', `${BASE}mqtt: { base_topic: home/heat $1 }\n`],
    ['IPv6', `${BASE}mqtt: { url: 'mqtt://[::1]:1883' }\nhttp: { listen: '[::]:0' }\n`],
    ['seconds in the schedule', `${BASE}usage: { schedule: '0 23 */4 * * MON-FRI' }\n`],
  ])('%s', async (_, yaml) => {
    await expect(load(yaml)).resolves.toBeDefined();
  });

  it('the caller may assume constituencies for a command that needs no account', async () => {
    const { config } = await load(undefined, {}, { assumeConstituencies: true });
    expect(config.constituencies).toEqual({ base_url: 'https://api.oireachtas.ie/v1', chamber: 'dail' });
  });
});

it('eleven different mistakes are eleven lines', async () => {
  const yaml = `
version: 3
provider:
  issuer: http://id.example.org/r
  api_url: https://api.example.org
  clientid: self-care
  timeout_seconds: soon
accounts:
  - { id: a, username: u }
  - { id: a, username: v, password: p, password_file: /x }
usage: { timezone: Mars }
mqtt: { base_topic: a/#, embedded: { port: -1 } }
`;
  const { message, faults } = await refusal(yaml, { HEAT2MQTT_LOG_LEVEL: 'loud' });
  expect(faults.map(({ path }) => path).sort()).toEqual([
    'accounts.0.password',
    'accounts.1.id',
    'accounts.1.password',
    'log.level',
    'mqtt.base_topic',
    'mqtt.embedded.port',
    'provider.clientid',
    'provider.issuer',
    'provider.timeout_seconds',
    'usage.timezone',
    'version',
  ]);
  expect(message.split('\n')).toHaveLength(faults.length);
});
