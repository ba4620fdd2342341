// The environment over the file: a variable for every key (HEAT2MQTT_<SECTION>_<KEY>), checked for typing errors, and what systemd and
// the Supervisor tell.
import type { Draft } from './draft.ts';
import { didYouMean } from './faults.ts';
import {
  asSection,
  type KeySchema,
  type Path,
  schemaAt,
  secretKeysOf,
  settableKeys,
  variableOf,
} from './keys.ts';
import { accountsIn, Source } from './source.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Lays the environment over what the file gives. */
export function applyEnvironment(draft: Draft, env: Environment): void {
  // A section comes before its keys in this order, and the keys of a section that is switched off do not count.
  const variables = new Source();
  for (const [variable, text] of Object.entries(env).sort())
    if (text && isOurs(variable, text)) putVariable(variables, variable, text, draft);
  takeLoginOutOfBrokerUrl(variables.isGiven('mqtt.url') ? variables : draft, draft);
  draft.lay(variables);
  putStateDirectory(draft, env);
  putHomeAssistant(draft, env);
}

/** systemd's folder counts if no other is named. */
function putStateDirectory(draft: Draft, { STATE_DIRECTORY = '' }: Environment): void {
  const [directory] = STATE_DIRECTORY.split(':');
  if (directory && !draft.isGiven('state_dir'))
    draft.put(['state_dir'], directory, 'environment STATE_DIRECTORY');
}

/** The Supervisor's way to Home Assistant counts if no other is named. */
function putHomeAssistant(draft: Draft, { SUPERVISOR_TOKEN: token }: Environment): void {
  const isNamed = ['url', 'token', 'token_file'].some((key) => draft.isGiven(['home_assistant', key]));
  if (!token || isNamed || draft.at('home_assistant') === false) return;
  for (const [key, value] of Object.entries({ url: 'ws://supervisor/core/websocket', token }))
    draft.put(['home_assistant', key], value, 'environment SUPERVISOR_TOKEN');
}

const PREFIX = 'HEAT2MQTT_';
const OF_SINGLE_ACCOUNT = ['username', 'password', 'password_file', 'totp_secret', 'totp_secret_file'].map(
  (name) => variableOf([name]),
);

function isOurs(variable: string, text: string): boolean {
  if (!variable.startsWith(PREFIX) || variable === `${PREFIX}CONFIG`) return false;
  // Kubernetes and Docker tell every container about services by variables, and one may be called heat2mqtt.
  if (/_(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/.test(variable)) return false;
  return !(/^HEAT2MQTT_(\w+_)?PORT$/.test(variable) && /^(tcp|udp|sctp):\/\//.test(text));
}

function putVariable(source: Source, variable: string, text: string, draft: Draft): void {
  const path = keyOf(variable);
  const accountsInFile = accountsIn(draft).length;
  if (path === undefined) refuseVariable(draft, variable);
  else if (accountsInFile > 1 && OF_SINGLE_ACCOUNT.includes(variable)) {
    const allowed = `with ${accountsInFile} accounts, ${variableOf(path)} and so on`;
    draft.refuse([variable], allowed, 'a variable for one account');
  } else if (source.isGiven(path)) draft.refuseBoth(path, source.nameOf(path), variable);
  else source.put(path, asSection(path, typed(schemaAt(path), text)), `environment ${variable}`);
}

let patterns: readonly (readonly [RegExp, Path])[] | undefined;

// Made once: with many variables that is a third of the time that a configuration takes.
function patternsOfVariables() {
  patterns ??= settableKeys().map(({ path }) => {
    const name = variableOf(path).replace('<N>', '(\\d{1,2})').replace('<METER>', '(.+)');
    return [new RegExp(`^${name}$`), path] as const;
  });
  return patterns;
}

/** The key that a variable gives; undefined: none. */
export function keyOf(variable: string): Path | undefined {
  const isOfSingleAccount = OF_SINGLE_ACCOUNT.includes(variable);
  const ofKey = isOfSingleAccount ? variable.replace(PREFIX, `${PREFIX}ACCOUNTS_0_`) : variable;
  for (const [pattern, path] of patternsOfVariables()) {
    const match = pattern.exec(ofKey);
    if (match === null) continue;
    const [, inName = ''] = match;
    const filling = path.includes('<n>') ? `${Number(inName)}` : inName;
    return path.map((name) => (name.startsWith('<') ? filling : name));
  }
  return undefined;
}

function refuseVariable(draft: Draft, given: string): void {
  const [, number = '0'] = /_(\d{1,2})_/.exec(given) ?? [];
  const ofKeys = settableKeys().map(({ path }) => variableOf(path).replace('<N>', number));
  const names = [...OF_SINGLE_ACCOUNT, ...ofKeys].map((name) => name.slice(PREFIX.length));
  const guess = didYouMean(given.slice(PREFIX.length), names);
  const hint = guess === undefined ? '' : ` (did you mean ${PREFIX}${guess}?)`;
  const allowed = `the variables of docs/configuration.md${hint}`;
  draft.refuse([given.slice(0, 80)], allowed, 'an unknown variable', keyOf(`${PREFIX}${guess}`));
}

/** Switches, numbers, words of a choice and lists by the type of the key; everything else is taken literally. */
function typed(schema: KeySchema = {}, text: string): unknown {
  if (schema.items) {
    // A private value may be free text.
    const parts = text.split(schema.items.private ? '\n' : /[\s,]+/).map((part) => part.trim());
    return parts.filter((part) => part !== '');
  }
  const kinds = [schema, ...(schema.anyOf ?? [])];
  const word = text.trim().toLowerCase();
  const isNumber = kinds.some(({ type = '' }) => ['number', 'integer'].includes(type));
  if (isNumber && /^[+-]?\d+(\.\d+)?$/.test(word)) return Number(word);
  const words = kinds.flatMap(
    (kind) => kind.enum ?? kind.const ?? (kind.type === 'boolean' ? [true, false] : []),
  );
  return words.find((choice) => String(choice) === word) ?? text;
}

/** Name and password would be printed with the address: they become keys of their own. */
function takeLoginOutOfBrokerUrl(source: Source, draft: Draft): void {
  const address = source.textAt('mqtt.url') ?? '';
  // Not url.href, which would write the rest of the address differently than the person did.
  const bare = address.replace(/^([^:]+:\/\/)[^/?#]*@/, '$1');
  const login = bare === address ? undefined : loginIn(address);
  if (login === undefined) return;
  const origin = source.originOf(['mqtt', 'url']);
  source.put(['mqtt', 'url'], bare, origin);
  for (const [name, value] of Object.entries(login)) {
    const key = ['mqtt', name];
    if (value === '') continue;
    const rival = [key, ...secretKeysOf(key)].find((each) => source.isGiven(each));
    if (rival) draft.refuseBoth(key, source.nameOf(rival), `a ${name} in mqtt.url`);
    source.put(key, value, origin);
  }
}

/** Undefined for what is no address: it stays as it is, a fault of its own. */
function loginIn(address: string): Record<string, string> | undefined {
  try {
    const { username, password } = new URL(address);
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}
