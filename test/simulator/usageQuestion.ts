// The usage question spelled out, changes to it by path, and the simulator's answer or refusal.
import { settle } from '../../src/simulator/accounts.ts';
import { propertiesOf } from '../../src/simulator/billing.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { Refusal } from '../../src/simulator/usage/body.ts';
import { usageReport } from '../../src/simulator/usage/report.ts';
import { parseUsageRequest } from '../../src/simulator/usage/request.ts';
import { look } from './visitor.ts';

export type Json = Record<string, unknown>;

export const READ_AT = 'event_fields.time_of_read.date';
export const FILTERS = 'query.bool.filter';
export const RANGE = `${FILTERS}.3.nested.query.range`;
export const READINGS = 'aggs.resources.aggs.readings';
const INTERVALS = `${READINGS}.aggs.intervals`;
export const HISTOGRAM = `${INTERVALS}.date_histogram`;
export const NEWEST = `${INTERVALS}.aggs.newest`;
export const DOCUMENTS = `${INTERVALS}.aggs.documents`;
export const BUCKETS = 'aggregations.resources.buckets';

/** `min` and `max`: the first and the last instant, in ISO 8601. */
export function usageQuestion(id: unknown, min: string, max: string, changes: Json = {}): Json {
  const range = { [READ_AT]: { gte: min, lte: max } };
  const filter = [
    { query_string: { query: 'HEAT_METER_READ_SERVICE', fields: ['service_type'] } },
    { query_string: { query: String(id), fields: ['customer_id'] } },
    { terms: { resource_name: ['Euro', 'Heat - Meter Value'] } },
    { nested: { path: 'event_fields', query: { range } } },
  ];
  const sums = { amount: { sum: { field: 'amount' } }, quantity: { sum: { field: 'quantity' } } };
  const date_histogram = {
    field: READ_AT,
    interval: 'day',
    time_zone: 'Europe/Dublin',
    min_doc_count: 0,
    extended_bounds: { min, max },
  };
  const newest = { max: { field: READ_AT } };
  const intervals = { date_histogram, aggs: { newest, documents: { reverse_nested: {}, aggs: sums } } };
  const readings = { nested: { path: 'event_fields' }, aggs: { intervals } };
  const resources = { terms: { field: 'resource_name' }, aggs: { readings } };
  return changed({ size: 0, query: { bool: { filter } }, aggs: { resources } }, changes);
}

/** With values changed by path; undefined takes a key away. */
export function changed(body: Json, changes: Json): Json {
  const result = structuredClone(body);
  for (const [path, value] of Object.entries(changes)) {
    const at = path.lastIndexOf('.');
    const parent = at < 0 ? result : (look(result, path.slice(0, at)) as Json);
    if (value === undefined) delete parent[path.slice(at + 1)];
    else parent[path.slice(at + 1)] = value;
  }
  return result;
}

/** Property 7 has one meter with these readings. */
export function propertyWith(events: ExplicitEvent[]) {
  const groups = [{ properties: [{ id: 7, services: [{ meter: { events } }] }] }];
  const [property] = settle([{ username: 'a', password: 'b', groups }]).flatMap(propertiesOf);
  if (!property) throw new Error('no property');
  return property;
}

export function answer(
  body: unknown,
  events: ExplicitEvent[] = [],
  intervalKeys: readonly string[] = ['interval'],
): unknown {
  const request = parseUsageRequest(body, intervalKeys);
  return usageReport(propertyWith(events), request, Date.parse('2026-01-01'));
}

/** Status and reason. */
export function refusal(body: unknown, intervalKeys?: readonly string[]): [status: number, reason: unknown] {
  try {
    answer(body, [{ at: Date.parse('2024-03-30T00:00:10Z'), kwh: 1, eur: 1 }], intervalKeys);
  } catch (err) {
    if (err instanceof Refusal) return [err.status, look(err.body, 'error.root_cause.0.reason')];
    throw err;
  }
  throw new Error('the question was answered');
}
