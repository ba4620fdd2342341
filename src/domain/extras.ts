// The questions beside the usage, at most once a day: their answers, and when to ask again.
import * as z from 'zod';
import { type Invoice, invoice, newestFirst } from './invoice.ts';
import { type Day, daysBetween } from './period.ts';
import {
  calendarDay,
  instant,
  namedReadings,
  namesOf,
  type Property,
  type RegisterHistory,
  registerHistory,
} from './reading.ts';

export const NEVER_ASKED = { askedOn: null, off: false, found: null } as const;

/** One thing that is asked for. `null` = not yet. */
const extra = <T extends z.ZodType>(found: T) =>
  z.object({
    /** The day on which it was last asked for, whatever came of it. */
    askedOn: calendarDay.nullable(),
    /** The provider does not give it, or not in a shape that is known. */
    off: z.boolean(),
    /** The last thing found stays, whatever comes later. */
    found: found.nullable(),
  });

export type Extra<T> = Readonly<z.infer<ReturnType<typeof extra<z.ZodType<T>>>>>;

/** The provider's site about itself. */
const site = z.object({ timezone: z.string().nullable(), currency: z.string().nullable() });
export type Site = Readonly<z.infer<typeof site>>;

const invoices = z.object({
  /** Newest first. */
  all: z.array(invoice).readonly(),
  /** Every id that was ever seen, the newest last. */
  knownIds: z.array(z.string()).readonly(),
  /** Billing profiles that were read before: what is new there is news. */
  profiles: z.array(z.string()).readonly(),
  /** The last time that the provider had bills in place of invoices (epoch ms). Builds before 0.1.0 did not note it. */
  notFoundAt: instant.nullable().default(null),
  fetchedAt: instant,
  /** News that the broker has not answered yet. */
  untoldIds: z.array(z.string()).readonly().optional(),
});
export type Invoices = Readonly<z.infer<typeof invoices>>;

/** The result of one reading of the invoices. */
export interface ReadInvoices extends Pick<Invoices, 'notFoundAt'> {
  readonly byProfile: ReadonlyMap<string, readonly Invoice[]>;
}

/** `null` = the provider says that there is none, or nothing of it. */
const balance = z.object({ amount: z.int().nullable() });
export type Balance = Readonly<z.infer<typeof balance>>;

/** Everything beside the usage that is known of an account. */
export const extras = z.object({
  site: extra(site).default(NEVER_ASKED),
  /** The amount to be paid now. */
  balance: extra(balance).default(NEVER_ASKED),
  credit: extra(balance).default(NEVER_ASKED),
  invoices: extra(invoices).default(NEVER_ASKED),
  /** The keys are those of `registerKey`. */
  registers: z.record(z.string(), extra(registerHistory)).default({}),
});
export type Extras = Readonly<z.infer<typeof extras>>;
export const NO_EXTRAS: Extras = extras.parse({});

const DAYS_OFF = 7;

/** An extra that is switched off is tried again after a week: the provider may have learnt it. */
export function isDue({ askedOn, off }: Extra<unknown>, today: Day, everyDays: number): boolean {
  if (askedOn === null) return true;
  // A clock that was far ahead must not silence it for long.
  return Math.abs(daysBetween(askedOn, today)) >= (off ? Math.max(DAYS_OFF, everyDays) : everyDays);
}

/** It stays when a meter is exchanged: each reading tells of which meter it is. */
export const registerKey = (property: Property): string =>
  [property.propertyCustomerId, ...namesOf(property)].join('/');

/** The known register; `null`: none, or it has several meters, whose registers are not one number. */
export function registerOf({ registers }: Extras, property: Property): RegisterHistory | null {
  const history = registers[registerKey(property)]?.found ?? null;
  return history && property.meterIdentifiers.length <= 1
    ? namedReadings(history, namesOf(property)[0])
    : null;
}

/** Meters that are gone are left out. */
export function registersOf({ registers }: Extras, properties: readonly Property[]): Extras['registers'] {
  const present = new Set(properties.map(registerKey));
  return Object.fromEntries(Object.entries(registers).filter(([key]) => present.has(key)));
}

// Sixteen years of months. Far fewer than the ids that are remembered: none of them is forgotten and news again.
const MOST_INVOICES = 200;
const MOST_KNOWN_IDS = 1_000;

/** The invoices read, and which of them are news, oldest first: none that is read for the first time. */
export function takeInvoices(
  before: Invoices | null,
  { byProfile, notFoundAt }: ReadInvoices,
  fetchedAt: number,
): { readonly invoices: Invoices; readonly bills: readonly Invoice[] } {
  const byId = new Map<string, Invoice>();
  const history = new Set<string>();
  for (const [profile, invoices] of byProfile) {
    for (const invoice of invoices) {
      byId.set(invoice.id, invoice);
      if (!before?.profiles.includes(profile)) history.add(invoice.id);
    }
  }
  const newest = newestFirst([...byId.values()]).slice(0, MOST_INVOICES);
  const oldestFirst = newest.toReversed();
  const ids = new Set(before?.knownIds);
  const bills = oldestFirst.filter(({ id }) => !ids.has(id) && !history.has(id));
  for (const { id } of oldestFirst) {
    // The ids seen last are the last to be forgotten.
    ids.delete(id);
    ids.add(id);
  }
  const profiles = [...new Set([...(before?.profiles ?? []), ...byProfile.keys()])];
  const knownIds = [...ids].slice(-MOST_KNOWN_IDS);
  const untoldIds = [...(before?.untoldIds ?? []), ...bills.map(({ id }) => id)];
  return { invoices: { all: newest, knownIds, profiles, notFoundAt, fetchedAt, untoldIds }, bills };
}
