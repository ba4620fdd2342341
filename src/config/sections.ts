// The sections of the configuration: each key with what is allowed, its default, what it is for, and an example.
import * as z from 'zod';
import { Secret } from './secret.ts';
import {
  about,
  address,
  calendarDate,
  choice,
  cronExpression,
  currency,
  filePath,
  flag,
  hostAndPort,
  hostName,
  ipOrNetwork,
  matching,
  optional,
  parseUrl,
  positiveNumber,
  redirectUri,
  required,
  secretKeys,
  section,
  text,
  textWhere,
  timeZone,
  whenMapping,
  wholeNumber,
} from './values.ts';

/** The ways of signing in that use the password of the account, or may. */
export const WITH_PASSWORD = ['auto', 'password', 'form'] as const;
export const WAYS_TO_SIGN_IN = [...WITH_PASSWORD, 'device', 'link'] as const;

const WEB = ['https:', 'http:'];
const providerAddress = address(WEB, 'an https:// address without user name or password in it');
const SCOPES = 'a list of at least one scope';
const NEEDS_REDIRECT_URI = `with sign_in form or link, an address registered for client_id (here or in HEAT2MQTT_PROVIDER_REDIRECT_URI); to find it, sign in on the provider's own page in a browser: the address bar of its login page carries redirect_uri=…; write : and / where it has %3A and %2F`;

const claims = section({
  customer_code: text('the name of a claim')
    .default('customer_code')
    .describe('The claim that holds the customer code.'),
  site_code: text('the name of a claim')
    .default('sites')
    .describe('The claim that holds the site code or the list of them.'),
});

export const providerSection = section({
  issuer: required(
    providerAddress,
    'The OpenID issuer where the accounts log in. With Keycloak: <address>/realms/<realm>, without a slash at the end.',
    'https://id.example.org/auth/realms/energy',
  ),
  api_url: required(
    providerAddress,
    'Where usage reports and invoices are asked for.',
    'https://api.example.org/api/v1',
  ),
  client_id: required(
    text(),
    'The name under which the provider knows its own web page as an OpenID client.',
    'self-care',
  ),
  scopes: z
    .array(text(), SCOPES)
    .min(1, SCOPES)
    .default(['openid', 'service-energy'])
    .describe('The scopes asked for when logging in.'),
  sign_in: choice(WAYS_TO_SIGN_IN, 'auto').describe(
    "How the accounts sign in. password: user name and password are sent to the issuer. form: they are filled into the provider's login page. device, link: a person signs in, with heat2mqtt login; no password is needed then. auto: password, and where the provider does not allow that, form.",
  ),
  redirect_uri: optional(
    redirectUri,
    "An address that the provider has registered for client_id; sign_in form and link need it. The address bar of the provider's login page carries it as redirect_uri=…, percent-encoded.",
    'https://portal.example.org/',
  ),
  offline_access: flag(false).describe(
    'true: ask for a session without an end, and agree where the login page asks for consent. Where the provider refuses that, the usual one is taken.',
  ),
  keep_alive: flag(true).describe(
    'true: tokens are refreshed on a timer before they expire, and a login is rare. false: log in for each poll. Default with fleet: false.',
  ),
  currency: optional(
    currency,
    "The currency of the provider's amounts. Default: what its site says, else EUR.",
    'EUR',
  ),
  claims: claims.prefault({}).describe('Names of claims in the access token that lead to the usage reports.'),
  timeout_seconds: positiveNumber(600, 30).describe(
    'How long one request to the provider may take, in seconds.',
  ),
  allow_insecure: flag(false).describe(
    'true: accept http:// addresses of other machines. Password and tokens then travel readable by anyone on the way.',
  ),
})
  .superRefine(({ allow_insecure, issuer, api_url, sign_in, redirect_uri }, { addIssue }) => {
    const refuse = (key: string, message: string) => addIssue({ code: 'custom', path: [key], message });
    for (const [key, value] of Object.entries({ issuer, api_url }))
      if (allow_insecure === false && isUnencrypted(value))
        refuse(key, 'https://, or http:// to this machine, or provider.allow_insecure: true');
    if ((sign_in === 'form' || sign_in === 'link') && redirect_uri === undefined)
      refuse('redirect_uri', NEEDS_REDIRECT_URI);
  }, whenMapping)
  .describe('The heat provider. Required when there are accounts.');

