// Mistakes in the configuration, one per mistake: where, what was found, what is allowed. Never a secret.
import type { Scrubber } from '../foundation/log.ts';
import { meant } from './meant.ts';
import { allowedWords, flat, keysOf, mappingOf, shapeAt, variableOf } from './shape.ts';
import { isTree, type Path, type Tree, valueAt } from './tree.ts';

export interface Fault {
  /** `mqtt.url`, the name of an environment variable, or a file and line. */
  readonly path: string;
  readonly found: string;
  readonly allowed: string;
}

export interface Faults {
  /** The first fault at a path counts; others there come of the same mistake. */
  add(path: string, found: string, allowed: string): void;
  /** Something is not there; says nothing when the reason is known already. */
  missing(path: string, allowed: string, found?: string): void;
  /** If this path turns out to be missing, a misspelt name was told as the reason. */
  excuse(path: string): void;
  has(path: string): boolean;
  all(): Fault[];
}

export function collectFaults(scrubber: Scrubber): Faults {
  const byPath = new Map<string, Fault>();
  const excused = new Set<string>();
  const add = (path: string, found: string, allowed: string) => {
    if (!byPath.has(path)) byPath.set(path, { path, found: scrubber.scrub(found), allowed });
  };
  return {
    add,
    missing(path, allowed, found = 'nothing') {
      if (!excused.has(path)) add(path, found, allowed);
    },
    excuse: (path) => excused.add(path),
    has: (path) => byPath.has(path),
    all: () => [...byPath.values()],
  };
}

/** As zod reports it; only what we use. */
export interface Issue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly keys?: readonly string[];
  readonly errors?: readonly (readonly Issue[])[];
}

export type Origins = Map<string, string>;

/** Unknown keys come first, since one of them may be a misspelt key that is missing then. */
export function addUnknownKeys(faults: Faults, issues: readonly Issue[], tree: Tree): void {
  for (const { code, path, keys = [] } of issues.flatMap((issue) => insideUnion(issue, tree))) {
    if (code === 'unrecognized_keys') addUnknown(faults, path.map(String), keys);
  }
}

export function addWrongValues(faults: Faults, issues: readonly Issue[], tree: Tree, origins: Origins): void {
  for (const issue of issues.flatMap((outer) => insideUnion(outer, tree))) {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') continue;
    if (valueAt(tree, path) === undefined) faults.missing(written(path), allowedWhenMissing(path));
    else faults.add(written(path), foundWords(tree, path, origins), allowedWords(shapeAt(path)));
  }
}

// A mapping was given, so its keys are what is wrong, not that it is no `false`.
function insideUnion(issue: Issue, tree: Tree): readonly Issue[] {
  if (issue.code !== 'invalid_union' || !isTree(valueAt(tree, issue.path.map(String)))) return [issue];
  const aboutKeys = ({ code, path }: Issue) => path.length > 0 || code === 'unrecognized_keys';
  const branch = issue.errors?.find((issues) => issues.some(aboutKeys));
  return branch?.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
}

function addUnknown(faults: Faults, path: Path, unknown: readonly string[]): void {
  const siblings = Object.keys(mappingOf(shapeAt(path))?.properties ?? {});
  const elsewhere = new Map(flat(keysOf()).map((key) => [key.path.at(-1) ?? '', key.path.join('.')]));
  for (const name of unknown) {
    const sibling = meant(name, siblings);
    if (sibling !== undefined)
      faults.excuse(written([...path, sibling.replace(/^(password|token)_file$/, '$1')]));
    const guess = sibling ?? elsewhere.get(name);
    const hint = guess === undefined ? '' : ` (did you mean ${guess}?)`;
    faults.add(written([...path, name]), 'an unknown key', `${siblings.join(', ')}${hint}`);
  }
}

function allowedWhenMissing(path: Path): string {
  const words = allowedWords(shapeAt(path));
  return mappingOf(shapeAt(path)) === undefined ? `${words} (here or in ${variableOf(path)})` : words;
}

/** What is said about a value: its text only when nobody could mind. */
export function foundWords(tree: Tree, path: Path, origins: Origins): string {
  const origin = origins.get(path.join('.'));
  const where = origin?.startsWith('environment') ? ` (${origin})` : '';
  const shape = shapeAt(path);
  // A single word in the place of a section may be anything, a password too.
  const isSection = shape?.properties !== undefined || shape?.items !== undefined;
  return valueWords(valueAt(tree, path), shape?.private === true || isSection) + where;
}

function valueWords(value: unknown, hidden: boolean): string {
  if (value === undefined) return 'nothing';
  if (value === null) return "nothing (an empty value, or YAML's null without quotes)";
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (hidden) return `a ${typeof value === 'string' ? 'text' : typeof value} (not shown)`;
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
export function written(path: Path): string {
  if (path.length === 0) return 'configuration';
  return path
    .map((name) => (/^[\w-]{1,40}$/.test(name) ? name : JSON.stringify(name.slice(0, 40))))
    .join('.');
}
