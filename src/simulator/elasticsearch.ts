// A small Elasticsearch of the 7.1 line: answers a search body over documents in memory, traps of nesting included.
import { aggregate, compileAggregations } from './esAggregations.ts';
import { isRecord, SearchError } from './esError.ts';
import { type FieldType, type Item, type Mapping, NESTED_PATH, type SearchDocument } from './esFields.ts';
import { compileQuery } from './esQuery.ts';

export interface SearchOptions {
  readonly mapping?: Readonly<Record<string, FieldType>>;
  /** `search.max_buckets`; above it the answer is an error, as with the real engine. */
  readonly maxBuckets?: number;
}

export interface SearchAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly matched: readonly SearchDocument[];
}

// `service_type` as analysed text is the stricter of the two possibilities: `term` does not find it.
const DEFAULT_MAPPING: Mapping = {
  service_type: 'text',
  customer_id: 'long',
  resource_name: 'keyword',
  amount: 'double',
  quantity: 'double',
  [`${NESTED_PATH}.time_of_read.date`]: 'date',
  [`${NESTED_PATH}.identifier`]: 'keyword',
};

const IGNORED = ['from', 'sort', '_source', 'track_total_hits', 'timeout', 'version', 'stored_fields'];
const KNOWN = new Set([
  ...IGNORED,
  'query',
  'aggs',
  'aggregations',
  'size',
  'docvalue_fields',
  'script_fields',
]);
const DEFAULT_HITS = 10;

export function search(
  documents: readonly SearchDocument[],
  body: unknown,
  { mapping = {}, maxBuckets = 10_000 }: SearchOptions = {},
): SearchAnswer {
  try {
    return answer(documents, body, { ...DEFAULT_MAPPING, ...mapping }, maxBuckets);
  } catch (err) {
    if (err instanceof SearchError) return { status: err.status, body: err.body(), matched: [] };
    throw err;
  }
}

function answer(
  documents: readonly SearchDocument[],
  body: unknown,
  mapping: Mapping,
  maxBuckets: number,
): SearchAnswer {
  if (!isRecord(body)) throw new SearchError('parse_exception', 'request body is required');
  for (const key of Object.keys(body)) {
    if (!KNOWN.has(key)) throw new SearchError('parsing_exception', `Unknown key for a VALUE in [${key}].`);
  }
  const matches = compileQuery(body.query ?? { match_all: {} }, mapping);
  const asked = compileAggregations(body.aggs ?? body.aggregations, { mapping, nested: false });
  const items: Item[] = documents.map((document) => ({ document, event: undefined })).filter(matches);
  const matched = items.map(({ document }) => document);
  const size = typeof body.size === 'number' ? body.size : DEFAULT_HITS;
  const hits = matched.slice(0, size).map((document, index) => ({
    _index: 'events',
    _type: '_doc',
    _id: String(index + 1),
    _score: 0,
    _source: document,
  }));
  const aggregations = asked.length > 0 ? { aggregations: aggregate(asked, items, maxBuckets) } : {};
  return {
    status: 200,
    matched,
    body: {
      took: 7,
      timed_out: false,
      _shards: { total: 5, successful: 5, skipped: 0, failed: 0 },
      hits: { total: { value: matched.length, relation: 'eq' }, max_score: hits.length > 0 ? 0 : null, hits },
      ...aggregations,
    },
  };
}
