// Finds for each secret the one source that counts (raw configuration, else a file in $CREDENTIALS_DIRECTORY), and
// puts the secrets into the checked configuration.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scrubber } from '../foundation/log.ts';
import { environmentWords, type Faults, type Origins } from './faults.ts';
import { variableOf } from './keys.ts';
import { isMapping, type Path, type RawConfig, valueAt } from './rawConfig.ts';
import type { Config, FileConfig } from './schema.ts';
import { type ReadFile, readSecretFile, Secret, SecretUnreadable, trimNewline } from './secrets.ts';

interface Options {
  readonly credentialsDirectory: string | undefined;
  readonly readFile: ReadFile;
  readonly scrubber: Scrubber;
  readonly origins: Origins;
  readonly faults: Faults;
}

/** Secrets by path (`mqtt.password`), each read once, so that the scrubber knows them and files are there. */
export async function findSecrets(raw: RawConfig, options: Options): Promise<Map<string, Secret>> {
  const credentials = await listCredentials(options.credentialsDirectory);
  const secrets = new Map<string, Secret>();
  for (const [path, names] of secretPaths(raw)) {
    const secret = await findSecret(path, names, raw, credentials, options);
    if (secret !== undefined) secrets.set(path.join('.'), secret);
  }
  if (secrets.has('mqtt.password') && valueAt(raw, ['mqtt', 'username']) === undefined) {
    options.faults.missing('mqtt.username', 'a name and a password, or neither', 'nothing, but a password');
  }
  return secrets;
}

const MQTT_SECRETS = ['mqtt_password', 'mqtt_key_password', 'home_assistant_token'];

/** Where secrets may be, each with the names that its file in $CREDENTIALS_DIRECTORY may have. */
function secretPaths(raw: RawConfig): [Path, string[]][] {
  // Array.from fills the gaps of accounts that were numbered with one.
  const accounts: unknown[] = Array.isArray(raw.accounts) ? Array.from(raw.accounts) : [];
  const passwords = accounts.map((account, n): [Path, string[]] => {
    const names = [`accounts_${n}_password`];
    const id = valueAt(account, ['id']);
    if (typeof id === 'string' && /^[a-z0-9_-]+$/.test(id)) names.push(plainName(`${id}_password`));
    if (accounts.length === 1 && id === undefined) names.push('home_password');
    if (accounts.length === 1) names.push('password');
    // An account called mqtt does not get the broker's password.
    return [['accounts', String(n), 'password'], names.filter((name) => !MQTT_SECRETS.includes(name))];
  });
  return [
    ...passwords,
    [['mqtt', 'password'], ['mqtt_password']],
    [['mqtt', 'key_password'], ['mqtt_key_password']],
    ...(isMapping(raw.home_assistant)
      ? [[['home_assistant', 'token'], ['home_assistant_token']] satisfies [Path, string[]]]
      : []),
  ];
}

async function findSecret(
  path: Path,
  names: readonly string[],
  raw: RawConfig,
  credentials: ReadonlyMap<string, readonly string[]>,
  options: Options,
): Promise<Secret | undefined> {
  const { origins, faults, readFile, scrubber } = options;
  const at = path.join('.');
  const inline = valueAt(raw, path);
  const file = valueAt(raw, [...path.slice(0, -1), `${path.at(-1)}_file`]);
  const [credential, second] =
    names.map((name) => credentials.get(name) ?? []).find(({ length }) => length > 0) ?? [];
  const fromFile = (name: string) =>
    new Secret(`file ${name}`, () => readSecretFile(name, readFile), scrubber);
  if (inline !== undefined) {
    if (typeof inline !== 'string') return undefined;
    const value = trimNewline(inline);
    scrubber.register(value);
    const origin = origins.get(at) ?? 'file';
    return new Secret(origin === 'file' ? 'inline' : origin, async () => value, scrubber);
  }
  if (typeof file === 'string' && file !== '') {
    origins.set(at, origins.get(`${at}_file`) ?? 'file');
    return tried(fromFile(file), `${at}_file`, options);
  }
  if (credential !== undefined) {
    if (second !== undefined) faults.add(at, 'two files for it in $CREDENTIALS_DIRECTORY', 'one of them');
    origins.set(at, 'credentials directory');
    return tried(fromFile(credential), at, options);
  }
  const isRequired = path[0] !== 'mqtt' && isMapping(valueAt(raw, path.slice(0, -1)));
  if (isRequired && file === undefined) faults.missing(at, waysToGive(path, names));
  return undefined;
}

async function tried(secret: Secret, at: string, { faults, origins }: Options): Promise<Secret> {
  try {
    await secret.read();
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error;
    const found = `${error.found}${environmentWords(at, origins)}`;
    faults.add(at, found, 'the path of a readable file that is not empty');
  }
  return secret;
}

function waysToGive(path: Path, credentials: readonly string[]): string {
  const name = path.at(-1) ?? '';
  const variable = variableOf(credentials.includes('password') ? [name] : path);
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

/** `secrets` by path; every required one is there. */
export function withSecrets(file: FileConfig, secrets: ReadonlyMap<string, Secret>): Config {
  const { accounts, mqtt, home_assistant, ...rest } = file;
  const { password, password_file, key_password, key_password_file, ...broker } = mqtt;
  const mqttPassword = secrets.get('mqtt.password');
  const keyPassword = secrets.get('mqtt.key_password');
  return {
    ...rest,
    accounts: accounts.map(({ password: _, password_file: __, id = 'home', ...account }, n) => {
      return { id, ...account, password: required(secrets, `accounts.${n}.password`) };
    }),
    mqtt: {
      ...broker,
      ...(mqttPassword && { password: mqttPassword }),
      ...(keyPassword && { key_password: keyPassword }),
    },
    ...(home_assistant && {
      home_assistant: { url: home_assistant.url, token: required(secrets, 'home_assistant.token') },
    }),
  };
}

function required(secrets: ReadonlyMap<string, Secret>, path: string): Secret {
  const secret = secrets.get(path);
  if (secret === undefined) throw new Error(`no source was found for ${path}, and no fault was told`);
  return secret;
}
