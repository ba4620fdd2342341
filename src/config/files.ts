// The files that a configuration names, and its secrets, wherever they come from. Each is read once, so that a mistake is told at
// the start and the scrubber knows every secret.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Draft, isMapping } from './draft.ts';
import { variablesLike } from './environment.ts';
import { fileKeyOf, isFileKey, isSecret, mainKeyOf, type Path, variableOf } from './keys.ts';
import {
  formOf,
  hide,
  lookIntoFile,
  type ReadFile,
  readSecretFile,
  Secret,
  trimNewline,
  whyUnreadable,
} from './secret.ts';

/**
 * Puts whole paths in the place of relative ones, and each secret as a Secret in the place of the key that it comes from. Text of
 * a wrong form stays, for the schema to refuse.
 */
export async function readFiles(draft: Draft, readFile: ReadFile, credentials = ''): Promise<void> {
  await layCredentials(draft, credentials);
  for (const [path, value] of draft.leaves()) {
    if (typeof value !== 'string' || value === '') continue;
    if (isFileKey(path)) await putFile(path, value, draft, readFile);
    else if (isSecret(path)) putSecret(path, trimNewline(value), draft);
    else if (path.join() === 'state_dir') draft.put(path, draft.locate(path, value));
  }
}

function putSecret(path: Path, value: string, draft: Draft): void {
  const name = path.at(-1) ?? '';
  const form = formOf(name);
  const origin = draft.originOf(path);
  hide(value, form, draft.scrubber);
  if (draft.isGiven(fileKeyOf(path))) draft.refuse(path, 'one of them', `both ${name} and ${name}_file`);
  else if (form.secretIn(value) !== undefined)
    draft.put(path, new Secret(origin === 'file' ? 'inline' : origin, async () => value, draft.scrubber));
}

async function putFile(key: Path, given: string, draft: Draft, readFile: ReadFile): Promise<void> {
  const path = mainKeyOf(key);
  const file = draft.locate(key, given);
  const refuse = (found: string, allowed: string) => {
    // Without a folder that exists it may be a password that was put into the wrong key.
    const isPath = !['.', '/'].includes(dirname(given)) && existsSync(dirname(given));
    const which = isPath || !isSecret(path) ? `: ${JSON.stringify(file)}` : '';
    draft.refuse(key, allowed, found + which + draft.variableWords(key));
  };
  if (!isSecret(path)) {
    draft.put(key, file);
    const found = await readFile(file).then(() => undefined, whyUnreadable);
    if (found !== undefined) refuse(found, 'the path of a readable file');
  } else if (!draft.isGiven(path)) {
    const form = formOf(path.at(-1) ?? '');
    const looked = await lookIntoFile(file, readFile, form);
    if (looked.found !== undefined)
      refuse(looked.found, `the path of a readable file that holds ${form.allowed}`);
    else hide(looked.value, form, draft.scrubber);
    const read = () => readSecretFile(file, readFile, form);
    draft.put(path, new Secret(`file ${file}`, read, draft.scrubber, form, file), draft.originOf(key));
    draft.remove(key);
  }
}

/** Files in $CREDENTIALS_DIRECTORY, called like variables without HEAT2MQTT_ or by an account's id. Whatever else is given wins. */
async function layCredentials(draft: Draft, directory: string): Promise<void> {
  // If it cannot be listed, the secrets that are missing for that will be named one by one.
  const entries = directory === '' ? [] : await readdir(directory).catch(() => []);
  const { accounts } = draft.raw;
  const numbers = Array.isArray(accounts) ? Array.from(accounts, (_, n) => `${n}`) : [];
  const byId = new Map<string, Path>();
  for (const key of ['password', 'totp_secret'])
    for (const n of numbers)
      byId.set(plainName(`${draft.textAt(['accounts', n, 'id']) ?? 'home'}_${key}`), ['accounts', n, key]);
  // The most particular name counts.
  for (const entry of entries.sort((a, b) => b.length - a.length)) {
    const name = plainName(entry).replace(/^heat2mqtt_/, '');
    const variable = variableOf([name]);
    const path = variablesLike(variable).get(variable) ?? byId.get(name) ?? [];
    const isOfSingle = path.at(-1) === name;
    if (!isSecret(path) || !isMapping(draft.at(path.slice(0, -1)))) continue;
    if (!(isOfSingle && numbers.length > 1) && !draft.isGiven(fileKeyOf(path)))
      draft.lay(fileKeyOf(path), join(directory, entry), 'credentials directory');
  }
}

const plainName = (name: string): string => name.toLowerCase().replace(/[.-]/g, '_');
