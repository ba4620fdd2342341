// The configuration before it is checked: plain values of any kind, reached by path.

export interface RawConfig {
  [name: string]: unknown;
}

/** Positions in a list are written as numbers: `accounts.0.id`. */
export type Path = readonly string[];

export function isMapping(value: unknown): value is RawConfig {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A mapping of values, which a Secret is not. */
export function isPlain(value: unknown): value is RawConfig {
  return isMapping(value) && Object.getPrototypeOf(value) === Object.prototype;
}

/** Undefined when there is nothing at `path`. */
export function valueAt(raw: unknown, path: Path): unknown {
  let value = raw;
  for (const name of path) {
    if (Array.isArray(value)) value = value[Number(name)];
    else value = isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

export function textAt(raw: unknown, path: Path): string | undefined {
  const value = valueAt(raw, path);
  return typeof value === 'string' ? value : undefined;
}

/** Does nothing where something else than a mapping or a list is in the way: that is a fault of its own. */
export function put(raw: RawConfig, path: Path, value: unknown): void {
  let container: unknown = raw;
  for (const name of path.slice(0, -1)) {
    const inner = valueAt(container, [name]) ?? (name === 'accounts' ? [] : {});
    setIn(container, name, inner);
    container = inner;
  }
  setIn(container, path.at(-1) ?? '', value);
}

function setIn(container: unknown, name: string, value: unknown): void {
  if (Array.isArray(container)) container[Number(name)] = value;
  else if (isMapping(container)) container[name] = value;
}

export function remove(raw: unknown, path: Path): void {
  const parent = valueAt(raw, path.slice(0, -1));
  if (isMapping(parent)) delete parent[path.at(-1) ?? ''];
}

/** Every value that is no mapping and no list of mappings, with its path. */
export function leaves(value: unknown, path: Path = []): [Path, unknown][] {
  // Object.entries skips the gaps of a list, and writes positions as numbers.
  if (isPlain(value) || (Array.isArray(value) && value.some(isMapping)))
    return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
  return [[path, value]];
}
