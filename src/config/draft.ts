// The configuration while it is put together: values of any kind by their path, where each comes from, and the mistakes, each once.
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import type * as z from 'zod';
import { createScrubber, type Scrubber } from '../foundation/log.ts';
import { didYouMean, type Fault, valueWords } from './faults.ts';
import {
  allKeys,
  fileKeyOf,
  isSecret,
  mainKeyOf,
  mappingOf,
  type Path,
  schemaAt,
  variableOf,
} from './keys.ts';

export type RawConfig = Record<string, unknown>;

/** A mapping of values, which a Secret is not. */
export const isMapping = (value: unknown): value is RawConfig =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A variable wins over the file, and both win over what a service manager or the credentials directory tells. */
function strengthOf(origin: string): number {
  if (origin === 'default') return 0;
  if (origin.startsWith('environment HEAT2MQTT_')) return 3;
  return origin === 'file' ? 2 : 1;
}

export class Draft {
  raw: RawConfig = {};
  /** Keys are paths (`mqtt.url`), values `file`, `environment HEAT2MQTT_…` or `credentials directory`; a default has none. */
  readonly origins = new Map<string, string>();
  /** A sentence for each value that is allowed but probably not meant. */
  readonly warnings: string[] = [];
  readonly scrubber: Scrubber;
  /** The configuration file; undefined when there is none. */
  readonly #file: string | undefined;
  /** The path of the key that each is about, and the fault. */
  readonly #faults = new Map<string, Fault>();

  constructor(file?: string, scrubber = createScrubber()) {
    this.#file = file;
    this.scrubber = scrubber;
  }

  /** `path`: a text such as `mqtt.url`, or its names, which may have dots. Undefined when there is nothing. */
  at(path: Path | string): unknown {
    return valueAt(this.raw, path);
  }

  isGiven(path: Path | string): boolean {
    return this.at(path) !== undefined;
  }

  textAt(path: Path | string): string | undefined {
    const value = this.at(path);
    return typeof value === 'string' ? value : undefined;
  }

  put(path: Path, value: unknown, origin?: string): void {
    putAt(this.raw, path, value);
    if (origin !== undefined) this.origins.set(path.join('.'), origin);
  }

  /**
   * Puts what a source gives, in the place of what a weaker one has given, and unless a stronger one has; two of the same strength
   * are a fault. The two keys of a secret count as one. `name`: how the fault calls it.
   */
  lay(path: Path, value: unknown, origin: string, name = shortName(origin, path)): void {
    const section = path.slice(0, -1);
    const strength = strengthOf(origin);
    if (this.at(section) === false) {
      // `HEAT2MQTT_HTTP=false` beats HEAT2MQTT_HTTP_LISTEN; `http: false` in the file does not.
      if (strengthOf(this.originOf(section)) >= strength) return;
      this.put(section, {});
    }
    const key = mainKeyOf(path);
    for (const other of isSecret(key) ? [key, fileKeyOf(key)] : [key]) {
      if (!this.isGiven(other)) continue;
      const theirs = this.originOf(other);
      if (strengthOf(theirs) > strength) return;
      if (strengthOf(theirs) === strength)
        this.refuse(key, 'one of them', `both ${shortName(theirs, other)} and ${name}`);
      else if (other.join() !== path.join()) this.remove(other);
    }
    // Switching on keeps the details of the file.
    const before = this.at(path);
    this.put(path, isMapping(value) && isMapping(before) ? before : value, origin);
  }

  remove(path: Path): void {
    removeAt(this.raw, path);
    this.origins.delete(path.join('.'));
  }

  /** Every value that is no mapping and no list of mappings, with its path. */
  leaves(value: unknown = this.raw, path: Path = []): [Path, unknown][] {
    // Object.entries skips the gaps of a list, and writes positions as numbers.
    if (isMapping(value) || (Array.isArray(value) && value.some(isMapping)))
      return Object.entries(value).flatMap(([name, inner]) => this.leaves(inner, [...path, name]));
    return [[path, value]];
  }

  originOf(path: Path): string {
    return this.origins.get(path.join('.')) ?? 'default';
  }

