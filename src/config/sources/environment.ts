// Settings from the environment (HEAT2MQTT_<SECTION>_<KEY> for every key, checked for typing errors), laid over those
// of the file; keeps track of where each value comes from.
import { didYouMean, type Faults, type Origins } from '../faults.ts';
import { type KeySchema, schemaAt, settableKeys, variableOf } from '../keys.ts';
import { isMapping, leaves, type Path, put, type RawConfig, remove, valueAt } from '../rawConfig.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One value of the file or the environment. */
interface Setting {
  readonly path: Path;
  readonly value: unknown;
  /** In messages: its path, or the name of its variable. */
  readonly name: string;
  readonly origin: string;
}

const PREFIX = 'HEAT2MQTT_';
/** What a single account may be given by, and the path each of them sets. */
const SINGLE_ACCOUNT: ReadonlyMap<string, Path> = new Map(
  ['username', 'password', 'password_file', 'totp_secret', 'totp_secret_file'].map((name) => [
    variableOf([name]),
    ['accounts', '0', name],
  ]),
);

/**
 * Outer keys come before inner ones. `accountsInFile` decides whether HEAT2MQTT_USERNAME can be understood.
 * Text that fits no type of its key stays text: the schema complains about it.
 */
function readEnvironment(env: Environment, accountsInFile: number, faults: Faults): Setting[] {
  const settings: Setting[] = [];
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined || text === '') continue;
    const [, n = '0'] = /^HEAT2MQTT_ACCOUNTS_(\d{1,2})_/.exec(variable) ?? [];
    const [, meter = '<METER>'] = /^HEAT2MQTT_METERS_(.+)_NAME$/.exec(variable) ?? [];
    const known = knownVariables(n, meter);
    const path = known.get(variable);
    if (path === undefined) {
      if (variable !== `${PREFIX}CONFIG` && !isInjected(variable, text)) addUnknown(variable, known, faults);
    } else if (SINGLE_ACCOUNT.has(variable) && accountsInFile > 1) {
      const allowed = `with ${accountsInFile} accounts, ${variableOf(path)} and so on`;
      faults.add(variable, 'a variable for one account', allowed);
    } else {
      const value = coerced(schemaAt(path) ?? {}, text);
      settings.push({ path, value, name: variable, origin: `environment ${variable}` });
    }
  }
  return settings.sort((a, b) => a.path.length - b.path.length);
}

/** The path that each variable sets; those of lists for the account `n` and the meter. */
function knownVariables(n: string, meter: string): Map<string, Path> {
  const given: Readonly<Record<string, string>> = { '<n>': String(Number(n)), '<meter>': meter };
  const known = settableKeys().map(({ path }): [string, Path] => [
    variableOf(path)
      .replace('<N>', n)
      .replace('<METER>', () => meter),
    path.map((name) => given[name] ?? name),
  ]);
  return new Map([...known, ...SINGLE_ACCOUNT]);
}

// Kubernetes and Docker tell every container about services by variables, and one may be called heat2mqtt.
function isInjected(variable: string, text: string): boolean {
  if (/^HEAT2MQTT_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)$/.test(variable)) return true;
  if (/^HEAT2MQTT_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/.test(variable)) return true;
  return /^HEAT2MQTT_(\w+_)?PORT$/.test(variable) && /^(tcp|udp|sctp):\/\//.test(text);
}

function coerced(schema: KeySchema, text: string): unknown {
  const trimmed = text.trim();
  if (schema.anyOf !== undefined) {
    const values = schema.anyOf.map((alternative) => coerced(alternative, text));
    return values.find((value) => value !== text) ?? text;
  }
  if (schema.type === 'array') return trimmed.split(/[\s,]+/).filter((word) => word !== '');
  const choices = [...(schema.enum ?? []), schema.const];
  if (schema.type === 'boolean' && schema.const === undefined) choices.push(true, false);
  const choice = choices.find((known) => known !== undefined && String(known) === trimmed.toLowerCase());
  if (choice !== undefined) return choice;
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  return isNumber && /^[+-]?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : text;
}

function addUnknown(variable: string, known: ReadonlyMap<string, Path>, faults: Faults): void {
  const withoutPrefix = (name: string) => name.slice(PREFIX.length);
  const guess = didYouMean(withoutPrefix(variable), [...known.keys()].map(withoutPrefix));
  if (guess !== undefined) faults.excuse(known.get(`${PREFIX}${guess}`) ?? []);
  const hint = guess === undefined ? '' : ` (did you mean ${PREFIX}${guess}?)`;
  faults.add(variable.slice(0, 80), 'an unknown variable', `the variables of docs/configuration.md${hint}`);
}

/** Lays the environment over the file. Changes `raw`, and returns where each value comes from. */
export function applyEnvironment(raw: RawConfig, env: Environment, faults: Faults): Origins {
  fillEmptySections(raw);
  const file = leaves(raw).map(([path, value]) => ({ path, value, name: path.join('.'), origin: 'file' }));
  const accountsInFile = Array.isArray(raw.accounts) ? raw.accounts.length : 0;
  const environment = readEnvironment(env, accountsInFile, faults);
  refuseTwice(file, faults);
  refuseTwice(environment, faults);
  const origins: Origins = new Map(file.map(({ name, origin }) => [name, origin]));
  const urlIsReplaced = environment.some(isBrokerUrl);
  const settings = [
    ...(urlIsReplaced ? [] : detachCredentials(file, faults)),
    ...environment,
    ...detachCredentials(environment, faults),
  ];
  for (const setting of settings) apply(raw, setting, origins);
  applyServiceManagers(raw, env, origins);
  return origins;
}

