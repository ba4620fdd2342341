// Finds for each secret the one source that counts: the tree, else a file in $CREDENTIALS_DIRECTORY.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scrubber } from '../foundation/log.ts';
import { type Faults, foundWords, type Origins } from './faults.ts';
import {
  fileSecret,
  type ReadFile,
  type Secret,
  SecretUnreadable,
  textSecret,
  trimNewline,
} from './secrets.ts';
import { variableOf } from './shape.ts';
import { isTree, type Path, type Tree, valueAt } from './tree.ts';

export interface SecretOptions {
  readonly credentialsDirectory: string | undefined;
  readonly readFile: ReadFile;
  readonly scrubber: Scrubber;
  readonly origins: Origins;
  readonly faults: Faults;
}

interface Slot {
  readonly path: Path;
  readonly required: boolean;
  /** Names of credentials, the most particular first. */
  readonly credentials: readonly string[];
}

/** Secrets by path (`mqtt.password`), each read once, so that the scrubber knows them and files are there. */
export async function findSecrets(tree: Tree, options: SecretOptions): Promise<Map<string, Secret>> {
  const credentials = await listCredentials(options.credentialsDirectory);
  const secrets = new Map<string, Secret>();
  for (const slot of slotsOf(tree)) {
    const secret = await findSecret(slot, tree, credentials, options);
    if (secret !== undefined) secrets.set(slot.path.join('.'), secret);
  }
  return secrets;
}

function slotsOf(tree: Tree): Slot[] {
  // Array.from fills the gaps of accounts that were numbered with one.
  const accounts: unknown[] = Array.isArray(tree.accounts) ? Array.from(tree.accounts) : [];
  const mqtt: Slot[] = ['password', 'key_password'].map((name) => slot(['mqtt', name], false, []));
  const token = slot(['home_assistant', 'token'], true, []);
  const taken = [...mqtt, token].flatMap(({ credentials }) => credentials);
  const passwords = accounts.map((account, n) => {
    const id = valueAt(account, ['id']);
    const byId =
      typeof id === 'string' && /^[a-z0-9_-]+$/.test(id)
        ? [plainName(`${id}_password`)].filter((name) => !taken.includes(name))
        : [];
    const single = accounts.length === 1 ? [...(id === undefined ? ['home_password'] : []), 'password'] : [];
    return slot(['accounts', String(n), 'password'], true, [...byId, ...single]);
  });
  return [...passwords, ...mqtt, ...(isTree(tree.home_assistant) ? [token] : [])];
}

function slot(path: Path, required: boolean, more: readonly string[]): Slot {
  return { path, required, credentials: [path.join('_'), ...more] };
}

async function findSecret(
  { path, required, credentials: names }: Slot,
  tree: Tree,
  credentials: ReadonlyMap<string, readonly string[]>,
  options: SecretOptions,
): Promise<Secret | undefined> {
  const { origins, faults, readFile, scrubber } = options;
  const at = path.join('.');
  const inline = valueAt(tree, path);
  const file = valueAt(tree, [...path.slice(0, -1), `${path.at(-1)}_file`]);
  const [credential, second] =
    names.map((name) => credentials.get(name) ?? []).find(({ length }) => length > 0) ?? [];
  if (inline !== undefined) {
    if (typeof inline === 'string') scrubber.register(trimNewline(inline));
    if (typeof inline !== 'string' || faults.has(at)) return undefined;
    if (trimNewline(inline) === '')
      faults.add(at, foundWords(tree, path, origins), 'a text that is not empty');
    const origin = origins.get(at) ?? 'file';
    return tried(textSecret(inline, origin === 'file' ? 'inline' : origin, scrubber), at, options);
  }
  if (typeof file === 'string' && file !== '') {
    origins.set(at, origins.get(`${at}_file`) ?? 'file');
    return tried(fileSecret(file, readFile, scrubber), `${at}_file`, options);
  }
  if (credential !== undefined) {
    if (second !== undefined) faults.add(at, 'two files for it in $CREDENTIALS_DIRECTORY', 'one of them');
    origins.set(at, 'credentials directory');
    return tried(fileSecret(credential, readFile, scrubber), at, options);
  }
  if (required && file === undefined && isTree(valueAt(tree, path.slice(0, -1)))) {
    faults.missing(at, waysToGive(path, names));
  }
  return undefined;
}

async function tried(secret: Secret, at: string, { faults, origins }: SecretOptions): Promise<Secret> {
  try {
    await secret.read();
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error;
    const origin = origins.get(at);
    const where = origin?.startsWith('environment') ? ` (${origin})` : '';
    faults.add(at, `${error.found}${where}`, 'the path of a readable file that is not empty');
  }
  return secret;
}

function waysToGive(path: Path, credentials: readonly string[]): string {
  const name = path.at(-1) ?? '';
  const short = credentials.includes('password');
  const variable = short ? variableOf([name]) : variableOf(path);
  const files = credentials.map((credential) => `"${credential}"`).join(' or ');
  const ways = `${name} or ${name}_file here, ${variable} or ${variable}_FILE in the environment`;
  return `${ways}, or a file ${files} in $CREDENTIALS_DIRECTORY`;
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

function plainName(name: string): string {
  return name.toLowerCase().replace(/[.-]/g, '_');
}
