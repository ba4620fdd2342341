// Mistakes in the configuration, one per path: what was found, what is allowed, which key was meant. Never a secret.
import leven from 'leven';
import type * as z from 'zod';
import type { Scrubber } from '../foundation/log.ts';
import { allKeys, mappingOf, schemaAt, variableOf } from './keys.ts';
import { type Path, type RawConfig, valueAt } from './rawConfig.ts';

export interface Fault {
  /** `mqtt.url`, the name of an environment variable, or a file and line. */
  readonly path: string;
  readonly found: string;
  readonly allowed: string;
}

/** By path (`mqtt.url`): `default`, `file`, `environment HEAT2MQTT_…` or `credentials directory`. */
export type Origins = Map<string, string>;

export const isFromEnvironment = (origins: Origins, path: Path): boolean =>
  origins.get(path.join('.'))?.startsWith('environment') === true;

export class Faults {
  readonly #byPath = new Map<string, Fault & { readonly isMissing: boolean }>();
  readonly #excused = new Set<string>();

  /** The first fault at a path counts; others there are about the same mistake. */
  add(path: string, found: string, allowed: string, isMissing = false): void {
    if (!this.#byPath.has(path)) this.#byPath.set(path, { path, found, allowed, isMissing });
  }

  /** A misspelt name was reported: if the key it stands for is missing, that is the same mistake. */
  excuse(path: Path): void {
    this.#excused.add(written(path).replace(/(password|token)_file$/, '$1'));
  }

  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  /** Scrubbed only now, when all secrets are known. */
  all(scrubber: Scrubber): Fault[] {
    return [...this.#byPath.values()]
      .filter(({ path, isMissing }) => !isMissing || !this.#excused.has(path))
      .map(({ path, found, allowed }) => ({ path, found: scrubber.scrub(found), allowed }));
  }
}

export function addIssue(issue: z.core.$ZodIssue, raw: RawConfig, origins: Origins, faults: Faults): void {
  const path = issue.path.map(String);
  const inner = insideSection(issue);
  if (inner !== undefined) {
    for (const one of inner) addIssue({ ...one, path: [...issue.path, ...one.path] }, raw, origins, faults);
  } else if (issue.code === 'unrecognized_keys') {
    for (const name of issue.keys) addUnknownKey(path, name, issue.message, faults);
  } else {
    const given = issue.code === 'custom' ? issue.params?.found : undefined;
    const found = typeof given === 'string' ? given : foundWords(raw, path, origins);
    const isMissing = valueAt(raw, path) === undefined;
    const hasVariable = issue.code === 'invalid_type' && mappingOf(schemaAt(path)) === undefined;
    const ways = isMissing && hasVariable ? ` (here or in ${variableOf(path)})` : '';
    faults.add(written(path), found, `${issue.message}${ways}`, isMissing);
  }
}

// Where `false` or a section may be and a section was given, its keys are what is wrong.
function insideSection(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] | undefined {
  if (issue.code !== 'invalid_union') return undefined;
  const aboutKeys = ({ code, path }: z.core.$ZodIssue) => path.length > 0 || code === 'unrecognized_keys';
  return issue.errors.find((issues) => issues.some(aboutKeys));
}

function addUnknownKey(path: Path, name: string, siblings: string, faults: Faults): void {
  const sibling = didYouMean(name, siblings.split(', '));
  if (sibling !== undefined) faults.excuse([...path, sibling]);
  const elsewhere = allKeys().filter((key) => key.path.at(-1) === name);
  const guess = sibling ?? elsewhere.at(-1)?.path.join('.');
  const hint = guess === undefined ? '' : ` (did you mean ${guess}?)`;
  faults.add(written([...path, name]), 'an unknown key', `${siblings}${hint}`);
}

/** Describes a value, without its text when that may be private. */
export function foundWords(raw: RawConfig, path: Path, origins: Origins): string {
  const schema = schemaAt(path);
  // A single word in the place of a section may be anything, a password too.
  const isSection = schema?.properties !== undefined || schema?.items !== undefined;
  const isHidden = schema?.private === true || isSection;
  return valueWords(valueAt(raw, path), isHidden) + environmentWords(path, origins);
}

/** ` (environment HEAT2MQTT_…)` behind what comes from there. */
export const environmentWords = (path: Path, origins: Origins): string =>
  isFromEnvironment(origins, path) ? ` (${origins.get(path.join('.'))})` : '';

function valueWords(value: unknown, isHidden: boolean): string {
  if (value === undefined) return 'nothing';
  if (value === null) return "nothing (an empty value, or YAML's null without quotes)";
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (isHidden) return `a ${typeof value === 'string' ? 'text' : typeof value} (not shown)`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

// Everything before an @ may be a name and a password, whether or not the rest is a valid address.
function quoted(value: string): string {
  const masked = value
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1…@')
    .replace(/^([a-z][a-z0-9+.-]*:\/\/.*?)[?#].*$/is, '$1?…');
  return JSON.stringify(masked.length > 60 ? `${masked.slice(0, 60)}…` : masked);
}

/** A path in one line, whatever a key is made of. */
function written(path: Path): string {
  if (path.length === 0) return 'configuration';
  return path
    .map((name) => (/^[\w-]{1,40}$/.test(name) ? name : JSON.stringify(name.slice(0, 40))))
    .join('.');
}

/** The nearest of `known`: a few letters away, or one the beginning of the other; else undefined. */
export function didYouMean(word: string, known: readonly string[]): string | undefined {
  const plain = simplified(word);
  const [nearest] = known
    .map((name) => ({ name, steps: leven(plain, simplified(name)) }))
    // Two neighbours that are swapped are two steps.
    .filter(({ name, steps }) => steps <= (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))))
    .sort((a, b) => a.steps - b.steps);
  return nearest?.name ?? known.find((name) => begins(plain, simplified(name)));
}

/** baseTopic and base-topic are base_topic. */
const simplified = (word: string): string =>
  word
    .slice(0, 80)
    .toLowerCase()
    .replace(/[_\s-]/g, '');

const begins = (a: string, b: string): boolean =>
  Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
