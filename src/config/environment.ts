// Settings from the environment: HEAT2MQTT_<SECTION>_<KEY> for every key, checked for typing errors.
import type { Faults } from './faults.ts';
import { meant } from './meant.ts';
import { flat, type Key, keysOf, type Shape, variableOf } from './shape.ts';
import type { Path } from './tree.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Setting {
  readonly path: Path;
  readonly value: unknown;
  readonly variable: string;
}

const PREFIX = 'HEAT2MQTT_';
const SINGLE_ACCOUNT = ['username', 'password', 'password_file'];

/**
 * Outer keys come before inner ones. `accountsInFile` decides whether HEAT2MQTT_USERNAME can be understood.
 * Text that fits no type of its key stays text: the schema complains about it.
 */
export function readEnvironment(env: Environment, accountsInFile: number, faults: Faults): Setting[] {
  const known = new Map(settable().map((key) => [variableOf(key.path), key]));
  const settings: Setting[] = [];
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined || text === '') continue;
    const account = /^HEAT2MQTT_ACCOUNTS_(\d{1,2})_/.exec(variable)?.[1];
    const key = known.get(account === undefined ? variable : variable.replace(`_${account}_`, '_<N>_'));
    if (key !== undefined) {
      const path = key.path.map((name) => (name === '<n>' ? String(Number(account)) : name));
      settings.push({ path, value: coerced(key.shape, text), variable });
    } else if (isSingleAccount(variable)) {
      settings.push(...singleAccount(variable, text, accountsInFile, faults));
    } else if (variable !== `${PREFIX}CONFIG` && !isInjected(variable, text)) {
      addUnknown(variable, known, faults);
    }
  }
  refuseTwice(settings, faults);
  return settings.sort((a, b) => a.path.length - b.path.length);
}

/** Keys that one variable can hold: sections only when they can be switched with true and false. */
export function settable(): Key[] {
  return flat(keysOf()).filter(({ keys, shape }) => keys.length === 0 || shape.anyOf !== undefined);
}

export function isSingleAccount(variable: string): boolean {
  return SINGLE_ACCOUNT.some((name) => variable === variableOf([name]));
}

// Kubernetes and Docker tell every container about services by variables, and one may be called heat2mqtt.
function isInjected(variable: string, text: string): boolean {
  if (/^HEAT2MQTT_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)$/.test(variable)) return true;
  if (/^HEAT2MQTT_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/.test(variable)) return true;
  return /^HEAT2MQTT_(\w+_)?PORT$/.test(variable) && /^(tcp|udp|sctp):\/\//.test(text);
}

function coerced(shape: Shape, text: string): unknown {
  const trimmed = text.trim();
  if (shape.anyOf !== undefined) {
    const values = shape.anyOf.map((alternative) => coerced(alternative, text));
    return values.find((value) => value !== text) ?? text;
  }
  if (shape.type === 'array') return trimmed.split(/[\s,]+/).filter((word) => word !== '');
  const choices = [...(shape.enum ?? []), shape.const];
  if (shape.type === 'boolean') choices.push(...(shape.const === undefined ? [true, false] : []));
  const choice = choices.find((known) => known !== undefined && String(known) === trimmed.toLowerCase());
  if (choice !== undefined) return choice;
  const isNumber = shape.type === 'number' || shape.type === 'integer';
  return isNumber && /^[+-]?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : text;
}

function singleAccount(variable: string, text: string, accountsInFile: number, faults: Faults): Setting[] {
  const name = variable.slice(PREFIX.length).toLowerCase();
  if (accountsInFile <= 1) return [{ path: ['accounts', '0', name], value: text, variable }];
  const allowed = `with ${accountsInFile} accounts, ${variableOf(['accounts', '0', name])} and so on`;
  faults.add(variable, 'a variable for one account', allowed);
  return [];
}

function addUnknown(variable: string, known: ReadonlyMap<string, Key>, faults: Faults): void {
  const n = /^HEAT2MQTT_ACCOUNTS_(\d{1,2})_/.exec(variable)?.[1] ?? '0';
  const paths = new Map(
    [...known].map(([name, { path }]) => [
      name.slice(PREFIX.length).replace('<N>', n),
      path.join('.').replace('<n>', String(Number(n))),
    ]),
  );
  for (const name of SINGLE_ACCOUNT) paths.set(name.toUpperCase(), `accounts.0.${name}`);
  const guess = meant(variable.slice(PREFIX.length), [...paths.keys()]);
  if (guess !== undefined) faults.excuse(paths.get(guess)?.replace(/(password|token)_file$/, '$1') ?? '');
  const hint = guess === undefined ? '' : ` (did you mean ${PREFIX}${guess}?)`;
  faults.add(variable.slice(0, 80), 'an unknown variable', `the variables of docs/configuration.md${hint}`);
}

// HEAT2MQTT_PASSWORD and HEAT2MQTT_PASSWORD_FILE, or HEAT2MQTT_USERNAME and HEAT2MQTT_ACCOUNTS_0_USERNAME.
function refuseTwice(settings: readonly Setting[], faults: Faults): void {
  const seen = new Map<string, string>();
  for (const { path, variable } of settings) {
    const setting = path.join('.').replace(/_file$/, '');
    const other = seen.get(setting);
    if (other !== undefined) faults.add(setting, `both ${other} and ${variable}`, 'one of them');
    seen.set(setting, variable);
  }
}
