// The little language of `query_string`: words, phrases, fields, parentheses, ranges, AND, OR and NOT.
import { allow, SearchError, text } from './esError.ts';
import { type FieldType, instant, type Mapping, numeric } from './esFields.ts';
import { anyValue, type Matches, matchesPhrase, matchesText } from './esMatching.ts';

interface Token {
  readonly kind: 'word' | 'phrase' | 'range' | 'sign';
  readonly text: string;
}

const KNOWN = [
  'query',
  'default_field',
  'fields',
  'default_operator',
  'analyze_wildcard',
  'lenient',
  'boost',
];
const TOKEN = /\s*(?:"((?:\\.|[^"\\])*)"|\[([^\]]*)\]|(&&|\|\||[()!:])|((?:\\.|[^\s()":[\]!])+))/gy;

export function compileQueryString(parameters: Record<string, unknown>, mapping: Mapping): Matches {
  allow(parameters, [...KNOWN, 'type', '_name', 'allow_leading_wildcard'], 'query_string');
  const query = text(parameters.query, 'query_string');
  const tokens = tokenize(query);
  const every = text(parameters.default_operator ?? 'or', 'query_string').toLowerCase() === 'and';
  const fields = defaultFields(parameters, mapping);
  let position = 0;

  const failed = (): never => {
    throw new SearchError('query_shard_exception', `Failed to parse query [${query}]`);
  };
  const isSign = (sign: string, at = position) => tokens[at]?.kind === 'sign' && tokens[at]?.text === sign;
  const isWord = (...spelled: string[]) => {
    const token = tokens[position];
    return token !== undefined && token.kind !== 'phrase' && spelled.includes(token.text);
  };
  const either = (within: readonly string[]): Matches => {
    const sides = [both(within)];
    for (;;) {
      if (isWord('OR', '||')) position++;
      else if (every || position >= tokens.length || isSign(')')) break;
      sides.push(both(within));
    }
    return (item) => sides.some((matches) => matches(item));
  };
  const both = (within: readonly string[]): Matches => {
    const sides = [negated(within)];
    for (;;) {
      if (isWord('AND', '&&')) position++;
      else if (!every || position >= tokens.length || isSign(')') || isWord('OR', '||')) break;
      sides.push(negated(within));
    }
    return (item) => sides.every((matches) => matches(item));
  };
  const negated = (within: readonly string[]): Matches => {
    if (!isWord('NOT', '!')) return clause(within);
    position++;
    const inner = negated(within);
    return (item) => !inner(item);
  };
  const clause = (within: readonly string[]): Matches => {
    const token = tokens[position++] ?? failed();
    if (token.kind === 'sign') {
      if (token.text !== '(') failed();
      const inner = either(within);
      if (!isSign(')')) failed();
      position++;
      return inner;
    }
    if (token.kind === 'word' && isSign(':')) {
      position++;
      return clause([unescaped(token.text)]);
    }
    const sides = within.map((field) =>
      anyValue(field, mapping, (type, stored) => matchesToken(token, type, stored)),
    );
    return (item) => sides.some((matches) => matches(item));
  };

  if (tokens.length === 0) return () => false;
  const whole = either(fields);
  return position < tokens.length ? failed() : whole;
}

function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  const trimmed = query.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < trimmed.length) {
    const match = TOKEN.exec(trimmed);
    if (!match) throw new SearchError('query_shard_exception', `Failed to parse query [${query}]`);
    const [, phrase, range, sign, word] = match;
    if (phrase !== undefined) tokens.push({ kind: 'phrase', text: unescaped(phrase) });
    else if (range !== undefined) tokens.push({ kind: 'range', text: range });
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign });
    else tokens.push({ kind: 'word', text: word ?? '' });
  }
  return tokens;
}

function defaultFields({ fields, default_field }: Record<string, unknown>, mapping: Mapping): string[] {
  const named = Array.isArray(fields) ? fields.map(String) : [String(default_field ?? '*')];
  const plain = named.map((field) => field.replace(/\^[\d.]+$/, ''));
  return plain.includes('*') ? Object.keys(mapping) : plain;
}

function matchesToken({ kind, text: asked }: Token, type: FieldType, stored: unknown): boolean {
  if (kind === 'range') return inRange(asked, type, stored);
  if (kind === 'phrase') return lenient(() => matchesPhrase(type, stored, asked));
  if (/(?<!\\)[*?]/.test(asked))
    return wildcard(asked).test(type === 'text' ? String(stored).toLowerCase() : String(stored));
  return lenient(() => matchesText(type, stored, unescaped(asked), false));
}

function inRange(range: string, type: FieldType, stored: unknown): boolean {
  const [from = '*', to = '*'] = range.trim().split(/\s+TO\s+/);
  const bound = (asked: string, upper: boolean) =>
    type === 'date' ? instant(asked, { upper }) : numeric(asked);
  if (typeof stored !== 'number') return false;
  return (from === '*' || stored >= bound(from, false)) && (to === '*' || stored <= bound(to, true));
}

/** A word that is no number simply does not match a numeric field here, as with `lenient`. */
function lenient(test: () => boolean): boolean {
  try {
    return test();
  } catch (err) {
    if (err instanceof SearchError) return false;
    throw err;
  }
}

function wildcard(pattern: string): RegExp {
  const escaped = pattern.replace(/[.+^${}()|[\]]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'iu');
}

function unescaped(written: string): string {
  return written.replace(/\\(.)/g, '$1');
}
