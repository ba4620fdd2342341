// Settings from the environment (HEAT2MQTT_<SECTION>_<KEY> for every key, checked for typing errors), laid over those
// of the file; keeps track of where each value comes from.
import { didYouMean, type Faults, isFromEnvironment, type Origins } from './faults.ts';
import { type KeySchema, mappingOf, schemaAt, settableKeys, variableOf } from './keys.ts';
import { isMapping, leaves, type Path, put, type RawConfig, remove, textAt, valueAt } from './rawConfig.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Lays the environment over the file. Changes `raw`, and returns where each value comes from. */
export function applyEnvironment(raw: RawConfig, env: Environment, faults: Faults): Origins {
  for (const [path, value] of leaves(raw)) put(raw, path, inFull(path, value));
  const origins: Origins = new Map(leaves(raw).map(([path]) => [path.join('.'), 'file']));
  const settings = readEnvironment(env, Array.isArray(raw.accounts) ? raw.accounts.length : 0, faults);
  for (const setting of settings) apply(raw, setting, origins, faults);
  applyServiceManagers(raw, env, origins);
  takeLoginOutOfBrokerUrl(raw, origins, faults);
  return origins;
}

/** An empty section, and one that is switched on by `true`, is one with all defaults. */
function inFull(path: Path, value: unknown): unknown {
  const schema = schemaAt(path);
  if (value === true && schema?.anyOf?.some(({ type }) => type === 'boolean')) return {};
  if (value === null && schema?.items?.properties !== undefined) return [];
  return value === null && (schema?.properties || schema?.additionalProperties) ? {} : value;
}

interface Setting {
  readonly path: Path;
  readonly value: unknown;
  readonly variable: string;
}

const PREFIX = 'HEAT2MQTT_';
/** What a single account may be given by, and the path each of them sets. */
const SINGLE_ACCOUNT: ReadonlyMap<string, Path> = new Map(
  ['username', 'password', 'password_file', 'totp_secret', 'totp_secret_file'].map((name) => [
    variableOf([name]),
    ['accounts', '0', name],
  ]),
);

/** Outer keys come before inner ones. `accountsInFile` decides whether HEAT2MQTT_USERNAME can be understood. */
function readEnvironment(env: Environment, accountsInFile: number, faults: Faults): Setting[] {
  const known = new Map<string, Path>([
    ...settableKeys().map(({ path }): [string, Path] => [variableOf(path), path]),
    ...SINGLE_ACCOUNT,
  ]);
  const settings: Setting[] = [];
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined || text === '') continue;
    const [, n] = /_(\d{1,2})_/.exec(variable) ?? [];
    const [, meter] = /^HEAT2MQTT_METERS_(.+)_NAME$/.exec(variable) ?? [];
    const pattern = meter ? 'HEAT2MQTT_METERS_<METER>_NAME' : variable.replace(`_${n}_`, '_<N>_');
    const path = known
      .get(pattern)
      ?.map((name) => (name === '<n>' ? String(Number(n)) : name === '<meter>' ? (meter ?? '') : name));
    if (path === undefined || path.includes('NaN')) {
      if (variable !== `${PREFIX}CONFIG` && !isInjected(variable, text))
        addUnknown(variable, pattern, n, known, faults);
    } else if (SINGLE_ACCOUNT.has(variable) && accountsInFile > 1) {
      const allowed = `with ${accountsInFile} accounts, ${variableOf(path)} and so on`;
      faults.add(variable, 'a variable for one account', allowed);
    } else settings.push({ path, value: typed(schemaAt(path), text), variable });
  }
  return settings.sort((a, b) => a.path.length - b.path.length);
}

// Kubernetes and Docker tell every container about services by variables, and one may be called heat2mqtt.
function isInjected(variable: string, text: string): boolean {
  if (/^HEAT2MQTT_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)$/.test(variable)) return true;
  if (/^HEAT2MQTT_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/.test(variable)) return true;
  return /^HEAT2MQTT_(\w+_)?PORT$/.test(variable) && /^(tcp|udp|sctp):\/\//.test(text);
}

/** Switches, numbers, words of a choice and lists by the type of the key; everything else is taken literally. */
function typed(schema: KeySchema = {}, text: string): unknown {
  const kinds = [schema, ...(schema.anyOf ?? [])];
  const word = text.trim().toLowerCase();
  const isA = (...types: string[]) => kinds.some(({ type = '' }) => types.includes(type));
  const words = kinds.flatMap((kind) => [...(kind.enum ?? []), kind.const]);
  if (isA('array')) return text.split(/[\s,]+/).filter((part) => part !== '');
  if (isA('number', 'integer') && /^[+-]?\d+(\.\d+)?$/.test(word)) return Number(word);
  if (isA('boolean') && !words.includes(false) && /^(true|false)$/.test(word)) return word === 'true';
  return words.find((known) => known !== undefined && String(known) === word) ?? text;
}

