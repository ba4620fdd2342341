// Finds for each secret the one source that counts (raw configuration, else a file in $CREDENTIALS_DIRECTORY), and
// puts the secrets into the checked configuration.
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Scrubber } from '../foundation/log.ts';
import { environmentWords, type Faults, type Origins } from './faults.ts';
import { variableOf } from './keys.ts';
import { isMapping, type Path, type RawConfig, valueAt } from './rawConfig.ts';
import type { Account, Config, Embedded, FileConfig, HomeAssistant } from './schema.ts';
import {
  NO_SUCH_FILE,
  type ReadFile,
  readSecretFile,
  Secret,
  type SecretForm,
  SecretUnreadable,
  trimNewline,
} from './secrets/secrets.ts';
import { totpSecret } from './secrets/totpSecret.ts';
import { databaseUrl, sealingKey } from './sections/fleetSection.ts';
import { WITH_PASSWORD } from './sections/providerSections.ts';
import type { Locate } from './sources/relativePaths.ts';

interface Options {
  readonly credentialsDirectory: string | undefined;
  readonly readFile: ReadFile;
  readonly scrubber: Scrubber;
  readonly origins: Origins;
  readonly faults: Faults;
  readonly locate: Locate;
}

interface Place {
  readonly path: Path;
  readonly isRequired: boolean;
  /** What its file in $CREDENTIALS_DIRECTORY may be called, the most particular name first. */
  readonly credentials: readonly string[];
  readonly form?: SecretForm;
}

/** Secrets by path (`mqtt.password`), each read once, so that the scrubber knows them and files are there. */
export async function findSecrets(raw: RawConfig, options: Options): Promise<Map<string, Secret>> {
  const credentials = await listCredentials(options.credentialsDirectory);
  const secrets = new Map<string, Secret>();
  for (const place of placesOf(raw)) {
    const secret = await findSecret(place, raw, credentials, options);
    if (secret !== undefined) secrets.set(place.path.join('.'), secret);
  }
  for (const section of [['mqtt'], ['mqtt', 'embedded']]) {
    const at = section.join('.');
    const hasName = valueAt(raw, [...section, 'username']) !== undefined;
    const both = 'a name and a password, or neither';
    if (secrets.has(`${at}.password`) && !hasName)
      options.faults.add(`${at}.username`, 'nothing, but a password', both, true);
    // Some brokers want a name alone; ours would let everybody in who knows it.
    const isGiven = ['password', 'password_file'].some(
      (key) => valueAt(raw, [...section, key]) !== undefined,
    );
    if (section.length > 1 && hasName && !isGiven && !secrets.has(`${at}.password`))
      options.faults.add(`${at}.password`, 'nothing, but a name', both, true);
  }
  return secrets;
}

function placesOf(raw: RawConfig): Place[] {
  const ofFleet = (key: string) => ({
    path: ['fleet', key],
    isRequired: true,
    credentials: [`fleet_${key}`],
  });
  const others: Place[] = [
    { path: ['mqtt', 'password'], isRequired: false, credentials: ['mqtt_password'] },
    { path: ['mqtt', 'embedded', 'password'], isRequired: false, credentials: ['mqtt_embedded_password'] },
    { path: ['mqtt', 'key_password'], isRequired: false, credentials: ['mqtt_key_password'] },
    { path: ['home_assistant', 'token'], isRequired: true, credentials: ['home_assistant_token'] },
    { path: ['web', 'password'], isRequired: false, credentials: ['web_password'] },
    { ...ofFleet('database_url'), form: databaseUrl },
    { ...ofFleet('key'), form: sealingKey },
  ];
  // An account called mqtt does not get the broker's password.
  const taken = others.flatMap(({ credentials }) => credentials);
  // Array.from fills the gaps of accounts that were numbered with one.
  const accounts: unknown[] = Array.isArray(raw.accounts) ? Array.from(raw.accounts) : [];
  const ofAccount = (account: unknown, n: number, key: string) => {
    const names = [`accounts_${n}_${key}`];
    const id = valueAt(account, ['id']);
    if (typeof id === 'string' && /^[a-z0-9_-]+$/.test(id)) names.push(plainName(`${id}_${key}`));
    if (accounts.length === 1 && id === undefined) names.push(`home_${key}`);
    if (accounts.length === 1) names.push(key);
    const credentials = names.filter((name) => !taken.includes(name));
    return { path: ['accounts', String(n), key], credentials };
  };
  const signIn = valueAt(raw, ['provider', 'sign_in']);
  // A mistyped way of signing in is one mistake, and may have been one without a password.
  const isRequired = signIn === undefined || WITH_PASSWORD.some((way) => way === signIn);
  const own = accounts.flatMap((account, n) => [
    { ...ofAccount(account, n, 'password'), isRequired },
    { ...ofAccount(account, n, 'totp_secret'), isRequired: false, form: totpSecret },
  ]);
  return [...own, ...others].filter(({ path: [section = '', embedded] }) => {
    if (section === 'web') return raw.web !== false;
    if (embedded === 'embedded') return isMapping(valueAt(raw, ['mqtt', 'embedded']));
    return !['home_assistant', 'fleet'].includes(section) || isMapping(raw[section]);
  });
}

