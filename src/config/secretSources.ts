// Finds for each secret the one source that counts: the raw configuration, else a file in $CREDENTIALS_DIRECTORY.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Draft, isMapping } from './draft.ts';
import { fileKeyOf, type Path, secretKeys, variableOf } from './keys.ts';
import { WITH_PASSWORD } from './schema.ts';
import {
  formOf,
  NO_SUCH_FILE,
  type ReadFile,
  readSecretFile,
  Secret,
  SecretUnreadable,
  trimNewline,
} from './secret.ts';

/**
 * Puts each secret into the draft as a Secret, in the place of the keys it comes from. Each is read once, so that the scrubber
 * knows it and its file is there. Text of a wrong form stays, for the schema to refuse.
 */
export async function putSecrets(
  draft: Draft,
  readFile: ReadFile,
  credentialsDirectory: string | undefined,
): Promise<void> {
  const credentials = await listCredentials(credentialsDirectory);
  for (const path of secretsIn(draft)) {
    keepOne(path, draft);
    const secret = await findSecret(path, draft, readFile, credentials);
    if (secret === undefined) continue;
    draft.put(path, secret);
    draft.remove(fileKeyOf(path));
  }
}

/** The paths where a secret may be: those of all accounts, and of each section that is there. */
function secretsIn(draft: Draft): Path[] {
  const { accounts } = draft.raw;
  // Array.from fills the gaps of accounts that were numbered with one.
  const numbers = Array.isArray(accounts) ? Array.from(accounts, (_, n) => String(n)) : [];
  return secretKeys()
    .flatMap((path) => {
      const [section = '', at, key = ''] = path;
      return at === '<n>' ? numbers.map((n) => [section, n, key]) : [path];
    })
    .filter((path) => isMapping(draft.at(path.slice(0, -1))));
}

async function findSecret(
  path: Path,
  draft: Draft,
  readFile: ReadFile,
  credentials: ReadonlyMap<string, readonly string[]>,
): Promise<Secret | undefined> {
  const { scrubber } = draft;
  const form = formOf(path.at(-1) ?? '');
  const hide = (text: string) => {
    for (const secret of [text, form.secretIn(text)]) if (secret) scrubber.register(secret);
    return text;
  };
  const inline = draft.at(path);
  const value = typeof inline === 'string' ? hide(trimNewline(inline)) : '';
  if (draft.isRefused(path.join('.'))) return undefined;
  if (form.secretIn(value) !== undefined) {
    const origin = draft.originOf(path);
    return new Secret(origin === 'file' ? 'inline' : origin, async () => value, scrubber);
  }
  if (inline !== undefined) return undefined;

  const fromFile = async (key: Path, given: string) => {
    const name = draft.locate(key, given);
    const read = async () => hide(await readSecretFile(name, readFile, form));
    await read().catch((error: unknown) => {
      if (!(error instanceof SecretUnreadable)) throw error;
      const which = error.found === NO_SUCH_FILE && isPath(given) ? `: ${name}` : '';
      const found = `${error.found}${which}${draft.variableWords(key)}`;
      draft.refuse(key, `the path of a readable file that holds ${form.allowed}`, found);
    });
    return new Secret(`file ${name}`, read, scrubber, name);
  };
  const fileKey = fileKeyOf(path);
  const file = draft.at(fileKey);
  if (typeof file === 'string' && file !== '') {
    draft.origins.set(path.join('.'), draft.originOf(fileKey));
    return fromFile(fileKey, file);
  }
  const names = credentialNames(path, draft);
  const [credential, second] = credentials.get(names.find((name) => credentials.has(name)) ?? '') ?? [];
  if (credential !== undefined) {
    if (second !== undefined) draft.refuse(path, 'one of them', 'two files for it in $CREDENTIALS_DIRECTORY');
    draft.origins.set(path.join('.'), 'credentials directory');
    return fromFile(path, credential);
  }
  if (file === undefined && isRequired(path, draft)) draft.refuse(path, waysToGive(path, names), 'nothing');
  return undefined;
}

/** One key of a secret in the environment replaces both of the file; two keys of one place are a fault. */
function keepOne(path: Path, draft: Draft): void {
  const given = [path, fileKeyOf(path)].filter((key) => draft.at(key) !== undefined);
  if (given.length < 2) return;
  const [ofFile, another] = given.filter((key) => draft.variableFor(key) === undefined);
  if (ofFile !== undefined && another === undefined) draft.remove(ofFile);
  else {
    const words = given.map((key) => draft.variableFor(key) ?? key.at(-1));
    draft.refuse(path, 'one of them', `both ${words.join(' and ')}`);
  }
}

function isRequired([section, ...rest]: Path, draft: Draft): boolean {
  if (section !== 'accounts') return section === 'home_assistant' || section === 'fleet';
  const signIn = draft.at(['provider', 'sign_in']) ?? 'auto';
  // A mistyped way of signing in is one mistake, and may have been one without a password.
  return rest.at(-1) === 'password' && WITH_PASSWORD.some((way) => way === signIn);
}

/** Its folder exists. Anything else may be a password that was put into the wrong key. */
const isPath = (name: string): boolean => !['.', '/'].includes(dirname(name)) && existsSync(dirname(name));

/** What its file in $CREDENTIALS_DIRECTORY may be called, the most particular name first. */
function credentialNames(path: Path, draft: Draft): string[] {
  const [section, n = '', key = ''] = path;
  if (section !== 'accounts') return [path.join('_')];
  const isSingle = Array.isArray(draft.raw.accounts) && draft.raw.accounts.length === 1;
  const id = draft.at(['accounts', n, 'id']) ?? (isSingle ? 'home' : undefined);
  const isId = typeof id === 'string' && /^[a-z0-9_-]+$/.test(id);
  const names = [path.join('_'), ...(isId ? [plainName(`${id}_${key}`)] : []), ...(isSingle ? [key] : [])];
  // An account called mqtt does not get the broker's password.
  const taken = secretKeys().map((other) => other.join('_'));
  return names.filter((name) => !taken.includes(name));
}

function waysToGive(path: Path, credentials: readonly string[]): string {
  const name = path.at(-1) ?? '';
  const variable = variableOf(credentials.includes('password') ? [name] : path);
  const files = credentials.map((credential) => `"${credential}"`).join(' or ');
  const ways = `${name} or ${name}_file here, ${variable} or ${variable}_FILE in the environment`;
  const without = name === 'password' ? '; none with provider.sign_in device or link' : '';
  return `${ways}, or a file ${files} in $CREDENTIALS_DIRECTORY${without}`;
}

async function listCredentials(directory = ''): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  // If it cannot be listed, the secrets that are missing for that will be named one by one.
  const entries = directory === '' ? [] : await readdir(directory).catch(() => []);
  for (const entry of entries.sort()) {
    const name = plainName(entry).replace(/^heat2mqtt_/, '');
    found.set(name, [...(found.get(name) ?? []), join(directory, entry)]);
  }
  return found;
}

const plainName = (name: string): string => name.toLowerCase().replace(/[.-]/g, '_');
