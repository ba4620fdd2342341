// Prints the configuration in force: each value with its origin, secrets and names masked.
import { stringify } from 'yaml';
import type { Loaded } from './load.ts';
import { shapeAt } from './shape.ts';
import { isTree, type Path, type Tree } from './tree.ts';

/** YAML text; a comment behind each value says where it comes from. */
export function showConfig({ config, origins, path }: Loaded): string {
  const head = `# ${path === undefined ? 'No configuration file' : `From ${path}`}, environment and defaults.`;
  return [head, ...mappingLines(config, [], origins), ''].join('\n');
}

type Origins = Loaded['origins'];

function mappingLines(mapping: object, path: Path, origins: Origins): string[] {
  return Object.entries(mapping).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const here = [...path, name];
    if (isSection(value)) return [`${name}:`, ...indented(mappingLines(value, here, origins))];
    if (Array.isArray(value) && value.some(isSection))
      return [`${name}:`, ...listLines(value, here, origins)];
    const shown = stringify(masked(value, here), {
      collectionStyle: 'flow',
      lineWidth: 0,
      blockQuote: false,
    }).trimEnd();
    return [`${name}: ${shown} # ${origins.get(here.join('.')) ?? 'default'}`];
  });
}

function listLines(list: readonly object[], path: Path, origins: Origins): string[] {
  return list.flatMap((entry, n) => {
    const lines = mappingLines(entry, [...path, String(n)], origins);
    return lines.map((line, i) => `${i === 0 ? '  - ' : '    '}${line}`);
  });
}

function masked(value: unknown, path: Path): unknown {
  if (isTree(value)) return `[secret] (${value.origin})`;
  if (typeof value !== 'string') return value;
  return shapeAt(path)?.private ? maskedName(value) : value;
}

function maskedName(name: string): string {
  const domain = name.includes('@') ? name.slice(name.lastIndexOf('@')) : '';
  return `${[...name][0] ?? ''}…${domain}`;
}

// A Secret is an object as well, but not a plain one.
function isSection(value: unknown): value is Tree {
  return isTree(value) && Object.getPrototypeOf(value) === Object.prototype;
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
