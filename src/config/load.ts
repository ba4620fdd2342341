// Loads the configuration from file, environment and secrets; all mistakes are reported at once. Beside the schema are those that
// one key alone does not show: they take several keys, the clock, or a parser of cron expressions.
import { readFile as readFileOf } from 'node:fs/promises';
import { isClockSet } from '../foundation/clock.ts';
import type { Scrubber } from '../foundation/log.ts';
import { ConfigInvalid, Draft, isMapping } from './draft.ts';
import { type Path, variableOf } from './keys.ts';
import { isLoopback } from './listenAddress.ts';
import { type Config, type Embedded, fileSchema, WITH_PASSWORD } from './schema.ts';
import { decodeText, type ReadFile, whyUnreadable } from './secret.ts';
import { applyEnvironment, type Environment, readFiles, withAppOptions } from './sources.ts';
import { cronExpression, parseUrl, timeZone } from './values.ts';
import { readYaml } from './yamlText.ts';

export interface Loaded extends Pick<Draft, 'origins' | 'warnings'> {
  readonly config: Config;
  readonly path: string | undefined;
  /** Warnings that mean that something does not work as it was asked for: told in health, too. */
  readonly notices: readonly (typeof BROKER_ON_LOOPBACK)[];
}

export interface LoadOptions {
  /** Without it the environment alone must say enough. */
  readonly path?: string | undefined;
  readonly env: Environment;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly scrubber: Scrubber;
  /** Not given: the schedule is not looked at. */
  readonly nextTimes?: NextTimes;
  readonly readFile?: ReadFile;
  readonly fetch?: typeof fetch;
  /** A command that only wants the public list runs without a configuration, too. */
  readonly assumeConstituencies?: boolean;
}

const PLACES = ['config.yaml', '/data/config.yaml', '/etc/heat2mqtt/config.yaml'];

/** The path of the configuration file, undefined when there is none. Fails with ConfigInvalid when a named one is missing. */
export function findConfigFile(
  explicit: string | undefined,
  env: Environment,
  exists: (path: string) => boolean,
): string | undefined {
  const named = explicit ?? (env.HEAT2MQTT_CONFIG || undefined);
  if (named === undefined) return PLACES.find(exists);
  if (exists(named)) return named;
  const where = explicit === undefined ? 'HEAT2MQTT_CONFIG' : '--config';
  const allowed = 'the path of a readable file';
  throw new ConfigInvalid([{ path: where, found: `no such file: ${named}`, allowed }]);
}

/** So many of the next times of a cron expression; `null`: it is none, and `[]`: no time of it ever comes. */
export type NextTimes = (expression: string, timezone: string, count: number) => readonly number[] | null;

/** Fails with ConfigInvalid. Afterwards the scrubber knows every secret. */
export async function loadConfig(options: LoadOptions): Promise<Loaded> {
  const { path, now, nextTimes = () => [0], readFile = readFileOf } = options;
  const draft = new Draft(path, options.scrubber);
  const { origins, warnings } = draft;
  const env = await withAppOptions(options.env, draft, readFile, options.fetch ?? fetch);
  if (path !== undefined) {
    const text = await readFile(path)
      .then(decodeText)
      .catch((error: unknown) => {
        throw new ConfigInvalid([{ path, found: whyUnreadable(error), allowed: 'a readable YAML file' }]);
      });
    draft.raw = readYaml(text, path);
  }
  applyEnvironment(draft, env);
  if (options.assumeConstituencies) draft.raw.constituencies ??= {};
  // Sections that are there anyhow: their secrets may come without them.
  for (const name of ['mqtt', 'web']) draft.raw[name] ??= {};
  await readFiles(draft, readFile, env.CREDENTIALS_DIRECTORY);
  // Without `jitless`, here and for the state directory, zod compiles parsers that run once: 25 ms of CPU of each start.
  const parsed = fileSchema.safeParse(draft.raw, { jitless: true });
  for (const issue of parsed.error?.issues ?? []) draft.refuseIssue(issue);
  checkAcross(draft, now(), path === undefined ? PLACES : [], nextTimes);
  const mistakes = draft.faults();
  if (!parsed.success || mistakes.length > 0) throw new ConfigInvalid(mistakes);

  const config: Config = parsed.data;
  const { mqtt, provider } = config;
  // Ahead of expiry, thousands of sessions would be refreshed day and night for a few polls.
  if (config.fleet && provider && !origins.has('provider.keep_alive')) provider.keep_alive = false;
  const notices: Loaded['notices'][number][] = [];
  if (mqtt.embedded && !isLoopback(mqtt.embedded.host) && !mqtt.embedded.password && !mqtt.password) {
    mqtt.embedded.host = '127.0.0.1';
    notices.push(BROKER_ON_LOOPBACK);
  }
  if (mqtt.embedded && origins.has('mqtt.url')) warnings.push(URL_IGNORED);
  else if (mqtt.embedded) mqtt.url = embeddedUrl(mqtt.embedded) ?? mqtt.url;
  return { config, origins, path, warnings, notices };
}

