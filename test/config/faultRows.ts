// Configurations with one mistake each: the one path that is named for it, and what is said.

/** A piece of a file that is otherwise fine (see `completed`). */
export const PIECES: [piece: string, path: string, says: RegExp][] = [
  ['version: 2', 'version', /found 2; allowed: 1/],
  ['colour: red', 'colour', /an unknown key; allowed: version, provider/],
  ['mqtt: { base_topik: x }', 'mqtt.base_topik', /did you mean base_topic/],
  ['mqtt: { baseTopic: x }', 'mqtt.baseTopic', /did you mean base_topic/],
  ['schedule: 1 2 * * *', 'schedule', /did you mean usage.schedule/],
  ['usage: daily', 'usage', /found a text .*; allowed: a mapping with schedule/],
  ["usage: { schedule: '* * * *' }", 'usage.schedule', /5 or 6 fields/],
  ["usage: { schedule: '99 * * * *' }", 'usage.schedule', /in its range/],
  ["usage: { schedule: '* * * * * *' }", 'usage.schedule', /at least 15 minutes .*allow_fast_schedule: true/],
  ["usage: { schedule: '*/10 * * * *' }", 'usage.schedule', /at least 15 minutes/],
  [
    "usage: { schedule: '55,5 0,23 * * *', allow_fast_schedule: false }",
    'usage.schedule',
    /found "55,5 0,23 \* \* \*"; allowed: at least/,
  ],
  [
    "usage: { schedule: '* * * * *', allow_fast_schedule: sure }",
    'usage.allow_fast_schedule',
    /true or false/,
  ],
  ['usage: { timezone: Europe/Atlantis }', 'usage.timezone', /IANA/],
  ['usage: { jitter_seconds: 14401 }', 'usage.jitter_seconds', /from 0 to 14400/],
  ['usage: { history_since: 2025-02-29 }', 'usage.history_since', /YYYY-MM-DD/],
  ['usage: { history_since: January }', 'usage.history_since', /YYYY-MM-DD/],
  ['usage: { history_since: 2025-06-16 }', 'usage.history_since', /until 2025-06-15/],
  ['usage: { history_since: 1925-01-01 }', 'usage.history_since', /from 2000/],
  ['usage: { reread_days: 0 }', 'usage.reread_days', /from 1 to 366/],
  ['usage: { reading_closes: never }', 'usage.reading_closes', /same_day, previous_day/],
  ['usage: { late_after_hours: -1 }', 'usage.late_after_hours', /above 0/],
  ['usage: { concurrency: 2.5 }', 'usage.concurrency', /whole number from 1 to 64/],
  ['extras: { balance: yes please }', 'extras.balance', /true or false/],
  ["mqtt: { url: 'localhost:1883' }", 'mqtt.url', /mqtt:\/\//],
  ["mqtt: { url: 'mqtt:localhost' }", 'mqtt.url', /mqtt:\/\//],
  ["mqtt: { url: 'https://broker' }", 'mqtt.url', /mqtts:\/\//],
  ["mqtt: { url: 'mqtt://u:50%@broker' }", 'mqtt.url', /%XX/],
  ["mqtt: { url: 'mqtt://u:12/34@broker' }", 'mqtt.url', /%XX/],
  [
    "mqtt: { url: 'mqtt://u:abcdef@broker', password: ghijkl }",
    'mqtt.password',
    /both a password in mqtt.url and mqtt.password/,
  ],
  ['mqtt: { password: ghijkl }', 'mqtt.username', /a name and a password, or neither/],
  ['mqtt: { cert_file: /dev/null }', 'mqtt.key_file', /together/],
  ['mqtt: { ca_file: /nowhere/ca.pem }', 'mqtt.ca_file', /no such file: "\/nowhere\/ca.pem"/],
  ["mqtt: { reject_unauthorized: 'false' }", 'mqtt.reject_unauthorized', /true or false/],
  ['mqtt: { protocol: 3.1 }', 'mqtt.protocol', /auto, 5 or 3.1.1/],
  ['mqtt: { discovery_prefix: true }', 'mqtt.discovery_prefix', /false, or a topic/],
  ['mqtt: { discovery_prefix: {} }', 'mqtt.discovery_prefix', /found a mapping/],
  ['mqtt: { embedded: 1883 }', 'mqtt.embedded', /true, false, or port and host/],
  ['mqtt: { embedded: { port: 99999 } }', 'mqtt.embedded.port', /65535/],
  ['mqtt: { embedded: { hots: x } }', 'mqtt.embedded.hots', /did you mean host/],
  ["home_assistant: { url: 'ha:8123', token: abcdef }", 'home_assistant.url', /http:\/\/.*ws:\/\//],
  ['home_assistant: { token: abcdef }', 'home_assistant.url', /HEAT2MQTT_HOME_ASSISTANT_URL/],
  ["home_assistant: { url: 'ws://ha:8123' }", 'home_assistant.token', /token or token_file here/],
  ['http: 8099', 'http', /false, or listen/],
  ['http: { listen: localhost }', 'http.listen', /an address and a port/],
  ["http: { listen: 'localhost:70000' }", 'http.listen', /an address and a port/],
  ["state_dir: ''", 'state_dir', /path of a directory/],
  ['log: { level: verbose }', 'log.level', /trace, debug, info/],
  ['log: { format: xml }', 'log.format', /auto, pretty, json/],
  ['accounts: []', 'accounts', /at least one of the two/],
  ['accounts: me', 'accounts', /allowed: a list/],
  ['accounts: [me]', 'accounts.0', /a mapping with id, username/],
  [
    'accounts: [{id: a, username: u, password: p}, {id: a, username: v, password: p}]',
    'accounts.1.id',
    /the id of accounts.0 again/,
  ],
  [
    'accounts: [{id: a, username: u, password: p}, {username: v, password: p}]',
    'accounts.1.id',
    /a different id for each/,
  ],
  ['accounts: [{id: My Home, username: u, password: p}]', 'accounts.0.id', /lower-case/],
  ["accounts: [{username: '', password: p}]", 'accounts.0.username', /an empty text/],
  [
    'accounts: [{username: u}]',
    'accounts.0.password',
    /password or password_file here, HEAT2MQTT_PASSWORD or HEAT2MQTT_PASSWORD_FILE in the environment, or a file .*"password" in \$CREDENTIALS_DIRECTORY/,
  ],
  ["accounts: [{username: u, password: ''}]", 'accounts.0.password', /an empty text/],
  ['accounts: [{username: u, password: }]', 'accounts.0.password', /nothing \(an empty value/],
  [
    'accounts: [{username: u, password: p, password_file: /dev/null}]',
    'accounts.0.password',
    /both password and password_file/,
  ],
  ...['JBSWY3DP1', '234567', '[a, b]', 'otpauth://hotp/x?secret=ABCDEFGHIJKLMNOP&counter=1'].map(
    (secret): [string, string, RegExp] => [
      `accounts: [{username: u, password: p, totp_secret: ${secret}}]`,
      'accounts.0.totp_secret',
      /found (a text \(not shown\)|a list); allowed: base32 \(.*, or an address that starts with otpauth:/,
    ],
  ),
  [
    'accounts: [{username: u, password: p, totp_secret: ABCDEFGHIJKLMNOP, totp_secret_file: /dev/null}]',
    'accounts.0.totp_secret',
    /both totp_secret and totp_secret_file/,
  ],
  ['accounts: [{username: u, password: p, totp: x}]', 'accounts.0.totp', /did you mean totp_secret/],
  ['constituencies: { base_url: ftp://x.example }', 'constituencies.base_url', /https/],
  ['constituencies: { chamber: commons }', 'constituencies.chamber', /dail, seanad, ""/],
  ['constituencies: { house_no: 0 }', 'constituencies.house_no', /from 1/],
  [
    'mqtt: { password: ghijkl, password_file: /dev/null }',
    'mqtt.password',
    /both password and password_file/,
  ],
  ['http: false\nhttp: false', 'config.yaml, line 9, column 1', /each key once/],
  ...["''", '/a', 'a/', 'a/+/b', 'a#', '$SYS', '"a\\0b"', 'a'.repeat(129)].map(
    (topic): [string, string, RegExp] => [
      `mqtt: { base_topic: ${topic} }`,
      'mqtt.base_topic',
      /at most 128 characters/,
    ],
  ),
];

/** A change of BASE. */
export const CHANGES: [from: string | RegExp, to: string, path: string, says: RegExp][] = [
  ['client_id', 'clientid', 'provider.clientid', /did you mean client_id/],
  ['issuer', 'isseur', 'provider.isseur', /did you mean issuer/],
  ['provider', 'provder', 'provder', /did you mean provider/],
  ['accounts', 'acounts', 'acounts', /did you mean accounts/],
  ['password', 'pasword', 'accounts.0.pasword', /did you mean password/],
  ['password', 'pasword_file', 'accounts.0.pasword_file', /password_file\?/],
  [/ +client_id.*\n/, '', 'provider.client_id', /or in HEAT2MQTT_PROVIDER_CLIENT_ID/],
  [/provider:\n( .*\n)+/, '', 'provider', /found nothing; allowed: with accounts: issuer/],
  [/accounts:\n( .*\n)+/, '', 'accounts', /neither accounts nor constituencies/],
  ['https://api', 'http://api', 'provider.api_url', /allow_insecure/],
];

/** Another issuer. */
export const ISSUERS: [address: string, says: RegExp][] = [
  [
    'http://id.example.org/r',
    /"http:\/\/id.example.org\/r"; allowed: https:\/\/, or http:\/\/ to this machine, or provider.allow_insecure/,
  ],
  ['http://localhost.example.org/r', /https/],
  ['id.example.org', /https:\/\/ address/],
  ['https://u:p@id.example.org/r', /without user name/],
  ['https://id.example.org/#/r', /https/],
];

/** Keys to add to provider. */
export const PROVIDER_KEYS: [keys: string, path: string, says: RegExp][] = [
  ['scopes: []', 'provider.scopes', /at least one scope/],
  ['scopes: [1]', 'provider.scopes.0', /found 1; allowed: a text/],
  ['timeout_seconds: 0', 'provider.timeout_seconds', /above 0, at most 600/],
  ['timeout_seconds: 30s', 'provider.timeout_seconds', /found "30s"/],
  ['keep_alive: 1', 'provider.keep_alive', /true or false/],
  ['allow_insecure: sure', 'provider.allow_insecure', /true or false/],
  ['sign_in: browser', 'provider.sign_in', /found "browser"; allowed: auto, password, form, device, link/],
  ['offline_access: 1', 'provider.offline_access', /true or false/],
  ['redirect_url: https://portal.example.org/', 'provider.redirect_url', /did you mean redirect_uri/],
  [
    'redirect_uri: https%3A%2F%2Fportal.example.org%2F',
    'provider.redirect_uri',
    /an absolute address such as .*com.example.app:\/callback, percent-decoded/,
  ],
  ...['/callback', 'https:portal', 'localhost:8080/x', 'https://u@portal', 'https://portal/#/x', "''"].map(
    (address): [string, string, RegExp] => [
      `redirect_uri: ${address}`,
      'provider.redirect_uri',
      /allowed: an absolute address/,
    ],
  ),
  ['claims: { site_code: "" }', 'provider.claims.site_code', /an empty text/],
];
