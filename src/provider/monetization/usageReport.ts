// The usage report: the Elasticsearch question of the specification, and its answer as one bucket for each interval.
import * as z from 'zod';
import { toMicro } from '../../domain/amount.ts';
import { compareText } from '../../domain/order.ts';
import { addDays, type Day, type Interval } from '../../domain/period.ts';
import type { Bucket } from '../../domain/reading.ts';
import { dayClosedBy } from '../../domain/readingCloses.ts';
import { EXIT, type Failure, failure, LAST_VALUES_STAY } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';
import type { HoursQuestion, UsageQuestion } from '../provider.ts';
import { LARGEST_UNITS, LAST_INSTANT, parseReply, rowsOf } from '../reply.ts';
import { type Ask, ProviderRefused, UnexpectedReply } from '../request.ts';
import { complaintWords } from './complaint.ts';
import { NAMES, PATHS } from './names.ts';

type HistogramQuestion = Omit<UsageQuestion, 'interval'> & { readonly interval: Interval | 'hour' };

const { energy: ENERGY, cost: COST, readAt: READ_AT } = NAMES;
const WHAT = 'usage report';
/** The format of the bounds below. Without it a date field that is mapped with another format refuses them. */
const FORMAT = 'strict_date_optional_time';

/** `interval` up to Elasticsearch 7; `calendar_interval` since 7.2, and nothing else since 8. */
type IntervalKey = 'interval' | 'calendar_interval';

/** Two questions of a provider. What the search engine is found to understand is remembered while the process runs. */
export function usageReports(ask: Ask, log: Log) {
  let understood: IntervalKey = 'interval';

  /** The buckets of each resource. */
  async function report(question: HistogramQuestion): Promise<Resource[]> {
    const { signal } = question;
    const askWith = async (intervalKey: IntervalKey) => {
      const body = usageQuery(question, intervalKey);
      const json = await ask({ method: 'POST', path: PATHS.usage, body, what: WHAT, signal });
      understood = intervalKey;
      return resourcesOf(json);
    };
    const intervalKey = understood;
    try {
      return await askWith(intervalKey);
    } catch (err) {
      if (!(err instanceof ProviderRefused) || err.status !== 400) throw err;
      const words = complaintWords(err.complaint, usageQuery(question, intervalKey));
      log.warn({ intervalKey, ...words }, 'the provider does not understand the usage query');
      // Either key may be the one it does not know. When both are refused, the first refusal counts.
      return askWith(intervalKey === 'interval' ? 'calendar_interval' : 'interval').catch((second) => {
        throw second instanceof ProviderRefused ? err : second;
      });
    }
  }

  return {
    async usage(question: UsageQuestion): Promise<Bucket[]> {
      return toBuckets(await report(question), question);
    },

    /** The charges count where no heat was read. */
    async readingHours(question: HoursQuestion): Promise<number[]> {
      const resources = await report({ ...question, interval: 'hour', readingCloses: 'same_day' });
      const hoursOf = (resource: string) =>
        resources
          .filter(({ key }) => key === resource)
          .flatMap(({ readings }) => readings.intervals.buckets)
          .flatMap((hour) => (hour.doc_count > 0 ? [hour.key] : []));
      const heat = hoursOf(ENERGY);
      return heat.length > 0 ? heat : hoursOf(COST);
    },
  };
}

