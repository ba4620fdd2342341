// What is asked for beside the usage: site, balance and credit, invoices, and the register of a meter.
import {
  type Balance,
  type Extra,
  type Extras,
  NEVER_ASKED,
  registerKey,
  registersOf,
  type Site,
  takeInvoices,
} from '../../domain/extras.ts';
import type { Invoice } from '../../domain/invoice.ts';
import type { Property, Register } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import { readBalance, readCredit, readInvoices } from '../../provider/billing.ts';
import { type EntityContext, readSite } from '../../provider/discovery.ts';
import { readRegister } from '../../provider/register.ts';
import type { Ask } from '../../provider/request.ts';
import type { ExtraQuestion } from './extraQuestion.ts';

/** Where the answers of one account are kept. */
export interface Shelf {
  readonly known: Extras;
  keep(changes: Partial<Extras>): Promise<void>;
  readonly ask: Ask;
  readonly clock: Clock;
}

const DAILY = 1;
const WEEKLY = 7;

type Found<K extends 'site' | 'balance' | 'credit' | 'invoices'> = NonNullable<Extras[K]['found']>;

function question<K extends 'site' | 'balance' | 'credit' | 'invoices'>(
  shelf: Shelf,
  extra: K,
  everyDays: number,
  ask: ExtraQuestion<Found<K>>['ask'],
): ExtraQuestion<Found<K>> {
  return {
    extra,
    everyDays,
    get: () => shelf.known[extra] as Extra<Found<K>>,
    set: (next) => shelf.keep({ [extra]: next }),
    ask,
  };
}

export const siteQuestion = (shelf: Shelf): ExtraQuestion<Site> =>
  question(shelf, 'site', WEEKLY, (_, signal) => readSite(shelf.ask, signal));

export const amountQuestion = (
  shelf: Shelf,
  extra: 'balance' | 'credit',
  context: EntityContext,
): ExtraQuestion<Balance> =>
  question(shelf, extra, DAILY, async (_, signal) => ({
    amount: await (extra === 'balance' ? readBalance : readCredit)(shelf.ask, context, signal),
  }));

/** `bills` receives the new ones, oldest first. */
export const invoicesQuestion = (
  shelf: Shelf,
  { personCustomerId, billingProfileIds }: EntityContext,
  bills: Invoice[],
): ExtraQuestion<Found<'invoices'>> =>
  question(shelf, 'invoices', DAILY, async (known, signal) => {
    const now = shelf.clock.now();
    const read = new Map<string, readonly Invoice[]>();
    for (const billingProfileId of billingProfileIds.length > 0 ? billingProfileIds : [null]) {
      const asked = { personCustomerId, billingProfileId, now, signal };
      read.set(billingProfileId ?? '', await readInvoices(shelf.ask, asked));
    }
    const taken = takeInvoices(known, read, shelf.clock.now());
    bills.push(...taken.bills);
    return taken.invoices;
  });

export function registerQuestion(
  shelf: Shelf,
  property: Property,
  context: EntityContext,
): ExtraQuestion<Register> {
  const key = registerKey(property);
  const kept = () => registersOf(shelf.known, context.properties);
  return {
    extra: 'meter_reading',
    everyDays: DAILY,
    get: () => shelf.known.registers[key] ?? NEVER_ASKED,
    set: (next) => shelf.keep({ registers: { ...kept(), [key]: next } }),
    ask: (known, signal) =>
      readRegister(shelf.ask, {
        property,
        knownReadAt: known?.readAt ?? null,
        now: shelf.clock.now(),
        signal,
      }),
  };
}
