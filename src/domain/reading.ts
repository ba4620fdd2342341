// The provider's facts about one property: its meters, and one bucket for each day.
import * as z from 'zod';
import type { Micro } from './amount.ts';
import { type Day, isDay, isInstant, monthStart, type Zone } from './period.ts';

/** A `Day` in a document; not in period.ts, which the page in the browser loads without zod. */
export const calendarDay = z.string().refine(isDay);

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
  /** Identifiers of the heat meters that it had first, by which its series is named. Absent: those of now. */
  namedAfter: texts.optional(),
});
export type Property = Readonly<z.infer<typeof property>>;

/** The facts that the specification lets a client keep to skip discovery after a restart, for all properties of an account. */
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
  /** The last reading of the day was taken then, epoch milliseconds; absent if the provider does not tell. */
  readonly readAt?: number;
}

/**
 * A reading of a meter's own register (millionths of a kWh), when it was read (epoch milliseconds), and the identifier of that meter;
 * without one the provider names none.
 */
export const register = z.object({ energy: z.int(), readAt: instant, meter: z.string().optional() });
export type Register = Readonly<z.infer<typeof register>>;

/** The newest reading of a register, and those that are kept, oldest first. Files of 0.1 had the newest alone. */
export const registerHistory = register.extend({ readings: z.array(register).readonly().default([]) });
export type RegisterHistory = Readonly<z.infer<typeof registerHistory>>;

/** Two months, and the days until the second is complete: of the time before, one reading a month is enough. */
const NEWEST_READINGS = 66;
/** Readings of meters before these exchanges need not be known. */
const MOST_EXCHANGES = 12;

/** Registers only grow: a lower one has begun anew. */
const isOfAnother = (before: Register, after: Register): boolean =>
  before.meter !== after.meter || after.energy < before.energy;

/** The readings of each meter, the oldest meter first. */
export function readingsByMeter(readings: readonly Register[]): readonly (readonly Register[])[] {
  const meters: Register[][] = [];
  for (const reading of readings) {
    const current = meters.at(-1);
    const last = current?.at(-1);
    if (current && last && !isOfAnother(last, reading)) current.push(reading);
    else meters.push([reading]);
  }
  return meters;
}

/**
 * The readings that are kept, oldest first: of each day and meter the last one, of which the newest 66 stay, the last of each month
 * before, the first of all, and those before and after an exchange. `newer` come after them.
 */
export function withReadings(
  history: RegisterHistory | null,
  newer: readonly Register[],
  zone: Zone,
): RegisterHistory | null {
  const before = history ? [...history.readings, newestOf(history)] : [];
  const byTime = (a: Register, b: Register) => a.readAt - b.readAt;
  const inOrder = [...before, ...newer].sort(byTime);
  const lastOfDay = new Map(
    inOrder.map((reading) => [`${zone.dayAt(reading.readAt)} ${reading.meter}`, reading]),
  );
  const daily = [...lastOfDay.values()].sort(byTime);
  const edges = readingsByMeter(daily)
    .slice(-MOST_EXCHANGES)
    .flatMap((ofMeter) => [ofMeter[0], ofMeter.at(-1)]);
  const months = daily.map(({ readAt }) => monthStart(zone.dayAt(readAt)));
  const readings = daily.filter(
    (reading, at) =>
      at === 0 ||
      at >= daily.length - NEWEST_READINGS ||
      months[at] !== months[at + 1] ||
      edges.includes(reading),
  );
  const newest = readings.at(-1);
  return newest ? { ...newest, readings } : null;
}

const newestOf = ({ readings: _, ...newest }: RegisterHistory): Register => newest;

/** Older files have readings that do not name their meter: all of them are of this one. */
export function namedReadings(history: RegisterHistory, meter: string | undefined): RegisterHistory {
  if (meter === undefined || history.meter !== undefined) return history;
  return { ...history, meter, readings: history.readings.map((reading) => ({ ...reading, meter })) };
}

const lowest = (identifiers: readonly string[]): string | undefined => [...identifiers].sort()[0];

/** Identifiers by which its series is named: those that its meters had when it was found first. */
export const namesOf = ({ namedAfter, meterIdentifiers }: Property): readonly string[] =>
  namedAfter ?? meterIdentifiers;

/** The name of the property's series in topics and ids: the lowest meter identifier that it had first, else the property's id. */
export const seriesName = (property: Property): string =>
  topicSafe(lowest(namesOf(property)) ?? property.propertyCustomerId);

/**
 * The properties that were discovered, each with the series that it had: one whose meter was exchanged keeps its own, and a new one
 * that has the meter of an earlier one which is gone takes over from it. An earlier one keeps its place. `staying`: those of the earlier
 * ones that stay though the list leaves them out. `elsewhere`: what other accounts know of the same properties.
 */
export function withFound(
  earlier: readonly Property[],
  discovered: readonly Property[],
  staying = earlier,
  elsewhere: readonly Property[] = [],
): Property[] {
  const isNew = (one: Property) => !earlier.some((other) => isSameProperty(one, other));
  const meterOf = ({ propertyCustomerId, meterIdentifiers }: Property) =>
    lowest(meterIdentifiers) ?? propertyCustomerId;
  const current = earlier.flatMap((one) => {
    const now =
      discovered.find((other) => isSameProperty(one, other)) ??
      discovered.find((other) => isNew(other) && meterOf(other) === meterOf(one));
    if (now) return { ...now, namedAfter: namesOf(one) };
    return staying.includes(one) ? one : [];
  });
  const others = discovered.filter((one) => !current.some((other) => isSameProperty(one, other)));
  const named = others.map((one) => {
    const sameElsewhere = elsewhere.find((candidate) => isSameProperty(one, candidate));
    return { ...one, namedAfter: namesOf(sameElsewhere ?? one) };
  });
  return [...current, ...named];
}

export const isSameProperty = (one: Property, other: Property): boolean =>
  one.propertyCustomerId === other.propertyCustomerId;

/** Reduced to `[A-Za-z0-9_-]`: each run of other characters becomes one `_`. */
export const topicSafe = (name: string): string => name.replace(/[^A-Za-z0-9_-]+/g, '_');
