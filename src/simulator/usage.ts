// A usage question, checked as a whole before anything is computed, and its answer as Elasticsearch computes it from the readings of
// one property. What no client of such a service asks is refused.
import * as z from 'zod';
import { HEAT_SERVICE, type Property } from './accounts.ts';
import { json, Refusal } from './exchange.ts';
import { CALENDAR_UNITS, Zone } from './localTime.ts';
import type { VisibleReading } from './meter.ts';

type Json = Record<string, unknown>;

/** A document of the search index; each has one nested event, the reading. */
interface UsageDocument {
  readonly resource: 'Heat - Meter Value' | 'Euro';
  readonly at: number;
  readonly amount: number;
  readonly quantity: number;
}

type Compute = (documents: readonly UsageDocument[]) => Json;

function searchFault(reason: string, status = 400): Refusal {
  const cause = { type: 'search_exception', reason };
  return new Refusal(json({ error: { root_cause: [cause], ...cause }, status }, status));
}

const READ_AT = 'event_fields.time_of_read.date';
const path = z.literal('event_fields');
/** The format of the mapping, which a question may name. */
const format = z.literal('strict_date_optional_time').optional();
const instant = z.iso.datetime({ precision: 3 }).transform((text) => Date.parse(text));

/** One word or phrase, also in brackets: operators, wildcards and fields are not evaluated here. */
const term = z.string().transform((query, { addIssue }) => {
  const text = query.replace(/^\((.*)\)$/, '$1');
  const [, word, phrase] = /^(?:(?!(?:AND|OR|NOT)$)(\w+)|"((?:\\.|[^"\\])+)")$/.exec(text) ?? [];
  if (word === undefined && phrase === undefined) addIssue(`Failed to parse query [${query}]`);
  return word ?? phrase?.replace(/\\(.)/g, '$1');
});

const clause = z.union([
  z
    .strictObject({
      query_string: z.strictObject({
        query: term,
        fields: z.tuple([z.enum(['service_type', 'customer_id'])]),
        analyze_wildcard: z.boolean().optional(),
      }),
    })
    .transform(({ query_string: { query, fields } }) => ({ [fields[0]]: query })),
  z
    .strictObject({ terms: z.strictObject({ resource_name: z.array(z.string()) }) })
    .transform((one) => one.terms),
  // The time is in a nested document: without the wrapper the engine finds nothing.
  z
    .strictObject({
      nested: z.strictObject({
        path,
        query: z.strictObject({
          range: z.strictObject({ [READ_AT]: z.strictObject({ gte: instant, lte: instant, format }) }),
        }),
      }),
    })
    .transform(({ nested }) => ({ time: nested.query.range[READ_AT] })),
]);
const clauses = z.union([clause.transform((single) => [single]), z.array(clause)]).default([]);

const filters = z.object({
  service_type: z.string(),
  // The id is mapped as a number.
  customer_id: z.string().regex(/^-?\d+$/),
  resource_name: z.array(z.string()),
  time: z.object({ gte: z.number(), lte: z.number() }),
});

/** The engine knows each zone in its own upper and lower case only; of an alias the beginning is looked at. */
function isWrittenAsKnown(name: string): boolean {
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
  const isAlias = timeZone.toLowerCase() !== name.toLowerCase();
  return isAlias ? /^[A-Z]/.test(name) : timeZone === name;
}

const zone = z.string().transform((name, { addIssue }) => {
  try {
    if (name !== '+00:00' && !isWrittenAsKnown(name)) throw new RangeError(name);
    // Node 20 knows no zone by its offset.
    return new Zone(name === '+00:00' ? 'UTC' : name);
  } catch {
    addIssue(`Unknown time-zone ID: ${name}`);
    return z.NEVER;
  }
});

const histogram = z.strictObject({
  field: z.literal(READ_AT),
  /** Its name before Elasticsearch 8. */
  interval: z.enum(CALENDAR_UNITS),
  time_zone: zone.prefault('UTC'),
  min_doc_count: z.literal(0),
  /** First and last instant that get a bucket even without a reading. */
  extended_bounds: z.strictObject({ min: instant, max: instant }).refine(({ min, max }) => min <= max),
  format,
});

const on = <T extends string>(...fields: readonly T[]) => z.strictObject({ field: z.enum(fields) });

/** The aggregations of documents. Each question is read into what computes its answer. */
const inDocument: z.ZodType<Compute> = z.lazy(() =>
  named(
    z.strictObject({ terms: on('resource_name'), aggs: inDocument }).transform((one) => byResource(one.aggs)),
    z.strictObject({ nested: z.strictObject({ path }), aggs: inEvent }).transform((one) => counted(one.aggs)),
    z
      .strictObject({ sum: on('amount', 'quantity') })
      // Floating point numbers, with their noise.
      .transform(({ sum: { field } }): Compute => {
        return (documents) => ({ value: documents.reduce((sum, document) => sum + document[field], 0) });
      }),
  ),
);

/** The computations of the nested event, which has the time of the reading and nothing else. */
const inEvent: z.ZodType<Compute> = z.lazy(() =>
  named(
    z
      .strictObject({ date_histogram: histogram, aggs: inEvent })
      .transform((one) => byInterval(one.date_histogram, one.aggs)),
    z
      .strictObject({ reverse_nested: z.strictObject({}), aggs: inDocument })
      .transform((one) => counted(one.aggs)),
    z.strictObject({ max: on(READ_AT) }).transform((): Compute => {
      return (documents) => ({
        value: documents.length > 0 ? Math.max(...documents.map(({ at }) => at)) : null,
      });
    }),
  ),
);

