// The query half of a search body, compiled into a yes or no per document or nested event.
import { allow, list, only, record, SearchError, text } from './esError.ts';
import { instant, type Mapping, NESTED_PATH, numeric, valuesOf } from './esFields.ts';
import { anyValue, type Matches, matchesPhrase, matchesText, sameTerm } from './esMatching.ts';
import { compileQueryString } from './esQueryString.ts';

type Compiler = (parameters: unknown, mapping: Mapping) => Matches;

export function compileQuery(query: unknown, mapping: Mapping): Matches {
  const [kind, parameters] = only(query, 'query');
  const compiler = Object.hasOwn(QUERIES, kind) ? QUERIES[kind] : undefined;
  if (!compiler) throw new SearchError('parsing_exception', `no [query] registered for [${kind}]`);
  return compiler(parameters, mapping);
}

const QUERIES: Record<string, Compiler> = {
  match_all: () => () => true,
  match_none: () => () => false,
  bool: compileBool,
  term: (parameters, mapping) => {
    const { field, condition } = oneField(parameters, 'term', 'value', ['boost', '_name']);
    return anyValue(field, mapping, (type, stored) => sameTerm(type, stored, condition.value));
  },
  terms: (parameters, mapping) => {
    const { boost: _, ...fields } = record(parameters, 'terms');
    const [field, asked] = only(fields, 'terms');
    if (!Array.isArray(asked)) {
      throw new SearchError('parsing_exception', '[terms] query does not support a single value');
    }
    return anyValue(field, mapping, (type, stored) => asked.some((one) => sameTerm(type, stored, one)));
  },
  match: (parameters, mapping) => {
    const known = ['operator', 'boost', 'lenient', '_name'];
    const { field, condition } = oneField(parameters, 'match', 'query', known);
    const every = text(condition.operator ?? 'or', 'match').toLowerCase() === 'and';
    return anyValue(field, mapping, (type, stored) => matchesText(type, stored, condition.query, every));
  },
  match_phrase: (parameters, mapping) => {
    const { field, condition } = oneField(parameters, 'match_phrase', 'query', ['boost', 'slop', '_name']);
    return anyValue(field, mapping, (type, stored) => matchesPhrase(type, stored, condition.query));
  },
  query_string: (parameters, mapping) => compileQueryString(record(parameters, 'query_string'), mapping),
  range: compileRange,
  exists: (parameters) => {
    const field = text(record(parameters, 'exists').field, 'exists');
    return (item) => valuesOf(item, field).length > 0;
  },
  nested: compileNested,
};

function compileBool(parameters: unknown, mapping: Mapping): Matches {
  const clauses = record(parameters, 'bool');
  allow(clauses, ['must', 'filter', 'should', 'must_not', 'minimum_should_match', 'boost', '_name'], 'bool');
  const compiled = (name: string) => list(clauses[name]).map((query) => compileQuery(query, mapping));
  const required = [...compiled('must'), ...compiled('filter')];
  const optional = compiled('should');
  const forbidden = compiled('must_not');
  const atLeast = Number(
    clauses.minimum_should_match ?? (required.length === 0 && optional.length > 0 ? 1 : 0),
  );
  return (item) =>
    required.every((matches) => matches(item)) &&
    !forbidden.some((matches) => matches(item)) &&
    (atLeast <= 0 || optional.filter((matches) => matches(item)).length >= atLeast);
}

function compileRange(parameters: unknown, mapping: Mapping): Matches {
  const [field, given] = only(parameters, 'range');
  const bounds = record(given, 'range');
  allow(bounds, ['gte', 'gt', 'lte', 'lt', 'format', 'time_zone', 'boost', 'relation', '_name'], 'range');
  const { gte, gt, lte, lt, format } = bounds;
  const zone = bounds.time_zone === undefined ? {} : { zone: text(bounds.time_zone, 'range') };
  const type = mapping[field];
  const bound = (asked: unknown, upper: boolean) =>
    type === 'date' ? instant(asked, { format, upper, ...zone }) : numeric(asked);
  const tests: ((value: number) => boolean)[] = [];
  const add = (asked: unknown, upper: boolean, test: (value: number, limit: number) => boolean) => {
    if (asked === undefined || asked === null) return;
    const limit = bound(asked, upper);
    tests.push((value) => test(value, limit));
  };
  add(gte, false, (value, limit) => value >= limit);
  add(gt, true, (value, limit) => value > limit);
  add(lte, true, (value, limit) => value <= limit);
  add(lt, false, (value, limit) => value < limit);
  return anyValue(
    field,
    mapping,
    (_, stored) => typeof stored === 'number' && tests.every((test) => test(stored)),
  );
}

function compileNested(parameters: unknown, mapping: Mapping): Matches {
  const nested = record(parameters, 'nested');
  allow(nested, ['path', 'query', 'score_mode', 'ignore_unmapped', 'boost', 'inner_hits', '_name'], 'nested');
  if (nested.path !== NESTED_PATH) {
    if (nested.ignore_unmapped === true) return () => false;
    const reason = `[nested] failed to find nested object under path [${String(nested.path)}]`;
    throw new SearchError('query_shard_exception', reason);
  }
  const inner = compileQuery(nested.query, mapping);
  return ({ document, event }) =>
    event === undefined && document.event_fields.some((one) => inner({ document, event: one }));
}

/** `{field: value}` or `{field: {[key]: value, …}}`. */
function oneField(parameters: unknown, query: string, key: string, known: readonly string[]) {
  const [field, given] = only(parameters, query);
  if (typeof given !== 'object' || given === null) return { field, condition: { [key]: given } };
  const condition = record(given, query);
  allow(condition, [key, ...known], query);
  return { field, condition };
}
