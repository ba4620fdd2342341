// The sources of values beside the file, laid over those of the file: the environment (HEAT2MQTT_<SECTION>_<KEY> for every key,
// checked for typing errors), the options of an app of Home Assistant, files with secrets, and $CREDENTIALS_DIRECTORY.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AUTHORITIES, certificatesIn } from '../foundation/authorities.ts';
import { type Draft, didYouMean, isMapping, type RawConfig } from './draft.ts';
import * as keys from './keys.ts';
import { KNOWN_PROVIDERS } from './providers.ts';
import * as secrets from './secret.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Lays the environment over the file, and notes where each value comes from. */
export function applyEnvironment(draft: Draft, env: Environment): void {
  for (const [path, value] of draft.leaves()) draft.put(path, inFull(path, value), 'file');
  layVariables(draft, env);
  // systemd's folder and that of Home Assistant's Supervisor count when nothing else is named.
  const { STATE_DIRECTORY = '', SUPERVISOR_TOKEN: token } = env;
  const [directory] = STATE_DIRECTORY.split(':');
  if (directory) draft.lay(['state_dir'], directory, 'environment STATE_DIRECTORY');
  const isNamed = ['url', 'token', 'token_file'].some((key) => draft.isGiven(['home_assistant', key]));
  const supervised = token && !isNamed ? { url: 'ws://supervisor/core/websocket', token } : {};
  for (const [key, value] of Object.entries(supervised))
    draft.lay(['home_assistant', key], value, 'environment SUPERVISOR_TOKEN');
  takeLoginOutOfBrokerUrl(draft);
}

/** An empty section, and one that is switched on by `true`, is one with all defaults. */
function inFull(path: keys.Path, value: unknown): unknown {
  const schema = keys.schemaAt(path);
  if (value === true && schema?.anyOf?.some(({ type }) => type === 'boolean')) return {};
  if (value === null && schema?.items?.properties !== undefined) return [];
  return value === null && (schema?.properties || schema?.additionalProperties) ? {} : value;
}

const PREFIX = 'HEAT2MQTT_';
/** The variables that may give a single account. */
const SINGLE_ACCOUNT = ['username', 'password', 'password_file', 'totp_secret', 'totp_secret_file'];

function layVariables(draft: Draft, env: Environment): void {
  const { accounts } = draft.raw;
  const accountsInFile = Array.isArray(accounts) ? accounts.length : 0;
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || !text || variable === `${PREFIX}CONFIG`) continue;
    if (isInjected(variable, text)) continue;
    const { path, isOfSingleAccount } = keyOf(variable) ?? {};
    if (path === undefined) refuseVariable(draft, variable);
    else if (accountsInFile > 1 && isOfSingleAccount) {
      const allowed = `with ${accountsInFile} accounts, ${keys.variableOf(path)} and so on`;
      draft.refuse([variable], allowed, 'a variable for one account');
    } else draft.lay(path, inFull(path, typed(keys.schemaAt(path), text)), `environment ${variable}`);
  }
}

interface Variable {
  readonly path: keys.Path;
  readonly name: string;
  /** With the number of an account or the identifier of a meter in it. */
  readonly pattern: RegExp;
  readonly isOfSingleAccount: boolean;
}

function variable(path: keys.Path, name: string, isOfSingleAccount: boolean): Variable {
  const pattern = name.replace('<N>', '(\\d{1,2})').replace('<METER>', '(.+)');
  return { path, name, pattern: new RegExp(`^${pattern}$`), isOfSingleAccount };
}

let variables: readonly Variable[] | undefined;

function allVariables(): readonly Variable[] {
  variables ??= [
    ...SINGLE_ACCOUNT.map((key) => variable(['accounts', '0', key], keys.variableOf([key]), true)),
    ...keys.settableKeys().map(({ path }) => variable(path, keys.variableOf(path), false)),
  ];
  return variables;
}

