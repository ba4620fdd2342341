// A configuration as YAML text: read, with the places of mistakes and without quoting it; written for a person, with what each key is
// for or where each value comes from; and without its secrets, for a backup.
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import * as yaml from 'yaml';
import { ConfigInvalid, Draft, isMapping, type RawConfig } from './draft.ts';
import { allKeys, isFileKey, isSecret, type Path, schemaAt } from './keys.ts';
import { type Config, fileSchema } from './schema.ts';
import { Secret } from './secret.ts';
import { applyEnvironment, type Environment } from './sources.ts';

/** An empty mapping for a text that says nothing. Throws ConfigInvalid; `name` is the file's. */
export function readYaml(text: string, name: string): RawConfig {
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false });
  // After the first broken place the parser guesses, and its further complaints are about its guesses.
  const [broken] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const wrong = broken
    ? { offset: broken.pos[0], found: WHAT.get(broken.code) ?? 'text that is no YAML' }
    : keepAsWritten(document);
  if (wrong !== undefined) {
    const { line, col } = lines.linePos(wrong.offset);
    const allowed = wrong.found === TWICE ? 'each key once' : QUOTES;
    throw new ConfigInvalid([{ path: `${name}, line ${line}, column ${col}`, found: wrong.found, allowed }]);
  }
  const { contents } = document;
  if (contents === null || (yaml.isScalar(contents) && contents.value === null)) return {};
  try {
    const raw: unknown = document.toJS();
    if (isMapping(raw)) return raw;
  } catch {
    // Aliases that multiply into millions of values.
  }
  const allowed = 'keys and values, such as mqtt: with url: below it';
  throw new ConfigInvalid([{ path: name, found: 'no mapping', allowed }]);
}

const QUOTES = "valid YAML; a value with odd characters in 'single quotes', a single quote in it doubled";

const NO_ANCHOR = 'a value starting with * that names no anchor';

const TWICE = 'a key that is there twice';

const WHAT = new Map<string, string>([
  ['BAD_ALIAS', NO_ANCHOR],
  ['BAD_DQ_ESCAPE', 'a backslash in double quotes that starts no known escape'],
  ['BAD_INDENT', 'a line that is indented differently from its neighbours'],
  ['BAD_SCALAR_START', 'a value starting with a character that needs quotes'],
  ['BLOCK_AS_IMPLICIT_KEY', 'a second colon in a line'],
  ['DUPLICATE_KEY', TWICE],
  ['MISSING_CHAR', 'a missing character, such as a closing quote or bracket, or the colon after a key'],
  ['MULTILINE_IMPLICIT_KEY', 'a key without a colon'],
  ['MULTIPLE_DOCS', 'a second document (---)'],
  ['TAB_AS_INDENT', 'a tab at the beginning of a line'],
  ['TAG_RESOLVE_FAILED', 'a tag (!) that is unknown here; secrets come from a file or the environment'],
]);

// `password: 0123` must not become 123, nor a meter 0123, and `password: &x y` must not silently become y.
function keepAsWritten(document: yaml.Document.Parsed): { offset: number; found: string } | undefined {
  const names = new Set(allKeys().flatMap(({ path, schema }) => (schema.private ? path.slice(-1) : [])));
  let refused: { offset: number; found: string } | undefined;
  yaml.visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) === undefined)
        refused ??= { offset: alias.range?.[0] ?? 0, found: NO_ANCHOR };
    },
    Pair(_, { key, value }) {
      if (yaml.isScalar(key) && typeof key.value === 'number') key.value = key.source;
      if (!yaml.isScalar(key) || !names.has(String(key.value)) || !yaml.isScalar(value)) return;
      const offset = value.range?.[0] ?? 0;
      if (value.anchor !== undefined) refused ??= { offset, found: 'a secret or name starting with &' };
      const written = ['number', 'bigint', 'boolean'].includes(typeof value.value) && value.source;
      if (typeof written === 'string') value.value = written;
    },
  });
  return refused;
}

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
  {
    config,
    origins,
    path: file,
  }: { config: Config; origins: ReadonlyMap<string, string>; path: string | undefined },
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
    if (value)
      value.comment = ` ${meter === undefined ? origin : origin.replace(`_METERS_${meter}_`, '_METERS_<METER>_')}`;
  });
  const head = `# ${file === undefined ? 'No configuration file' : `From ${file}`}, environment and defaults.`;
  return `${head}\n${document.toString({ lineWidth: 0, blockQuote: false })}`;
}

