// One row per rule: the mistake, and the one path that is named for it.
import { describe, expect, it } from 'vitest';
import { BASE, load, PROVIDER, refusal } from './loading.ts';

const ACCOUNT = 'accounts:\n  - { username: me@example.org, password: hunter2-of-the-heat }\n';
const provider = (more: string) =>
  `provider: { issuer: https://id.example.org/r, api_url: https://api.example.org, client_id: x, ${more} }\n${ACCOUNT}`;
const issuer = (address: string, more = '') =>
  `provider: { issuer: '${address}', api_url: https://api.example.org, client_id: x ${more} }\n${ACCOUNT}`;

const ROWS: [rule: string, yaml: string, path: string, says: RegExp][] = [
  ['version', `${BASE}version: 2\n`, 'version', /found 2; allowed: 1/],
  ['unknown key', `${BASE}colour: red\n`, 'colour', /an unknown key; allowed: version, provider/],
  ['misspelt key', `${BASE}mqtt: { base_topik: x }\n`, 'mqtt.base_topik', /did you mean base_topic/],
  ['key in camel case', `${BASE}mqtt: { baseTopic: x }\n`, 'mqtt.baseTopic', /did you mean base_topic/],
  ['key of another section', `${BASE}schedule: 1 2 * * *\n`, 'schedule', /did you mean usage.schedule/],
  [
    'misspelt required key',
    BASE.replace('client_id', 'clientid'),
    'provider.clientid',
    /did you mean client_id/,
  ],
  ['swapped letters', BASE.replace('issuer', 'isseur'), 'provider.isseur', /did you mean issuer/],
  ['misspelt section', BASE.replace('provider', 'provder'), 'provder', /did you mean provider/],
  ['misspelt accounts', BASE.replace('accounts', 'acounts'), 'acounts', /did you mean accounts/],
  ['misspelt password', BASE.replace('password', 'pasword'), 'accounts.0.pasword', /did you mean password/],
  [
    'misspelt password_file',
    BASE.replace('password', 'pasword_file'),
    'accounts.0.pasword_file',
    /password_file\?/,
  ],
  ['no provider', ACCOUNT, 'provider', /found nothing; allowed: with accounts: issuer/],
  ['nothing to ask', PROVIDER, 'accounts', /neither accounts nor constituencies/],
  ['empty accounts', `${PROVIDER}accounts: []\n`, 'accounts', /at least one of the two/],
  ['accounts no list', `${PROVIDER}accounts: me\n`, 'accounts', /allowed: a list/],
  ['account no mapping', `${PROVIDER}accounts: [me]\n`, 'accounts.0', /a mapping with id, username/],
  [
    'missing key',
    BASE.replace(/ +client_id.*\n/, ''),
    'provider.client_id',
    /or in HEAT2MQTT_PROVIDER_CLIENT_ID/,
  ],
  [
    'section no mapping',
    `${BASE}usage: daily\n`,
    'usage',
    /found a text .*; allowed: a mapping with schedule/,
  ],
  [
    'two accounts, one id',
    `${PROVIDER}accounts: [{id: a, username: u, password: p}, {id: a, username: v, password: p}]\n`,
    'accounts.1.id',
    /the id of accounts.0 again/,
  ],
  [
    'two accounts, no id',
    `${PROVIDER}accounts: [{id: a, username: u, password: p}, {username: v, password: p}]\n`,
    'accounts.1.id',
    /a different id for each/,
  ],
  [
    'odd id',
    `${PROVIDER}accounts: [{id: My Home, username: u, password: p}]\n`,
    'accounts.0.id',
    /lower-case/,
  ],
  [
    'empty username',
    `${PROVIDER}accounts: [{username: '', password: p}]\n`,
    'accounts.0.username',
    /an empty text/,
  ],
  [
    'no password',
    `${PROVIDER}accounts: [{username: u}]\n`,
    'accounts.0.password',
    /password or password_file here, HEAT2MQTT_PASSWORD or HEAT2MQTT_PASSWORD_FILE in the environment, or a file .*"password" in \$CREDENTIALS_DIRECTORY/,
  ],
  [
    'empty password',
    `${PROVIDER}accounts: [{username: u, password: ''}]\n`,
    'accounts.0.password',
    /an empty text/,
  ],
  [
    'password left empty',
    `${PROVIDER}accounts:\n  - username: u\n    password:\n`,
    'accounts.0.password',
    /nothing \(an empty value/,
  ],
  [
    'password twice',
    `${PROVIDER}accounts: [{username: u, password: p, password_file: /dev/null}]\n`,
    'accounts.0.password',
    /both password and password_file/,
  ],
  [
    'http issuer',
    issuer('http://id.example.org/r'),
    'provider.issuer',
    /"http:\/\/id.example.org\/r"; allowed: https:\/\/, or http:\/\/ to this machine, or provider.allow_insecure/,
  ],
  [
    'http issuer with a loopback name in front',
    issuer('http://localhost.example.org/r'),
    'provider.issuer',
    /https/,
  ],
  ['http API', provider('').replace('https://api', 'http://api'), 'provider.api_url', /allow_insecure/],
  ['issuer no address', issuer('id.example.org'), 'provider.issuer', /https:\/\/ address/],
  ['issuer with credentials', issuer('https://u:p@id.example.org/r'), 'provider.issuer', /without user name/],
  ['issuer with a fragment', issuer('https://id.example.org/#/r'), 'provider.issuer', /https/],
  ['scopes empty', provider('scopes: []'), 'provider.scopes', /at least one scope/],
  ['scope no text', provider('scopes: [1]'), 'provider.scopes.0', /found 1; allowed: a text/],
  ['timeout zero', provider('timeout_seconds: 0'), 'provider.timeout_seconds', /above 0, at most 600/],
  ['timeout text', provider('timeout_seconds: 30s'), 'provider.timeout_seconds', /found "30s"/],
  ['keep_alive', provider('keep_alive: 1'), 'provider.keep_alive', /true or false/],
  [
    'allow_insecure',
    issuer('http://id.example.org/r', ', allow_insecure: sure'),
    'provider.allow_insecure',
    /true or false/,
  ],
  ['claims', provider('claims: { site_code: "" }'), 'provider.claims.site_code', /an empty text/],
  ['schedule with four fields', `${BASE}usage: { schedule: '* * * *' }\n`, 'usage.schedule', /5 or 6 fields/],
  ['schedule out of range', `${BASE}usage: { schedule: '99 * * * *' }\n`, 'usage.schedule', /in its range/],
  ['time zone', `${BASE}usage: { timezone: Europe/Atlantis }\n`, 'usage.timezone', /IANA/],
  ['jitter', `${BASE}usage: { jitter_seconds: 14401 }\n`, 'usage.jitter_seconds', /from 0 to 14400/],
  [
    'history: no such day',
    `${BASE}usage: { history_since: 2025-02-29 }\n`,
    'usage.history_since',
    /YYYY-MM-DD/,
  ],
  ['history: no day', `${BASE}usage: { history_since: January }\n`, 'usage.history_since', /YYYY-MM-DD/],
  [
    'history: tomorrow',
    `${BASE}usage: { history_since: 2025-06-16 }\n`,
    'usage.history_since',
    /until 2025-06-15/,
  ],
  [
    'history: before heat was metered',
    `${BASE}usage: { history_since: 1925-01-01 }\n`,
    'usage.history_since',
    /from 2000/,
  ],
  ['reread_days', `${BASE}usage: { reread_days: 0 }\n`, 'usage.reread_days', /from 1 to 366/],
  [
    'reading_closes',
    `${BASE}usage: { reading_closes: never }\n`,
    'usage.reading_closes',
    /same_day, previous_day/,
  ],
  ['late_after_hours', `${BASE}usage: { late_after_hours: -1 }\n`, 'usage.late_after_hours', /above 0/],
  ['concurrency', `${BASE}usage: { concurrency: 2.5 }\n`, 'usage.concurrency', /whole number from 1 to 64/],
  ['extras', `${BASE}extras: { balance: yes please }\n`, 'extras.balance', /true or false/],
  ['base_url', 'constituencies: { base_url: ftp://x.example }\n', 'constituencies.base_url', /https/],
  ['chamber', 'constituencies: { chamber: commons }\n', 'constituencies.chamber', /dail, seanad, ""/],
  ['house_no', 'constituencies: { house_no: 0 }\n', 'constituencies.house_no', /from 1/],
  ['mqtt.url without scheme', `${BASE}mqtt: { url: 'localhost:1883' }\n`, 'mqtt.url', /mqtt:\/\//],
  ['mqtt.url without host', `${BASE}mqtt: { url: 'mqtt:localhost' }\n`, 'mqtt.url', /mqtt:\/\//],
  ['mqtt.url of the web', `${BASE}mqtt: { url: 'https://broker' }\n`, 'mqtt.url', /mqtts:\/\//],
  [
    'mqtt.url with a raw % in its password',
    `${BASE}mqtt: { url: 'mqtt://u:50%@broker' }\n`,
    'mqtt.url',
    /%XX/,
  ],
  [
    'mqtt.url with a raw / in its password',
    `${BASE}mqtt: { url: 'mqtt://u:12/34@broker' }\n`,
    'mqtt.url',
    /%XX/,
  ],
  [
    'password in mqtt.url and beside it',
    `${BASE}mqtt: { url: 'mqtt://u:abcdef@broker', password: ghijkl }\n`,
    'mqtt.password',
    /both a password in mqtt.url and mqtt.password/,
  ],
  [
    'password without name',
    `${BASE}mqtt: { password: ghijkl }\n`,
    'mqtt.username',
    /a name and a password, or neither/,
  ],
  ['certificate without key', `${BASE}mqtt: { cert_file: /dev/null }\n`, 'mqtt.key_file', /together/],
  [
    'certificate that is not there',
    `${BASE}mqtt: { ca_file: /nowhere/ca.pem }\n`,
    'mqtt.ca_file',
    /no such file: "\/nowhere\/ca.pem"/,
  ],
  [
    'reject_unauthorized',
    `${BASE}mqtt: { reject_unauthorized: 'false' }\n`,
    'mqtt.reject_unauthorized',
    /true or false/,
  ],
  ['protocol', `${BASE}mqtt: { protocol: 3.1 }\n`, 'mqtt.protocol', /auto, 5 or 3.1.1/],
  ...["''", '/a', 'a/', 'a/+/b', 'a#', '$SYS', '"a\\0b"', 'a'.repeat(129)].map(
    (topic): [string, string, string, RegExp] => [
      `base_topic ${topic}`,
      `${BASE}mqtt: { base_topic: ${topic} }\n`,
      'mqtt.base_topic',
      /at most 128 characters/,
    ],
  ),
  [
    'discovery_prefix',
    `${BASE}mqtt: { discovery_prefix: true }\n`,
    'mqtt.discovery_prefix',
    /false, or a topic/,
  ],
  ['embedded', `${BASE}mqtt: { embedded: 1883 }\n`, 'mqtt.embedded', /true, false, or port and host/],
  ['embedded port', `${BASE}mqtt: { embedded: { port: 99999 } }\n`, 'mqtt.embedded.port', /65535/],
  ['embedded key', `${BASE}mqtt: { embedded: { hots: x } }\n`, 'mqtt.embedded.hots', /did you mean host/],
  [
    'home_assistant.url',
    `${BASE}home_assistant: { url: 'http://ha:8123', token: abcdef }\n`,
    'home_assistant.url',
    /ws:\/\//,
  ],
  [
    'home_assistant without url',
    `${BASE}home_assistant: { token: abcdef }\n`,
    'home_assistant.url',
    /HEAT2MQTT_HOME_ASSISTANT_URL/,
  ],
  [
    'home_assistant without token',
    `${BASE}home_assistant: { url: 'ws://ha:8123' }\n`,
    'home_assistant.token',
    /token or token_file here/,
  ],
  ['http', `${BASE}http: 8099\n`, 'http', /false, or listen/],
  [
    'http.listen without port',
    `${BASE}http: { listen: localhost }\n`,
    'http.listen',
    /an address and a port/,
  ],
  [
    'http.listen beyond the last port',
    `${BASE}http: { listen: 'localhost:70000' }\n`,
    'http.listen',
    /an address and a port/,
  ],
  ['state_dir', `${BASE}state_dir: ''\n`, 'state_dir', /path of a directory/],
  ['log.level', `${BASE}log: { level: verbose }\n`, 'log.level', /trace, debug, info/],
  ['log.format', `${BASE}log: { format: xml }\n`, 'log.format', /auto, pretty, json/],
  [
    'a key there twice',
    `${BASE}http: false\nhttp: false\n`,
    'config.yaml, line 9, column 1',
    /each key once/,
  ],
];

const validateCron = (expression: string) => !expression.startsWith('99');

describe('each mistake is one fault', () => {
  it.each(ROWS)('%s', async (_, yaml, path, says) => {
    const { faults, message } = await refusal(yaml, {}, { validateCron });
    expect(faults.map((fault) => fault.path)).toEqual([path]);
    expect(message).toMatch(says);
  });
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
