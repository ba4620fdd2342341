// Prints the configuration in force: each value with its origin, secrets and names masked.
import { stringify } from 'yaml';
import { schemaAt } from './keys.ts';
import type { Loaded } from './load.ts';
import { isMapping, isPlain, type Path } from './rawConfig.ts';

/** YAML text; a comment behind each value says where it comes from. For strangers nothing of a name is left. */
export function showConfig({ config, origins, path }: Loaded, reader: Reader = 'owner'): string {
  const head = `# ${path === undefined ? 'No configuration file' : `From ${path}`}, environment and defaults.`;
  return [head, ...mappingLines(config, [], { origins, reader }), ''].join('\n');
}

type Reader = 'owner' | 'stranger';

interface Sight extends Pick<Loaded, 'origins'> {
  readonly reader: Reader;
}

function mappingLines(mapping: object, path: Path, sight: Sight): string[] {
  return Object.entries(mapping).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const here = [...path, name];
    if (isPlain(value)) return [`${name}:`, ...indented(mappingLines(value, here, sight))];
    if (Array.isArray(value) && value.some(isPlain)) return [`${name}:`, ...listLines(value, here, sight)];
    const shown = written(value, here, sight.reader);
    return [`${name}: ${shown} # ${sight.origins.get(here.join('.')) ?? 'default'}`];
  });
}

function listLines(list: readonly object[], path: Path, sight: Sight): string[] {
  return list.flatMap((entry, n) => {
    const lines = mappingLines(entry, [...path, String(n)], sight);
    return lines.map((line, i) => `${i === 0 ? '  - ' : '    '}${line}`);
  });
}

function written(value: unknown, path: Path, reader: Reader): string {
  // What is left of a masked name, such as its domain, may still tell a person's.
  if (reader === 'stranger' && isName(value, path)) return '[private]';
  const style = { collectionStyle: 'flow', lineWidth: 0, blockQuote: false } as const;
  return stringify(masked(value, path), style).trimEnd();
}

const isName = (value: unknown, path: Path): value is string =>
  typeof value === 'string' && schemaAt(path)?.private === true;

function masked(value: unknown, path: Path): unknown {
  if (isMapping(value)) return `[secret] (${value.origin})`;
  return isName(value, path) ? maskedName(value) : value;
}

function maskedName(name: string): string {
  const domain = name.includes('@') ? name.slice(name.lastIndexOf('@')) : '';
  return `${[...name][0] ?? ''}…${domain}`;
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
