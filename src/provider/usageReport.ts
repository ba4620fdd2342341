// The usage report: the Elasticsearch question of the specification, and its answer as one bucket for each interval.
import * as z from 'zod';
import { type Micro, toMicro } from '../domain/amount.ts';
import type { Interval } from '../domain/interval.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../domain/period.ts';
import type { Bucket } from '../domain/reading.ts';
import { HEAT_SERVICE_TYPE } from './discovery.ts';
import { LARGEST_UNITS, LAST_INSTANT, understand } from './reply.ts';
import { type Ask, UnexpectedReply } from './request.ts';

export interface UsageQuestion {
  readonly propertyCustomerId: string;
  /** Days that the buckets describe. */
  readonly span: DaySpan;
  readonly interval: Interval;
  readonly zone: Zone;
  /** A reading closes the day it is taken on, or the day before. */
  readonly readingCloses: 'same_day' | 'previous_day';
  readonly signal?: AbortSignal | undefined;
}

const ENERGY = 'Heat - Meter Value';
const COST = 'Euro';
const READ_AT = 'event_fields.time_of_read.date';
const WHAT = 'usage report';

/** Buckets oldest first, only those with a reading; `day` is the first day of the interval. */
export async function readUsage(ask: Ask, question: UsageQuestion): Promise<Bucket[]> {
  const json = await ask({
    method: 'POST',
    path: '/reports/usage',
    body: usageQuery(question),
    what: WHAT,
    signal: question.signal,
  });
  return toBuckets(understand(WHAT, reply, json), question);
}

/** The time of a reading sits in a nested object; the amounts sit outside of it, hence `reverse_nested`. */
export function usageQuery({
  propertyCustomerId,
  span,
  interval,
  zone,
  readingCloses,
}: UsageQuestion): unknown {
  const shift = readingCloses === 'previous_day' ? 1 : 0;
  const min = new Date(zone.startOf(addDays(span.from, shift))).toISOString();
  const max = new Date(zone.startOf(addDays(span.to, shift)) - 1).toISOString();
  return {
    size: 0,
    query: {
      bool: {
        filter: [
          { query_string: { query: HEAT_SERVICE_TYPE, fields: ['service_type'] } },
          { query_string: { query: exactly(propertyCustomerId), fields: ['customer_id'] } },
          { terms: { resource_name: [COST, ENERGY] } },
          { nested: { path: 'event_fields', query: { range: { [READ_AT]: { gte: min, lte: max } } } } },
        ],
      },
    },
    aggs: {
      resources: {
        terms: { field: 'resource_name' },
        aggs: {
          readings: {
            nested: { path: 'event_fields' },
            aggs: {
              intervals: {
                date_histogram: {
                  field: READ_AT,
                  // Elasticsearch 7 and older; `calendar_interval` is not known there.
                  interval,
                  time_zone: zone.name,
                  min_doc_count: 0,
                  extended_bounds: { min, max },
                },
                aggs: {
                  documents: {
                    reverse_nested: {},
                    aggs: {
                      amount: { sum: { field: 'amount' } },
                      quantity: { sum: { field: 'quantity' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  };
}

const exactly = (id: string): string => (/^\w+$/.test(id) ? id : JSON.stringify(id));

const sum = z.object({ value: z.number().min(-LARGEST_UNITS).max(LARGEST_UNITS).nullable() });
const interval = z.object({
  key: z.number().min(0).max(LAST_INSTANT),
  doc_count: z.number(),
  documents: z.object({ doc_count: z.number(), amount: sum, quantity: sum }),
});
const reply = z.object({
  // A search that gave up half-way has sums of half the readings, which would look like corrections.
  timed_out: z.literal(false).nullish(),
  _shards: z.object({ failed: z.literal(0).nullish() }).nullish(),
  aggregations: z.object({
    resources: z.object({
      buckets: z.array(
        z.object({
          key: z.string(),
          readings: z.object({ intervals: z.object({ buckets: z.array(interval) }) }),
        }),
      ),
    }),
  }),
});

function toBuckets({ aggregations }: z.infer<typeof reply>, question: UsageQuestion): Bucket[] {
  const byDay = new Map<Day, { energy: Micro | null; cost: Micro | null }>();
  for (const { key: resource, readings } of aggregations.resources.buckets) {
    if (resource !== ENERGY && resource !== COST) {
      throw new UnexpectedReply(WHAT, `the resources "${COST}" and "${ENERGY}" only`, 'another one');
    }
    for (const { key, doc_count, documents } of readings.intervals.buckets) {
      const value = resource === ENERGY ? documents.quantity.value : documents.amount.value;
      // No document means no reading yet, whatever the sum says.
      if (doc_count === 0 || documents.doc_count === 0 || value === null) continue;
      const day = dayOf(key, question);
      if (question.interval === 'day' && (day < question.span.from || day >= question.span.to)) continue;
      const bucket = byDay.get(day) ?? { energy: null, cost: null };
      const kind = resource === ENERGY ? 'energy' : 'cost';
      if (bucket[kind] !== null) throw new UnexpectedReply(WHAT, 'one bucket for each day', `two for ${day}`);
      byDay.set(day, { ...bucket, [kind]: toMicro(value) });
    }
  }
  return [...byDay].map(([day, amounts]) => ({ day, ...amounts })).sort((a, b) => (a.day < b.day ? -1 : 1));
}

function dayOf(key: number, { zone, readingCloses, interval: length }: UsageQuestion): Day {
  const day = zone.dayAt(key);
  // Only days can be moved: a week or month was cut by the provider.
  return readingCloses === 'previous_day' && length === 'day' ? addDays(day, -1) : day;
}
