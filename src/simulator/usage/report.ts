// The answer to a usage question, as Elasticsearch computes it from the readings of one property.
import { HEAT_SERVICE, type Property } from '../accounts.ts';
import { Zone } from '../localTime.ts';
import type { VisibleReading } from '../meter.ts';
import type { Switches } from '../switches.ts';
import type { UsageDocument } from './aggregations.ts';
import type { UsageRequest } from './request.ts';

const SHARDS = 5;

export interface DayOfTruth {
  readonly kwh: number;
  readonly eur: number;
  readonly readings: number;
}

/** Everything booked by `now`; no property has no document. Throws a `Refusal`. */
export function usageReport(
  property: Property | undefined,
  { from, to, resourceNames, serviceType, compute }: UsageRequest,
  now: number,
  { missingShards = 0, endsEarly = false }: Partial<Switches['api']> = {},
): Record<string, unknown> {
  const found = usageDocuments(property, serviceType, now)
    .filter((_, index) => index % SHARDS >= missingShards && !(endsEarly && index % 2 === 0))
    .filter(({ resource, at }) => at >= from && at <= to && resourceNames.includes(resource));
  return {
    took: 7,
    timed_out: false,
    ...(endsEarly ? { terminated_early: true } : {}),
    _shards: { total: SHARDS, successful: SHARDS - missingShards, skipped: 0, failed: 0 },
    hits: { total: { value: found.length, relation: 'eq' }, max_score: null, hits: [] },
    aggregations: compute(found),
  };
}

export function usageDocuments(
  property: Property | undefined,
  serviceType: string,
  now: number,
): UsageDocument[] {
  const services = property?.services.filter((one) => one.serviceType === serviceType) ?? [];
  return services.flatMap(({ meter }) => (meter?.readingsAt(now) ?? []).flatMap(documentsOf));
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
export function truthAt(
  { services }: Property,
  now: number,
  dateOf = (at: number) => ZONE.dateOf(at),
): Map<string, DayOfTruth> {
  const days = new Map<string, DayOfTruth>();
  for (const { serviceType, meter } of services) {
    if (serviceType !== HEAT_SERVICE) continue;
    for (const { at, kwh, charges } of meter?.readingsAt(now) ?? []) {
      const date = dateOf(at);
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
