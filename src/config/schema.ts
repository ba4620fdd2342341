// The schema of the configuration file, its checks across sections, and the type of the checked configuration.
import * as z from 'zod';
import { isClockSet } from '../foundation/clock.ts';
import { shortestGapMinutes } from './cronGap.ts';
import { isMapping, textAt, valueAt } from './rawConfig.ts';
import type { Secret } from './secret.ts';
import {
  accountSection,
  constituenciesSection,
  extrasSection,
  fleetSection,
  homeAssistantSection,
  httpSection,
  logSection,
  meterSection,
  mqttSection,
  providerSection,
  statementSection,
  usageSection,
  webSection,
} from './sections.ts';
import { about, CRON_SHAPE, choice, section, text, whenMapping } from './values.ts';

export const LANGUAGES = ['auto', 'en', 'ga', 'de'] as const;

/** The file as people write it, after the environment was applied to it and `true` for a section made a mapping. */
export const fileSchema = section({
  version: z.literal(1, '1, the only version this program understands').default(1).meta({
    description: 'The version of this format.',
    essential: true,
  }),
  provider: providerSection.optional(),
  accounts: z
    .array(accountSection, 'a list')
    .default([])
    .describe(
      'The logins at the provider, one or many. May be left out when only constituencies are wanted.',
    ),
  usage: usageSection.prefault({}),
  extras: extrasSection.prefault({}),
  meters: z
    .record(z.string(), meterSection, 'a mapping of meters, each with its name')
    .default({})
    .meta(
      about('Names for meters, by their identifier as it is in the topics.', {
        70418235: { name: 'Flat 3' },
      }),
    ),
  constituencies: constituenciesSection.optional(),
  mqtt: mqttSection.prefault({}),
  home_assistant: z
    .union([z.literal(false), homeAssistantSection], 'false, or url and token_file')
    .transform((given) => given || undefined)
    .optional()
    .meta(
      about(
        'Home Assistant, to write late readings into its statistics at their true day. Optional; within a Home Assistant app it is found by itself ($SUPERVISOR_TOKEN). false: off.',
        { url: 'http://homeassistant.local:8123', token_file: '/run/secrets/ha_token' },
      ),
    ),
  http: z
    .union([z.boolean(), httpSection], 'false, or listen')
    .prefault({})
    .describe('The address of the page, and of health and metrics for machines that watch. false: off.'),
  statement: statementSection
    .prefault({})
    .describe(
      'What the provider does not tell and the statement of a month has room for. All of it may be left out.',
    ),
  language: choice(LANGUAGES, 'auto').describe(
    "The language of the statement and of names at Home Assistant: English, Irish or German. auto: English at Home Assistant, the browser's on the page.",
  ),
  web: z
    .union([z.boolean(), webSection], 'false, or password_file, hosts and trusted_proxy')
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
    const ids = Array.isArray(accounts) ? accounts.map((account) => valueAt(account, ['id'])) : undefined;
    for (const [n, id] of ids?.entries() ?? []) {
      const first = ids?.indexOf(id) ?? n;
      const path = ['accounts', `${n}`, 'id'];
      if (id === undefined && ids?.length !== 1 && isMapping(valueAt(accounts, [`${n}`])))
        report(path, 'with several accounts, a different id for each');
      else if (typeof id === 'string' && first !== n)
        report(path, 'a different id for each account', `the id of accounts.${first} again`);
    }
    const count = ids?.length;
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
    // A switch of a wrong type is told by itself.
    const mayBeFast = (valueAt(config, ['usage', 'allow_fast_schedule']) ?? false) !== false;
    if (expression !== undefined && !validateCron(expression))
      report(cron, 'a cron expression of 5 or 6 fields, each in its range');
    else if (expression !== undefined && !mayBeFast && isFast(expression)) report(cron, TOO_FAST);

    const today = localDay(now, textAt(config, ['usage', 'timezone']));
    const sections = [['usage'], ...Array.from({ length: count ?? 0 }, (_, n) => ['accounts', `${n}`])];
    for (const since of sections.map((path) => [...path, 'history_since'])) {
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

function localDay(now: number, timeZone: string | undefined): string {
  const moment = new Date(now);
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(moment);
  } catch {
    return moment.toISOString().slice(0, 10);
  }
}

export type FileConfig = z.output<typeof fileSchema>;

type Filled<T> = Exclude<T, boolean | undefined>;
type Switched<T> = Exclude<T, true>;
/** `password`: absent only where a person signs in (`provider.sign_in` device or link). */
export type Account = FileConfig['accounts'][number] & { id: string };
export type Embedded = Filled<FileConfig['mqtt']['embedded']>;
export type Mqtt = Omit<FileConfig['mqtt'], 'embedded'> & { embedded: Embedded | false };
export type Fleet = Filled<FileConfig['fleet']> & { database_url: Secret; key: Secret };
export type HomeAssistant = Filled<FileConfig['home_assistant']> & { token: Secret };

/** Checked, defaults filled in, each secret one field. `provider` is there whenever `accounts` has entries. */
export type Config = Omit<FileConfig, 'accounts' | 'mqtt' | 'http' | 'web' | 'home_assistant' | 'fleet'> & {
  accounts: Account[];
  mqtt: Mqtt;
  http: Switched<FileConfig['http']>;
  web: Switched<FileConfig['web']>;
  home_assistant?: HomeAssistant | undefined;
  fleet?: Fleet;
};