  /** Resolves a path that the key gives: one in the file counts from its folder, one of the environment from the working directory. */
  locate(key: Path, given: string): string {
    if (this.#file === undefined || this.originOf(key) !== 'file') return given;
    const path = pathIn(this.#file, given);
    if (!isAbsolute(given) && path !== resolve(dirname(this.#file), given))
      this.warnings.push(
        `${key.join('.')} is taken from the working directory. A relative path counts from the folder of the configuration: move it there, or write the whole path.`,
      );
    return path;
  }

  /**
   * `at`: a key, or one name: of a variable, or a place in a file. The first fault there counts; others are about the same mistake.
   * `meant`: the key for which a misspelt name stands: where that is missing, it is the same mistake.
   */
  refuse(at: Path | string, allowed: string, found?: string, meant?: Path): void {
    const path = namesIn(at);
    const key = written(meant && !this.isGiven(meant) ? mainKeyOf(meant) : path);
    if (!meant && this.#faults.has(key)) return;
    this.#faults.set(key, { path: written(path), found: found ?? this.#foundAt(path), allowed });
  }

  /** Scrubbed only now, when all secrets are known. */
  faults(): Fault[] {
    return [...this.#faults.values()].map((fault) => ({ ...fault, found: this.scrubber.scrub(fault.found) }));
  }

  /** Describes a value, without its text when that may be private. */
  #foundAt(path: Path): string {
    const schema = schemaAt(path);
    // A single word in the place of a section may be anything, a password too.
    const isSection = schema?.properties !== undefined || schema?.items !== undefined;
    return valueWords(this.at(path), schema?.private === true || isSection) + this.variableWords(path);
  }

  /** ` (environment HEAT2MQTT_…)` behind what comes from there. */
  variableWords(path: Path): string {
    const origin = this.originOf(path);
    return origin.startsWith('environment') ? ` (${origin})` : '';
  }

  refuseIssue(issue: z.core.$ZodIssue, above: Path = []): void {
    const path = [...above, ...issue.path.map(String)];
    const inner = insideSection(issue);
    if (inner) for (const mistake of inner) this.refuseIssue(mistake, path);
    else if (issue.code === 'unrecognized_keys')
      for (const name of issue.keys) this.#refuseKey(path, name, issue.message);
    else {
      const isMissing = !this.isGiven(path) && mappingOf(schemaAt(path)) === undefined;
      this.refuse(path, issue.message + (isMissing ? ` (here or in ${variableOf(path)})` : ''));
    }
  }

  #refuseKey(section: Path, name: string, siblings: string): void {
    const sibling = didYouMean(name, siblings.split(', '));
    const elsewhere = allKeys().findLast((key) => key.path.at(-1) === name);
    const guess = sibling ?? elsewhere?.path.join('.');
    const hint = guess === undefined ? '' : ` (did you mean ${guess}?)`;
    const meant = sibling === undefined ? undefined : [...section, sibling];
    this.refuse([...section, name.slice(0, 40)], siblings + hint, 'an unknown key', meant);
  }
}

const namesIn = (path: Path | string): Path => (typeof path === 'string' ? path.split('.') : path);

/** Undefined when there is nothing. */
export const valueAt = (config: RawConfig, path: Path | string): unknown =>
  namesIn(path).reduce<unknown>((value, name) => inside(value, name), config);

const inside = (value: unknown, name: string): unknown => {
  if (Array.isArray(value)) return value[Number(name)];
  return isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined;
};

/** Does nothing where something else than a mapping or a list is in the way: that is a fault of its own. */
export function putAt(config: RawConfig, path: Path, value: unknown): void {
  let container: unknown = config;
  for (const [at, name] of path.slice(0, -1).entries()) {
    const inner = inside(container, name) ?? (schemaAt(path.slice(0, at + 1))?.items ? [] : {});
    setIn(container, name, inner);
    container = inner;
  }
  setIn(container, path.at(-1) ?? '', value);
}

export function removeAt(config: RawConfig, path: Path): void {
  const parent = valueAt(config, path.slice(0, -1));
  if (isMapping(parent)) delete parent[path.at(-1) ?? ''];
}

function setIn(container: unknown, name: string, value: unknown): void {
  if (Array.isArray(container)) container[Number(name)] = value;
  else if (isMapping(container)) container[name] = value;
}

/** A variable, or a key of the file. */
const shortName = (origin: string, path: Path): string =>
  origin.startsWith('environment ') ? origin.slice('environment '.length) : (path.at(-1) ?? '');

/** Resolves a path in the file `configuration`. A file that is in the working directory only is taken from there, as 0.1.0 did. */
export function pathIn(configuration: string, given: string): string {
  if (isAbsolute(given)) return given;
  const beside = resolve(dirname(configuration), given);
  return !existsSync(beside) && existsSync(given) ? resolve(given) : beside;
}

// A section that was given in place of `false` has its mistakes in its keys.
function insideSection(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] | undefined {
  if (issue.code !== 'invalid_union') return undefined;
  const aboutKeys = ({ code, path }: z.core.$ZodIssue) => path.length > 0 || code === 'unrecognized_keys';
  return issue.errors.find((issues) => issues.some(aboutKeys));
}

/** A path in one line, whatever a key is made of. */
const written = (path: Path): string =>
  path.map((name) => JSON.stringify(name).slice(1, -1)).join('.') || 'configuration';