// The value may be anything: this check also runs when other keys are wrong.
function isUnencrypted(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === 'http:' && !/^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

export const accountSection = section({
  id: optional(
    matching(/^[a-z0-9_-]{1,64}$/, 'lower-case letters, digits, _ and -, at most 64'),
    'Names the account in topics and file names. Required with several accounts; "home" when there is one.',
    'home',
  ),
  username: text().meta({
    ...about("The name you log in with on the provider's web page.", 'me@example.org'),
    private: true,
  }),
  history_since: optional(
    calendarDate,
    'The first day that counts for this account, in place of usage.history_since: say, the day of moving in. Where a history exists already, its origin and its totals stay, and days before this one are left out of comparisons, forecasts, bill checks, the page and exports.',
    '2024-09-01',
  ),
  ...secretKeys('password', 'The password of the account', '/run/secrets/heat_password'),
  ...secretKeys(
    'totp_secret',
    "The secret from which the account's one-time codes are computed, in base32 or as an otpauth:// address",
    '/run/secrets/heat_totp_secret',
  ),
}).describe('One login at the provider.');

export const usageSection = section({
  schedule: cronExpression
    .default('23 */4 * * *')
    .describe('When to ask the provider: a cron expression, in the time zone below.'),
  allow_fast_schedule: flag(false).describe(
    'true: accept a schedule that asks the provider more often than every 15 minutes.',
  ),
  timezone: timeZone
    .default('Europe/Dublin')
    .describe('The time zone of the site. Days, weeks and months are cut there.'),
  jitter_seconds: wholeNumber(0, 4 * 3600)
    .default(600)
    .describe(
      'Each installation asks up to this many seconds later, which spreads the load. Drawn once, then kept.',
    ),
  history_since: optional(
    calendarDate,
    'The first day that counts for the totals. Default: 1 January two years back, then kept in the state directory.',
    '2024-01-01',
  ),
  reread_days: wholeNumber(1, 366)
    .default(14)
    .describe('How many days are read again at each poll, for late and corrected readings.'),
  reading_closes: choice(['auto', 'same_day', 'previous_day'], 'auto').describe(
    'Which day a reading counts for: the day on which it is taken, or the day before. auto: the day before where readings are taken in the first hours of a day; looked at once, then kept in the state directory.',
  ),
  late_after_hours: positiveNumber(8784, 60).describe(
    'Data counts as late when the newest reading is older than this.',
  ),
  concurrency: wholeNumber(1, 64)
    .default(4)
    .describe('How many requests to the provider may be under way at once.'),
}).describe('Reading the usage.');

const extra = (what: string) => flag(true).describe(`Ask for ${what}.`);

export const extrasSection = section({
  meter_reading: extra('the register of the meter'),
  balance: extra('what is due on the account'),
  invoices: extra('invoices'),
  site: extra("the site's time zone and currency"),
}).describe('What else to ask for, at most once a day.');

const METER_NAME = 'a name of at most 64 characters in one line';

export const meterSection = section({
  // Half a surrogate pair is no JSON to Home Assistant, which would lose the whole document.
  name: text(METER_NAME)
    .trim()
    .refine((name) => /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,64}$/u.test(name), METER_NAME)
    .meta({
      ...about(
        'What you call the meter. It is published; ids, topics and entity ids stay as they are.',
        'Flat 3',
      ),
      private: true,
    }),
});

export const constituenciesSection = section({
  base_url: address(WEB, 'an https:// or http:// address without user name or password in it')
    .default('https://api.oireachtas.ie/v1')
    .describe('The open data service of the Houses of the Oireachtas.'),
  chamber: choice(['dail', 'seanad', ''], 'dail').describe(
    'The chamber that is asked for when a request chooses no chamber and no house; empty for both.',
  ),
  house_no: optional(
    wholeNumber(1, 9999),
    'The number of the house that is asked for when a request names none. Without it, the sitting house of the chamber: the one with the highest number.',
    34,
  ),
}).describe('The public list of constituencies. Needs no account. Fetched on request only.');

/** Checked after user name and password were taken out; those that are still there could not be read. */
const brokerAddress = textWhere((value) => {
  const url = parseUrl(value, ['mqtt:', 'mqtts:', 'ws:', 'wss:']);
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  // An @ further right is a password with an unescaped / ? or #: the host would be a piece of the password.
  return !`${url.pathname}${url.search}${url.hash}`.includes('@');
}, 'an address starting with mqtt://, mqtts://, ws:// or wss://; odd characters of a password in it as %XX');

const TOPIC =
  'a topic of at most 128 characters without + and #, not starting with $, no slash at either end';
