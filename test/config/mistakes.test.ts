// Each mistake is told once, at the path where it was made, with what was found and what is allowed.
import { describe, expect, it } from 'vitest';
import { nextTimes } from '../../src/engine/schedule.ts';
import { EXIT } from '../../src/foundation/failure.ts';
import { BASE, load, PROVIDER, refusal } from './loading.ts';

const KEY = 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=';

// A piece of a file that is otherwise fine | the path that is named | words of what is said.
const PIECES = String.raw`
version: 2 | version | found 2; allowed: 1
colour: red | colour | an unknown key; allowed: version, provider
mqtt: { baseTopic: x } | mqtt.baseTopic | did you mean base_topic
schedule: 1 2 * * * | schedule | did you mean usage.schedule
usage: daily | usage | found a text (not shown); allowed: a mapping with schedule
usage: { schedule: '* * * *' } | usage.schedule | 5 or 6 fields
usage: { schedule: '99 * * * *' } | usage.schedule | in its range
usage: { schedule: '0 0 1-99999999 * *' } | usage.schedule | 5 or 6 fields
usage: { schedule: '* * * * * *' } | usage.schedule | at least 15 minutes
usage: { schedule: '55,5 0,23 * * *' } | usage.schedule | found "55,5 0,23 * * *"; allowed: at least
usage: { schedule: '* * * * *', allow_fast_schedule: sure } | usage.allow_fast_schedule | true or false
usage: { timezone: Europe/Atlantis } | usage.timezone | IANA
usage: { jitter_seconds: 14401 } | usage.jitter_seconds | from 0 to 14400
usage: { history_since: 2025-02-29 } | usage.history_since | YYYY-MM-DD
usage: { history_since: 1925-01-01 } | usage.history_since | from 2000
usage: { reread_days: '14' } | usage.reread_days | from 1 to 366
usage: { concurrency: 2.5 } | usage.concurrency | whole number from 1 to 64
meters: Flat 3 | meters | found "Flat 3"; allowed: a mapping of meters, each with its name
meters: { "70418235": Flat 3 } | meters.70418235 | not shown); allowed: a mapping with name
meters: { "70418235": { area_m2: 0 } } | meters.70418235.area_m2 | a number above 0
meters: { "70418235": { name: '  ' } } | meters.70418235.name | at most 64 characters in one line
meters: { "70418235": { name: "two\nlines" } } | meters.70418235.name | at most 64 characters in one line
meters: { "70418235": { name: "half \ud83d" } } | meters.70418235.name | at most 64 characters in one line
meters: { "7": { witness: wmbusmeters/7 } } | meters.7.witness | a mapping with topic, field, unit
meters: { "7": { witness: { field: total_kwh } } } | meters.7.witness.topic | found nothing; allowed: a topic
meters: { "7": { witness: { topic: wmbusmeters/+ } } } | meters.7.witness.topic | without + and #
meters: { "7": { witness: { topic: 'wmbusmeters/#' } } } | meters.7.witness.topic | without + and #
meters: { "7": { witness: { topic: $SYS/7 } } } | meters.7.witness.topic | not starting with $
meters: { "7": { witness: { topic: heat2mqtt/meter/7/state } } } | meters.7.witness.topic | found heat2mqtt/meter/7/state; allowed: a topic of something else, not below mqtt.base_topic (heat2mqtt)
meters: { "7": { witness: { topic: heat2mqtt } } } | meters.7.witness.topic | not below mqtt.base_topic
meters: { "7": { witness: { topic: a, field: a..b } } } | meters.7.witness.field | found "a..b"; allowed: the name of a field
meters: { "7": { witness: { topic: a, fields: a } } } | meters.7.witness.fields | did you mean field
meters: { "7": { witness: { topic: a, unit: kwh } } } | meters.7.witness.unit | found "kwh"; allowed: kWh, MWh, MJ, GJ, Wh
mqtt: { url: 'localhost:1883' } | mqtt.url | mqtt://
mqtt: { url: 'mqtt:localhost' } | mqtt.url | mqtt://
mqtt: { url: 'mqtt://u:50%@broker' } | mqtt.url | %XX
mqtt: { url: 'mqtt://u:12/34@broker' } | mqtt.url | %XX
mqtt: { url: 'mqtt://u:abcdef@broker', password: ghijkl } | mqtt.password | both password and a password in mqtt.url
mqtt: { password: ghijkl } | mqtt.username | a name and a password, or neither
mqtt: { username: u, password: ghijkl, password_file: /dev/null } | mqtt.password | both password and password_file
mqtt: { cert_file: /dev/null } | mqtt.key_file | together
mqtt: { ca_file: /nowhere/ca.pem } | mqtt.ca_file | no such file: "/nowhere/ca.pem"
mqtt: { base_topic: /a } | mqtt.base_topic | at most 128 characters
mqtt: { base_topic: a/ } | mqtt.base_topic | at most 128 characters
mqtt: { base_topic: a/+/b } | mqtt.base_topic | at most 128 characters
mqtt: { base_topic: 'a#' } | mqtt.base_topic | at most 128 characters
mqtt: { base_topic: $SYS } | mqtt.base_topic | at most 128 characters
mqtt: { base_topic: "a\0b" } | mqtt.base_topic | at most 128 characters
mqtt: { discovery_prefix: {} } | mqtt.discovery_prefix | found a mapping
mqtt: { embedded: 1883 } | mqtt.embedded | true, false, or port, host, username and password_file
mqtt: { embedded: { hots: x } } | mqtt.embedded.hots | did you mean host
mqtt: { embedded: { username: home } } | mqtt.embedded.password | a name and a password, or neither
mqtt: { embedded: { password: broker word } } | mqtt.embedded.username | a name and a password, or neither
fleet: { database_url: 'mysql://w:p@localhost/heat', key: ${KEY} } | fleet.database_url | such as postgresql://
fleet: { database_url: 'postgresql://w:p%w@localhost/heat', key: ${KEY} } | fleet.database_url | written as %25
fleet: { database_url: 'postgresql://w:p@localhost/heat', key: dG9vIHNob3J0 } | fleet.key | base64 of 32 bytes
home_assistant: { url: 'ha:8123', token: abcdef } | home_assistant.url | starting with http://, https://, ws://
home_assistant: { token: abcdef } | home_assistant.url | HEAT2MQTT_HOME_ASSISTANT_URL
home_assistant: { url: 'ws://ha:8123' } | home_assistant.token | token or token_file here
home_assistant: { url: 'ws://ha', token: abcdef, outdoor_temperature: weather.home } | home_assistant.outdoor_temperature | entity id of a sensor
home_assistant: { url: 'ws://ha', token: abcdef, degree_day_base: 59 } | home_assistant.degree_day_base | from 5 to 25
http: { listen: localhost } | http.listen | an address and a port
http: { listen: 'localhost:70000' } | http.listen | an address and a port
web: 1 | web | false, or password_file
web: { hosts: ['http://heat'] } | web.hosts.0 | host name such as
web: { trusted_proxy: '10.0.0.0/40' } | web.trusted_proxy | IP address or a network
web: { trusted_proxy: '10.0.0.0/8' } | web.trusted_proxy | no password of the page; allowed: a reverse proxy only with
statement: { contacts: [018082100] } | statement.contacts.0 | found a number (not shown); allowed: a line of text
statement: { heat_source: [{ name: gas, percent: 80 }, { name: oil, percent: 50.1 }] } | statement.heat_source | found a list; allowed: shares that add up to at most 100 percent (these: 130.1)
state_dir: '' | state_dir | path of a directory
log: { level: verbose } | log.level | trace, debug, info
constituencies: { base_url: ftp://x.example } | constituencies.base_url | https
constituencies: { base_url: 'ftp://x.example/?key=canary' } | constituencies.base_url | found "ftp://x.example/?…"
constituencies: { chamber: commons } | constituencies.chamber | dail, seanad, ""
http: false\nhttp: false | config.yaml, line 9, column 1 | each key once
accounts: [] | accounts | at least one of the two
accounts: me | accounts | allowed: a list
accounts: [me] | accounts.0 | a mapping with id, username
accounts: [{id: a, username: u, password: p}, {id: a, username: v, password: p}] | accounts.1.id | the id of accounts.0 again
accounts: [{id: a, username: u, password: p}, {username: v, password: p}] | accounts.1.id | a different id for each
accounts: [{id: My Home, username: u, password: p}] | accounts.0.id | lower-case
accounts: [{id: __proto__, username: u, password: p}] | accounts.0.id | any other name than __proto__
accounts: [{username: '', password: p}] | accounts.0.username | an empty text
accounts: [{username: u, password: ''}] | accounts.0.password | an empty text
accounts: [{username: u, password: }] | accounts.0.password | nothing (an empty value
accounts: [{username: u}] | accounts.0.password | HEAT2MQTT_PASSWORD_FILE in the environment, or a file "password" in $CREDENTIALS_DIRECTORY; none with provider.sign_in device or link
accounts: [{username: u, password: p, password_file: /dev/null}] | accounts.0.password | both password and password_file
accounts: [{username: u, password: p, totp: x}] | accounts.0.totp | did you mean totp_secret
accounts: [{username: u, password: p, totp_secret: 234567}] | accounts.0.totp_secret | found a text (not shown); allowed: base32
`;

