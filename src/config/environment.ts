// Settings from the environment: HEAT2MQTT_<SECTION>_<KEY> for every key, checked for typing errors.
import { didYouMean } from './didYouMean.ts';
import type { Faults } from './faults.ts';
import { type Key, type KeySchema, settableKeys, variableOf } from './keys.ts';
import type { Path } from './rawConfig.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One value of the file or the environment. */
export interface Setting {
  readonly path: Path;
  readonly value: unknown;
  /** In messages: its path, or the name of its variable. */
  readonly name: string;
  readonly origin: string;
}

const PREFIX = 'HEAT2MQTT_';
const ACCOUNT = /^HEAT2MQTT_ACCOUNTS_(\d{1,2})_/;
const SINGLE_ACCOUNT = ['username', 'password', 'password_file'];

/**
 * Outer keys come before inner ones. `accountsInFile` decides whether HEAT2MQTT_USERNAME can be understood.
 * Text that fits no type of its key stays text: the schema complains about it.
 */
export function readEnvironment(env: Environment, accountsInFile: number, faults: Faults): Setting[] {
  const known = new Map(settableKeys().map((key) => [variableOf(key.path), key]));
  const settings: Setting[] = [];
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined || text === '') continue;
    const account = ACCOUNT.exec(variable)?.[1];
    const key = known.get(account === undefined ? variable : variable.replace(`_${account}_`, '_<N>_'));
    const short = SINGLE_ACCOUNT.find((name) => variable === variableOf([name]));
    const origin = `environment ${variable}`;
    if (key !== undefined) {
      const path = key.path.map((name) => (name === '<n>' ? String(Number(account)) : name));
      settings.push({ path, value: coerced(key.schema, text), name: variable, origin });
    } else if (short !== undefined && accountsInFile <= 1) {
      settings.push({ path: ['accounts', '0', short], value: text, name: variable, origin });
    } else if (short !== undefined) {
      const allowed = `with ${accountsInFile} accounts, ${variableOf(['accounts', '0', short])} and so on`;
      faults.add(variable, 'a variable for one account', allowed);
    } else if (variable !== `${PREFIX}CONFIG` && !isInjected(variable, text)) {
      addUnknown(variable, known, faults);
    }
  }
  return settings.sort((a, b) => a.path.length - b.path.length);
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

function addUnknown(variable: string, known: ReadonlyMap<string, Key>, faults: Faults): void {
  const n = ACCOUNT.exec(variable)?.[1] ?? '0';
  const paths = new Map(
    [...known].map(([name, { path }]) => [
      name.slice(PREFIX.length).replace('<N>', n),
      path.join('.').replace('<n>', String(Number(n))),
    ]),
  );
  for (const name of SINGLE_ACCOUNT) paths.set(name.toUpperCase(), `accounts.0.${name}`);
  const guess = didYouMean(variable.slice(PREFIX.length), [...paths.keys()]);
  if (guess !== undefined) faults.excuse(paths.get(guess) ?? '');
  const hint = guess === undefined ? '' : ` (did you mean ${PREFIX}${guess}?)`;
  faults.add(variable.slice(0, 80), 'an unknown variable', `the variables of docs/configuration.md${hint}`);
}
