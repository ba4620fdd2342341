// What of a configuration file goes into a backup and comes out of it: its text without secrets, and what it names outside.
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { stringify } from 'yaml';
import { ConfigInvalid, Draft } from './draft.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import { isFileKey, isSecret } from './keys.ts';
import { fileSchema } from './schema.ts';
import { readYaml } from './yamlText.ts';

/** In front of the host of an address. */
const PASSWORD_IN_ADDRESS = /^([a-z][\w+.-]*:\/\/[^/?#:@]*):[^/?#]*@/i;

/**
 * The configuration without its inline secrets and without comments, in which secrets may stand too. Paths below its folder
 * become relative, so that it works in another folder. `taken`: the keys of the secrets; `files`: those of secrets and the
 * certificates, as they are written. Throws ConfigInvalid; `name` is the file's.
 */
export function withoutSecrets(
  text: string,
  name: string,
): Readonly<Record<'taken' | 'files', readonly string[]>> & { readonly text: string } {
  const draft = draftOf(text, name);
  const taken: string[] = [];
  for (const [path, value] of draft.leaves()) {
    // Each secret may be given by a file instead.
    if (isSecret(path)) {
      draft.remove(path);
      taken.push(path.join('.'));
    } else if (typeof value === 'string' && PASSWORD_IN_ADDRESS.test(value)) {
      draft.put(path, value.replace(PASSWORD_IN_ADDRESS, '$1@'));
      taken.push(`the password in ${path.join('.')}`);
    } else if (typeof value === 'string' && (isFileKey(path) || path.join() === 'state_dir')) {
      const below = relative(resolve(dirname(name)), value);
      if (isAbsolute(value) && below !== '' && !below.startsWith('..')) draft.put(path, `./${below}`);
    }
  }
  return { text: stringify(draft.raw, { lineWidth: 0 }), taken, files: filesIn(draft) };
}

const filesIn = (draft: Draft): string[] =>
  draft.leaves().flatMap(([path]) => (isFileKey(path) && draft.textAt(path)) || []);

/**
 * What a text (`null`: no file) and the environment say. `files`: those of secrets and the certificates, as they are written
 * (`pathIn`). Other mistakes do not matter: the secrets may not be there yet. Throws ConfigInvalid; `name` is the file's.
 */
export function outlineOf(
  text: string | null,
  name: string,
  env: Environment = {},
): { readonly files: string[]; readonly stateDir: string; readonly hasFleet: boolean } {
  const draft = draftOf(text ?? '', name);
  const files = filesIn(draft);
  applyEnvironment(draft, env);
  const { data, error } = fileSchema.shape.state_dir.safeParse(draft.raw.state_dir);
  if (error || data.includes('\0'))
    throw new ConfigInvalid([
      { path: 'state_dir', found: 'something else', allowed: 'the path of a directory' },
    ]);
  const stateDir = draft.locate(['state_dir'], data);
  return { files, stateDir, hasFleet: draft.raw.fleet !== undefined };
}

/** The text with this state directory, without its comments. Throws ConfigInvalid; `name` is the file's. */
export const withStateDir = (text: string, name: string, stateDir: string): string =>
  stringify({ ...draftOf(text, name).raw, state_dir: stateDir }, { lineWidth: 0 });

function draftOf(text: string, name: string): Draft {
  const draft = new Draft(name);
  if (!readYaml(text, name, draft)) throw new ConfigInvalid(draft.faults());
  return draft;
}
