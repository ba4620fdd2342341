// A configuration on its way into a backup and out of it: without its secrets, and with the state directory of another machine.
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import * as yaml from 'yaml';
import { Draft } from './draft.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import { ConfigInvalid } from './faults.ts';
import { isFileKey, isSecret } from './keys.ts';
import { fileSchema } from './schema.ts';
import { readYaml } from './yamlText.ts';

/**
 * The configuration without its inline secrets and without comments, in which secrets may stand too. Paths below its folder
 * become relative, so that it works in another folder. `taken`: the keys of the secrets; `files`: those of secrets and the
 * certificates, as they are written. Throws ConfigInvalid; `name` is the file's.
 */
export function withoutSecrets(text: string, name: string) {
  const draft = draftOf(text, name);
  // Takes the login out of mqtt.url.
  applyEnvironment(draft, {});
  const taken: string[] = [];
  for (const [path, value] of draft.leaves()) {
    // Each secret may be given by a file instead.
    if (isSecret(path)) {
      draft.remove(path);
      taken.push(path.join('.'));
    } else if (typeof value === 'string' && (isFileKey(path) || path.join() === 'state_dir')) {
      const below = relative(resolve(dirname(name)), value);
      if (isAbsolute(value) && below !== '' && !below.startsWith('..')) draft.put(path, `./${below}`);
    }
  }
  return { text: yaml.stringify(draft.raw, { lineWidth: 0 }), taken, files: filesIn(draft) };
}

const filesIn = (draft: Draft): string[] =>
  draft.leaves().flatMap(([path]) => (isFileKey(path) && draft.textAt(path)) || []);

/**
 * The settings of a text (`null`: no file) and of the environment. `files`: those of secrets and the certificates, as they are written
 * (`pathIn`). Other mistakes do not matter: the secrets may not be there yet. Throws ConfigInvalid; `name` is the file's.
 */
export function outlineOf(text: string | null, name: string, env: Environment = {}) {
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
  yaml.stringify({ ...readYaml(text, name), state_dir: stateDir }, { lineWidth: 0 });

function draftOf(text: string, name: string): Draft {
  const draft = new Draft(name);
  draft.take(readYaml(text, name));
  return draft;
}
