// Changes a configuration in its YAML text: what is not changed stays as it is written.
import * as yaml from 'yaml';
import { ConfigInvalid } from './faults.ts';
import type { Path } from './keys.ts';
import { isMapping, type RawConfig } from './source.ts';
import { keepAsWritten } from './yamlText.ts';

/** A value that the second configuration has in the place of that of the first; undefined: it has none. */
interface Difference {
  readonly path: Path;
  readonly value: unknown;
}

/** The smallest parts of a configuration that another one has otherwise. */
export function differences(before: unknown, after: unknown, path: Path = []): Difference[] {
  const areMappings = isMapping(before) && isMapping(after);
  const areListsOfMappings = isListOfMappings(before) && isListOfMappings(after);
  if (!areMappings && !areListsOfMappings)
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
