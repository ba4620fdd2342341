// The configuration file: each key with what is allowed, its default, what it is for, and an example; and the checked configuration.
import * as z from 'zod';
import {
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
  neededSecretKeys,
  optional,
  parseUrl,
  positiveNumber,
  positiveUpTo,
  redirectUri,
  required,
  secretKeys,
  section,
  switchable,
  text,
  textWhere,
  timeZone,
  usual,
  wholeNumber,
} from './values.ts';

/** The ways of signing in that use the password of the account, or may. */
export const WITH_PASSWORD = ['auto', 'password', 'form'] as const;
const WAYS_TO_SIGN_IN = [...WITH_PASSWORD, 'device', 'link'] as const;

const WEB = ['https:', 'http:'];
const providerAddress = address(WEB, 'an https:// address without user name or password in it');
const SCOPES = 'a list of at least one scope';

const tlsFile = (description: string, file: string) =>
  optional(filePath, `/etc/heat2mqtt/${file}`, description);

const provider = section({
  issuer: required(
    providerAddress,
    'https://id.example.org/auth/realms/energy',
    'The OpenID issuer where the accounts log in. With Keycloak: <address>/realms/<realm>, without a slash at the end.',
  ),
  api_url: required(
    providerAddress,
    'https://api.example.org/api/v1',
    'Where usage reports and invoices are asked for.',
  ),
  client_id: required(
    text(),
    'self-care',
    'The name under which the provider knows its own web page as an OpenID client.',
  ),
  scopes: usual(
    z.array(text(), SCOPES).min(1, SCOPES),
    ['openid', 'service-energy'],
    'The scopes asked for when logging in.',
  ),
  sign_in: choice(
    WAYS_TO_SIGN_IN,
    'auto',
    "How the accounts sign in. password: user name and password are sent to the issuer. form: they are filled into the provider's login page. device, link: a person signs in, with heat2mqtt login; no password is needed then. auto: password, and where the provider does not allow that, form.",
  ),
  redirect_uri: optional(
    redirectUri,
    'https://portal.example.org/',
    "An address that the provider has registered for client_id; sign_in form and link need it. The address bar of the provider's login page carries it as redirect_uri=…, percent-encoded.",
  ),
  offline_access: flag(
    false,
    'true: ask for a session without an end, and agree where the login page asks for consent. Where the provider refuses that, the usual one is taken.',
  ),
  keep_alive: flag(
    true,
    'true: tokens are refreshed on a timer before they expire, and a login is rare. false: log in for each poll. Default with fleet: false.',
  ),
  currency: optional(
    currency,
    'EUR',
    "The currency of the provider's amounts. Default: what its site says, else EUR.",
  ),
  claims: section({
    customer_code: usual(
      text('the name of a claim'),
      'customer_code',
      'The claim that holds the customer code.',
    ),
    site_code: usual(
      text('the name of a claim'),
      'sites',
      'The claim that holds the site code or the list of them.',
    ),
  })
    .prefault({})
    .describe('Names of claims in the access token that lead to the usage reports.'),
  timeout_seconds: usual(positiveUpTo(600), 30, 'How long one request to the provider may take, in seconds.'),
  ca_file: tlsFile(
    'Certificates (PEM) of an authority that signed those of issuer and API. They count besides the public ones.',
    'provider-ca.pem',
  ),
  allow_insecure: flag(
    false,
    'true: accept http:// addresses of other machines. Password and tokens then travel readable by anyone on the way.',
  ),
}).describe('The heat provider. Required when there are accounts.');

/** No object of JavaScript can have `__proto__` among its keys, and what is kept of accounts is in such objects. */
const accountId = matching(/^[a-z0-9_-]{1,64}$/, 'lower-case letters, digits, _ and -, at most 64').refine(
  (id) => id !== '__proto__',
  'any other name than __proto__',
);

const account = section({
  id: optional(
    accountId,
    'home',
    'Names the account in topics and file names. Required with several accounts; "home" when there is one.',
  ),
  username: required(text(), 'me@example.org', "The name you log in with on the provider's web page.").meta({
    private: true,
  }),
  history_since: optional(
    calendarDate,
    '2024-09-01',
    'The first day that counts for this account, in place of usage.history_since: say, the day of moving in. Where a history exists already, its origin and its totals stay, and days before this one are left out of comparisons, forecasts, bill checks, the page and exports.',
  ),
  ...secretKeys('password', 'The password of the account', '/run/secrets/heat_password'),
  ...secretKeys(
    'totp_secret',
    "The secret from which the account's one-time codes are computed, in base32 or as an otpauth:// address",
    '/run/secrets/heat_totp_secret',
  ),
}).describe('One login at the provider.');

