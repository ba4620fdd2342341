// The schema of the configuration file, and the type of the checked configuration.
import * as z from 'zod';
import { isClockSet } from '../foundation/clock.ts';
import { textAt, valueAt } from './rawConfig.ts';
import type { Secret } from './secrets/secrets.ts';
import { shortestGapMinutes } from './sections/cronGap.ts';
import { fleetSection } from './sections/fleetSection.ts';
import { mqttSection } from './sections/mqttSection.ts';
import {
  accountsSection,
  constituenciesSection,
  providerSection,
  usageSection,
} from './sections/providerSections.ts';
import {
  address,
  CRON_SHAPE,
  choice,
  flag,
  hostAndPort,
  hostName,
  ipOrNetwork,
  secretKeys,
  section,
  text,
  whenMapping,
} from './sections/values.ts';

const extra = (what: string) => flag(true).describe(`Ask for ${what}.`);

const extrasSection = section({
  meter_reading: extra('the register of the meter'),
  balance: extra('what is due on the account'),
  invoices: extra('invoices'),
  site: extra("the site's time zone and currency"),
}).describe('What else to ask for, at most once a day.');

/** Home Assistant lives at the root of its host: what follows is the page that was open when the address was copied. */
function webSocketOf(given: string): string {
  const { protocol, host, pathname } = new URL(given);
  if (protocol.startsWith('ws') && pathname !== '/') return given;
  return `${protocol.replace('http', 'ws')}//${host}/api/websocket`;
}

const SENSOR = 'the entity id of a sensor, such as sensor.outdoor_temperature';
const BASE = 'a temperature in °C from 5 to 25';

const homeAssistantSection = section({
  url: address(
    ['http:', 'https:', 'ws:', 'wss:'],
    'an address starting with http://, https://, ws:// or wss:// without user name or password in it',
  )
    .meta({
      description:
        "Home Assistant's address as a browser opens it, or that of its WebSocket (ws://homeassistant.local:8123/api/websocket).",
      examples: ['http://homeassistant.local:8123'],
    })
    .transform(webSocketOf),
  ...secretKeys('token', 'The long-lived access token of one of its administrators', '/run/secrets/ha_token'),
  outdoor_temperature: z
    .string(SENSOR)
    .regex(/^sensor\.(?!_)[\da-z_]{1,240}(?<!_)$/, SENSOR)
    .optional()
    .meta({
      description:
        'An outdoor temperature sensor of Home Assistant, with long-term statistics. The heat used is then compared with the weather.',
      examples: ['sensor.outdoor_temperature'],
    }),
  degree_day_base: z
    .number(BASE)
    .min(5, BASE)
    .max(25, BASE)
    .optional()
    .meta({
      description:
        'Outdoor daily mean (°C) below which the building is heated. Default: found for the house; 15.5, the custom in Ireland and Britain, where the days do not tell.',
      examples: [15.5],
    }),
});

const httpSection = section({
  listen: hostAndPort
    .default('127.0.0.1:8099')
    .describe('Where the page, /healthz, /readyz and /metrics are served.'),
  metrics: choice(['page', 'open'], 'page').describe(
    'Who may read /metrics. page: whoever may see the page. open: everybody.',
  ),
});

const webSection = section({
  ...secretKeys('password', 'The password of the page', '/run/secrets/web_password'),
  hosts: z
    .array(hostName, 'a list of host names')
    .default([])
    .describe(
      "Names under which a browser finds the page, besides IP addresses, localhost and this machine's own name.",
    ),
  trusted_proxy: ipOrNetwork.optional().meta({
    description:
      'The address or network of a reverse proxy. Its X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto are believed. With a password only.',
    examples: ['172.18.0.0/16'],
  }),
});

const METER_NAME = 'a name of at most 64 characters in one line';