const URL_IGNORED =
  'mqtt.url is not used, because mqtt.embedded starts a broker of its own: remove one of the two.';

const BROKER_ON_LOOPBACK = {
  code: 'broker_on_loopback',
  message:
    'mqtt.embedded.host asks for a broker that other machines reach, and it has no user: it is reached from this machine only.',
  hint: 'Set mqtt.embedded.username and mqtt.embedded.password_file.',
};

/** Undefined as long as the port is not chosen. */
function embeddedUrl({ host, port }: Embedded): string | undefined {
  if (port === 0) return undefined;
  const name = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host;
  return `mqtt://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * Any value may be of a wrong type: the schema tells that. `now`: milliseconds since the Unix epoch. `lookedIn`: where a configuration
 * file was looked for, when there is none.
 */
function checkAcross(draft: Draft, now: number, lookedIn: readonly string[], nextTimes: NextTimes): void {
  const at = (path: string) => draft.at(path.split('.'));
  const textAt = (path: string) => draft.textAt(path.split('.'));
  const refuse = (path: string, allowed: string, found?: string) =>
    draft.refuse(path.split('.'), allowed, found);
  const isGiven = (path: string) => at(path) !== undefined;
  const hasSecret = (path: string) => isGiven(path) || isGiven(`${path}_file`);

  for (const path of ['provider.issuer', 'provider.api_url'])
    if ((at('provider.allow_insecure') ?? false) === false && isUnencrypted(textAt(path)))
      refuse(path, 'https://, or http:// to this machine, or provider.allow_insecure: true');
  const signIn = textAt('provider.sign_in') ?? 'auto';
  if (['form', 'link'].includes(signIn) && !isGiven('provider.redirect_uri'))
    refuse('provider.redirect_uri', NEEDS_REDIRECT_URI);

  for (const section of ['mqtt', 'mqtt.embedded'])
    if (hasSecret(`${section}.password`) && !isGiven(`${section}.username`))
      refuse(`${section}.username`, NAME_AND_PASSWORD, 'nothing, but a password');
  // Some brokers want a name alone; ours would let in everyone who knows it.
  if (isGiven('mqtt.embedded.username') && !hasSecret('mqtt.embedded.password'))
    refuse('mqtt.embedded.password', NAME_AND_PASSWORD, 'nothing, but a name');
  const [missing, second] = ['mqtt.cert_file', 'mqtt.key_file'].filter((path) => !isGiven(path));
  if (missing !== undefined && second === undefined)
    refuse(missing, 'cert_file and key_file together, or neither');

  // Every visitor behind the proxy would count as local.
  if (isGiven('web.trusted_proxy') && !isGiven('web.password')) {
    const found = 'a reverse proxy and no password of the page';
    refuse('web.trusted_proxy', 'a reverse proxy only with web.password or web.password_file', found);
  }

  const accounts = at('accounts') ?? [];
  const ids = Array.isArray(accounts) ? accounts.map((_, n) => at(`accounts.${n}.id`)) : [];
  for (const [n, id] of ids.entries()) {
    const first = ids.indexOf(id);
    const again = id === undefined ? undefined : `the id of accounts.${first} again`;
    if (first !== n || (again === undefined && ids.length > 1 && isMapping(at(`accounts.${n}`))))
      refuse(`accounts.${n}.id`, 'with several accounts, a different id for each', again);
  }
  const needed = ['home_assistant.token', 'fleet.database_url', 'fleet.key'];
  // A mistyped way of signing in is one mistake, and may have been one without a password.
  if (WITH_PASSWORD.some((way) => way === signIn))
    needed.push(...ids.flatMap((_, n) => `accounts.${n}.password`));
  for (const key of needed) {
    const path = key.split('.');
    const short = ids.length === 1 && path[0] === 'accounts' ? path.slice(-1) : path;
    if (isMapping(draft.at(path.slice(0, -1))) && !hasSecret(key)) refuse(key, waysToGive(short));
  }

  const hasFleet = isGiven('fleet');
  if (Array.isArray(accounts) && ids.length === 0 && !hasFleet && !isGiven('constituencies')) {
    const [allowed, found] = [ONE_SECTION, 'neither accounts nor constituencies'];
    if (lookedIn.length === 0) refuse('accounts', `${allowed}; ${EXAMPLE}`, found);
    else
      refuse(
        'accounts',
        `${allowed}; ${BEGIN}`,
        `${found}, and no configuration file (${lookedIn.join(', ')})`,
      );
  }
  if ((ids.length > 0 || hasFleet) && !isGiven('provider'))
    refuse('provider', 'with accounts: issuer, api_url and client_id of their provider');
  // What belongs to one household, or to one process.
  for (const path of hasFleet ? ['home_assistant', 'mqtt.embedded'] : [])
    if ((at(path) ?? false) !== false) refuse(path, 'false, or nothing, with fleet');
  checkWitnesses(draft, hasFleet);
  if (hasFleet && ['device', 'link'].includes(signIn))
    refuse('provider.sign_in', 'auto, password or form with fleet: no person signs in there');

  const zone = timeZone.safeParse(at('usage.timezone')).data ?? 'Europe/Dublin';
  const cron = textAt('usage.schedule');
  // A switch of a wrong type is told by itself.
  const mayBeFast = (at('usage.allow_fast_schedule') ?? false) !== false;
  if (cronExpression.safeParse(cron).success && cron !== undefined) {
    const times = nextTimes(cron, zone, TIMES_LOOKED_AT);
    if (times === null) refuse('usage.schedule', 'a cron expression of 5 or 6 fields, each in its range');
    else if (times.length === 0)
      refuse(
        'usage.schedule',
        `a cron expression whose days and hours exist in ${zone}`,
        `${cron}, which never comes`,
      );
    else if (!mayBeFast && shortestGapMs(times) < SHORTEST_GAP_MINUTES * MINUTE_MS)
      refuse('usage.schedule', TOO_FAST);
  }

  const today = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(now);
  for (const section of ['usage', ...ids.map((_, n) => `accounts.${n}`)]) {
    // Every day lies in the future of a clock that is not set; the daemon waits until it is.
    if ((textAt(`${section}.history_since`) ?? '') > today && isClockSet(now))
      refuse(`${section}.history_since`, `a day as YYYY-MM-DD, from 2000-01-01 until ${today}`);
  }
}

function checkWitnesses(draft: Draft, hasFleet: boolean): void {
  const base = draft.textAt(['mqtt', 'base_topic']) ?? 'heat2mqtt';
  for (const meter of Object.keys(Object(draft.at(['meters'])))) {
    const path = ['meters', meter, 'witness'];
    if (draft.at(path) === undefined) continue;
    if (hasFleet) draft.refuse(path, 'nothing, with fleet: one process of a household hears it');
    const topic = draft.textAt([...path, 'topic']) ?? '';
    if (`${topic}/`.startsWith(`${base}/`))
      draft.refuse(
        [...path, 'topic'],
        `a topic of something else, not below mqtt.base_topic (${base})`,
        topic,
      );
  }
}

const NEEDS_REDIRECT_URI = `with sign_in form or link, an address registered for client_id (here or in HEAT2MQTT_PROVIDER_REDIRECT_URI); to find it, sign in on the provider's own page in a browser: the address bar of its login page carries redirect_uri=…; write : and / where it has %3A and %2F`;
const NAME_AND_PASSWORD = 'a name and a password, or neither';
const ONE_SECTION = 'at least one of the two sections';
const EXAMPLE = '`heat2mqtt config example` prints a file to begin with';
const BEGIN =
  '`heat2mqtt setup` asks a few questions and writes the file, `heat2mqtt demo` shows everything with invented readings, `heat2mqtt config example` prints a file to fill in';
const SHORTEST_GAP_MINUTES = 15;
const TOO_FAST = `at least ${SHORTEST_GAP_MINUTES} minutes between two polls, or usage.allow_fast_schedule: true; the provider has something new once a day`;

/** How a secret can be given. `short`: its path, of a single account its name. */
function waysToGive(short: Path): string {
  const [name, variable] = [short.at(-1), variableOf(short)];
  const without = name === 'password' ? '; none with provider.sign_in device or link' : '';
  return `${name} or ${name}_file here, ${variable} or ${variable}_FILE in the environment, or a file "${short.join('_')}" in $CREDENTIALS_DIRECTORY${without}`;
}

function isUnencrypted(address = ''): boolean {
  const { hostname } = parseUrl(address, ['http:']) ?? {};
  // Names below localhost lead nowhere else for those who only send there.
  return hostname !== undefined && !isLoopback(hostname) && !hostname.endsWith('.localhost');
}

const MINUTE_MS = 60_000;
// Of a schedule that asks too often, some of these are too close to one another.
const TIMES_LOOKED_AT = 200;

/** How close two of these times come to one another. */
function shortestGapMs(times: readonly number[]): number {
  return Math.min(...times.slice(1).map((time, at) => time - (times[at] ?? 0)));
}
