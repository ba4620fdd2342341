// What the provider says of one property: its meters, and one bucket for each day.
import * as z from 'zod';
import type { Micro } from './amount.ts';
import { DAY_SHAPE, type Day, isInstant, monthStart, type Zone } from './period.ts';

/** A `Day` in a document; not in period.ts, which the page in the browser loads without zod. */
export const calendarDay = z.string().regex(DAY_SHAPE);

/** Epoch milliseconds in a document. */
export const instant = z.int().refine(isInstant);

const texts = z.array(z.string()).readonly();

/** A property with heat meters, as discovered. Ids are opaque text. */
export const property = z.object({
  propertyCustomerId: z.string(),
  subscriptionId: z.string().nullable(),
  balanceGroupId: z.string().nullable(),
  /** Identifiers of its heat meters, sorted; may be empty when the provider names none. */
  meterIdentifiers: texts,
});
export type Property = Readonly<z.infer<typeof property>>;

/** What the specification lets a client keep to skip discovery after a restart, for all properties of an account. */
export const entityContext = z.object({
  personCustomerId: z.string(),
  siteCodes: texts,
  /** Empty: the provider has named none. */
  billingProfileIds: texts,
  properties: z.array(property).readonly(),
});
export type EntityContext = Readonly<z.infer<typeof entityContext>>;

/** One day as the provider gave it. `null` = no reading of that kind yet, which is not zero. */
export interface Bucket {
  readonly day: Day;
  readonly energy: Micro | null;
  readonly cost: Micro | null;
  /** When its last reading was taken, epoch milliseconds; absent where the provider does not tell. */
  readonly readAt?: number;
}

/** What a meter's own register showed (millionths of a kWh), and when it was read (epoch milliseconds). */
const register = z.object({ energy: z.int(), readAt: instant });
export type Register = Readonly<z.infer<typeof register>>;

/** The newest reading of a register, and those that are kept, oldest first. Files of 0.1 had the newest alone. */
export const registerHistory = register.extend({ readings: z.array(register).readonly().default([]) });
export type RegisterHistory = Readonly<z.infer<typeof registerHistory>>;

/** Two bills of a month: of the time before, one reading a month is enough. */
const NEWEST_DAYS = 60;

/**
 * The readings that are kept, oldest first: of each day the last one, from the newest 60 days on the last of each month,
 * and the first of all. A register that went backwards is another one: what was before is dropped. `found` is newer.
 */
export function withReadings(
  known: RegisterHistory | null,
  found: readonly Register[],
  zone: Zone,
): RegisterHistory | null {
  const before = known ? [...known.readings, { energy: known.energy, readAt: known.readAt }] : [];
  const inOrder = [...before, ...found].sort((a, b) => a.readAt - b.readAt);
  const all = [...new Map(inOrder.map((one) => [zone.dayAt(one.readAt), one]))];
  const start = all.findLastIndex(([, { energy }], at) => energy < (all[at - 1]?.[1].energy ?? 0));
  const daily = all.slice(Math.max(0, start));
  const isLastOfMonth = (day: Day, at: number) => monthStart(day) !== monthStart(daily[at + 1]?.[0] ?? '');
  const readings = daily.flatMap(([day, one], at) =>
    at === 0 || at >= daily.length - NEWEST_DAYS || isLastOfMonth(day, at) ? [one] : [],
  );
  const newest = readings.at(-1);
  return newest ? { ...newest, readings } : null;
}

/** The name of the property's series in topics and ids: the lowest meter identifier, else the property's id. */
export function seriesName(property: Property): string {
  const lowest = [...property.meterIdentifiers].sort()[0] ?? property.propertyCustomerId;
  return topicSafe(lowest);
}

/**
 * The known properties and those that were found besides. A known one keeps its place and its series although a list
 * leaves it out or its meter has another number now; only an unknown one with the same meter takes over from it.
 */
export function withFound(known: readonly Property[], found: readonly Property[]): Property[] {
  const isKnown = ({ propertyCustomerId: id }: Property) =>
    known.some(({ propertyCustomerId }) => propertyCustomerId === id);
  const current = known.map((one) => {
    const sameMeter = found.filter((other) => seriesName(other) === seriesName(one));
    const itself = sameMeter.find((other) => other.propertyCustomerId === one.propertyCustomerId);
    return itself ?? sameMeter.find((other) => !isKnown(other)) ?? one;
  });
  return [...new Set([...current, ...found.filter((one) => !isKnown(one))])];
}

/** Reduced to `[A-Za-z0-9_-]`: each run of other characters becomes one `_`. */
export const topicSafe = (name: string): string => name.replace(/[^A-Za-z0-9_-]+/g, '_');
