// Finds for each secret the one source that counts: the raw configuration, else a file in $CREDENTIALS_DIRECTORY.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Scrubber } from '../foundation/log.ts';
import { environmentWords, type Faults, isFromEnvironment, type Origins } from './faults.ts';
import { fileKeyOf, secretKeys, variableOf } from './keys.ts';
import { isMapping, type Path, put, type RawConfig, remove, valueAt } from './rawConfig.ts';
import type { Locate } from './relativePaths.ts';
import {
  NO_SUCH_FILE,
  type ReadFile,
  readSecretFile,
  Secret,
  SecretUnreadable,
  trimNewline,
} from './secret.ts';
import { formOf } from './secretForms.ts';
import { WITH_PASSWORD } from './sections.ts';

interface Options {
  readonly credentialsDirectory: string | undefined;
  readonly readFile: ReadFile;
  readonly scrubber: Scrubber;
  readonly origins: Origins;
  readonly faults: Faults;
  readonly locate: Locate;
}

/**
 * Puts each secret into `raw` as a Secret, in the place of the keys it comes from. Each is read once, so that the scrubber
 * knows it and its file is there. Text of a wrong form stays, for the schema to refuse.
 */
export async function putSecrets(raw: RawConfig, options: Options): Promise<void> {
  const credentials = await listCredentials(options.credentialsDirectory);
  for (const path of secretsIn(raw)) {
    const secret = await findSecret(path, raw, credentials, options);
    if (secret === undefined) continue;
    put(raw, path, secret);
    remove(raw, fileKeyOf(path));
  }
}

/** The paths where a secret may be: those of all accounts, and of each section that is there. */
function secretsIn(raw: RawConfig): Path[] {
  // Array.from fills the gaps of accounts that were numbered with one.
  const accounts = Array.isArray(raw.accounts) ? Array.from(raw.accounts, (_, n) => String(n)) : [];
  return secretKeys()
    .flatMap((path) =>
      path.includes('<n>') ? accounts.map((n) => [...path.slice(0, 1), n, ...path.slice(2)]) : [path],
    )
    .filter((path) => isMapping(valueAt(raw, path.slice(0, -1))));
}

async function findSecret(
  path: Path,
  raw: RawConfig,
  credentials: ReadonlyMap<string, readonly string[]>,
  { origins, faults, readFile, scrubber, locate }: Options,
): Promise<Secret | undefined> {
  const at = path.join('.');
  const fileKey = fileKeyOf(path);
  const form = formOf(path.at(-1) ?? '');
  keepOne(path, fileKey, raw, origins, faults);
  const hide = (text: string) => {
    for (const secret of [text, form.secretIn(text)]) if (secret) scrubber.register(secret);
    return text;
  };
  const inline = valueAt(raw, path);
  if (typeof inline === 'string') hide(trimNewline(inline));
  if (faults.has(at)) return undefined;
  if (typeof inline === 'string' && form.secretIn(trimNewline(inline)) !== undefined) {
    const origin = origins.get(at) ?? 'file';
    const value = trimNewline(inline);
    return new Secret(origin === 'file' ? 'inline' : origin, async () => value, scrubber);
  }
  if (inline !== undefined) return undefined;

  const fromFile = async (key: Path, given: string) => {
    const name = locate(key.join('.'), given);
    const read = async () => hide(await readSecretFile(name, readFile, form));
    await read().catch((error: unknown) => {
      if (!(error instanceof SecretUnreadable)) throw error;
      const which = error.found === NO_SUCH_FILE && isPath(given) ? `: ${name}` : '';
      const found = `${error.found}${which}${environmentWords(key, origins)}`;
      faults.add(key.join('.'), found, `the path of a readable file that holds ${form.allowed}`);
    });
    return new Secret(`file ${name}`, read, scrubber, name);
  };
  const file = valueAt(raw, fileKey);
  if (typeof file === 'string' && file !== '') {
    origins.set(at, origins.get(fileKey.join('.')) ?? 'file');
    return fromFile(fileKey, file);
  }
  const names = credentialNames(path, raw);
  const [credential, second] = credentials.get(names.find((name) => credentials.has(name)) ?? '') ?? [];
  if (credential !== undefined) {
    if (second !== undefined) faults.add(at, 'two files for it in $CREDENTIALS_DIRECTORY', 'one of them');
    origins.set(at, 'credentials directory');
    return fromFile(path, credential);
  }
  if (file === undefined && isRequired(path, raw)) faults.add(at, 'nothing', waysToGive(path, names), true);
  return undefined;
}

