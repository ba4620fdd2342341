// Mistakes at the top of the file, in provider, accounts and the first keys of usage; a row for each rule.
import { BASE, PROVIDER } from './loading.ts';

/** The rule, the file with the mistake, the one path that is named for it, and what is said. */
export type FaultRow = [rule: string, yaml: string, path: string, says: RegExp];

const ACCOUNT = 'accounts:\n  - { username: me@example.org, password: hunter2-of-the-heat }\n';
const provider = (more: string) =>
  `provider: { issuer: https://id.example.org/r, api_url: https://api.example.org, client_id: x, ${more} }\n${ACCOUNT}`;
export const issuer = (address: string, more = '') =>
  `provider: { issuer: '${address}', api_url: https://api.example.org, client_id: x ${more} }\n${ACCOUNT}`;

export const FIRST_ROWS: FaultRow[] = [
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
];
