// The configuration before it is trusted: a tree of plain values, reached by path and of any shape.

export interface Tree {
  [name: string]: unknown;
}

export type Path = readonly string[];

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at `path`, undefined when there is none. Positions in a list are written as numbers: `accounts.0.id`. */
export function valueAt(tree: unknown, path: Path): unknown {
  let value = tree;
  for (const name of path) {
    if (Array.isArray(value)) value = value[Number(name)];
    else value = isTree(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

export function textAt(tree: unknown, path: Path): string | undefined {
  const value = valueAt(tree, path);
  return typeof value === 'string' ? value : undefined;
}

/** Does nothing where something else than a mapping or a list is in the way: that is a fault of its own. */
export function put(tree: Tree, path: Path, value: unknown): void {
  const [name, next, ...rest] = path;
  if (name === undefined) return;
  if (next === undefined) {
    tree[name] = value;
    return;
  }
  const inner = Object.hasOwn(tree, name) ? tree[name] : undefined;
  const container = inner ?? (/^\d+$/.test(next) ? [] : {});
  tree[name] = container;
  if (Array.isArray(container)) putInList(container, Number(next), rest, value);
  else if (isTree(container)) put(container, [next, ...rest], value);
}

function putInList(list: unknown[], position: number, path: Path, value: unknown): void {
  const entry = list[position] ?? {};
  list[position] = entry;
  if (isTree(entry)) put(entry, path, value);
}

export function remove(tree: Tree, path: Path): void {
  const parent = valueAt(tree, path.slice(0, -1));
  if (isTree(parent)) delete parent[path.at(-1) ?? ''];
}

/** Every value that is no mapping and no list of mappings, with its path. */
export function leaves(value: unknown, path: Path = []): [Path, unknown][] {
  if (isPlain(value)) return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
  if (Array.isArray(value) && value.some(isTree)) {
    return value.flatMap((inner, position) => leaves(inner, [...path, String(position)]));
  }
  return [[path, value]];
}

// A Secret is an object too, but a leaf.
function isPlain(value: unknown): value is Tree {
  return isTree(value) && Object.getPrototypeOf(value) === Object.prototype;
}