function addUnknown(
  variable: string,
  pattern: string,
  n: string | undefined,
  known: ReadonlyMap<string, Path>,
  faults: Faults,
): void {
  const withoutPrefix = (name: string) => name.slice(PREFIX.length);
  const guess = didYouMean(withoutPrefix(pattern), [...known.keys()].map(withoutPrefix));
  const numbered = (name: string) => name.replace(/<n>/i, n ?? '0');
  if (guess !== undefined) faults.excuse((known.get(`${PREFIX}${guess}`) ?? []).map(numbered));
  const hint = guess === undefined ? '' : ` (did you mean ${PREFIX}${numbered(guess)}?)`;
  faults.add(variable.slice(0, 80), 'an unknown variable', `the variables of docs/configuration.md${hint}`);
}

function apply(raw: RawConfig, { path, value, variable }: Setting, origins: Origins, faults: Faults): void {
  const section = path.slice(0, -1);
  const current = valueAt(raw, section);
  if (isFromEnvironment(origins, path)) {
    const [, other] = (origins.get(path.join('.')) ?? '').split(' ');
    faults.add(path.join('.'), `both ${other} and ${variable}`, 'one of them');
  }
  // `HEAT2MQTT_HTTP=false` beats HEAT2MQTT_HTTP_LISTEN; `http: false` in the file does not.
  if (current === false && isFromEnvironment(origins, section)) return;
  if (current === false) put(raw, section, {});
  const isSwitchedOn = value === true && mappingOf(schemaAt(path)) !== undefined;
  // Switching on keeps the details of the file.
  if (!isSwitchedOn || !isMapping(valueAt(raw, path))) put(raw, path, isSwitchedOn ? {} : value);
  origins.set(path.join('.'), `environment ${variable}`);
}

// What systemd and the Supervisor of Home Assistant say counts when nothing else is named.
function applyServiceManagers(raw: RawConfig, env: Environment, origins: Origins): void {
  const [directory] = env.STATE_DIRECTORY?.split(':') ?? [];
  if (directory && !Object.hasOwn(raw, 'state_dir')) {
    raw.state_dir = directory;
    origins.set('state_dir', 'environment STATE_DIRECTORY');
  }
  const token = env.SUPERVISOR_TOKEN;
  const given = Object.hasOwn(raw, 'home_assistant') ? raw.home_assistant : {};
  // Another Home Assistant that is named, or `false`, is meant so.
  if (token && isMapping(given) && !['url', 'token', 'token_file'].some((key) => Object.hasOwn(given, key))) {
    raw.home_assistant = { ...given, url: 'ws://supervisor/core/websocket', token };
    for (const name of ['url', 'token'])
      origins.set(`home_assistant.${name}`, 'environment SUPERVISOR_TOKEN');
  }
}

/**
 * User name and password would be printed with the address: they become keys of their own. An address that cannot be
 * understood stays as it is, a fault of its own.
 */
function takeLoginOutOfBrokerUrl(raw: RawConfig, origins: Origins, faults: Faults): void {
  const address = textAt(raw, ['mqtt', 'url']) ?? '';
  // Not url.href, which would write the rest of the address differently than the person did.
  const bare = address.replace(/^([^:]+:\/\/)[^/?#]*@/, '$1');
  if (bare === address || !URL.canParse(address)) return;
  const url = new URL(address);
  const origin = origins.get('mqtt.url') ?? 'file';
  const login = [
    { key: 'username', value: decoded(url.username) },
    { key: 'password', value: decoded(url.password) },
  ];
  if (url.hostname === '' || login.some(({ value }) => value === undefined)) return;
  put(raw, ['mqtt', 'url'], bare);
  for (const { key, value } of login.filter((part) => part.value !== '')) {
    const others = [`mqtt.${key}`, `mqtt.${key}_file`].filter((other) => origins.has(other));
    const isElsewhere = (other: string) => (origins.get(other) === 'file') !== (origin === 'file');
    const [same] = others.filter((other) => !isElsewhere(other));
    if (same !== undefined) faults.add(`mqtt.${key}`, `both a ${key} in mqtt.url and ${same}`, 'one of them');
    // The environment wins over the file, in either direction.
    if (same !== undefined || (others.length > 0 && origin === 'file')) continue;
    for (const other of others) {
      remove(raw, other.split('.'));
      origins.delete(other);
    }
    put(raw, ['mqtt', key], value);
    origins.set(`mqtt.${key}`, origin);
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
