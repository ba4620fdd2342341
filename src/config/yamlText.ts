// Reads a configuration from YAML text, and tells the places of mistakes without quoting it.
import * as yaml from 'yaml';
import { ConfigInvalid } from './faults.ts';
import { allKeys } from './keys.ts';
import { isMapping, type RawConfig } from './source.ts';

/** An empty mapping for a text that says nothing. Throws ConfigInvalid; `name` is the file's. */
export function readYaml(text: string, name: string): RawConfig {
  const lines = new yaml.LineCounter();
  // The library's own warnings would stand beside what is said here.
  const options = { lineCounter: lines, prettyErrors: false, logLevel: 'error' } as const;
  const document = yaml.parseDocument(text, options);
  // After the first broken place the parser guesses, and its further complaints are about its guesses.
  const [broken] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const wrong = broken
    ? { offset: broken.pos[0], found: WHAT[broken.code] ?? 'text that is no YAML' }
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

const CYCLE = 'a value starting with * that is within what it stands for';

const TWICE = 'a key that is there twice';

const WHAT: Readonly<Record<string, string>> = {
  BAD_ALIAS: NO_ANCHOR,
  BAD_DQ_ESCAPE: 'a backslash in double quotes that starts no known escape',
  BAD_INDENT: 'a line that is indented differently from its neighbours',
  BAD_SCALAR_START: 'a value starting with a character that needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second colon in a line',
  DUPLICATE_KEY: TWICE,
  MISSING_CHAR: 'a missing character, such as a closing quote or bracket, or the colon after a key',
  MULTILINE_IMPLICIT_KEY: 'a key without a colon',
  MULTIPLE_DOCS: 'a second document (---)',
  TAB_AS_INDENT: 'a tab at the beginning of a line',
  TAG_RESOLVE_FAILED: 'a tag (!) that is unknown here; secrets come from a file or the environment',
};

// `password: 0123` must not become 123, nor a meter 0123, and `password: &x y` must not silently become y.
export function keepAsWritten(document: yaml.Document.Parsed): { offset: number; found: string } | undefined {
  const names = new Set(allKeys().flatMap(({ path, schema }) => (schema.private ? path.slice(-1) : [])));
  let refused: { offset: number; found: string } | undefined;
  yaml.visit(document, {
    Alias(_, alias, ancestors) {
      const target = alias.resolve(document);
      const offset = alias.range?.[0] ?? 0;
      if (target === undefined) refused ??= { offset, found: NO_ANCHOR };
      else if (ancestors.includes(target)) refused ??= { offset, found: CYCLE };
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
