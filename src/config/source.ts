// A source of the configuration gives a plain tree of values, as YAML does, and remembers where each comes from.
import { type Path, schemaAt, secretKeysOf } from './keys.ts';

export type RawConfig = Record<string, unknown>;

/** A mapping of values, which a Secret is not. */
export const isMapping = (value: unknown): value is RawConfig =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const hasValues = (value: unknown): value is object => Array.isArray(value) || isMapping(value);

/** Paths are texts such as `mqtt.url`, or their names, which may have dots. */
export class Source {
  raw: RawConfig;
  /** Keys are paths (`mqtt.url`), values `file`, `environment HEAT2MQTT_…` or `credentials directory`; a default has none. */
  readonly origins = new Map<string, string>();

  constructor(raw: RawConfig = {}) {
    this.raw = raw;
  }

  /** Undefined when there is nothing. */
  at(path: Path | string): unknown {
    return namesIn(path).reduce<unknown>(
      (value, name) => (hasValues(value) && Object.hasOwn(value, name) ? Object(value)[name] : undefined),
      this.raw,
    );
  }

  isGiven(path: Path | string): boolean {
    return this.at(path) !== undefined;
  }

  textAt(path: Path | string): string | undefined {
    const value = this.at(path);
    return typeof value === 'string' ? value : undefined;
  }

  originOf(path: Path): string {
    return this.origins.get(path.join('.')) ?? 'default';
  }

  /** A fault names the variable that gives it, or the key of the file. */
  nameOf(path: Path): string {
    return /^environment (.*)/.exec(this.originOf(path))?.[1] ?? path.at(-1) ?? '';
  }

  /** Does nothing where something else than a mapping or a list is in the way: that is a fault of its own. */
  put(path: Path, value: unknown, origin?: string): void {
    const section = path.slice(0, -1);
    const isMissing = section.length > 0 && (this.at(section) ?? null) === null;
    if (isMissing) this.put(section, schemaAt(section)?.items ? [] : {});
    const container = this.at(section);
    if (!hasValues(container)) return;
    Object.assign(container, { [path.at(-1) ?? '']: value });
    if (origin !== undefined) this.origins.set(path.join('.'), origin);
  }

  remove(path: Path): void {
    const section = this.at(path.slice(0, -1));
    if (isMapping(section)) delete section[path.at(-1) ?? ''];
    this.origins.delete(path.join('.'));
  }

  leaves(): [Path, unknown][] {
    return leavesOf(this.raw);
  }

  /** Puts what a stronger source gives in the place of what is here. Each key of a secret replaces both of them. */
  lay(stronger: Source): void {
    const leaves = stronger.leaves();
    for (const [path] of leaves) for (const key of secretKeysOf(path)) this.remove(key);
    for (const [path, value] of leaves) {
      const section = path.slice(0, -1);
      if (this.at(section) === false) this.put(section, {});
      const before = this.at(path);
      // A section that is switched on keeps its details.
      this.put(path, isMapping(value) && isMapping(before) ? before : value);
    }
    for (const [path, origin] of stronger.origins) this.origins.set(path, origin);
  }
}

/** Every value that has no values in it, with its path. An empty section is one. */
export function leavesOf(value: unknown, path: Path = []): [Path, unknown][] {
  const isSection = isMapping(value) || (Array.isArray(value) && value.some(isMapping));
  // Object.entries skips the gaps of a list, and writes positions as numbers.
  const entries = isSection ? Object.entries(value) : [];
  if (entries.length === 0 && path.length > 0) return [[path, value]];
  return entries.flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}

export const namesIn = (path: Path | string): Path => (typeof path === 'string' ? path.split('.') : path);

/** `accounts.0`, `accounts.1`, … */
export function accountsIn(source: Source): string[] {
  const accounts = source.at('accounts');
  // The environment may leave holes.
  return Array.isArray(accounts) ? Array.from(accounts, (_, at) => `accounts.${at}`) : [];
}
