// Settings from the environment (HEAT2MQTT_<SECTION>_<KEY> for every key, checked for typing errors), laid over those
// of the file.
import { type Draft, didYouMean, isMapping } from './draft.ts';
import { type KeySchema, mappingOf, type Path, schemaAt, settableKeys, variableOf } from './keys.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Lays the environment over the file, and notes where each value comes from. */
export function applyEnvironment(draft: Draft, env: Environment): void {
  for (const [path, value] of draft.leaves()) draft.put(path, inFull(path, value), 'file');
  for (const setting of readEnvironment(draft, env)) apply(draft, setting);
  applyServiceManagers(draft, env);
  takeLoginOutOfBrokerUrl(draft);
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

/** Outer keys come before inner ones. */
function readEnvironment(draft: Draft, env: Environment): Setting[] {
  const known = new Map([
    ...settableKeys().map(({ path }): [string, Path] => [variableOf(path), path]),
    ...SINGLE_ACCOUNT,
  ]);
  const accountsInFile = Array.isArray(draft.raw.accounts) ? draft.raw.accounts.length : 0;
  const settings: Setting[] = [];
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || !text || variable === `${PREFIX}CONFIG`) continue;
    if (isInjected(variable, text)) continue;
    const [, n] = /_(\d{1,2})_/.exec(variable) ?? [];
    const [, meter] = /^HEAT2MQTT_METERS_(.+)_NAME$/.exec(variable) ?? [];
    const pattern = meter ? 'HEAT2MQTT_METERS_<METER>_NAME' : variable.replace(`_${n}_`, '_<N>_');
    const filledIn = (name: string) =>
      name === '<meter>' ? (meter ?? '') : name.replace(/<n>/i, `${Number(n ?? 0)}`);
    const path = known.get(pattern)?.map(filledIn);
    if (path === undefined) {
      const names = [...known.keys()].map((name) => name.slice(PREFIX.length));
      const guess = didYouMean(pattern.slice(PREFIX.length), names);
      if (guess !== undefined) draft.excuse((known.get(PREFIX + guess) ?? []).map(filledIn));
      const hint = guess === undefined ? '' : ` (did you mean ${PREFIX}${filledIn(guess)}?)`;
      draft.refuse(
        variable.slice(0, 80),
        `the variables of docs/configuration.md${hint}`,
        'an unknown variable',
      );
    } else if (SINGLE_ACCOUNT.has(variable) && accountsInFile > 1) {
      const allowed = `with ${accountsInFile} accounts, ${variableOf(path)} and so on`;
      draft.refuse(variable, allowed, 'a variable for one account');
    } else settings.push({ path, value: typed(schemaAt(path), text), variable });
  }
  return settings.sort((a, b) => a.path.length - b.path.length);
}

// Kubernetes and Docker tell every container about services by variables, and one may be called heat2mqtt.
function isInjected(variable: string, text: string): boolean {
  if (/_(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/.test(variable)) return true;
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

function apply(draft: Draft, { path, value, variable }: Setting): void {
  const section = path.slice(0, -1);
  const current = draft.at(section);
  const other = draft.variableFor(path);
  if (other !== undefined) draft.refuse(path, 'one of them', `both ${other} and ${variable}`);
  // `HEAT2MQTT_HTTP=false` beats HEAT2MQTT_HTTP_LISTEN; `http: false` in the file does not.
  if (current === false && draft.variableFor(section) !== undefined) return;
  if (current === false) draft.put(section, {});
  const isSwitchedOn = value === true && mappingOf(schemaAt(path)) !== undefined;
  // Switching on keeps the details of the file.
  const kept = isSwitchedOn && isMapping(draft.at(path)) ? draft.at(path) : {};
  draft.put(path, isSwitchedOn ? kept : value, `environment ${variable}`);
}

// What systemd and the Supervisor of Home Assistant say counts when nothing else is named.
function applyServiceManagers(draft: Draft, { STATE_DIRECTORY, SUPERVISOR_TOKEN: token }: Environment): void {
  const [directory] = STATE_DIRECTORY?.split(':') ?? [];
  if (directory && draft.at(['state_dir']) === undefined)
    draft.put(['state_dir'], directory, 'environment STATE_DIRECTORY');
  const given = draft.at(['home_assistant']) ?? {};
  // Another Home Assistant that is named, or `false`, is meant so.
  if (!token || !isMapping(given) || ['url', 'token', 'token_file'].some((key) => key in given)) return;
  draft.put(['home_assistant', 'url'], 'ws://supervisor/core/websocket', 'environment SUPERVISOR_TOKEN');
  draft.put(['home_assistant', 'token'], token, 'environment SUPERVISOR_TOKEN');
}

/**
 * User name and password would be printed with the address: they become keys of their own. An address that cannot be
 * understood stays as it is, a fault of its own.
 */
function takeLoginOutOfBrokerUrl(draft: Draft): void {
  const at = ['mqtt', 'url'];
  const address = draft.textAt(at) ?? '';
  // Not url.href, which would write the rest of the address differently than the person did.
  const bare = address.replace(/^([^:]+:\/\/)[^/?#]*@/, '$1');
  if (bare === address || !URL.canParse(address)) return;
  const { hostname, username, password } = new URL(address);
  const login = { username: decoded(username), password: decoded(password) };
  if (hostname === '' || Object.values(login).includes(undefined)) return;
  draft.put(at, bare);
  const isOfFile = (path: Path) => draft.originOf(path) === 'file';
  for (const [key, value] of Object.entries(login)) {
    if (value === '') continue;
    const others = [key, `${key}_file`]
      .map((name) => ['mqtt', name])
      .filter((path) => draft.at(path) !== undefined);
    const same = others.find((other) => isOfFile(other) === isOfFile(at));
    if (same) draft.refuse(['mqtt', key], 'one of them', `both a ${key} in mqtt.url and ${same.join('.')}`);
    // The environment wins over the file, in either direction.
    if (same || (others.length > 0 && isOfFile(at))) continue;
    for (const other of others) draft.remove(other);
    draft.put(['mqtt', key], value, draft.originOf(at));
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