function shownValue(path: Path, value: unknown, reader: 'owner' | 'stranger'): unknown {
  if (value instanceof Secret) return `[secret] (${value.origin})`;
  if (typeof value !== 'string' || schemaAt(path)?.private !== true) return value;
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

/**
 * The configuration without its inline secrets and without comments, in which secrets may stand too. Paths below its folder
 * become relative, so that it works in another folder. `taken`: the keys of the secrets; `files`: those of secrets and the
 * certificates, as they are written. Throws ConfigInvalid; `name` is the file's.
 */
export function withoutSecrets(text: string, name: string) {
  const draft = draftOf(text, name);
  // Takes the login out of mqtt.url.
  applyEnvironment(draft, {});
  const taken: string[] = [];
  for (const [path, value] of draft.leaves()) {
    // Each secret may be given by a file instead.
    if (isSecret(path)) {
      draft.remove(path);
      taken.push(path.join('.'));
    } else if (typeof value === 'string' && (isFileKey(path) || path.join() === 'state_dir')) {
      const below = relative(resolve(dirname(name)), value);
      if (isAbsolute(value) && below !== '' && !below.startsWith('..')) draft.put(path, `./${below}`);
    }
  }
  return { text: yaml.stringify(draft.raw, { lineWidth: 0 }), taken, files: filesIn(draft) };
}

const filesIn = (draft: Draft): string[] =>
  draft.leaves().flatMap(([path]) => (isFileKey(path) && draft.textAt(path)) || []);

/**
 * The settings of a text (`null`: no file) and of the environment. `files`: those of secrets and the certificates, as they are written
 * (`pathIn`). Other mistakes do not matter: the secrets may not be there yet. Throws ConfigInvalid; `name` is the file's.
 */
export function outlineOf(text: string | null, name: string, env: Environment = {}) {
  const draft = draftOf(text ?? '', name);
  const files = filesIn(draft);
  applyEnvironment(draft, env);
  const { data, error } = fileSchema.shape.state_dir.safeParse(draft.raw.state_dir);
  if (error || data.includes('\0'))
    throw new ConfigInvalid([
      { path: 'state_dir', found: 'something else', allowed: 'the path of a directory' },
    ]);
  const stateDir = draft.locate(['state_dir'], data);
  return { files, stateDir, hasFleet: draft.raw.fleet !== undefined };
}

/** The text with this state directory, without its comments. Throws ConfigInvalid; `name` is the file's. */
export const withStateDir = (text: string, name: string, stateDir: string): string =>
  yaml.stringify({ ...draftOf(text, name).raw, state_dir: stateDir }, { lineWidth: 0 });

/** A value that the second configuration has in the place of that of the first; undefined: it has none. */
interface Difference {
  readonly path: Path;
  readonly value: unknown;
}

/** The smallest parts of a configuration that another one has otherwise. */
export function differences(before: unknown, after: unknown, path: Path = []): Difference[] {
  const areSections = isMapping(before) && isMapping(after);
  if (!areSections && !(isListOfMappings(before) && isListOfMappings(after)))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, value: after }];
  return Object.keys({ ...before, ...after }).flatMap((name) =>
    differences(Object(before)[name], Object(after)[name], [...path, name]),
  );
}

const isListOfMappings = (value: unknown): value is RawConfig[] =>
  Array.isArray(value) && value.every(isMapping);

/** The text with these changes: what is not touched stays as it is written, and so do comments. Throws ConfigInvalid; `name` is the file's. */
export function editedText(text: string, name: string, changes: readonly Difference[]) {
  const document = yaml.parseDocument(text);
  const layout = LAYOUTS.find((options) => document.toString(options) === text);
  // Otherwise the password 0123 would be written as 123.
  if (layout === undefined) keepAsWritten(document);
  const numbers = new Map<string, unknown>();
  yaml.visit(document, {
    Alias() {
      throw new ConfigInvalid([{ path: name, found: 'an alias (*)', allowed: 'edited here, none of them' }]);
    },
    // A meter may be called by digits alone, which the document has as a number.
    Pair(_, { key }) {
      if (yaml.isScalar(key) && typeof key.value === 'number') numbers.set(key.source ?? '', key.value);
    },
  });
  for (const { path, value } of changes) {
    const place = path.map((step) => numbers.get(step) ?? step);
    if (value === undefined) document.deleteIn(place);
    // A scalar keeps the comment of the one before.
    else document.setIn(place, typeof value === 'object' ? document.createNode(value) : value);
  }
  const edited = document.toString(layout ?? LAYOUTS[0]);
  const comments = commentsIn(edited);
  return {
    text: edited,
    /** The comments that the changes have taken away. */
    lostComments: commentsIn(text).filter((comment) => !comments.includes(comment)),
    /** False: blanks and indentation are written anew. */
    keepsLayout: layout !== undefined,
  };
}

const LAYOUTS = [
  { lineWidth: 0, indentSeq: true },
  { lineWidth: 0, indentSeq: false },
] as const;

const commentsIn = (text: string): string[] =>
  [...new yaml.Lexer().lex(text)].filter((token) => token.startsWith('#'));

function draftOf(text: string, name: string): Draft {
  const draft = new Draft(name);
  draft.raw = readYaml(text, name);
  return draft;
}
