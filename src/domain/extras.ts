// What is asked for beside the usage, at most once a day: what was found, and when to ask again.
import type { Micro } from './amount.ts';
import { type Invoice, newestFirst } from './invoice.ts';
import { type Day, daysBetween } from './period.ts';
import type { Property, RegisterHistory } from './reading.ts';

/** One thing that is asked for. `null` = not yet. */
export interface Extra<T> {
  /** The day on which it was last asked for, whatever came of it. */
  readonly askedOn: Day | null;
  /** The provider does not give it, or not in a shape that is known. */
  readonly off: boolean;
  /** The last thing found stays, whatever comes later. */
  readonly found: T | null;
}

/** What the provider's site says of itself. */
export interface Site {
  readonly timezone: string | null;
  readonly currency: string | null;
}

export interface Invoices {
  /** Newest first. */
  readonly all: readonly Invoice[];
  /** Every id that was ever seen, the newest last. */
  readonly knownIds: readonly string[];
  /** Billing profiles that were read before: what is new there is news. */
  readonly profiles: readonly string[];
  /** When the provider was last found to have bills in place of invoices (epoch ms). */
  readonly notFoundAt: number | null;
  readonly fetchedAt: number;
}

/** What one reading of the invoices brought. */
export interface ReadInvoices extends Pick<Invoices, 'notFoundAt'> {
  readonly byProfile: ReadonlyMap<string, readonly Invoice[]>;
}

/** `null` = the provider says that there is none, or nothing of it. */
export interface Balance {
  readonly amount: Micro | null;
}

/** Everything beside the usage that is known of an account. */
export interface Extras {
  readonly site: Extra<Site>;
  /** What is to be paid now. */
  readonly balance: Extra<Balance>;
  readonly credit: Extra<Balance>;
  readonly invoices: Extra<Invoices>;
  /** By `registerKey`. */
  readonly registers: Readonly<Record<string, Extra<RegisterHistory>>>;
}

const DAYS_OFF = 7;

export const NEVER_ASKED = { askedOn: null, off: false, found: null } as const;

export const NO_EXTRAS: Extras = {
  site: NEVER_ASKED,
  balance: NEVER_ASKED,
  credit: NEVER_ASKED,
  invoices: NEVER_ASKED,
  registers: {},
};

/** What is switched off is tried again after a week: the provider may have learnt it. */
export function isDue({ askedOn, off }: Extra<unknown>, today: Day, everyDays: number): boolean {
  if (askedOn === null) return true;
  // A clock that was far ahead must not silence it for long.
  return Math.abs(daysBetween(askedOn, today)) >= (off ? Math.max(DAYS_OFF, everyDays) : everyDays);
}

/** Another meter on the same property has a register of its own. */
export const registerKey = ({ propertyCustomerId, meterIdentifiers }: Property): string =>
  [propertyCustomerId, ...meterIdentifiers].join('/');

/** Without those of meters that are gone. */
export function registersOf({ registers }: Extras, properties: readonly Property[]): Extras['registers'] {
  const present = new Set(properties.map(registerKey));
  return Object.fromEntries(Object.entries(registers).filter(([key]) => present.has(key)));
}

// Sixteen years of months. Far fewer than the ids that are remembered: none of them is forgotten and news again.
const MOST_INVOICES = 200;
const MOST_KNOWN_IDS = 1_000;

/** What was read, and which of it is news, oldest first: nothing that is read for the first time. */
export function takeInvoices(
  known: Invoices | null,
  { byProfile, notFoundAt }: ReadInvoices,
  fetchedAt: number,
): { readonly invoices: Invoices; readonly bills: readonly Invoice[] } {
  const found = new Map<string, Invoice>();
  const history = new Set<string>();
  for (const [profile, invoices] of byProfile) {
    for (const invoice of invoices) {
      found.set(invoice.id, invoice);
      if (!known?.profiles.includes(profile)) history.add(invoice.id);
    }
  }
  const all = newestFirst([...found.values()]).slice(0, MOST_INVOICES);
  const oldestFirst = all.toReversed();
  const ids = new Set(known?.knownIds);
  const bills = oldestFirst.filter(({ id }) => !ids.has(id) && !history.has(id));
  for (const { id } of oldestFirst) {
    // Those seen last are the last to be forgotten.
    ids.delete(id);
    ids.add(id);
  }
  const profiles = [...new Set([...(known?.profiles ?? []), ...byProfile.keys()])];
  const knownIds = [...ids].slice(-MOST_KNOWN_IDS);
  return { invoices: { all, knownIds, profiles, notFoundAt, fetchedAt }, bills };
}