const topic = textWhere(
  (value) => value.length <= 128 && !/^[$/]|[+#]|\/$/.test(value) && !value.includes('\0'),
  TOPIC,
);

const brokerUser = (description: string, example: string) =>
  text('a text; required when there is a password')
    .optional()
    .meta({ ...about(description, example), private: true });

const NAME_AND_PASSWORD = 'a name and a password, or neither';

const embeddedBroker = section({
  port: wholeNumber(0, 65_535).default(1883).describe('The port of the own broker; 0 for any free one.'),
  host: text('an address of this machine')
    .default('127.0.0.1')
    .describe(
      'The address the own broker listens on. 0.0.0.0 lets other machines in: only with username and password, else it stays 127.0.0.1.',
    ),
  username: brokerUser(
    'The name with which all clients log in at the own broker. Default: mqtt.username.',
    'home',
  ),
  ...secretKeys('password', 'The password of that user', '/run/secrets/mqtt_embedded_password'),
}).superRefine(({ username, password, password_file }, { addIssue }) => {
  // Some brokers want a name alone; ours would let in everyone who knows it.
  const hasPassword = password !== undefined || password_file !== undefined;
  if ((username !== undefined) === hasPassword) return;
  const [missing, other] = hasPassword ? ['username', 'password'] : ['password', 'name'];
  const params = { found: `nothing, but a ${other}` };
  addIssue({ code: 'custom', path: [missing ?? ''], message: NAME_AND_PASSWORD, params });
}, whenMapping);

const tlsFile = (description: string, file: string) =>
  filePath().meta({ ...about(description, `/etc/heat2mqtt/${file}`), readable: true });

export const mqttSection = section({
  url: brokerAddress.default('mqtt://localhost:1883').meta({
    description: 'The address of the broker. With embedded set and no url, the own broker.',
    essential: true,
  }),
  username: brokerUser('The name we log in with at the broker.', 'heat2mqtt'),
  ...secretKeys('password', 'The password at the broker', '/run/secrets/mqtt_password'),
  ca_file: tlsFile("Certificates (PEM) of the authority that signed the broker's certificate.", 'ca.pem'),
  cert_file: tlsFile('Our own certificate (PEM), when the broker asks for one. With key_file.', 'client.pem'),
  key_file: tlsFile('The private key (PEM) of our own certificate. With cert_file.', 'client.key'),
  ...secretKeys('key_password', 'The password of key_file', '/run/secrets/mqtt_key_password'),
  reject_unauthorized: flag(true).describe(
    'false: accept a certificate of the broker that cannot be verified. Anyone may then pose as it.',
  ),
  protocol: z
    .literal(['auto', '5', 5, '3.1.1'], 'auto, 5 or 3.1.1')
    .transform((given) => (given === 5 ? '5' : given))
    .prefault('auto')
    .describe('The version of MQTT. auto: 5, and 3.1.1 with a broker that does not know 5.'),
  base_topic: topic
    .default('heat2mqtt')
    .describe('The beginning of every topic. Two installations at one broker need two of them.'),
  discovery_prefix: z
    .union([z.literal(false), topic], `false, or ${TOPIC}`)
    .default('homeassistant')
    .describe('Where Home Assistant looks for new devices. false: tell it nothing.'),
  embedded: z
    .union([z.boolean(), embeddedBroker], 'true, false, or port, host, username and password_file')
    .default(false)
    .describe(
      'A broker brought along, for homes without one. It speaks MQTT 3.1.1. false: none; true: with these defaults; or with port, host and a user.',
    ),
})
  .superRefine(({ cert_file, key_file, username, password }, { addIssue }) => {
    if (password instanceof Secret && username === undefined) {
      const params = { found: 'nothing, but a password' };
      addIssue({ code: 'custom', path: ['username'], message: NAME_AND_PASSWORD, params });
    }
    if ((cert_file === undefined) === (key_file === undefined)) return;
    const path = [cert_file === undefined ? 'cert_file' : 'key_file'];
    addIssue({ code: 'custom', path, message: 'cert_file and key_file together, or neither' });
  }, whenMapping)
  .describe('The MQTT broker.');

/** Home Assistant lives at the root of its host: what follows is the page that was open when the address was copied. */
function webSocketOf(given: string): string {
  const { protocol, host, pathname } = new URL(given);
  if (protocol.startsWith('ws') && pathname !== '/') return given;
  return `${protocol.replace('http', 'ws')}//${host}/api/websocket`;
}

const BASE = 'a temperature in °C from 5 to 25';

export const homeAssistantSection = section({
  url: address(
    ['http:', 'https:', 'ws:', 'wss:'],
    'an address starting with http://, https://, ws:// or wss:// without user name or password in it',
  )
    .meta(
      about(
        "Home Assistant's address as a browser opens it, or that of its WebSocket (ws://homeassistant.local:8123/api/websocket).",
        'http://homeassistant.local:8123',
      ),
    )
    .transform(webSocketOf),
  ...secretKeys('token', 'The long-lived access token of one of its administrators', '/run/secrets/ha_token'),
  outdoor_temperature: optional(
    matching(
      /^sensor\.(?!_)[\da-z_]{1,240}(?<!_)$/,
      'the entity id of a sensor, such as sensor.outdoor_temperature',
    ),
    'An outdoor temperature sensor of Home Assistant, with long-term statistics. The heat used is then compared with the weather.',
    'sensor.outdoor_temperature',
  ),
  degree_day_base: optional(
    z.number(BASE).min(5, BASE).max(25, BASE),
    'Outdoor daily mean (°C) below which the building is heated. Default: found for the house; 15.5, the custom in Ireland and Britain, where the days do not tell.',
    15.5,
  ),
});

export const httpSection = section({
  listen: hostAndPort
    .default('127.0.0.1:8099')
    .describe('Where the page, /healthz, /readyz and /metrics are served.'),
  metrics: choice(['page', 'open'], 'page').describe(
    'Who may read /metrics. page: every visitor who may see the page. open: everyone.',
  ),
});

export const webSection = section({
  ...secretKeys('password', 'The password of the page', '/run/secrets/web_password'),
  hosts: z
    .array(hostName, 'a list of host names')
    .default([])
    .describe(
      "Names under which a browser finds the page, besides IP addresses, localhost and this machine's own name.",
    ),
  trusted_proxy: optional(
    ipOrNetwork,
    'The address or network of a reverse proxy. Its X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto are believed. With a password only.',
    '172.18.0.0/16',
  ),
}).superRefine(({ trusted_proxy, password }, { addIssue }) => {
  // Every visitor behind the proxy would count as local.
  if (trusted_proxy === undefined || password !== undefined) return;
  const message = 'a reverse proxy only with web.password or web.password_file';
  const params = { found: 'a reverse proxy and no password of the page' };
  addIssue({ code: 'custom', path: ['trusted_proxy'], message, params });
}, whenMapping);

export const fleetSection = section({
  ...secretKeys(
    'database_url',
    'The address of the PostgreSQL database, with its user and password',
    '/run/secrets/fleet_database_url',
  ),
  ...secretKeys(
    'key',
    'The key that seals user names, passwords and tokens in the database (base64 of 32 bytes)',
    '/run/secrets/fleet_key',
  ),
  claim_seconds: wholeNumber(10, 600)
    .default(60)
    .describe(
      'How long an account stays with a process that has stopped working. Renewed while work goes on.',
    ),
  requests_per_second: positiveNumber(10_000, 20).describe(
    'How many requests all processes together send to the provider in a second.',
  ),
});

export const logSection = section({
  level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info').describe(
    'How much the log tells.',
  ),
  format: choice(['auto', 'pretty', 'json'], 'auto').describe('auto: pretty on a terminal, JSON elsewhere.'),
}).describe('The log.');

