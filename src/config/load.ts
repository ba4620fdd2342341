// From text to a trusted configuration: file, environment and secrets together; every mistake is told at once.
import { readFile as readFileOf } from 'node:fs/promises';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Scrubber } from '../foundation/log.ts';
import { withAppOptions } from './appOptions.ts';
import { crossCheck } from './crossChecks.ts';
import { parseTree } from './document.ts';
import { type Environment, readEnvironment } from './environment.ts';
import {
  addUnknownKeys,
  addWrongValues,
  collectFaults,
  type Fault,
  type Faults,
  foundWords,
  type Origins,
} from './faults.ts';
import { applySettings, applyStateDirectory, applySupervisor, settleFile } from './overlay.ts';
import { type Config, fileSchema } from './schema.ts';
import { seal } from './seal.ts';
import { findSecrets } from './secretSources.ts';
import { decodeText, type ReadFile, whyUnreadable } from './secrets.ts';
import { allowedWords, shapeAt } from './shape.ts';
import { leaves, type Tree, textAt } from './tree.ts';

/** One line per mistake, each with its path, what was found and what is allowed. */
export class ConfigInvalid extends Failure {
  readonly code = 'config_invalid';
  readonly exitCode = EXIT.config;
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(
      faults.map(({ path, found, allowed }) => `${path}: found ${found}; allowed: ${allowed}`).join('\n'),
      {
        retry: 'never',
        hint: '`heat2mqtt config example` prints a commented example; docs/configuration.md has every key.',
      },
    );
    this.faults = faults;
  }
}

export interface Loaded {
  readonly config: Config;
  /** By path (`mqtt.url`): `default`, `file`, `environment HEAT2MQTT_…` or `credentials directory`. */
  readonly origins: ReadonlyMap<string, string>;
  readonly path: string | undefined;
}

export interface LoadOptions {
  /** Without it the environment alone must say enough. */
  readonly path?: string | undefined;
  readonly env: Environment;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly scrubber: Scrubber;
  readonly validateCron?: (expression: string) => boolean;
  readonly readFile?: ReadFile;
  /** For the Supervisor of a Home Assistant app. */
  readonly fetch?: typeof fetch;
  /** For a command that only wants the public list: a configuration without anything is fine then. */
  readonly assumeConstituencies?: boolean;
}

const PLACES = ['config.yaml', '/data/config.yaml', '/etc/heat2mqtt/config.yaml'];

/** The path of the configuration file, undefined when there is none. Fails with ConfigInvalid when a named one is missing. */
export function findConfigFile(options: {
  explicit?: string | undefined;
  env: Environment;
  exists: (path: string) => boolean;
}): string | undefined {
  const { explicit, env, exists } = options;
  const fromEnvironment = env.HEAT2MQTT_CONFIG === '' ? undefined : env.HEAT2MQTT_CONFIG;
  const named = explicit ?? fromEnvironment;
  if (named === undefined) return PLACES.find(exists);
  if (exists(named)) return named;
  const where = explicit === undefined ? 'HEAT2MQTT_CONFIG' : '--config';
  throw new ConfigInvalid([
    { path: where, found: `no such file: ${named}`, allowed: 'the path of a readable file' },
  ]);
}

/** Fails with ConfigInvalid. Afterwards the scrubber knows every secret. */
export async function loadConfig(options: LoadOptions): Promise<Loaded> {
  const { path, scrubber, validateCron, readFile = readFileOf } = options;
  const faults = collectFaults(scrubber);
  const env = await withAppOptions(options.env, { readFile, fetch: options.fetch ?? fetch, faults });
  const tree = path === undefined ? {} : await readTree(path, readFile, faults);
  if (tree === undefined) throw new ConfigInvalid(faults.all());

  const accounts = tree.accounts;
  const settings = readEnvironment(env, Array.isArray(accounts) ? accounts.length : 0, faults);
  const origins = settleFile(tree, settings, faults);
  applySettings(tree, settings, origins, faults);
  applyStateDirectory(tree, env, origins);
  applySupervisor(tree, env, origins);
  if (options.assumeConstituencies) tree.constituencies ??= {};

  const parsed = fileSchema.safeParse(tree, { jitless: true });
  const issues = parsed.error?.issues ?? [];
  addUnknownKeys(faults, issues, tree);
  const credentialsDirectory = env.CREDENTIALS_DIRECTORY;
  const secrets = await findSecrets(tree, { credentialsDirectory, readFile, scrubber, origins, faults });
  addWrongValues(faults, issues, tree, origins);
  const given = new Set(secrets.keys());
  const lookedIn = path === undefined ? PLACES : [];
  crossCheck({ tree, origins, faults, secrets: given, now: options.now(), validateCron, lookedIn });
  await checkReadable(tree, readFile, origins, faults);
  if (!parsed.success || faults.all().length > 0) throw new ConfigInvalid(faults.all());

  const config = seal(parsed.data, secrets, origins.has('mqtt.url'));
  for (const [leaf] of leaves(config)) {
    const name = leaf.join('.');
    if (!origins.has(name)) origins.set(name, 'default');
  }
  return { config, origins, path };
}

async function readTree(path: string, readFile: ReadFile, faults: Faults): Promise<Tree | undefined> {
  let text: string;
  try {
    text = decodeText(await readFile(path));
  } catch (error) {
    const mounted = ' (Docker makes a directory when the file to mount is not there)';
    const found = whyUnreadable(error);
    faults.add(path, found === 'a directory' ? found + mounted : found, 'a readable YAML file');
    return undefined;
  }
  return parseTree(text, path, faults);
}

async function checkReadable(
  tree: Tree,
  readFile: ReadFile,
  origins: Origins,
  faults: Faults,
): Promise<void> {
  for (const [path] of leaves(tree)) {
    const file = textAt(tree, path);
    const shape = shapeAt(path);
    if (shape?.readable !== true || file === undefined || file === '') continue;
    try {
      await readFile(file);
    } catch (error) {
      faults.add(
        path.join('.'),
        `${whyUnreadable(error)}: ${foundWords(tree, path, origins)}`,
        allowedWords(shape),
      );
    }
  }
}
