// The provider as the rest of the house sees it.
import type { Micro } from '../domain/amount.ts';
import type { Site } from '../domain/extras.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Bucket, Register } from '../domain/reading.ts';
import type { Log } from '../foundation/log.ts';
import { readBalance, readCredit } from './balance.ts';
import { discover, type EntityContext } from './discovery.ts';
import { type InvoiceQuestion, readInvoices } from './invoices.ts';
import { type RegisterQuestion, readRegister } from './register.ts';
import type { Ask } from './request.ts';
import { readSite } from './site.ts';
import { readUsage, type UsageQuestion } from './usageReport.ts';

export interface ProviderClient {
  discover(
    identity: { readonly customerCode: string; readonly siteCodes: readonly string[] },
    signal?: AbortSignal,
  ): Promise<EntityContext>;
  usage(question: UsageQuestion): Promise<Bucket[]>;
  invoices(question: InvoiceQuestion): Promise<Invoice[]>;
  register(question: RegisterQuestion): Promise<Register | null>;
  balance(context: EntityContext, signal?: AbortSignal): Promise<Micro | null>;
  credit(context: EntityContext, signal?: AbortSignal): Promise<Micro | null>;
  site(signal?: AbortSignal): Promise<Site>;
}

export function openClient(ask: Ask, log: Log): ProviderClient {
  return {
    discover: (identity, signal) => discover(ask, identity, log, signal),
    usage: (question) => readUsage(ask, question),
    invoices: (question) => readInvoices(ask, question),
    register: (question) => readRegister(ask, question),
    balance: ({ personCustomerId }, signal) => readBalance(ask, personCustomerId, signal),
    credit: ({ personCustomerId, billingProfileIds }, signal) =>
      readCredit(ask, { personCustomerId, profiles: billingProfileIds }, signal),
    site: (signal) => readSite(ask, signal),
  };
}