// The same for keys below provider.
const PROVIDER_KEYS = `
issuer: http://id.example.org/r | issuer | found "http://id.example.org/r"; allowed: https://, or http:// to this machine, or provider.allow_insecure
issuer: http://localhost.example.org/r | issuer | https
issuer: http://not-localhost/r | issuer | https
issuer: id.example.org | issuer | https:// address
issuer: https://u:p@id.example.org/r | issuer | without user name
issuer: https://id.example.org/#/r | issuer | https
issuer: https://id.example.org/a r | issuer | https
api_url: http://api.example.org | api_url | allow_insecure
scopes: [] | scopes | at least one scope
timeout_seconds: 30s | timeout_seconds | found "30s"
timeout_seconds: 0 | timeout_seconds | above 0, at most 600
sign_in: browser | sign_in | found "browser"; allowed: auto, password, form, device, link
sign_in: form | redirect_uri | or in HEAT2MQTT_PROVIDER_REDIRECT_URI); to find it
sign_in: link | redirect_uri | the address bar of its login page
redirect_url: https://portal.example.org/ | redirect_url | did you mean redirect_uri
redirect_uri: https%3A%2F%2Fportal.example.org%2F | redirect_uri | com.example.app:/callback, with : and / where
redirect_uri: https:portal | redirect_uri | an absolute address
redirect_uri: localhost:8080/x | redirect_uri | an absolute address
redirect_uri: https://u@portal | redirect_uri | an absolute address
redirect_uri: https://portal/#/x | redirect_uri | an absolute address
`;