function fillEmptySections(raw: RawConfig): void {
  for (const [path, value] of leaves(raw)) {
    const schema = schemaAt(path);
    if (value === null && schema?.items?.properties !== undefined) put(raw, path, []);
    if (value === null && (schema?.properties || schema?.additionalProperties)) put(raw, path, {});
  }
}

// What systemd and the Supervisor of Home Assistant say counts when nobody named something else.
function applyServiceManagers(raw: RawConfig, env: Environment, origins: Origins): void {
  const [directory] = env.STATE_DIRECTORY?.split(':') ?? [];
  if (directory && !Object.hasOwn(raw, 'state_dir')) {
    raw.state_dir = directory;
    origins.set('state_dir', 'environment STATE_DIRECTORY');
  }
  const token = env.SUPERVISOR_TOKEN;
  const given = Object.hasOwn(raw, 'home_assistant') ? raw.home_assistant : {};
  // Whoever names another Home Assistant, or switches it off, means that.
  if (token && isMapping(given) && !['url', 'token', 'token_file'].some((key) => Object.hasOwn(given, key))) {
    raw.home_assistant = { ...given, url: 'ws://supervisor/core/websocket', token };
    for (const name of ['url', 'token'])
      origins.set(`home_assistant.${name}`, 'environment SUPERVISOR_TOKEN');
  }
}

function apply(raw: RawConfig, { path, value, origin }: Setting, origins: Origins): void {
  const isFromEnvironment = (at: Path) => origins.get(at.join('.'))?.startsWith('environment') === true;
  const section = path.slice(0, -1);
  const current = valueAt(raw, section);
  // `HEAT2MQTT_HTTP=false` beats HEAT2MQTT_HTTP_LISTEN; `http: false` in the file does not.
  if (current === false && isFromEnvironment(section)) return;
  if (typeof current === 'boolean') put(raw, section, {});
  // Switching on keeps the details of the file.
  if (value === true && isMapping(valueAt(raw, path))) return;
  // One key of a secret in the environment replaces both of the file.
  const inline = secretOf(path);
  const twin = inline && (inline.at(-1) === path.at(-1) ? withFile(inline) : inline);
  if (twin !== undefined && !isFromEnvironment(twin)) {
    remove(raw, twin);
    origins.delete(twin.join('.'));
  }
  // Its keys may be numbers, which would make a list of it.
  if (schemaAt(path.slice(0, 1))?.additionalProperties) raw[path[0] ?? ''] ??= {};
  put(raw, path, value);
  origins.set(path.join('.'), origin);
}

/** The inline key of the secret that `path` or its `_file` gives; undefined for what is no secret. */
function secretOf(path: Path): Path | undefined {
  const inline = [...path.slice(0, -1), (path.at(-1) ?? '').replace(/_file$/, '')];
  return schemaAt(inline)?.private && schemaAt(withFile(inline)) ? inline : undefined;
}

function withFile(inline: Path): Path {
  return [...inline.slice(0, -1), `${inline.at(-1)}_file`];
}

// HEAT2MQTT_PASSWORD and HEAT2MQTT_PASSWORD_FILE, or HEAT2MQTT_USERNAME and HEAT2MQTT_ACCOUNTS_0_USERNAME.
function refuseTwice(settings: readonly Setting[], faults: Faults): void {
  const seen = new Map<string, string>();
  for (const { path, name } of settings) {
    const key = secretOf(path) ?? path;
    const other = seen.get(JSON.stringify(key));
    const short = (full: string) => full.split('.').at(-1);
    if (other !== undefined)
      faults.add(key.join('.'), `both ${short(other)} and ${short(name)}`, 'one of them');
    seen.set(JSON.stringify(key), name);
  }
}

function isBrokerUrl({ path }: Setting): boolean {
  return path.join('.') === 'mqtt.url';
}

/**
 * Takes name and password out of the broker's address, where they would be printed with it. Returns the settings to
 * make instead; none when there is nothing to take out, or the address cannot be understood (a fault of its own).
 */
function detachCredentials(settings: readonly Setting[], faults: Faults): Setting[] {
  const setting = settings.find(isBrokerUrl);
  const address = setting?.value;
  if (setting === undefined || typeof address !== 'string' || !URL.canParse(address)) return [];
  const url = new URL(address);
  // Not url.href, which would write the rest of the address differently than the person did.
  const bare = address.replace(/^([^:]+:\/\/)[^/?#]*@/, '$1');
  if (url.hostname === '' || bare === address) return [];
  const detached: Setting[] = [{ ...setting, value: bare }];
  for (const name of ['username', 'password'] as const) {
    if (url[name] === '') continue;
    const value = decoded(url[name]);
    if (value === undefined) return [];
    detached.push({ ...setting, path: ['mqtt', name], value });
    const keys = [`mqtt.${name}`, `mqtt.${name}_file`];
    const other = settings.find(({ path }) => keys.includes(path.join('.')));
    if (other !== undefined)
      faults.add(`mqtt.${name}`, `both a ${name} in ${setting.name} and ${other.name}`, 'one of them');
  }
  return detached;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
