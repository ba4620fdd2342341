// The answer to a usage question, as Elasticsearch computes it from the readings of one property.
import { HEAT_SERVICE, type Property } from '../accounts.ts';
import { Zone } from '../localTime.ts';
import type { VisibleReading } from '../meter.ts';
import { Refusal } from './body.ts';
import type { Histogram, UsageRequest } from './request.ts';

/** A document of the search index; each has one nested event, the reading. */
export interface UsageDocument {
  readonly resource: 'Heat - Meter Value' | 'Euro';
  readonly at: number;
  readonly amount: number;
  readonly quantity: number;
}

export interface DayOfTruth {
  readonly kwh: number;
  readonly eur: number;
  readonly readings: number;
}

/** `search.max_buckets` of Elasticsearch 7. */
const MAX_BUCKETS = 10_000;

/** Everything booked by `now`; no property has no document. Throws a `Refusal`. */
export function usageReport(
  property: Property | undefined,
  request: UsageRequest,
  now: number,
): Record<string, unknown> {
  const { from, to, resourceNames, serviceType } = request;
  const found = usageDocuments(property, serviceType, now).filter(
    ({ resource, at }) => at >= from && at <= to && resourceNames.includes(resource),
  );
  let bucketCount = 0;
  const buckets = [...grouped(found, ({ resource }) => resource)]
    .sort(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1))
    .map(([key, documents]) => {
      const intervals = intervalBuckets(documents, request);
      bucketCount += 1 + intervals.length;
      if (bucketCount > MAX_BUCKETS) throw tooManyBuckets(bucketCount);
      const readings = {
        doc_count: documents.length,
        [request.intervals]: { buckets: intervals },
      };
      return { key, doc_count: documents.length, [request.readings]: readings };
    });
  const resources = { doc_count_error_upper_bound: 0, sum_other_doc_count: 0, buckets };
  return {
    took: 7,
    timed_out: false,
    _shards: { total: 5, successful: 5, skipped: 0, failed: 0 },
    hits: { total: { value: found.length, relation: 'eq' }, max_score: null, hits: [] },
    aggregations: { [request.resources]: resources },
  };
}

function intervalBuckets(documents: readonly UsageDocument[], request: UsageRequest) {
  const { zone, interval } = request.histogram;
  const byStart = grouped(documents, ({ at }) => zone.floor(at, interval));
  return starts([...byStart.keys()], request.histogram).map((key) => {
    const inside = byStart.get(key) ?? [];
    const sums = request.sums.map(({ name, field }) => [name, { value: sumOf(inside, field) }] as const);
    return {
      // Unhelpful like the real one: the day in UTC, which in summer is not the day of the bucket.
      key_as_string: new Date(key).toISOString().slice(0, 10),
      key,
      doc_count: inside.length,
      [request.newest]: { value: inside.length > 0 ? Math.max(...inside.map(({ at }) => at)) : null },
      [request.documents]: { doc_count: inside.length, ...Object.fromEntries(sums) },
    };
  });
}

/** Oldest first, empty intervals between the readings and up to the bounds included. */
function starts(used: readonly number[], { interval, zone, bounds }: Histogram): number[] {
  const edges = [...used, ...bounds.map((at) => zone.floor(at, interval))];
  const last = Math.max(...edges);
  const all: number[] = [];
  for (let start = Math.min(...edges); start <= last; start = zone.next(start, interval)) {
    if (all.push(start) > MAX_BUCKETS) throw tooManyBuckets(all.length);
  }
  return all;
}

/** Added up as floating point numbers, with their noise. */
function sumOf(documents: readonly UsageDocument[], field: 'amount' | 'quantity'): number {
  return documents.reduce((sum, document) => sum + document[field], 0);
}

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

function tooManyBuckets(count: number): Refusal {
  const reason = `Trying to create too many buckets. Must be less than or equal to: [${MAX_BUCKETS}] but was [${count}]. This limit can be set by changing the [search.max_buckets] cluster level setting.`;
  return new Refusal('too_many_buckets_exception', reason, { status: 503 });
}

export function usageDocuments(
  property: Property | undefined,
  serviceType: string,
  now: number,
): UsageDocument[] {
  const services = property?.services.filter((one) => one.serviceType === serviceType) ?? [];
  return services.flatMap(({ meter }) => (meter?.readingsAt(now) ?? []).flatMap(documentsOf));
}

function documentsOf({ at, kwh, register, charges }: VisibleReading): UsageDocument[] {
  const euro = charges.map((amount) => ({ resource: 'Euro', at, amount, quantity: kwh ?? 1 }) as const);
  // The `amount` of the heat resource is the meter's register, no money: a trap of the real service.
  return kwh === null
    ? euro
    : [{ resource: 'Heat - Meter Value', at, amount: register, quantity: kwh }, ...euro];
}

/** kWh and EUR of the heat meters per local date in Europe/Dublin; a date without a reading is not there. */
export function truthAt({ services }: Property, now: number): Map<string, DayOfTruth> {
  const zone = new Zone('Europe/Dublin');
  const days = new Map<string, DayOfTruth>();
  for (const { serviceType, meter } of services) {
    if (serviceType !== HEAT_SERVICE) continue;
    for (const { at, kwh, charges } of meter?.readingsAt(now) ?? []) {
      const date = zone.dateOf(at);
      const day = days.get(date) ?? { kwh: 0, eur: 0, readings: 0 };
      days.set(date, {
        kwh: added(day.kwh, kwh ?? 0),
        eur: charges.reduce(added, day.eur),
        readings: day.readings + (kwh === null ? 0 : 1),
      });
    }
  }
  return new Map([...days].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function added(a: number, b: number): number {
  return Math.round((a + b) * 1_000_000) / 1_000_000;
}
