// Each mistake is told once, at the path where it was made.
import { describe, expect, it } from 'vitest';
import { CHANGES, ISSUERS, PIECES, PROVIDER_KEYS } from './faultRows.ts';
import { BASE, load, PROVIDER, refusal } from './loading.ts';

const validateCron = (expression: string) => !expression.startsWith('99');

const completed = (piece: string) => `${piece.startsWith('accounts') ? PROVIDER : BASE}${piece}\n`;
const provider = (keys: string, issuer = 'https://id.example.org/r') =>
  BASE.replace(/issuer: .*/, `issuer: '${issuer}'`).replace(/( +client_id: .*\n)/, `$1  ${keys}\n`);

describe('each mistake is one fault', () => {
  const expectOne = async (yaml: string, path: string, says: RegExp) => {
    const { faults, message } = await refusal(yaml, {}, { validateCron });
    expect(faults.map((fault) => fault.path)).toEqual([path]);
    expect(message).toMatch(says);
  };
  it.each(PIECES)('%s', (piece, path, says) => expectOne(completed(piece), path, says));
  it.each(CHANGES)('%s as "%s"', (from, to, path, says) => expectOne(BASE.replace(from, to), path, says));
  it.each(ISSUERS)('issuer %s', (address, says) => expectOne(provider('', address), 'provider.issuer', says));
  it.each(PROVIDER_KEYS)('provider: %s', (keys, path, says) => expectOne(provider(keys), path, says));

  it('an http issuer beside a wrong allow_insecure', () =>
    expectOne(
      provider('allow_insecure: sure', 'http://id.example.org/r'),
      'provider.allow_insecure',
      /true or false/,
    ));
});

describe('what is no mistake', () => {
  it.each([
    ['only constituencies', 'constituencies:\n'],
    ['an empty section', `${BASE}usage:\nmqtt:\n`],
    ['http to this machine', provider('', 'http://127.0.0.1:8080/r')],
    ['http to this machine by IPv6', provider('', 'http://[::1]:8080/r')],
    ['http where it was allowed', provider('allow_insecure: true', 'http://id.example.org/r')],
    ['both chambers', "constituencies: { chamber: '' }\n"],
    ['MQTT 5 as a number', `${BASE}mqtt: { protocol: 5 }\n`],
    ['a history that begins today', `${BASE}usage: { history_since: 2025-06-15 }\n`],
    ['a topic with levels', `${BASE}mqtt: { base_topic: home/heat $1 }\n`],
    ['IPv6', `${BASE}mqtt: { url: 'mqtt://[::1]:1883' }\nhttp: { listen: '[::]:0' }\n`],
    [
      'a fast schedule where it was allowed',
      `${BASE}usage: { schedule: '* * * * * *', allow_fast_schedule: true }\n`,
    ],
    ['every quarter of an hour', `${BASE}usage: { schedule: '*/15 * * * *' }\n`],
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

it('a machine that starts in 1970 takes a day that lies in its future', async () => {
  const { config } = await load(`${BASE}usage: { history_since: 2024-01-01 }\n`, {}, { now: () => 5_000 });
  expect(config.usage.history_since).toBe('2024-01-01');
});
