// A configuration as YAML with comments: what each key is for, or where each value comes from.
import * as yaml from 'yaml';
import { withoutQuery } from './faults.ts';
import { type Path, schemaAt } from './keys.ts';
import type { Loaded } from './load.ts';
import { Secret } from './secret.ts';
import type { RawConfig } from './source.ts';

const WIDTH = 100;

/** Undefined values are left out. The text begins with an empty line, and has one before each section. Of a list the first item is explained. */
export function commentedConfig(config: RawConfig): string {
  const document = new yaml.Document(config);
  eachPair(document.contents, [], ({ key }, path) => {
    const isFurther = path.some((step) => Number(step) > 0);
    const words = isFurther ? '' : (schemaAt(path)?.description ?? '');
    key.commentBefore = wrapped(words, WIDTH - 2 * path.length);
    key.spaceBefore = path.length === 1;
  });
  // Once more, so that the text stays as it is when `setup` changes a value in it.
  return yaml.parseDocument(document.toString({ lineWidth: 0 })).toString({ lineWidth: 0 });
}

/**
 * A comment behind each value says where it comes from. For strangers names are masked completely, and meters have numbers in the
 * place of their identifiers.
 */
export function showConfig(
  { config, origins, path: file }: Pick<Loaded, 'config' | 'origins' | 'path'>,
  reader: 'owner' | 'stranger' = 'owner',
): string {
  const document = new yaml.Document(config as RawConfig);
  const meters = Object.keys(config.meters);
  const mask = (scalar: yaml.Scalar, path: Path) => {
    const value = path.reduce<unknown>((at, name) => Object(at)[name], config);
    scalar.value = shownValue(path, value, reader);
  };
  eachPair(document.contents, [], ({ key, value }, path) => {
    const meter = reader === 'stranger' && path[0] === 'meters' ? path[1] : undefined;
    if (meter !== undefined && path.length === 2) key.value = `meter ${meters.indexOf(meter) + 1}`;
    if (yaml.isMap(value) || (yaml.isSeq(value) && value.items.some(yaml.isMap))) return;
    if (yaml.isScalar(value)) mask(value, path);
    if (yaml.isSeq<yaml.Scalar>(value)) {
      value.flow = true;
      for (const [at, item] of value.items.entries()) mask(item, [...path, `${at}`]);
    }
    const origin = origins.get(path.join('.')) ?? 'default';
    // The name of a variable has the identifier of its meter.
    if (value) value.comment = ` ${origin.replace(`_METERS_${meter}_`, '_METERS_<METER>_')}`;
  });
  const head = `# ${file === undefined ? 'No configuration file' : `From ${file}`}, environment and defaults.`;
  return `${head}\n${document.toString({ lineWidth: 0, blockQuote: false })}`;
}

function shownValue(path: Path, value: unknown, reader: 'owner' | 'stranger'): unknown {
  if (value instanceof Secret) return `[secret] (${value.origin})`;
  if (typeof value !== 'string') return value;
  if (schemaAt(path)?.private !== true) return withoutQuery(value);
  // The rest of a masked name, such as its domain, may still identify a person.
  if (reader === 'stranger') return '[private]';
  // Published anyhow.
  if (path[0] === 'meters' || path[0] === 'statement') return value;
  const domain = value.includes('@') ? value.slice(value.lastIndexOf('@')) : '';
  return `${[...value][0] ?? ''}…${domain}`;
}

function eachPair(
  node: unknown,
  above: Path,
  step: (pair: yaml.Pair<yaml.Scalar, yaml.Node | null>, path: Path) => void,
): void {
  if (yaml.isSeq(node))
    for (const [at, item] of node.items.entries()) eachPair(item, [...above, `${at}`], step);
  if (!yaml.isMap<yaml.Scalar, yaml.Node | null>(node)) return;
  for (const pair of node.items) {
    const path = [...above, String(pair.key.value)];
    step(pair, path);
    eachPair(pair.value, path, step);
  }
}

/** Lines of a comment. */
const wrapped = (text: string, width: number): string =>
  text === '' ? '' : text.replace(new RegExp(`(.{1,${width - 1}})( |$)`, 'g'), ' $1\n').trimEnd();
