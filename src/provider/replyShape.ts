// What a reply looks like without saying what is in it: its keys and the types of their values.

const MOST_PATHS = 250;
const DEEPEST = 12;
const MOST_ROWS = 1_000;
// An id or a name used as a key would be a value in disguise.
const ORDINARY_KEY = /^[@_]?[A-Za-z](?!.*\d{3})[\w-]{0,39}$/;

/** One line for each path, such as `objects[].id: number|null`, sorted. Lists are one row of all types seen in them. */
export function shapeOf(json: unknown): string[] {
  const kinds = new Map<string, Set<string>>();
  collect(json, '', 0, kinds);
  return [...kinds].map(([path, seen]) => `${path || 'top'}: ${[...seen].sort().join('|')}`).sort();
}

function collect(value: unknown, path: string, depth: number, kinds: Map<string, Set<string>>): void {
  const seen = kinds.get(path) ?? new Set();
  if (kinds.size >= MOST_PATHS && !kinds.has(path)) return;
  kinds.set(path, seen);
  seen.add(kindOf(value));
  if (typeof value !== 'object' || value === null || depth >= DEEPEST) return;
  if (Array.isArray(value)) {
    for (const row of value.slice(0, MOST_ROWS)) collect(row, `${path}[]`, depth + 1, kinds);
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    const name = ORDINARY_KEY.test(key) ? key : '<key>';
    collect(inner, path === '' ? name : `${path}.${name}`, depth + 1, kinds);
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  return typeof value;
}
