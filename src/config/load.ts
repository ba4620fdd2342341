// Loads the configuration from file, environment and secrets; all mistakes are reported at once.
import { readFile as readFileOf } from 'node:fs/promises';
import type { Scrubber } from '../foundation/log.ts';
import { withAppOptions } from './appOptions.ts';
import { Draft } from './draft.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import { ConfigInvalid } from './faults.ts';
import { isLoopback } from './listenAddress.ts';
import { checkRules, type NextTimes } from './rules.ts';
import { type Config, type Embedded, fileSchema } from './schema.ts';
import { decodeText, type ReadFile, whyUnreadable } from './secret.ts';
import { readFiles } from './secretFiles.ts';
import { readYaml } from './yamlText.ts';

export type Loaded = Readonly<Awaited<ReturnType<typeof loadConfig>>>;

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

/** Fails with ConfigInvalid, also for a file that is not UTF-8. */
export async function readConfigText(path: string, readFile: ReadFile = readFileOf): Promise<string> {
  try {
    return decodeText(await readFile(path));
  } catch (error) {
    throw new ConfigInvalid([{ path, found: whyUnreadable(error), allowed: 'a readable YAML file' }]);
  }
}

/** Fails with ConfigInvalid. Afterwards the scrubber knows every secret. */
export async function loadConfig(options: LoadOptions) {
  const { path, now, nextTimes = () => [0], readFile = readFileOf } = options;
  const draft = new Draft(path, options.scrubber);
  const { origins, warnings } = draft;
  const env = await withAppOptions(options.env, draft, readFile, options.fetch ?? fetch);
  if (path !== undefined) draft.take(readYaml(await readConfigText(path, readFile), path));
  applyEnvironment(draft, env);
  if (options.assumeConstituencies) draft.raw.constituencies ??= {};
  // Sections that are there anyhow: their secrets may come without them.
  for (const name of ['mqtt', 'web']) draft.raw[name] ??= {};
  await readFiles(draft, readFile, env.CREDENTIALS_DIRECTORY);
  // Without `jitless`, here and for the state directory, zod compiles parsers that run once: 25 ms of CPU of each start.
  const parsed = fileSchema.safeParse(draft.raw, { jitless: true });
  for (const issue of parsed.error?.issues ?? []) draft.refuseIssue(issue);
  checkRules(draft, now(), nextTimes, path === undefined ? PLACES : []);
  const mistakes = draft.faults();
  if (!parsed.success || mistakes.length > 0) throw new ConfigInvalid(mistakes);

  const config: Config = parsed.data;
  const { provider } = config;
  // Ahead of expiry, thousands of sessions would be refreshed day and night for a few polls.
  if (config.fleet && provider && !origins.has('provider.keep_alive')) provider.keep_alive = false;
  /** Warnings that mean that something does not work as it was asked for: told in health, too. */
  const notices = settleOwnBroker(config, draft);
  if (config.state_dir.split('/').includes('~')) warnings.push(NO_HOME);
  return { config, origins, path, warnings, notices };
}

/** Our own broker is the one to connect to. If everybody could use it, it is for this machine only. */
function settleOwnBroker({ mqtt }: Config, { origins, warnings }: Draft) {
  const { embedded } = mqtt;
  if (!embedded) return [];
  const isOpenToAll = !isLoopback(embedded.host) && !embedded.password && !mqtt.password;
  if (isOpenToAll) embedded.host = '127.0.0.1';
  if (origins.has('mqtt.url')) warnings.push(URL_IGNORED);
  else mqtt.url = embeddedUrl(embedded) ?? mqtt.url;
  return isOpenToAll ? [BROKER_ON_LOOPBACK] : [];
}

const URL_IGNORED =
  'mqtt.url is not used, because mqtt.embedded starts a broker of its own: remove one of the two.';

const NO_HOME =
  'state_dir has a folder called ~: only a shell reads it as your home. Write the whole path, as /home/me/state, and move what is in that folder.';

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
