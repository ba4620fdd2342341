// Prints the configuration in force: each value with its origin, secrets and names masked.
import { stringify } from 'yaml';
import { isMapping, isPlain } from './draft.ts';
import { type Path, schemaAt } from './keys.ts';
import type { Loaded } from './load.ts';

type Reader = 'owner' | 'stranger';

/** YAML text; a comment behind each value says where it comes from. For strangers names are masked completely. */
export function showConfig({ config, origins, path }: Loaded, reader: Reader = 'owner'): string {
  const linesOf = (mapping: object, above: Path): string[] =>
    Object.entries(mapping).flatMap(([name, value]) => {
      if (value === undefined) return [];
      const here = [...above, name];
      if (isPlain(value)) return [`${name}:`, ...linesOf(value, here).map((line) => `  ${line}`)];
      if (Array.isArray(value) && value.some(isPlain)) {
        const lines = value.flatMap((entry, n) =>
          linesOf(entry, [...here, String(n)]).map((line, at) => `  ${at === 0 ? '-' : ' '} ${line}`),
        );
        return [`${name}:`, ...lines];
      }
      return [`${name}: ${written(value, here, reader)} # ${origins.get(here.join('.')) ?? 'default'}`];
    });
  const head = `# ${path === undefined ? 'No configuration file' : `From ${path}`}, environment and defaults.`;
  return [head, ...linesOf(config, []), ''].join('\n');
}

function written(value: unknown, path: Path, reader: Reader): string {
  if (typeof value === 'string' && schemaAt(path)?.private === true) {
    // What is left of a masked name, such as its domain, may still identify a person.
    if (reader === 'stranger') return '[private]';
    return inYaml(path[0] === 'meters' ? value : maskedName(value));
  }
  return inYaml(isMapping(value) ? `[secret] (${value.origin})` : value);
}

const inYaml = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, blockQuote: false }).trimEnd();

function maskedName(name: string): string {
  const domain = name.includes('@') ? name.slice(name.lastIndexOf('@')) : '';
  return `${[...name][0] ?? ''}…${domain}`;
}