/** One key of a secret in the environment replaces both of the file; two keys of one place are a fault. */
function keepOne(path: Path, fileKey: Path, raw: RawConfig, origins: Origins, faults: Faults): void {
  const given = [path, fileKey].filter((key) => valueAt(raw, key) !== undefined);
  if (given.length < 2) return;
  const [fromFile, another] = given.filter((key) => !isFromEnvironment(origins, key));
  if (fromFile !== undefined && another === undefined) {
    remove(raw, fromFile);
    origins.delete(fromFile.join('.'));
  } else {
    const words = given.map((key) => (another === undefined ? variableIn(origins, key) : key.at(-1)));
    faults.add(path.join('.'), `both ${words.join(' and ')}`, 'one of them');
  }
}

const variableIn = (origins: Origins, key: Path): string =>
  (origins.get(key.join('.')) ?? '').replace('environment ', '');

function isRequired(path: Path, raw: RawConfig): boolean {
  if (path[0] !== 'accounts') return path[0] === 'home_assistant' || path[0] === 'fleet';
  const signIn = valueAt(raw, ['provider', 'sign_in']);
  // A mistyped way of signing in is one mistake, and may have been one without a password.
  return path.at(-1) === 'password' && (signIn === undefined || WITH_PASSWORD.some((way) => way === signIn));
}

/** Its folder exists. Anything else may be a password that was put into the wrong key. */
const isPath = (name: string): boolean => !['.', '/'].includes(dirname(name)) && existsSync(dirname(name));

/** What its file in $CREDENTIALS_DIRECTORY may be called, the most particular name first. */
function credentialNames(path: Path, raw: RawConfig): string[] {
  const [section, n, key = ''] = path;
  if (section !== 'accounts') return [path.join('_')];
  const isSingle = Array.isArray(raw.accounts) && raw.accounts.length === 1;
  const id = valueAt(raw, ['accounts', n ?? '', 'id']) ?? (isSingle ? 'home' : undefined);
  const isId = typeof id === 'string' && /^[a-z0-9_-]+$/.test(id);
  const names = [path.join('_'), ...(isId ? [plainName(`${id}_${key}`)] : [])];
  // An account called mqtt does not get the broker's password.
  const taken = secretKeys().map((other) => other.join('_'));
  return [...names, ...(isSingle ? [key] : [])].filter((name) => !taken.includes(name));
}

function waysToGive(path: Path, credentials: readonly string[]): string {
  const name = path.at(-1) ?? '';
  const variable = variableOf(credentials.includes('password') ? [name] : path);
  const files = credentials.map((credential) => `"${credential}"`).join(' or ');
  const ways = `${name} or ${name}_file here, ${variable} or ${variable}_FILE in the environment`;
  const without = name === 'password' ? '; none with provider.sign_in device or link' : '';
  return `${ways}, or a file ${files} in $CREDENTIALS_DIRECTORY${without}`;
}

async function listCredentials(directory: string | undefined): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  if (directory === undefined || directory === '') return found;
  // If it cannot be listed, the secrets that are missing for that will be named one by one.
  for (const entry of (await readdir(directory).catch(() => [])).sort()) {
    const name = plainName(entry).replace(/^heat2mqtt_/, '');
    found.set(name, [...(found.get(name) ?? []), join(directory, entry)]);
  }
  return found;
}

const plainName = (name: string): string => name.toLowerCase().replace(/[.-]/g, '_');
