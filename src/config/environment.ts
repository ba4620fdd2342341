// The environment over the file: a variable for every key (HEAT2MQTT_<SECTION>_<KEY>), checked for typing errors, and what systemd and
// the Supervisor tell.
import type { Draft } from './draft.ts';
import { didYouMean } from './faults.ts';
import { type KeySchema, type Path, schemaAt, settableKeys, variableOf } from './keys.ts';

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
function inFull(path: Path, value: unknown): unknown {
  const schema = schemaAt(path);
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
      const allowed = `with ${accountsInFile} accounts, ${variableOf(path)} and so on`;
      draft.refuse([variable], allowed, 'a variable for one account');
    } else draft.lay(path, inFull(path, typed(schemaAt(path), text)), `environment ${variable}`);
  }
}

interface Variable {
  readonly path: Path;
  readonly name: string;
  /** With the number of an account or the identifier of a meter in it. */
  readonly pattern: RegExp;
  readonly isOfSingleAccount: boolean;
}

function variable(path: Path, name: string, isOfSingleAccount: boolean): Variable {
  const pattern = name.replace('<N>', '(\\d{1,2})').replace('<METER>', '(.+)');
  return { path, name, pattern: new RegExp(`^${pattern}$`), isOfSingleAccount };
}

let variables: readonly Variable[] | undefined;

function allVariables(): readonly Variable[] {
  variables ??= [
    ...SINGLE_ACCOUNT.map((key) => variable(['accounts', '0', key], variableOf([key]), true)),
    ...settableKeys().map(({ path }) => variable(path, variableOf(path), false)),
  ];
  return variables;
}

/** The key that a variable gives; undefined: none. */
export function keyOf(given: string): Pick<Variable, 'path' | 'isOfSingleAccount'> | undefined {
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
function typed(schema: KeySchema = {}, text: string): unknown {
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