/** The time of a reading sits in a nested object; the amounts sit outside of it, hence `reverse_nested`. */
export function usageQuery(
  { propertyCustomerId, span, interval, zone, readingCloses }: HistogramQuestion,
  intervalKey: IntervalKey,
): unknown {
  const shift = readingCloses === 'previous_day' ? 1 : 0;
  const min = new Date(zone.startOf(addDays(span.from, shift))).toISOString();
  const max = new Date(zone.startOf(addDays(span.to, shift)) - 1).toISOString();
  return {
    size: 0,
    query: {
      bool: {
        filter: [
          { query_string: { query: NAMES.heatService, fields: ['service_type'] } },
          { query_string: { query: exactly(propertyCustomerId), fields: ['customer_id'] } },
          { terms: { resource_name: [COST, ENERGY] } },
          {
            nested: {
              path: NAMES.reading,
              query: { range: { [READ_AT]: { gte: min, lte: max, format: FORMAT } } },
            },
          },
        ],
      },
    },
    aggs: {
      resources: {
        terms: { field: 'resource_name' },
        aggs: {
          readings: {
            nested: { path: NAMES.reading },
            aggs: {
              intervals: {
                date_histogram: {
                  field: READ_AT,
                  [intervalKey]: interval,
                  format: FORMAT,
                  time_zone: zone.name,
                  min_doc_count: 0,
                  extended_bounds: { min, max },
                },
                aggs: {
                  newest: { max: { field: READ_AT } },
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

/** Quoted when the id would be read as an operator or more than one word. */
const exactly = (id: string): string =>
  /^\w+$/.test(id) && !/^(AND|OR|NOT)$/.test(id) ? id : JSON.stringify(id);

const sum = z.object({ value: z.number().min(-LARGEST_UNITS).max(LARGEST_UNITS).nullable() });
const documentCount = z.int().min(0);
const interval = z.object({
  key: z.number().min(0).max(LAST_INSTANT),
  doc_count: documentCount,
  // Good to know, and no reason to refuse the amounts.
  newest: z.object({ value: z.number() }).nullish().catch(null),
  documents: z.object({ doc_count: documentCount, amount: sum, quantity: sum }),
});
const resource = z.object({
  key: z.string(),
  readings: z.object({ intervals: z.object({ buckets: rowsOf(interval) }) }),
});
const count = z.number().nullish();
const search = z.object({
  timed_out: z.boolean().nullish(),
  terminated_early: z.boolean().nullish(),
  _shards: z.object({ total: count, successful: count, failed: count }).nullish(),
});
const reply = z.object({
  aggregations: z.object({ resources: z.object({ buckets: rowsOf(resource) }) }),
});

type Resource = z.infer<typeof resource>;

/** The search engine did not look at every reading: smaller sums, which would look like corrections. */
const incomplete = (missing: string): Failure =>
  failure('incomplete_reply', `The reply to the ${WHAT} is not whole: ${missing}.`, {
    exit: EXIT.provider,
    retry: 'later',
    hint: `The provider's search engine has trouble, which usually passes. ${LAST_VALUES_STAY}`,
  });

function demandWhole({ timed_out, terminated_early, _shards }: z.infer<typeof search>): void {
  if (timed_out) throw incomplete('the search ran out of time');
  if (terminated_early) throw incomplete('the search ended early');
  const { total, successful, failed } = _shards ?? {};
  if (failed) throw incomplete(`${failed} of the index's shards failed`);
  // A shard without any copy has not failed: it is only missing among the successful ones.
  if (total != null && successful != null && successful < total)
    throw incomplete(`${total - successful} of the index's ${total} shards are missing`);
}

function resourcesOf(json: unknown): Resource[] {
  demandWhole(parseReply(WHAT, search, json));
  const { buckets } = parseReply(WHAT, reply, json).aggregations.resources;
  if (buckets.some(({ key }) => key !== ENERGY && key !== COST)) {
    throw new UnexpectedReply(WHAT, `the resources "${COST}" and "${ENERGY}" only`, 'another one');
  }
  return buckets;
}

/** Only days: a week or month may begin before the first day asked for. */
function demandDaysAskedFor(resources: readonly Resource[], question: UsageQuestion): void {
  const { from, to } = question.span;
  const keys = resources.flatMap(({ readings }) => readings.intervals.buckets.map(({ key }) => key));
  // A day more at either end does no harm.
  const isNear = (day: Day) => day >= addDays(from, -1) && day <= to;
  if (question.interval !== 'day' || keys[0] === undefined) return;
  if (keys.some((key) => isNear(dayOf(key, question)))) return;
  const expected = `days from ${from} to ${addDays(to, -1)}`;
  throw new UnexpectedReply(WHAT, expected, `others, such as ${dayOf(keys[0], question)}`);
}

function toBuckets(resources: readonly Resource[], question: UsageQuestion): Bucket[] {
  demandDaysAskedFor(resources, question);
  const byDay = new Map<Day, Bucket>();
  // The time of the heat counts before that of the charges.
  const chargesFirst = [COST, ENERGY].flatMap((name) => resources.filter(({ key }) => key === name));
  for (const { key: resource, readings } of chargesFirst) {
    const kind = resource === ENERGY ? 'energy' : 'cost';
    for (const { key, doc_count, documents, newest } of readings.intervals.buckets) {
      const { value } = kind === 'energy' ? documents.quantity : documents.amount;
      // No document means no reading yet, whatever the sum says.
      if (doc_count === 0 || documents.doc_count === 0 || value === null) continue;
      const day = dayOf(key, question);
      if (question.interval === 'day' && (day < question.span.from || day >= question.span.to)) continue;
      const bucket = byDay.get(day) ?? { day, energy: null, cost: null };
      if (bucket[kind] !== null) throw new UnexpectedReply(WHAT, 'one bucket for each day', `two for ${day}`);
      const readAt = newest && isWithin(newest.value, key, question) ? { readAt: newest.value } : {};
      byDay.set(day, { ...bucket, [kind]: toMicro(value), ...readAt });
    }
  }
  return [...byDay.values()].sort((a, b) => compareText(a.day, b.day));
}

/** The instant lies in the day that begins with `key`: anything else is no time of a reading. */
const isWithin = (at: number, key: number, { interval, zone }: UsageQuestion): boolean =>
  interval === 'day' && Math.abs(at) <= LAST_INSTANT && zone.dayAt(at) === zone.dayAt(key);

/** Only days can be moved: a week or month was cut by the provider. */
const dayOf = (key: number, { zone, readingCloses, interval: length }: UsageQuestion): Day =>
  dayClosedBy(key, length === 'day' ? readingCloses : 'same_day', zone);