// What to change | into what | the path | words.
const CHANGES = `
client_id | clientid | provider.clientid | did you mean client_id
issuer | isseur | provider.isseur | did you mean issuer
provider | provder | provder | did you mean provider
accounts | acounts | acounts | did you mean accounts
password | pasword | accounts.0.pasword | did you mean password
password | pasword_file | accounts.0.pasword_file | password_file?
`;

const rowsOf = (table: string) =>
  table
    .trim()
    .split('\n')
    .map((row) => row.split(' | '));

const expectOne = async (yaml: string, path: string, says: string) => {
  const { faults, message } = await refusal(yaml, {}, { nextTimes });
  expect(faults.map((fault) => fault.path)).toEqual([path]);
  expect(message).toContain(says);
};

describe('each mistake is one fault', () => {
  it.each(rowsOf(PIECES))('%s', (piece = '', path = '', says = '') =>
    expectOne(
      `${piece.startsWith('accounts') ? PROVIDER : BASE}${piece.replace('false\\n', 'false\n')}\n`,
      path,
      says,
    ),
  );

  it.each(rowsOf(PROVIDER_KEYS))('provider: %s', (keys = '', path = '', says = '') => {
    const [name = ''] = keys.split(':');
    const others = PROVIDER.split('\n').filter((line) => !line.trim().startsWith(`${name}:`));
    const added = keys.replace(', allow', '\n  allow');
    return expectOne(
      BASE.replace(PROVIDER, [...others.slice(0, -1), `  ${added}`, ''].join('\n')),
      `provider.${path}`,
      says,
    );
  });

  it.each(rowsOf(CHANGES))('%s as "%s"', (from = '', to = '', path = '', says = '') =>
    expectOne(BASE.replace(from, to), path, says),
  );

  it.each([
    [
      'provider',
      `accounts: [{ username: u, password: p }]\n`,
      'found nothing; allowed: with accounts: issuer',
    ],
    ['provider.client_id', BASE.replace(/ +client_id.*\n/, ''), 'or in HEAT2MQTT_PROVIDER_CLIENT_ID'],
    ['accounts', PROVIDER, 'neither accounts nor constituencies'],
    [
      'meters.7.witness',
      `${PROVIDER}fleet: { database_url: 'postgresql://w:p@localhost/heat', key: ${KEY} }\nmeters: { 7: { witness: { topic: a } } }`,
      'allowed: nothing, with fleet',
    ],
    ['meters.70418235.name', `${BASE}meters: { 70418235: { name: ${'x'.repeat(65)} } }`, 'in one line'],
    ['mqtt.base_topic', `${BASE}mqtt: { base_topic: ${'a'.repeat(129)} }`, 'at most 128'],
  ])('%s', (path, yaml, says) => expectOne(yaml, path, says));
});