const usage = section({
  schedule: usual(
    cronExpression,
    '23 */4 * * *',
    'When to ask the provider: a cron expression, in the time zone below. A day of the month and a weekday together mean a day that is both, not either as for cron(8); a time in the hour that the clocks leave out in spring is left out. `heat2mqtt check` says when the next polls are.',
  ),
  allow_fast_schedule: flag(
    false,
    'true: accept a schedule that asks the provider more often than every 15 minutes.',
  ),
  timezone: usual(
    timeZone,
    'Europe/Dublin',
    'The time zone of the site. Days, weeks and months are cut there.',
  ),
  jitter_seconds: usual(
    wholeNumber(0, 4 * 3600),
    600,
    'Each installation asks up to this many seconds later, which spreads the load. Drawn once, then kept.',
  ),
  history_since: optional(
    calendarDate,
    '2024-01-01',
    'The first day that counts for the totals. Default: 1 January two years back, then kept in the state directory.',
  ),
  reread_days: usual(
    wholeNumber(1, 366),
    14,
    'How many days are read again at each poll, for late and corrected readings.',
  ),
  reading_closes: choice(
    ['auto', 'same_day', 'previous_day'],
    'auto',
    'Which day a reading counts for: the day on which it is taken, or the day before. auto: the day before where readings are taken in the first hours of a day; looked at once, then kept in the state directory.',
  ),
  late_after_hours: usual(
    positiveUpTo(8784),
    60,
    'Data counts as late when the newest reading is older than this.',
  ),
  concurrency: usual(wholeNumber(1, 64), 4, 'How many requests to the provider may be under way at once.'),
}).describe('Reading the usage.');

const extras = section({
  meter_reading: flag(true, 'Ask for the register of the meter.'),
  balance: flag(true, 'Ask for what is due on the account.'),
  invoices: flag(true, 'Ask for invoices.'),
  site: flag(true, "Ask for the site's time zone and currency."),
}).describe('What else to ask for, at most once a day.');

const METER_NAME = 'a name of at most 64 characters in one line';

// Half a surrogate pair is no JSON to Home Assistant, which would lose the whole document.
const meterName = text(METER_NAME)
  .trim()
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,64}$/u, METER_NAME);

const UNITS = ['kWh', 'MWh', 'MJ', 'GJ', 'Wh'] as const;
const METER_TOPIC =
  'a topic on which the register of this meter is published, without + and #, not starting with $, no slash at the end';