const above0 = 'a number above 0';
const share = 'a number above 0, at most 100';
const from = text('where the figure comes from');

export const statementSection = section({
  area_m2: z.number(above0).positive(above0).optional().meta(about('The heated area in square metres.', 62)),
  heat_source: z
    .array(
      section({
        name: text('what the heat is made from').meta(about('What the heat is made from.', 'natural gas')),
        percent: z.number(share).positive(share).max(100, share).meta(about('Its share in percent.', 100)),
      }),
      'a list, each with name and percent',
    )
    .optional()
    .describe('What the heat is made from, as the provider declares it.'),
  co2_g_per_kwh: section({
    value: z
      .number('a number, 0 or more')
      .min(0, 'a number, 0 or more')
      .meta(about('Grams for each kWh of heat.', 190)),
    source: from.meta(about('Where the figure comes from.', "the provider's web page")),
    year: wholeNumber(1990, 2100).meta(about('The year for which it holds.', 2025)),
  })
    .optional()
    .describe('The carbon dioxide of the heat, as the provider declares it.'),
  average_kwh_m2_year: section({
    value: z.number(above0).positive(above0).meta(about('kWh for each square metre and year.', 71)),
    source: from.meta(about('Where the figure comes from.', 'a report on similar buildings')),
  })
    .optional()
    .describe('What an average user of the same kind takes.'),
  contacts: z
    .array(text('a line of text'), 'a list of lines')
    .optional()
    .meta(
      about('Lines to print: who advises on energy, and who settles disputes.', [
        'Energy advice: +353 1 555 0199',
      ]),
    ),
});
