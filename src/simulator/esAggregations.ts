// The aggregation half of a search body: terms, filters, nesting and sums, each knowing which side it looks at.

import { type Answers, type Inside, type Scope, withinLimit } from './esBuckets.ts';
import { allow, isRecord, record, SearchError, text } from './esError.ts';
import { type Item, NESTED_PATH, numbersOf, valuesOf } from './esFields.ts';
import { compileDateHistogram } from './esHistogram.ts';
import { compileQuery } from './esQuery.ts';

export interface Aggregation {
  readonly name: string;
  readonly answers: Answers;
  readonly children: readonly Aggregation[];
}

export function compileAggregations(aggs: unknown, scope: Scope): Aggregation[] {
  if (aggs === undefined) return [];
  return Object.entries(record(aggs, 'aggs')).map(([name, given]) =>
    compileOne(name, record(given, name), scope),
  );
}

export function aggregate(
  asked: readonly Aggregation[],
  items: readonly Item[],
  maxBuckets: number,
): Record<string, unknown> {
  const inside = (children: readonly Aggregation[]) => (some: readonly Item[]) =>
    aggregate(children, some, maxBuckets);
  return Object.fromEntries(
    asked.map(({ name, answers, children }) => [name, answers(items, inside(children), maxBuckets)]),
  );
}

function compileOne(
  name: string,
  { aggs, aggregations, meta: _, ...kinds }: Record<string, unknown>,
  scope: Scope,
) {
  const [first, second] = Object.entries(kinds);
  if (!first) throw new SearchError('parsing_exception', `Missing definition for aggregation [${name}]`);
  if (second) {
    const reason = `Found two aggregation type definitions in [${name}]: [${first[0]}] and [${second[0]}]`;
    throw new SearchError('parsing_exception', reason);
  }
  const [kind, given] = first;
  const parameters = record(given, name);
  const children = aggs ?? aggregations;
  if (METRICS.includes(kind)) {
    if (isRecord(children) && Object.keys(children).length > 0) {
      const reason = `Aggregator [${name}] of type [${kind}] cannot accept sub-aggregations`;
      throw new SearchError('aggregation_initialization_exception', reason, 500);
    }
    return { name, answers: compileMetric(kind, parameters), children: [] };
  }
  const compiler = Object.hasOwn(BUCKETS, kind) ? BUCKETS[kind] : undefined;
  if (!compiler) throw new SearchError('parsing_exception', `Unknown BaseAggregationBuilder [${kind}]`);
  const answers = compiler(parameters, scope, name);
  const nested = kind === 'nested' || (scope.nested && kind !== 'reverse_nested');
  return { name, answers, children: compileAggregations(children, { ...scope, nested }) };
}

const METRICS = ['sum', 'value_count', 'min', 'max'];

const BUCKETS: Record<string, (parameters: Record<string, unknown>, scope: Scope, name: string) => Answers> =
  {
    terms: compileTerms,
    date_histogram: compileDateHistogram,
    filter: (parameters, { mapping }) => {
      const matches = compileQuery(parameters, mapping);
      return (items, inside) => counted(items.filter(matches), inside);
    },
    filters: (parameters, { mapping }) => {
      allow(parameters, ['filters'], 'filters');
      const { filters } = parameters;
      const entries = Object.entries(Array.isArray(filters) ? filters : record(filters, 'filters'));
      const compiled = entries.map(([key, query]) => ({ key, matches: compileQuery(query, mapping) }));
      return (items, inside) => {
        const buckets = compiled.map(
          ({ key, matches }) => [key, counted(items.filter(matches), inside)] as const,
        );
        return {
          buckets: Array.isArray(filters) ? buckets.map(([, one]) => one) : Object.fromEntries(buckets),
        };
      };
    },
    nested: (parameters, { nested }) => {
      allow(parameters, ['path'], 'nested');
      // A path that is not there, or a second step down, is no error: it finds nothing.
      const leadsDown = parameters.path === NESTED_PATH && !nested;
      return (items, inside) => counted(leadsDown ? items.flatMap(eventsOf) : [], inside);
    },
    reverse_nested: (parameters, { nested }, name) => {
      allow(parameters, [], 'reverse_nested');
      if (!nested) {
        const reason = `Reverse nested aggregation [${name}] can not be used outside a [nested] aggregation`;
        throw new SearchError('illegal_argument_exception', reason);
      }
      return (items, inside) => {
        const documents = new Set(items.map(({ document }) => document));
        return counted(
          [...documents].map((document) => ({ document, event: undefined })),
          inside,
        );
      };
    },
  };

function eventsOf({ document }: Item): Item[] {
  return document.event_fields.map((event) => ({ document, event }));
}

function counted(items: readonly Item[], inside: Inside): Record<string, unknown> {
  return { doc_count: items.length, ...inside(items) };
}

function compileTerms(parameters: Record<string, unknown>, { mapping }: Scope): Answers {
  allow(parameters, ['field', 'size', 'order', 'min_doc_count', 'shard_size'], 'terms');
  const field = text(parameters.field, 'terms');
  if (mapping[field] === 'text') {
    const reason = `Fielddata is disabled on text fields by default. Set fielddata=true on [${field}]`;
    throw new SearchError('illegal_argument_exception', reason);
  }
  const size = Number(parameters.size ?? 10);
  const byKey = JSON.stringify(parameters.order ?? {}).includes('_key');
  return (items, inside, maxBuckets) => {
    const groups = new Map<string | number, Item[]>();
    for (const item of items) {
      for (const value of valuesOf(item, field)) {
        const key = typeof value === 'number' ? value : String(value);
        const group = groups.get(key);
        if (group) group.push(item);
        else groups.set(key, [item]);
      }
    }
    const sorted = [...groups].sort(
      ([a, some], [b, others]) => (byKey ? 0 : others.length - some.length) || (a < b ? -1 : 1),
    );
    withinLimit(maxBuckets, Math.min(size, sorted.length));
    const kept = sorted.slice(0, size).map(([key, group]) => ({ key, ...counted(group, inside) }));
    const others = sorted.slice(size).reduce((sum, [, group]) => sum + group.length, 0);
    return { doc_count_error_upper_bound: 0, sum_other_doc_count: others, buckets: kept };
  };
}

function compileMetric(kind: string, parameters: Record<string, unknown>): Answers {
  allow(parameters, ['field'], kind);
  const field = text(parameters.field, kind);
  if (kind === 'value_count')
    return (items) => ({ value: items.flatMap((item) => valuesOf(item, field)).length });
  return (items) => {
    const values = items.flatMap((item) => numbersOf(item, field));
    if (kind === 'sum') return { value: values.reduce((sum, value) => sum + value, 0) };
    if (values.length === 0) return { value: null };
    return { value: values.reduce((a, b) => (kind === 'min' ? Math.min(a, b) : Math.max(a, b))) };
  };
}