async function findSecret(
  { path, isRequired, credentials: names, form }: Place,
  raw: RawConfig,
  credentials: ReadonlyMap<string, readonly string[]>,
  { origins, faults, readFile, scrubber, locate }: Options,
): Promise<Secret | undefined> {
  const at = path.join('.');
  const section = path.slice(0, -1);
  const inline = valueAt(raw, path);
  const hide = (text: string) => {
    for (const secret of [text, form?.secretIn(text)]) if (secret !== undefined) scrubber.register(secret);
    return text;
  };
  const file = valueAt(raw, [...section, `${path.at(-1)}_file`]);
  if (typeof inline === 'string') {
    const value = hide(trimNewline(inline));
    if (faults.has(at)) return undefined;
    const origin = origins.get(at) ?? 'file';
    return new Secret(origin === 'file' ? 'inline' : origin, async () => value, scrubber);
  }
  // Values of a wrong type are reported by the schema.
  if (inline !== undefined) return undefined;

  const fromFile = async (given: string, key: string) => {
    const name = locate(key, given);
    const read = async () => hide(await readSecretFile(name, readFile, form));
    const secret = new Secret(`file ${name}`, read, scrubber, name);
    await secret.read().catch(async (error: unknown) => {
      if (!(error instanceof SecretUnreadable)) throw error;
      const which = error.found === NO_SUCH_FILE && (await isPath(given)) ? `: ${name}` : '';
      const found = `${error.found}${which}${environmentWords(key, origins)}`;
      const content = form === undefined ? 'is not empty' : `holds ${form.allowed}`;
      faults.add(key, found, `the path of a readable file that ${content}`);
    });
    return secret;
  };
  if (typeof file === 'string' && file !== '') {
    origins.set(at, origins.get(`${at}_file`) ?? 'file');
    return fromFile(file, `${at}_file`);
  }
  const name = names.find((one) => credentials.has(one));
  const [credential, second] = credentials.get(name ?? '') ?? [];
  if (credential !== undefined) {
    if (second !== undefined) faults.add(at, 'two files for it in $CREDENTIALS_DIRECTORY', 'one of them');
    origins.set(at, 'credentials directory');
    return fromFile(credential, at);
  }
  if (isRequired && file === undefined && isMapping(valueAt(raw, section)))
    faults.add(at, 'nothing', waysToGive(path, names), true);
  return undefined;
}

/** Its folder exists. Anything else may be a password that was put into the wrong key. */
async function isPath(name: string): Promise<boolean> {
  const folder = dirname(name);
  if (folder === '.' || folder === '/') return false;
  return stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
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

function plainName(name: string): string {
  return name.toLowerCase().replace(/[.-]/g, '_');
}

/** `secrets` by path; every required one is there. */
export function withSecrets(file: FileConfig, secrets: ReadonlyMap<string, Secret>): Config {
  const { accounts, mqtt, home_assistant, web, fleet, ...rest } = file;
  const { password, password_file, key_password, key_password_file, embedded, ...broker } = mqtt;
  const mqttPassword = secrets.get('mqtt.password');
  const keyPassword = secrets.get('mqtt.key_password');
  const webPassword = secrets.get('web.password');
  return {
    ...rest,
    accounts: accounts.map(({ id = 'home', ...given }, n): Account => {
      const { password: _, password_file: __, totp_secret: ___, totp_secret_file: ____, ...account } = given;
      const password = secrets.get(`accounts.${n}.password`);
      const totp = secrets.get(`accounts.${n}.totp_secret`);
      return { id, ...account, ...(password && { password }), ...(totp && { totp_secret: totp }) };
    }),
    mqtt: {
      ...broker,
      embedded: embedded && ownBroker(embedded, secrets.get('mqtt.embedded.password')),
      ...(mqttPassword && { password: mqttPassword }),
      ...(keyPassword && { key_password: keyPassword }),
    },
    web: web && {
      hosts: web.hosts,
      ...(web.trusted_proxy !== undefined && { trusted_proxy: web.trusted_proxy }),
      ...(webPassword && { password: webPassword }),
    },
    ...(fleet && {
      fleet: {
        claim_seconds: fleet.claim_seconds,
        requests_per_second: fleet.requests_per_second,
        database_url: required(secrets, 'fleet.database_url'),
        key: required(secrets, 'fleet.key'),
      },
    }),
    ...(home_assistant && { home_assistant: homeAssistant(home_assistant, secrets) }),
  };
}

function ownBroker(
  { password: _, password_file: __, ...given }: Exclude<FileConfig['mqtt']['embedded'], false>,
  password: Secret | undefined,
): Embedded {
  return { ...given, ...(password && { password }) };
}

function homeAssistant(
  { token: _, token_file: __, ...given }: Exclude<FileConfig['home_assistant'], false | undefined>,
  secrets: ReadonlyMap<string, Secret>,
): HomeAssistant {
  return { ...given, token: required(secrets, 'home_assistant.token') };
}

function required(secrets: ReadonlyMap<string, Secret>, path: string): Secret {
  const secret = secrets.get(path);
  if (secret === undefined) throw new Error(`no source was found for ${path}, and no fault was reported`);
  return secret;
}