/** The key that a variable gives; undefined: none. */
function keyOf(given: string): Pick<Variable, 'path' | 'isOfSingleAccount'> | undefined {
  for (const { path, pattern, isOfSingleAccount } of allVariables()) {
    const [isVariable, inName = ''] = pattern.exec(given) ?? [];
    const filling = path.includes('<n>') ? `${Number(inName)}` : inName;
    if (isVariable)
      return { path: path.map((name) => (name.startsWith('<') ? filling : name)), isOfSingleAccount };
  }
  return undefined;
}

function refuseVariable(draft: Draft, given: string): void {
  const [, number = '0'] = /_(\d{1,2})_/.exec(given) ?? [];
  const names = allVariables().map(({ name }) => name.slice(PREFIX.length).replace('<N>', number));
  const guess = didYouMean(given.slice(PREFIX.length), names);
  const hint = guess === undefined ? '' : ` (did you mean ${PREFIX}${guess}?)`;
  const allowed = `the variables of docs/configuration.md${hint}`;
  const meant = keyOf(`${PREFIX}${guess}`)?.path;
  draft.refuse([given.slice(0, 80)], allowed, 'an unknown variable', meant);
}

// Kubernetes and Docker tell every container about services by variables, and one may be called heat2mqtt.
function isInjected(variable: string, text: string): boolean {
  if (/_(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/.test(variable)) return true;
  return /^HEAT2MQTT_(\w+_)?PORT$/.test(variable) && /^(tcp|udp|sctp):\/\//.test(text);
}

/** Switches, numbers, words of a choice and lists by the type of the key; everything else is taken literally. */
function typed(schema: keys.KeySchema = {}, text: string): unknown {
  const kinds = [schema, ...(schema.anyOf ?? [])];
  const word = text.trim().toLowerCase();
  const isA = (...types: string[]) => kinds.some(({ type = '' }) => types.includes(type));
  const words = kinds.flatMap((kind) => [...(kind.enum ?? []), kind.const]);
  // A private value may be free text.
  const parts = text.split(schema.items?.private ? '\n' : /[\s,]+/).map((part) => part.trim());
  if (isA('array')) return parts.filter((part) => part !== '');
  if (isA('number', 'integer') && /^[+-]?\d+(\.\d+)?$/.test(word)) return Number(word);
  if (isA('boolean') && !words.includes(false) && /^(true|false)$/.test(word)) return word === 'true';
  return words.find((choice) => choice !== undefined && String(choice) === word) ?? text;
}

/** Name and password would be printed with the address: they become keys of their own. What is no address stays, a fault of its own. */
function takeLoginOutOfBrokerUrl(draft: Draft): void {
  const at = ['mqtt', 'url'];
  const address = draft.textAt(at) ?? '';
  // Not url.href, which would write the rest of the address differently than the person did.
  const bare = address.replace(/^([^:]+:\/\/)[^/?#]*@/, '$1');
  if (bare === address || !URL.canParse(address)) return;
  const { hostname, username, password } = new URL(address);
  const login = Object.entries({ username, password }).filter(([, value]) => value !== '');
  if (hostname === '' || login.some(([, value]) => decoded(value) === undefined)) return;
  draft.put(at, bare);
  for (const [key, value] of login)
    draft.lay(['mqtt', key], decoded(value), draft.originOf(at), `a ${key} in mqtt.url`);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const OPTIONS = '/data/options.json';
const BROKER_SERVICE = 'http://supervisor/services/mqtt';
const PATIENCE_MS = 10_000;
const NO_BROKER = 'the app "Mosquitto broker" installed and started, or mqtt_url in the options of this app';

/** The environment as it is, unless a Supervisor has started us; what the environment says wins over an option. */
export async function withAppOptions(
  env: Environment,
  draft: Draft,
  readFile: secrets.ReadFile,
  fetcher: typeof fetch,
): Promise<Environment> {
  const token = env.SUPERVISOR_TOKEN;
  const options = token ? await readOptions(draft, readFile) : undefined;
  if (!token || options === undefined) return env;
  const given = { ...variablesOf(options), ...env };
  if (given.HEAT2MQTT_MQTT_URL) return given;
  const broker = await askForBroker(token, fetcher);
  if (typeof broker === 'string') draft.refuse(['mqtt', 'url'], NO_BROKER, broker);
  return typeof broker === 'string' ? given : { ...flat({ mqtt: broker }), ...given };
}

async function readOptions(draft: Draft, readFile: secrets.ReadFile): Promise<RawConfig | undefined> {
  try {
    const options: unknown = JSON.parse(secrets.decodeText(await readFile(OPTIONS)));
    if (isMapping(options)) return options;
  } catch (error) {
    if (secrets.whyUnreadable(error) === secrets.NO_SUCH_FILE) return undefined;
  }
  const allowed = 'a readable JSON object, as the Supervisor writes it';
  draft.refuse([OPTIONS], allowed, 'something else than options');
  return undefined;
}

/** A value that is filled in counts more than one that is known of the provider. */
function variablesOf({ provider, statistics, more_accounts: more, ...options }: RawConfig): Environment {
  const preset = KNOWN_PROVIDERS.find(({ id }) => id === provider);
  const isSeveral = Array.isArray(more) && more.length > 0;
  return {
    ...flat({
      // One that the program does not know is told as an unknown variable.
      provider: preset?.provider ?? (provider === 'other' ? undefined : provider),
      usage: preset?.usage,
      // Switched on, its way leads through the Supervisor; nothing has to be said.
      home_assistant: statistics === false ? false : undefined,
      // Several accounts need a name each.
      accounts: isSeveral ? [{ id: 'home' }, ...more] : undefined,
    }),
    ...flat(options),
  };
}

/** `mqtt_url` is HEAT2MQTT_MQTT_URL, and so is `url` in `mqtt`; what is empty is not given. */
function flat(options: object, above = 'HEAT2MQTT'): Record<string, string> {
  const inner = Object.entries(options).map(([name, value]) => {
    const variable = `${above}_${name.toUpperCase()}`;
    if (value === undefined || value === null || value === '') return {};
    const isSection = isMapping(value) || (Array.isArray(value) && value.some(isMapping));
    return isSection ? flat(value, variable) : { [variable]: String(value) };
  });
  return Object.assign({}, ...inner);
}

/** Resolves to what was found instead of a broker, in words, when there is none. */
async function askForBroker(token: string, fetcher: typeof fetch): Promise<RawConfig | string> {
  try {
    const response = await fetcher(BROKER_SERVICE, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    // 400 "Service not enabled": no app offers a broker.
    if (!response.ok && response.status !== 400)
      return `status ${response.status} from the Supervisor instead of a broker`;
    // Odd characters in it make an address that the schema refuses.
    const { host, port, ssl, username, password } = Object(Object(await response.json()).data);
    if (!host) return 'no broker that Home Assistant knows of';
    return { url: `mqtt${ssl ? 's' : ''}://${host}:${port}`, username, password };
  } catch {
    return 'no answer from the Supervisor about a broker';
  }
}

/**
 * Puts whole paths in the place of relative ones, and each secret as a Secret in the place of the key that it comes from. Text of
 * a wrong form stays, for the schema to refuse.
 */
export async function readFiles(draft: Draft, readFile: secrets.ReadFile, credentials = ''): Promise<void> {
  await layCredentials(draft, credentials);
  for (const [path, value] of draft.leaves()) {
    if (typeof value !== 'string' || value === '') continue;
    if (keys.isFileKey(path)) await putFile(path, value, draft, readFile);
    else if (keys.isSecret(path)) await putSecret(path, secrets.trimNewline(value), draft);
    else if (path.join() === 'state_dir') draft.put(path, draft.locate(path, value));
  }
}

async function putSecret(path: keys.Path, value: string, draft: Draft): Promise<void> {
  const name = path.at(-1) ?? '';
  const origin = draft.originOf(path) === 'file' ? 'inline' : draft.originOf(path);
  const secret = new secrets.Secret(origin, async () => value, draft.scrubber, secrets.formOf(name));
  const looked = await secret.look();
  if (draft.isGiven(keys.fileKeyOf(path))) draft.refuse(path, 'one of them', `both ${name} and ${name}_file`);
  else if ('value' in looked) draft.put(path, secret);
}

async function putFile(key: keys.Path, given: string, draft: Draft, readFile: secrets.ReadFile) {
  const path = keys.mainKeyOf(key);
  const file = draft.locate(key, given);
  const refuse = (found: string, allowed: string) => {
    // Without a folder that exists it may be a password that was put into the wrong key.
    const isPath =
      /^\.\.?\//.test(given) || (!['.', '/'].includes(dirname(given)) && existsSync(dirname(given)));
    const isBare = !given.includes('/') && found === secrets.NO_SUCH_FILE;
    const where = isBare ? ` of this name in ${dirname(file)}` : '';
    const which = isPath || !keys.isSecret(path) ? `: ${JSON.stringify(file)}` : where;
    draft.refuse(key, allowed, found + which + draft.variableWords(key));
  };
  if (!keys.isSecret(path)) {
    draft.put(key, file);
    const content = await readFile(file).then(Buffer.from, secrets.whyUnreadable);
    if (typeof content === 'string') refuse(content, 'the path of a readable file');
    else if (key.at(-1) === 'ca_file') lookForAuthorities(key, content, draft, refuse);
  } else if (!draft.isGiven(path)) {
    const form = secrets.formOf(path.at(-1) ?? '');
    const read = async () => secrets.trimNewline(secrets.decodeText(await readFile(file)));
    const secret = new secrets.Secret(`file ${file}`, read, draft.scrubber, form, file);
    const looked = await secret.look();
    if ('found' in looked) refuse(looked.found, `the path of a readable file that holds ${form.allowed}`);
    draft.put(path, secret, draft.originOf(key));
    draft.remove(key);
  }
}

function lookForAuthorities(
  key: keys.Path,
  content: Buffer,
  draft: Draft,
  refuse: (found: string, allowed: string) => void,
): void {
  const looked = certificatesIn(content);
  if (!('found' in looked)) return;
  // Nothing is verified then: such a file was never of use, and does no harm.
  const isUnused = draft.at([...key.slice(0, -1), 'reject_unauthorized']) === false;
  if (isUnused) draft.warnings.push(`${key.join('.')} holds ${looked.found}: it is not used.`);
  else refuse(looked.found, AUTHORITIES);
}

/** Files in $CREDENTIALS_DIRECTORY, called like variables without HEAT2MQTT_ or by an account's id. Whatever else is given wins. */
async function layCredentials(draft: Draft, directory: string): Promise<void> {
  // If it cannot be listed, the secrets that are missing for that will be named one by one.
  const entries = directory === '' ? [] : await readdir(directory).catch(() => []);
  const { accounts } = draft.raw;
  const numbers = Array.isArray(accounts) ? Array.from(accounts, (_, n) => `${n}`) : [];
  const byId = new Map<string, keys.Path>();
  for (const key of ['password', 'totp_secret'])
    for (const n of numbers)
      byId.set(plainName(`${draft.textAt(['accounts', n, 'id']) ?? 'home'}_${key}`), ['accounts', n, key]);
  // The most particular name counts.
  for (const entry of entries.sort((a, b) => b.length - a.length)) {
    const name = plainName(entry).replace(/^heat2mqtt_/, '');
    const path = keyOf(keys.variableOf([name]))?.path ?? byId.get(name) ?? [];
    const isOfSingle = path.at(-1) === name;
    if (!keys.isSecret(path) || !isMapping(draft.at(path.slice(0, -1)))) continue;
    if (!(isOfSingle && numbers.length > 1) && !draft.isGiven(keys.fileKeyOf(path)))
      draft.lay(keys.fileKeyOf(path), join(directory, entry), 'credentials directory');
  }
}

const plainName = (name: string): string => name.toLowerCase().replace(/[.-]/g, '_');