/** Another program names this topic: it may be long, or begin with a slash. `setup` offers those that it hears. */
export const isMeterTopic = (topic: string): boolean =>
  !/^\$|[+#\p{Cc}]|\/$/u.test(topic) && Buffer.byteLength(topic) <= 65_535;

const witness = section({
  topic: required(
    textWhere(isMeterTopic, METER_TOPIC),
    'wmbusmeters/58496405',
    'Where the register is published: a number, or a JSON object with it. A topic of the same broker, not below base_topic.',
  ).meta({ private: true }),
  field: optional(
    matching(
      /^[^.]+(\.[^.]+)*$/,
      'the name of a field, or several with dots between, such as SENSOR.heat.total',
    ),
    'total_kwh',
    'Where in the JSON object it stands. Default: the first field that is known for heat.',
  ),
  unit: optional(
    z.enum(UNITS, UNITS.join(', ')),
    'kWh',
    'Default: what the name of the field ends with, else kWh.',
  ),
});

const meter = section({
  name: optional(
    meterName,
    'Flat 3',
    'What you call the meter. It is published; ids, topics and entity ids stay as they are.',
  ).meta({ private: true }),
  area_m2: optional(
    positiveNumber(),
    62,
    'The area that this meter heats, in square metres, in place of statement.area_m2.',
  ),
  witness: witness
    .optional()
    .describe(
      "The meter's own register, from whatever publishes it: shown beside the provider's days and compared with them, and never counted. See docs/witness.md.",
    ),
});

const listAddress = address(WEB, 'an https:// or http:// address without user name or password in it');

const constituencies = section({
  base_url: usual(
    listAddress,
    'https://api.oireachtas.ie/v1',
    'The open data service of the Houses of the Oireachtas.',
  ),
  chamber: choice(
    ['dail', 'seanad', ''],
    'dail',
    'The chamber that is asked for when a request chooses no chamber and no house; empty for both.',
  ),
  house_no: optional(
    wholeNumber(1, 9999),
    34,
    'The number of the house that is asked for when a request names none. Without it, the sitting house of the chamber: the one with the highest number, where a number above 1900 is a year.',
  ),
}).describe('The public list of constituencies. Needs no account. Fetched on request only.');

const BROKER =
  'an address starting with mqtt://, mqtts://, ws:// or wss://; odd characters of a password in it as %XX';

const brokerAddress = text(BROKER).refine(isBrokerAddress, {
  error: ({ input }) => BROKER + likelyBroker(String(input)),
});

/** Checked after user name and password were taken out; those that are still there could not be read. */
function isBrokerAddress(value: string): boolean {
  const url = parseUrl(value, ['mqtt:', 'mqtts:', 'ws:', 'wss:']);
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  // An @ further right is a password with an unescaped / ? or #: the host would be a piece of the password.
  return !`${url.pathname}${url.search}${url.hash}`.includes('@');
}

/** A host alone, with or without a port, is most of such an address. */
function likelyBroker(value: string): string {
  const [, host, port = '1883'] = /^([\w-]+(?:\.[\w-]+)+|localhost)(?::(\d{1,5}))?$/i.exec(value) ?? [];
  const scheme = port === '8883' ? 'mqtts' : 'mqtt';
  return host === undefined ? '' : ` (did you mean ${scheme}://${host}:${port}?)`;
}

const TOPIC =
  'a topic of at most 128 characters without + and #, not starting with $, no slash at either end';
const topic = textWhere(
  (value) => value.length <= 128 && !/^[$/]|[+#]|\/$/.test(value) && !value.includes('\0'),
  TOPIC,
);

const brokerUser = (description: string, example: string) =>
  optional(text('a text; required when there is a password'), example, description).meta({ private: true });

const embeddedBroker = section({
  port: usual(wholeNumber(0, 65_535), 1883, 'The port of the own broker; 0 for any free one.'),
  host: usual(
    text('an address of this machine'),
    '127.0.0.1',
    'The address the own broker listens on. 0.0.0.0 lets other machines in: only with username and password, else it stays 127.0.0.1.',
  ),
  username: brokerUser(
    'The name with which all clients log in at the own broker. Default: mqtt.username.',
    'home',
  ),
  ...secretKeys('password', 'The password of that user', '/run/secrets/mqtt_embedded_password'),
});

const mqtt = section({
  url: usual(
    brokerAddress,
    'mqtt://localhost:1883',
    'The address of the broker. With embedded set and no url, the own broker.',
  ),
  username: brokerUser('The name we log in with at the broker.', 'heat2mqtt'),
  ...secretKeys('password', 'The password at the broker', '/run/secrets/mqtt_password'),
  ca_file: tlsFile("Certificates (PEM) of the authority that signed the broker's certificate.", 'ca.pem'),
  cert_file: tlsFile('Our own certificate (PEM), when the broker asks for one. With key_file.', 'client.pem'),
  key_file: tlsFile('The private key (PEM) of our own certificate. With cert_file.', 'client.key'),
  ...secretKeys('key_password', 'The password of key_file', '/run/secrets/mqtt_key_password'),
  reject_unauthorized: flag(
    true,
    'false: accept a certificate of the broker that cannot be verified. Anyone may then pose as it.',
  ),
  protocol: z
    .literal(['auto', '5', 5, '3.1.1'], 'auto, 5 or 3.1.1')
    .transform((given) => (given === 5 ? '5' : given))
    .prefault('auto')
    .describe('The version of MQTT. auto: 5, and 3.1.1 with a broker that does not know 5.'),
  base_topic: usual(
    topic,
    'heat2mqtt',
    'The beginning of every topic. Two installations at one broker need two of them.',
  ),
  discovery_prefix: usual(
    z.union([z.literal(false), topic], `false, or ${TOPIC}`),
    'homeassistant',
    'Where Home Assistant looks for new devices. false: tell it nothing.',
  ),
  response_topics: usual(
    z.array(topic, 'a list of topics'),
    [],
    'MQTT 5: where answers to requests may go besides, each with all that is below it. Without it only below base_topic, and to topics with a level response, reply or answer.',
  ),
  embedded: usual(
    switchable(embeddedBroker, 'true, false, or port, host, username and password_file'),
    false,
    'A broker brought along, for homes without one. It speaks MQTT 3.1.1. false: none; true: with these defaults; or with port, host and a user.',
  ),
}).describe('The MQTT broker.');

/** Home Assistant lives at the root of its host: what follows is the page that was open when the address was copied. */
function webSocketOf(given: string): string {
  const { protocol, host, pathname } = new URL(given);
  if (protocol.startsWith('ws') && pathname !== '/') return given;
  return `${protocol.replace('http', 'ws')}//${host}/api/websocket`;
}

const NOT_NEGATIVE = 'a number, 0 or more';
const BASE = 'a temperature in °C from 5 to 25';

const homeAssistantAddress = address(
  ['http:', 'https:', 'ws:', 'wss:'],
  'an address starting with http://, https://, ws:// or wss:// without user name or password in it',
);
const sensor = matching(
  /^sensor\.(?!_)[\da-z_]{1,240}(?<!_)$/,
  'the entity id of a sensor, such as sensor.outdoor_temperature',
);

const homeAssistant = section({
  url: required(
    homeAssistantAddress,
    'http://homeassistant.local:8123',
    "Home Assistant's address as a browser opens it, or that of its WebSocket (ws://homeassistant.local:8123/api/websocket).",
  ).transform(webSocketOf),
  ...neededSecretKeys(
    'token',
    'The long-lived access token of one of its administrators',
    '/run/secrets/ha_token',
  ),
  hours: choice(
    ['midnight', 'even'],
    'midnight',
    "Where in a day its heat and cost stand in Home Assistant's statistics. midnight: in its first hour. even: spread evenly over its hours, which is an estimate.",
  ),
  outdoor_temperature: optional(
    sensor,
    'sensor.outdoor_temperature',
    'An outdoor temperature sensor of Home Assistant, with long-term statistics. The heat used is then compared with the weather.',
  ),
  degree_day_base: optional(
    z.number(BASE).min(5, BASE).max(25, BASE),
    15.5,
    'Outdoor daily mean (°C) below which the building is heated. Default: found for the house; 15.5, the custom in Ireland and Britain, where the days do not tell.',
  ),
});

const http = section({
  listen: usual(hostAndPort, '127.0.0.1:8099', 'Where the page, /healthz, /readyz and /metrics are served.'),
  metrics: choice(
    ['page', 'open'],
    'page',
    'Who may read /metrics. page: every visitor who may see the page. open: everyone.',
  ),
});

const web = section({
  ...secretKeys('password', 'The password of the page', '/run/secrets/web_password'),
  hosts: usual(
    z.array(hostName, 'a list of host names'),
    [],
    "Names under which a browser finds the page, besides IP addresses, localhost and this machine's own name.",
  ),
  trusted_proxy: optional(
    ipOrNetwork,
    '172.18.0.0/16',
    'The address or network of a reverse proxy. Its X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto are believed. With a password only.',
  ),
});

const fleet = section({
  ...neededSecretKeys(
    'database_url',
    'The address of the PostgreSQL database, with its user and password',
    '/run/secrets/fleet_database_url',
  ),
  ...neededSecretKeys(
    'key',
    'The key that seals user names, passwords and tokens in the database (base64 of 32 bytes)',
    '/run/secrets/fleet_key',
  ),
  claim_seconds: usual(
    wholeNumber(10, 600),
    60,
    'How long an account stays with a process that has stopped working. Renewed while work goes on.',
  ),
  requests_per_second: usual(
    positiveUpTo(10_000),
    20,
    'How many requests all processes together send to the provider in a second.',
  ),
});

const log = section({
  level: choice(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    'info',
    'How much the log tells.',
  ),
  format: choice(['auto', 'pretty', 'json'], 'auto', 'auto: pretty on a terminal, JSON elsewhere.'),
}).describe('The log.');

const source = (example: string) =>
  required(text('where the figure comes from'), example, 'Where the figure comes from.');

const heatSource = section({
  name: required(text('what the heat is made from'), 'natural gas', 'What the heat is made from.'),
  percent: required(positiveUpTo(100), 100, 'Its share in percent.'),
});

/** Rounded shares may be 34, 34 and 33 percent. */
const LARGEST_SUM = 101;

const co2 = section({
  value: required(z.number(NOT_NEGATIVE).min(0, NOT_NEGATIVE), 190, 'Grams for each kWh of heat.'),
  source: source("the provider's web page"),
  year: required(wholeNumber(1990, 2100), 2025, 'The year for which it holds.'),
});

const average = section({
  value: required(positiveNumber(), 71, 'kWh for each square metre and year.'),
  source: source('a report on similar buildings'),
});

const statement = section({
  area_m2: optional(positiveNumber(), 62, 'The heated area in square metres.'),
  heat_source: z
    .array(heatSource, 'a list, each with name and percent')
    .superRefine((sources, context) => {
      const sum = Number(sources.reduce((before, { percent }) => before + percent, 0).toFixed(2));
      if (sum > LARGEST_SUM) context.addIssue(`shares that add up to at most 100 percent (these: ${sum})`);
    })
    .optional()
    .describe('What the heat is made from, as the provider declares it.'),
  co2_g_per_kwh: co2.optional().describe('The carbon dioxide of the heat, as the provider declares it.'),
  average_kwh_m2_year: average.optional().describe('What an average user of the same kind takes.'),
  contacts: optional(
    z.array(text('a line of text').meta({ private: true }), 'a list of lines'),
    ['Energy advice: +353 1 555 0199'],
    'Lines to print: who advises on energy, and who settles disputes. In the variable, one per line.',
  ),
}).describe(
  'What the provider does not tell and the statement of a month has room for. All of it may be left out.',
);

/** The file as people write it, after the environment was applied to it. */
export const fileSchema = section({
  version: usual(
    z.literal(1, '1, the only version this program understands'),
    1,
    'The version of this format.',
  ),
  provider: provider.optional(),
  accounts: usual(
    z
      .array(account, 'a list')
      // Only one may be without a name (rules.ts).
      .transform((accounts) => accounts.map(({ id = 'home', ...more }) => ({ id, ...more }))),
    [],
    'The logins at the provider, one or many. May be left out when only constituencies are wanted.',
  ),
  usage: usage.prefault({}),
  extras: extras.prefault({}),
  meters: z
    .record(z.string(), meter, 'a mapping of meters, each with its name, area_m2 or witness')
    .default({})
    .meta({
      description:
        'Names and areas of meters, and where their own registers are published, by their identifier as it is in the topics.',
      examples: [
        {
          70418235: {
            name: 'Flat 3',
            area_m2: 62,
            witness: { topic: 'wmbusmeters/58496405', field: 'total_kwh', unit: 'kWh' },
          },
        },
      ],
    }),
  constituencies: constituencies.optional(),
  mqtt: mqtt.prefault({}),
  home_assistant: z
    .union([z.literal(false), homeAssistant], 'false, or url and token_file')
    .transform((given) => given || undefined)
    .optional()
    .meta({
      description:
        'Home Assistant, to write late readings into its statistics at their true day. Optional; within a Home Assistant app it is found by itself ($SUPERVISOR_TOKEN). false: off.',
      examples: [{ url: 'http://homeassistant.local:8123', token_file: '/run/secrets/ha_token' }],
    }),
  http: switchable(http, 'false, or listen')
    .prefault({})
    .describe('The address of the page, and of health and metrics for machines that watch. false: off.'),
  statement: statement.prefault({}),
  language: choice(
    ['auto', 'en', 'ga', 'de'],
    'auto',
    "The language of the statement and of names at Home Assistant: English, Irish or German. auto: English at Home Assistant, the browser's on the page.",
  ),
  web: switchable(web, 'false, or password_file, hosts and trusted_proxy')
    .prefault({})
    .describe(
      'The page to look at with a browser, on http.listen. Without a password it is served on this machine only (http.listen on 127.0.0.1). false: off.',
    ),
  fleet: fleet
    .optional()
    .describe(
      'Several processes for thousands of accounts, which share everything in PostgreSQL. The accounts are in the database: heat2mqtt accounts.',
    ),
  state_dir: usual(
    text('the path of a directory'),
    './state',
    'Where tokens and readings are kept. Default: the first directory of $STATE_DIRECTORY (systemd), else ./state.',
  ),
  log: log.prefault({}),
}).meta({ title: 'heat2mqtt configuration' });

/** Checked, defaults filled in, each secret one field. `provider` is there whenever `accounts` has entries. */
export type Config = z.output<typeof fileSchema>;
/** `password`: absent only where a person signs in (`provider.sign_in` device or link). */
export type Account = Config['accounts'][number];
export type Mqtt = Config['mqtt'];
export type Embedded = Exclude<Mqtt['embedded'], false>;
export type Fleet = NonNullable<Config['fleet']>;
export type HomeAssistant = NonNullable<Config['home_assistant']>;
