// The questions that the program asks a provider: one object for each account. It is given requests, and does not sign in.
import type { Micro } from '../domain/amount.ts';
import type { ReadInvoices, Site } from '../domain/extras.ts';
import type { DaySpan, Interval, Zone } from '../domain/period.ts';
import type { Bucket, EntityContext, Property, Register, RegisterHistory } from '../domain/reading.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import type { Log } from '../foundation/log.ts';
import type { Ask } from './request.ts';

/** Its methods reject with a Failure. What a provider does not have is left out, and not asked for. */
export interface Provider {
  /** Everything that the account reads: at least one property. */
  discover(signal?: AbortSignal): Promise<EntityContext>;
  /** Buckets oldest first, only those with a reading; `day` is the first day of the interval. */
  usage(question: UsageQuestion): Promise<readonly Bucket[]>;
  /** The hours in which readings were taken, as the first instant of each: they decide which day a reading closes. */
  readingHours?(question: HoursQuestion): Promise<readonly number[]>;
  invoices?(question: InvoiceQuestion): Promise<ReadInvoices>;
  /** The amount to be paid now; `null`: no bill is open. */
  balance?(customer: Customer, signal?: AbortSignal): Promise<Micro | null>;
  /** The amount that the provider owes, with its sign. */
  credit?(customer: Customer, signal?: AbortSignal): Promise<Micro | null>;
  /** The meter's own register, oldest first; none when nothing has been read lately. After an exchange also that of the meter before it, to its end. */
  register?(question: RegisterQuestion): Promise<readonly Register[]>;
  /** The time zone and the currency that the provider says it has. */
  site?(signal?: AbortSignal): Promise<Site>;
}

/** Called once for each account. A provider without a sign-in uses none of the requests, and no login is ever made. */
export type OpenProvider = (given: ProviderParts) => Provider;

interface ProviderParts {
  readonly username: string;
  /** Requests below `provider.api_url` with an access token. A token that is refused is renewed. */
  readonly ask: Ask;
  /** The same for what can be missed: a refusal has no effect on the session. */
  readonly askExtra: Ask;
  /** The customer that the access token names. Not every token names one, and not every provider needs it. */
  readonly identity: (signal?: AbortSignal) => Promise<Identity>;
  readonly log: Log;
}

export interface Identity {
  readonly customerCode: string;
  readonly siteCodes: readonly string[];
}

/** The person who pays. */
export type Customer = Pick<EntityContext, 'personCustomerId' | 'billingProfileIds'>;

export interface UsageQuestion {
  readonly propertyCustomerId: string;
  /** Days that the buckets describe. */
  readonly span: DaySpan;
  readonly interval: Interval;
  readonly zone: Zone;
  /** A reading closes the day it is taken on, or the day before. */
  readonly readingCloses: ReadingCloses;
  readonly signal?: AbortSignal | undefined;
}

/** Days on which the readings were taken. */
export type HoursQuestion = Omit<UsageQuestion, 'interval' | 'readingCloses'>;

export interface InvoiceQuestion extends Customer {
  /** The last time that the provider had no list of invoices: for a week its bills are read without asking again. */
  readonly notFoundAt?: number | null;
  readonly now: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RegisterQuestion {
  /** It has one heat meter at most: registers of several are not one number. */
  readonly property: Property;
  /** The register known so far: its newest reading may be of a meter that was exchanged since. */
  readonly known: RegisterHistory | null;
  readonly now: number;
  readonly signal?: AbortSignal | undefined;
}