const metersSection = z
  .record(
    z.string(),
    section({
      // Half a surrogate pair is no JSON to Home Assistant, which would lose the whole document.
      name: text(METER_NAME)
        .trim()
        .refine((name) => /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,64}$/u.test(name), METER_NAME)
        .meta({
          description:
            'What you call the meter. It is published; ids, topics and entity ids stay as they are.',
          examples: ['Flat 3'],
          private: true,
        }),
    }),
    'a mapping of meters, each with its name',
  )
  .default({})
  .meta({
    description: 'Names for meters, by their identifier as it is in the topics.',
    examples: [{ 70418235: { name: 'Flat 3' } }],
  });

const logSection = section({
  level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info').describe(
    'How much the log tells.',
  ),
  format: choice(['auto', 'pretty', 'json'], 'auto').describe('auto: pretty on a terminal, JSON elsewhere.'),
}).describe('The log.');

/** The file as people write it; the environment is applied to it before it is parsed. */
export const fileSchema = section({
  version: z.literal(1, '1, the only version this program understands').default(1).meta({
    description: 'The version of this format.',
    essential: true,
  }),
  provider: providerSection.optional(),
  accounts: accountsSection,
  usage: usageSection.prefault({}),
  extras: extrasSection.prefault({}),
  meters: metersSection,
  constituencies: constituenciesSection.optional(),
  mqtt: mqttSection.prefault({}),
  home_assistant: z
    .union([z.literal(false), homeAssistantSection], 'false, or url and token_file')
    .optional()
    .meta({
      description:
        'Home Assistant, to write late readings into its statistics at their true day. Optional; within a Home Assistant app it is found by itself ($SUPERVISOR_TOKEN). false: off.',
      examples: [{ url: 'http://homeassistant.local:8123', token_file: '/run/secrets/ha_token' }],
    }),
  http: z
    .union([z.boolean(), httpSection], 'false, or listen')
    .transform((given) => (given === true ? httpSection.parse({}) : given))
    .prefault({})
    .describe('The address of the page, and of health and metrics for machines that watch. false: off.'),
  web: z
    .union([z.boolean(), webSection], 'false, or password_file, hosts and trusted_proxy')
    .transform((given) => (given === true ? webSection.parse({}) : given))
    .prefault({})
    .describe(
      'The page to look at with a browser, on http.listen. Without a password it is served on this machine only (http.listen on 127.0.0.1). false: off.',
    ),
  fleet: fleetSection
    .optional()
    .describe(
      'Several processes for thousands of accounts, which share everything in PostgreSQL. The accounts are in the database: heat2mqtt accounts.',
    ),
  state_dir: text('the path of a directory')
    .default('./state')
    .describe(
      'Where tokens and readings are kept. Default: the first directory of $STATE_DIRECTORY (systemd), else ./state.',
    ),
  log: logSection.prefault({}),
}).meta({ title: 'heat2mqtt configuration' });

/**
 * The schema of the file with checks that need to know more: `now` in milliseconds since the Unix epoch, and where a
 * configuration file was `lookedIn` for when there is none.
 */
