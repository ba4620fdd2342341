// Readings as the provider's search index holds them, and the plain truth per day to compare answers with.
import { type Account, HEAT_SERVICE, type Property } from './accounts.ts';
import type { SearchDocument } from './esFields.ts';
import type { VisibleReading } from './household.ts';
import { Zone } from './localTime.ts';

export const HEAT_RESOURCE = 'Heat - Meter Value';
export const EURO_RESOURCE = 'Euro';

export interface DayOfTruth {
  readonly kwh: number;
  readonly eur: number;
  readonly readings: number;
}

/** Everything booked until `now`, of all households together: the question has to narrow it down. */
export function documentsAt(accounts: readonly Account[], now: number): SearchDocument[] {
  return accounts.flatMap(({ groups }) =>
    groups.flatMap(({ properties }) => properties.flatMap((property) => ofProperty(property, now))),
  );
}

/** kWh and EUR of the heat meters per local date in Europe/Dublin; a date without a reading is not there. */
export function truthAt(property: Property, now: number): Map<string, DayOfTruth> {
  const zone = new Zone('Europe/Dublin');
  const days = new Map<string, DayOfTruth>();
  for (const { serviceType, household } of property.services) {
    if (serviceType !== HEAT_SERVICE) continue;
    for (const { at, kwh, charges } of household?.readingsAt(now) ?? []) {
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

function ofProperty({ id, services }: Property, now: number): SearchDocument[] {
  return services.flatMap(({ identifier, serviceType, household }) =>
    (household?.readingsAt(now) ?? []).flatMap((reading) => {
      const event_fields = [{ time_of_read: { date: reading.at }, identifier }];
      const common = { service_type: serviceType, customer_id: id, event_fields };
      return amounts(reading).map((line) => ({ ...common, ...line }));
    }),
  );
}

function amounts({ kwh, register, charges }: VisibleReading) {
  const euro = charges.map((amount) => ({ resource_name: EURO_RESOURCE, amount, quantity: kwh ?? 1 }));
  // The `amount` of the heat resource is the meter's register, no money: a trap of the real service.
  const heat = { resource_name: HEAT_RESOURCE, amount: register, quantity: kwh };
  return kwh === null ? euro : [heat, ...euro];
}

function added(a: number, b: number): number {
  return Math.round((a + b) * 1_000_000) / 1_000_000;
}
