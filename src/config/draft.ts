// The configuration while it is put together: the values that count, and the mistakes, each once.
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import type * as z from 'zod';
import { createScrubber, type Scrubber } from '../foundation/log.ts';
import { didYouMean, type Fault, valueWords } from './faults.ts';
import {
  allKeys,
  asSection,
  mainKeyOf,
  mappingOf,
  type Path,
  schemaAt,
  secretKeysOf,
  variableOf,
} from './keys.ts';
import { namesIn, type RawConfig, Source } from './source.ts';

export class Draft extends Source {
  /** A sentence for each value that is allowed but probably not meant. */
  readonly warnings: string[] = [];
  readonly scrubber: Scrubber;
  /** The configuration file; undefined when there is none. */
  readonly #file: string | undefined;
  readonly #refusals: (Fault & { readonly meant: Path | undefined })[] = [];

  constructor(file?: string, scrubber = createScrubber()) {
    super();
    this.#file = file;
    this.scrubber = scrubber;
  }

  /** Takes over what the file gives. */
  take(raw: RawConfig): void {
    this.raw = raw;
    for (const [path, value] of this.leaves()) this.put(path, asSection(path, value), 'file');
  }

  /** Resolves a path that the key gives: one in the file counts from its folder, one of the environment from the working directory. */
  locate(key: Path, given: string): string {
    if (this.#file === undefined || this.originOf(key) !== 'file' || isAbsolute(given)) return given;
    const path = pathIn(this.#file, given);
    if (path !== resolve(dirname(this.#file), given))
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
    this.#refusals.push({ path: written(path), allowed, found: found ?? this.#foundAt(path), meant });
  }

  /** Refuses that a key is missing; of a secret, that both of its keys are. */
  need(at: Path | string, allowed: string, found?: string): void {
    const path = namesIn(at);
    const isMissing = ![path, ...secretKeysOf(path)].some((key) => this.isGiven(key));
    if (isMissing) this.refuse(path, allowed, found);
  }

  /** Refuses what is given twice in the same source: by these two. */
  refuseBoth(key: Path, one: string, other: string): void {
    this.refuse(mainKeyOf(key), 'one of them', `both ${one} and ${other}`);
  }

  /** Put together only now: all values are there, and all secrets are known to the scrubber. */
  faults(): Fault[] {
    const faults = new Map<string, Fault>();
    for (const { meant, path, found, allowed } of this.#refusals) {
      // A misspelt key says more than the key that is missing for it, whichever was noted first.
      const key = meant && !this.isGiven(meant) ? written(mainKeyOf(meant)) : path;
      if (meant || !faults.has(key)) faults.set(key, { path, found: this.scrubber.scrub(found), allowed });
    }
    return [...faults.values()];
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
const written = (path: Path): string => path.map((name) => JSON.stringify(name).slice(1, -1)).join('.');
