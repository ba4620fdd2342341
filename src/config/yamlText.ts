// Reads the YAML text of the configuration; mistakes are reported with their place, without quoting the text.
import { type Document, isMap, isScalar, LineCounter, parseDocument, visit, type YAMLError } from 'yaml';
import { type Draft, isMapping } from './draft.ts';
import { allKeys } from './keys.ts';

/** Whether the text can be relied on; `name` is the file's, for the faults. */
export function readYaml(text: string, name: string, draft: Draft): boolean {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${name}, line ${line}, column ${col}`;
  };
  const problems: YAMLError[] = [...document.errors, ...document.warnings];
  for (const { pos } of problems.filter(isDuplicate)) {
    draft.refuse(place(pos[0]), 'each key once', 'a key that is there twice');
  }
  // After the first broken place the parser guesses, and its further complaints are about its guesses.
  const [broken] = problems.filter((problem) => !isDuplicate(problem)).sort((a, b) => a.pos[0] - b.pos[0]);
  const refused = broken && { offset: broken.pos[0], found: WHAT.get(broken.code) ?? 'text that is no YAML' };
  const first = refused ?? keepAsWritten(document);
  if (first !== undefined) {
    draft.refuse(place(first.offset), QUOTES, first.found);
    return false;
  }
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return true;
  try {
    const raw: unknown = document.toJS();
    if (isMap(contents) && isMapping(raw)) {
      draft.raw = raw;
      return true;
    }
  } catch {
    // Aliases that multiply into millions of values.
  }
  draft.refuse(name, 'keys and values, such as mqtt: with url: below it', 'no mapping');
  return false;
}

const QUOTES = "valid YAML; a value with odd characters in 'single quotes', a single quote in it doubled";

const NO_ANCHOR = 'a value starting with * that names no anchor';

const WHAT = new Map<string, string>([
  ['BAD_ALIAS', NO_ANCHOR],
  ['BAD_DQ_ESCAPE', 'a backslash in double quotes that starts no known escape'],
  ['BAD_INDENT', 'a line that is indented differently from its neighbours'],
  ['BAD_SCALAR_START', 'a value starting with a character that needs quotes'],
  ['BLOCK_AS_IMPLICIT_KEY', 'a second colon in a line'],
  ['MISSING_CHAR', 'a missing character, such as a closing quote or bracket, or the colon after a key'],
  ['MULTILINE_IMPLICIT_KEY', 'a key without a colon'],
  ['MULTIPLE_DOCS', 'a second document (---)'],
  ['TAB_AS_INDENT', 'a tab at the beginning of a line'],
  ['TAG_RESOLVE_FAILED', 'a tag (!) that is unknown here; secrets come from a file or the environment'],
]);

function isDuplicate({ code }: YAMLError): boolean {
  return code === 'DUPLICATE_KEY';
}

// `password: 0123` must not become 123, nor a meter 0123, and `password: &x y` must not silently become y.
function keepAsWritten(document: Document.Parsed): { offset: number; found: string } | undefined {
  const names = new Set(allKeys().flatMap(({ path, schema }) => (schema.private ? path.slice(-1) : [])));
  let refused: { offset: number; found: string } | undefined;
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) === undefined)
        refused ??= { offset: alias.range?.[0] ?? 0, found: NO_ANCHOR };
    },
    Pair(_, { key, value }) {
      if (isScalar(key) && typeof key.value === 'number') key.value = key.source;
      if (!isScalar(key) || !names.has(String(key.value)) || !isScalar(value)) return;
      const offset = value.range?.[0] ?? 0;
      if (value.anchor !== undefined) refused ??= { offset, found: 'a secret or name starting with &' };
      const written = ['number', 'bigint', 'boolean'].includes(typeof value.value) && value.source;
      if (typeof written === 'string') value.value = written;
    },
  });
  return refused;
}