describe('what is no mistake', () => {
  const provider = (keys: string) => BASE.replace('  client_id', `  ${keys}\n  client_id`);
  const issuer = (address: string) => BASE.replace(/issuer: .*/, `issuer: '${address}'`);
  it.each([
    ['only constituencies', 'constituencies:\n'],
    ['an empty list of accounts', 'accounts:\nconstituencies:\n'],
    ['an empty section', `${BASE}usage:\nmqtt:\n`],
    ['http to this machine', issuer('http://127.0.0.1:8080/r')],
    ['http to this machine by IPv6', issuer('http://[::1]:8080/r')],
    [
      'http where it was allowed',
      `${issuer('http://id/r').replace('  api', '  allow_insecure: true\n  api')}`,
    ],
    ['a web page for a redirect', provider('redirect_uri: https://portal.example.org/x?y=1')],
    ['an app for a redirect', provider('redirect_uri: com.example.app:/callback')],
    ['no page for a redirect', provider('redirect_uri: urn:x:oob')],
    ['both chambers', "constituencies: { chamber: '' }\n"],
    ['MQTT 5 as a number', `${BASE}mqtt: { protocol: 5 }\n`],
    ['a history that begins today', `${BASE}usage: { history_since: 2025-06-15 }\n`],
    [
      'one that begins today where the meters are',
      `${BASE}usage: { timezone: Pacific/Kiritimati, history_since: 2025-06-16 }\n`,
    ],
    ['a topic with levels', `${BASE}mqtt: { base_topic: home/heat $1 }\n`],
    ['IPv6', `${BASE}mqtt: { url: 'mqtt://[::1]:1883' }\nhttp: { listen: '[::]:0' }\n`],
    ['a fast schedule', `${BASE}usage: { schedule: '* * * * * *', allow_fast_schedule: true }\n`],
    ['every quarter of an hour', `${BASE}usage: { schedule: '*/15 * * * *' }\n`],
    ['seconds in the schedule', `${BASE}usage: { schedule: '0 23 */4 * * MON-FRI' }\n`],
    ['switches that say what is so anyhow', `${BASE}http: true\nweb: true\n`],
  ])('%s', async (_, yaml) => {
    await expect(load(yaml)).resolves.toBeDefined();
  });

  it('the caller may assume constituencies for a command that needs no account', async () => {
    const { config } = await load(undefined, {}, { assumeConstituencies: true });
    expect(config.constituencies).toEqual({ base_url: 'https://api.oireachtas.ie/v1', chamber: 'dail' });
  });

  it('a machine that starts in 1970 takes a day that lies in its future', async () => {
    const { config } = await load(`${BASE}usage: { history_since: 2024-01-01 }\n`, {}, { now: () => 5_000 });
    expect(config.usage.history_since).toBe('2024-01-01');
  });

  it.each([
    ['usage.history_since', `${BASE}usage: { history_since: 2025-06-16 }\n`],
    ['accounts.0.history_since', `${BASE}    history_since: 2025-06-16\n`],
  ])('warns of %s when it lies in the future', async (key, yaml) => {
    const { warnings } = await load(yaml);
    expect(warnings).toEqual([
      expect.stringContaining(`${key} lies in the future: this machine has 2025-06-15`),
    ]);
  });
});

it('several mistakes are told at once, a line each, and lead to exit code 3', async () => {
  const yaml = `
version: 3
provider: { issuer: http://id.example.org/r, api_url: https://api.example.org, clientid: self-care }
accounts: [{ id: a, username: u }, { username: v, password: p, password_file: /x }]
usage: { timezone: Mars }
mqtt: { base_topic: a/#, embedded: { port: -1 } }
`;
  const { message, faults, ...failure } = await refusal(yaml, { HEAT2MQTT_LOG_LEVEL: 'loud' });
  expect(faults.map(({ path }) => path).sort()).toEqual([
    ...['accounts.0.password', 'accounts.1.id', 'accounts.1.password', 'log.level', 'mqtt.base_topic'],
    ...['mqtt.embedded.port', 'provider.clientid', 'provider.issuer', 'usage.timezone', 'version'],
  ]);
  expect(message.split('\n')).toHaveLength(faults.length);
  expect(failure).toMatchObject({ code: 'config_invalid', retry: 'never', exitCode: EXIT.config });
});
