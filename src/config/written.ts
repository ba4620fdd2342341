// A configuration as YAML for a person: one to begin with, with what each key is for, and the one in force, with origins.
import { Document, isMap, isScalar, isSeq, type Node, type Pair, type Scalar } from 'yaml';
import type { RawConfig } from './draft.ts';
import { type Path, schemaAt } from './keys.ts';
import type { Config } from './schema.ts';
import { Secret } from './secret.ts';

const WIDTH = 100;

/** What is undefined is left out. Begins with an empty line, and has one before each section. */
export function commentedConfig(config: RawConfig): string {
  const document = new Document(config);
  eachPair(document.contents, [], ({ key }, path) => {
    key.commentBefore = wrapped(schemaAt(path)?.description ?? '', WIDTH - 2 * path.length);
    key.spaceBefore = path.length === 1;
  });
  return document.toString({ lineWidth: 0 });
}

interface Shown {
  readonly config: Config;
  readonly origins: ReadonlyMap<string, string>;
  /** Of the file. */
  readonly path: string | undefined;
}

/** A comment behind each value says where it comes from. For strangers names are masked completely. */
export function showConfig(
  { config, origins, path: file }: Shown,
  reader: 'owner' | 'stranger' = 'owner',
): string {
  const document = new Document(config as RawConfig);
  eachPair(document.contents, [], ({ value }, path) => {
    if (isMap(value) || (isSeq(value) && value.items.some(isMap))) return;
    if (isSeq(value)) value.flow = true;
    if (isScalar(value)) value.value = shownValue(path, valueAt(config, path), reader);
    if (value) value.comment = ` ${origins.get(path.join('.')) ?? 'default'}`;
  });
  const head = `# ${file === undefined ? 'No configuration file' : `From ${file}`}, environment and defaults.`;
  return `${head}\n${document.toString({ lineWidth: 0, blockQuote: false })}`;
}

function shownValue(path: Path, value: unknown, reader: 'owner' | 'stranger'): unknown {
  if (value instanceof Secret) return `[secret] (${value.origin})`;
  if (typeof value !== 'string' || schemaAt(path)?.private !== true) return value;
  // What is left of a masked name, such as its domain, may still identify a person.
  if (reader === 'stranger') return '[private]';
  if (path[0] === 'meters') return value;
  const domain = value.includes('@') ? value.slice(value.lastIndexOf('@')) : '';
  return `${[...value][0] ?? ''}…${domain}`;
}

const valueAt = (config: unknown, path: Path): unknown =>
  path.reduce((value, name) => Object(value)[name], config);

function eachPair(
  node: unknown,
  above: Path,
  step: (pair: Pair<Scalar, Node | null>, path: Path) => void,
): void {
  if (isSeq(node)) for (const [at, item] of node.items.entries()) eachPair(item, [...above, `${at}`], step);
  if (!isMap<Scalar, Node | null>(node)) return;
  for (const pair of node.items) {
    const path = [...above, String(pair.key.value)];
    step(pair, path);
    eachPair(pair.value, path, step);
  }
}

/** Lines of a comment. */
const wrapped = (text: string, width: number): string =>
  text === '' ? '' : text.replace(new RegExp(`(.{1,${width - 1}})( |$)`, 'g'), ' $1\n').trimEnd();