export function schemaFor(
  now: number,
  lookedIn: readonly string[],
  validateCron: (expression: string) => boolean = () => true,
) {
  // Any value may be of a wrong type; the schema itself reports that.
  return fileSchema.superRefine((config: unknown, { addIssue }) => {
    const report = (path: string[], message: string, found?: string) =>
      addIssue({ code: 'custom', path, message, params: { found } });

    const accounts = valueAt(config, ['accounts']);
    const count = Array.isArray(accounts) ? accounts.length : undefined;
    const hasFleet = valueAt(config, ['fleet']) !== undefined;
    if (count === 0 && !hasFleet && valueAt(config, ['constituencies']) === undefined) {
      const noFile = lookedIn.length === 0 ? '' : `, and no configuration file (${lookedIn.join(', ')})`;
      report(
        ['accounts'],
        'at least one of the two sections; `heat2mqtt config example` prints a file to begin with',
        `neither accounts nor constituencies${noFile}`,
      );
    }
    if ((count || hasFleet) && valueAt(config, ['provider']) === undefined)
      report(['provider'], 'with accounts: issuer, api_url and client_id of their provider');
    // What belongs to one household, or to one process.
    for (const path of hasFleet ? [['home_assistant'], ['mqtt', 'embedded']] : [])
      if ((valueAt(config, path) ?? false) !== false) report(path, 'false, or nothing, with fleet');
    const signIn = ['provider', 'sign_in'];
    if (hasFleet && ['device', 'link'].includes(String(valueAt(config, signIn))))
      report(signIn, 'auto, password or form with fleet: no person signs in there');

    const cron = ['usage', 'schedule'];
    const expression = textAt(config, cron);
    if (expression !== undefined && !validateCron(expression))
      report(cron, 'a cron expression of 5 or 6 fields, each in its range');
    else if (expression !== undefined && !mayBeFast(config) && isFast(expression)) report(cron, TOO_FAST);

    const today = localDay(now, textAt(config, ['usage', 'timezone']));
    const sections = [['usage'], ...Array.from({ length: count ?? 0 }, (_, n) => ['accounts', `${n}`])];
    for (const since of sections.map((section) => [...section, 'history_since'])) {
      const firstDay = textAt(config, since);
      // Every day lies in the future of a clock that is not set; the daemon waits until it is.
      if (firstDay !== undefined && firstDay > today && isClockSet(now))
        report(since, `a day as YYYY-MM-DD, from 2000-01-01 until ${today}`);
    }
  }, whenMapping);
}

const SHORTEST_GAP_MINUTES = 15;
const TOO_FAST = `at least ${SHORTEST_GAP_MINUTES} minutes between two polls, or usage.allow_fast_schedule: true; the provider has something new once a day`;

const isFast = (expression: string): boolean =>
  CRON_SHAPE.test(expression) && shortestGapMinutes(expression) < SHORTEST_GAP_MINUTES;
// A wrong type is told by itself.
const mayBeFast = (config: unknown): boolean =>
  (valueAt(config, ['usage', 'allow_fast_schedule']) ?? false) !== false;

function localDay(now: number, timeZone: string | undefined): string {
  const moment = new Date(now);
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(moment);
  } catch {
    return moment.toISOString().slice(0, 10);
  }
}

export type FileConfig = z.output<typeof fileSchema>;
type FileAccount = FileConfig['accounts'][number];
type FileWeb = Exclude<FileConfig['web'], false>;
type FileFleet = Exclude<FileConfig['fleet'], undefined>;
type FileHomeAssistant = Exclude<FileConfig['home_assistant'], false | undefined>;
type InFile<N extends string> = N | `${N}_file`;

export type Account = Omit<FileAccount, 'id' | InFile<'password' | 'totp_secret'>> & {
  id: string;
  /** Absent only where a person signs in (`provider.sign_in` device or link). */
  password?: Secret;
  /** Read by `totpParameters`. */
  totp_secret?: Secret;
};
type FileEmbedded = Exclude<FileConfig['mqtt']['embedded'], false>;
export type Embedded = Omit<FileEmbedded, InFile<'password'>> & { password?: Secret };
export type Mqtt = Omit<FileConfig['mqtt'], InFile<'password' | 'key_password'> | 'embedded'> & {
  embedded: Embedded | false;
  password?: Secret;
  key_password?: Secret;
};
export type Web = Omit<FileWeb, InFile<'password'>> & { password?: Secret };
export type Fleet = Omit<FileFleet, InFile<'database_url' | 'key'>> & { database_url: Secret; key: Secret };
export type HomeAssistant = Omit<FileHomeAssistant, InFile<'token'>> & { token: Secret };

/** Checked, defaults filled in, each secret one field. `provider` is there whenever `accounts` has entries. */
export type Config = Omit<FileConfig, 'accounts' | 'mqtt' | 'home_assistant' | 'web' | 'fleet'> & {
  accounts: Account[];
  mqtt: Mqtt;
  home_assistant?: HomeAssistant;
  web: Web | false;
  fleet?: Fleet;
};