const named = (...kinds: readonly [z.ZodType<Compute>, z.ZodType<Compute>, z.ZodType<Compute>]) =>
  z.record(z.string(), z.union(kinds)).transform((parts): Compute => {
    return (documents) =>
      Object.fromEntries(Object.entries(parts).map(([name, compute]) => [name, compute(documents)]));
  });

const counted =
  (below: Compute): Compute =>
  (documents) => ({ doc_count: documents.length, ...below(documents) });

const byResource =
  (below: Compute): Compute =>
  (documents) => {
    const buckets = [...grouped(documents, ({ resource }) => resource)]
      .sort(([a, inA], [b, inB]) => inB.length - inA.length || (a < b ? -1 : 1))
      .map(([key, inside]) => ({ key, doc_count: inside.length, ...below(inside) }));
    return { doc_count_error_upper_bound: 0, sum_other_doc_count: 0, buckets };
  };

/** `search.max_buckets` of Elasticsearch 7, which counts those of a whole search. */
const MAX_BUCKETS = 10_000;

const byInterval =
  (
    { time_zone, interval, extended_bounds: { min, max } }: z.infer<typeof histogram>,
    below: Compute,
  ): Compute =>
  (documents) => {
    const byStart = grouped(documents, ({ at }) => time_zone.floor(at, interval));
    const edges = [...byStart.keys(), ...[min, max].map((at) => time_zone.floor(at, interval))];
    const last = Math.max(...edges);
    const buckets: Json[] = [];
    for (let key = Math.min(...edges); key <= last; key = time_zone.next(key, interval)) {
      if (buckets.length > MAX_BUCKETS / 2) throw searchFault('Trying to create too many buckets', 503);
      const inside = byStart.get(key) ?? [];
      // Unhelpful like the real one: the day in UTC, which in summer is not the day of the bucket.
      const key_as_string = new Date(key).toISOString().slice(0, 10);
      buckets.push({ key_as_string, key, doc_count: inside.length, ...below(inside) });
    }
    return { buckets };
  };

function grouped<T, K>(list: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of list) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

const question = z
  .strictObject({
    // Any other size would bring documents along.
    size: z.literal(0),
    query: z.strictObject({ bool: z.strictObject({ filter: clauses, must: clauses }) }),
    aggs: inDocument,
  })
  .transform(({ query: { bool }, aggs }) => ({ ...Object.assign({}, ...bool.filter, ...bool.must), aggs }))
  .pipe(filters.extend({ aggs: z.custom<Compute>() }));

/** Throws a `Refusal`, and so does `usageReport`. */
export function parseUsageRequest(body: unknown): z.infer<typeof question> {
  const { data, error } = question.safeParse(body);
  if (error) throw searchFault(z.prettifyError(error));
  return data;
}

/** Everything booked by `now`; no property has no document. */
export function usageReport(
  property: Property | undefined,
  { time, resource_name, service_type, aggs }: z.infer<typeof question>,
  now: number,
): Json {
  const services = property?.services.filter((service) => service.serviceType === service_type) ?? [];
  const documents = services
    .flatMap(({ meter }) => (meter?.readingsAt(now) ?? []).flatMap(documentsOf))
    .filter(({ resource, at }) => at >= time.gte && at <= time.lte && resource_name.includes(resource));
  return {
    took: 7,
    timed_out: false,
    _shards: { total: 5, successful: 5, skipped: 0, failed: 0 },
    hits: { total: { value: documents.length, relation: 'eq' }, max_score: null, hits: [] },
    aggregations: aggs(documents),
  };
}

/** The first charge is for the heat; a standing charge carries none. */
function documentsOf({ at, kwh, register, charges }: VisibleReading): UsageDocument[] {
  const euro = charges.map((amount, index) => {
    return { resource: 'Euro', at, amount, quantity: index === 0 ? (kwh ?? 0) : 0 } as const;
  });
  // The `amount` of the heat resource is the meter's register, no money: a trap of the real service.
  return kwh === null
    ? euro
    : [{ resource: 'Heat - Meter Value', at, amount: register, quantity: kwh }, ...euro];
}

const ZONE = new Zone('Europe/Dublin');

/**
 * kWh and EUR of the heat meters per date: without `dateOf` the local one of the reading. A date without a reading is
 * not there.
 */
export function truthAt({ services }: Property, now: number, dateOf = (at: number) => ZONE.dateOf(at)) {
  const days = new Map<string, { kwh: number; eur: number; readings: number }>();
  const heat = services.filter(({ serviceType }) => serviceType === HEAT_SERVICE);
  for (const { at, kwh, charges } of heat.flatMap(({ meter }) => meter?.readingsAt(now) ?? [])) {
    const date = dateOf(at);
    const day = days.get(date) ?? { kwh: 0, eur: 0, readings: 0 };
    day.kwh = added(day.kwh, kwh ?? 0);
    day.eur = charges.reduce(added, day.eur);
    day.readings += kwh === null ? 0 : 1;
    days.set(date, day);
  }
  return new Map([...days].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const added = (a: number, b: number): number => Math.round((a + b) * 1_000_000) / 1_000_000;
