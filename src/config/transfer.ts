// What of a configuration file goes into a backup and comes out of it: its text without secrets, and the files it names.
import { stringify } from 'yaml';
import { createScrubber } from '../foundation/log.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import { Faults } from './faults.ts';
import { fileKeyOf, schemaAt } from './keys.ts';
import { ConfigInvalid } from './load.ts';
import { leaves, type Path, put, type RawConfig, remove, textAt } from './rawConfig.ts';
import { locateFrom, relativeTo } from './relativePaths.ts';
import { fileSchema } from './schema.ts';
import { parseYaml } from './yamlText.ts';

/** In front of the host of an address. */
const PASSWORD_IN_ADDRESS = /^([a-z][\w+.-]*:\/\/[^/?#:@]*):[^/?#]*@/i;

/**
 * The configuration without its inline secrets and without comments, in which secrets may stand too. Paths below its folder
 * become relative, so that it works in another folder. `taken`: the keys of the secrets. Throws ConfigInvalid; `name` is the
 * file's.
 */
export function withoutSecrets(
  text: string,
  name: string,
): { readonly text: string; readonly taken: readonly string[] } {
  const raw = rawOf(text, name);
  const taken: string[] = [];
  for (const [path, value] of leaves(raw)) {
    if (isSecret(path)) {
      remove(raw, path);
      taken.push(path.join('.'));
    } else if (typeof value === 'string' && PASSWORD_IN_ADDRESS.test(value)) {
      put(raw, path, value.replace(PASSWORD_IN_ADDRESS, '$1@'));
      taken.push(`the password in ${path.join('.')}`);
    } else if (typeof value === 'string' && (isFile(path) || path.join('.') === 'state_dir'))
      put(raw, path, relativeTo(name, value));
  }
  return { text: stringify(raw, { lineWidth: 0 }), taken };
}

/** Each secret may be given by a file instead. */
const isSecret = (path: Path): boolean => schemaAt(fileKeyOf(path)) !== undefined;

/** The key of a secret's file, or of a certificate. */
const isFile = (path: Path): boolean =>
  path.at(-1)?.endsWith('_file') === true && schemaAt(path) !== undefined;

/** The files that it names, as they are written (`pathIn`): those of secrets, and the certificates. Throws ConfigInvalid. */
export function filesIn(text: string, name: string): string[] {
  const raw = rawOf(text, name);
  return leaves(raw).flatMap(([path]) => (isFile(path) && textAt(raw, path)) || []);
}

/**
 * The state directory by this text (`null`: no file) and the environment. Other mistakes do not matter: the secrets may
 * not be there yet. Throws ConfigInvalid.
 */
export function stateDirOf(text: string | null, name: string, env: Environment): string {
  const raw = text === null ? {} : rawOf(text, name);
  const origins = applyEnvironment(raw, env, new Faults());
  const { data, error } = fileSchema.shape.state_dir.safeParse(raw.state_dir);
  if (error || data.includes('\0'))
    throw new ConfigInvalid([
      { path: 'state_dir', found: 'something else', allowed: 'the path of a directory' },
    ]);
  return locateFrom(name, origins, [])('state_dir', data);
}

/** The text with this state directory, without its comments. Throws ConfigInvalid; `name` is the file's. */
export const withStateDir = (text: string, name: string, stateDir: string): string =>
  stringify({ ...rawOf(text, name), state_dir: stateDir }, { lineWidth: 0 });

/** Whether it is the configuration of a fleet. Throws ConfigInvalid. */
export function isOfFleet(text: string, name: string, env: Environment): boolean {
  const raw = rawOf(text, name);
  applyEnvironment(raw, env, new Faults());
  return raw.fleet !== undefined;
}

function rawOf(text: string, name: string): RawConfig {
  const faults = new Faults();
  const raw = parseYaml(text, name, faults);
  if (raw === undefined) throw new ConfigInvalid(faults.all(createScrubber()));
  return raw;
}
