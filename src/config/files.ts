// The files that a configuration names, and its secrets, wherever they come from. Each is read once, so that a mistake is told at
// the start and the scrubber knows every secret.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Draft, isMapping } from './draft.ts';
import { allKeys, fileKeyOf, isFileKey, isSecret, mainKeyOf, type Path } from './keys.ts';
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
export async function readFiles(
  draft: Draft,
  readFile: ReadFile,
  credentialsDirectory: string | undefined,
): Promise<void> {
  await layCredentials(draft, credentialsDirectory);
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
    if ('found' in looked) refuse(looked.found, `the path of a readable file that holds ${form.allowed}`);
    else hide(looked.value, form, draft.scrubber);
    const read = () => readSecretFile(file, readFile, form);
    draft.put(path, new Secret(`file ${file}`, read, draft.scrubber, form, file), draft.originOf(key));
    draft.remove(key);
  }
}

/** A file in $CREDENTIALS_DIRECTORY counts for a secret for which nothing else is given. */
async function layCredentials(draft: Draft, directory = ''): Promise<void> {
  // If it cannot be listed, the secrets that are missing for that will be named one by one.
  const entries = directory === '' ? [] : await readdir(directory).catch(() => []);
  const files = new Map(
    entries.map((entry) => [plainName(entry).replace(/^heat2mqtt_/, ''), join(directory, entry)]),
  );
  const secrets = allKeys().flatMap(({ path }) => (isSecret(path) ? [path] : []));
  const taken = secrets.map((path) => path.join('_'));
  const { accounts } = draft.raw;
  const numbers = Array.isArray(accounts) ? Object.keys(accounts) : [];
  for (const secret of secrets)
    for (const n of secret.includes('<n>') ? numbers : [null]) {
      const path = secret.map((name) => (name === '<n>' ? (n ?? '') : name));
      if (!isMapping(draft.at(path.slice(0, -1)))) continue;
      const key = path.at(-1) ?? '';
      const id = draft.textAt(['accounts', n ?? '', 'id']) ?? 'home';
      const short = n === null ? [] : [plainName(`${id}_${key}`), ...(numbers.length === 1 ? [key] : [])];
      // The most particular name counts. An account called mqtt does not get the broker's password.
      const names = [path.join('_'), ...short.filter((name) => !taken.includes(name))];
      const file = names.map((name) => files.get(name)).find((known) => known !== undefined);
      if (file !== undefined) draft.lay(fileKeyOf(path), file, 'credentials directory');
    }
}

const plainName = (name: string): string => name.toLowerCase().replace(/[.-]/g, '_');
