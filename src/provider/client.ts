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
  return new Client(ask, log);
}

class Client implements ProviderClient {
  readonly #ask: Ask;
  readonly #log: Log;

  constructor(ask: Ask, log: Log) {
    this.#ask = ask;
    this.#log = log;
  }

  discover(
    identity: { readonly customerCode: string; readonly siteCodes: readonly string[] },
    signal?: AbortSignal,
  ): Promise<EntityContext> {
    return discover(this.#ask, identity, this.#log, signal);
  }

  usage(question: UsageQuestion): Promise<Bucket[]> {
    return readUsage(this.#ask, question);
  }

  invoices(question: InvoiceQuestion): Promise<Invoice[]> {
    return readInvoices(this.#ask, question);
  }

  register(question: RegisterQuestion): Promise<Register | null> {
    return readRegister(this.#ask, question);
  }

  balance({ personCustomerId }: EntityContext, signal?: AbortSignal): Promise<Micro | null> {
    return readBalance(this.#ask, personCustomerId, signal);
  }

  credit(
    { personCustomerId, billingProfileIds: profiles }: EntityContext,
    signal?: AbortSignal,
  ): Promise<Micro | null> {
    return readCredit(this.#ask, { personCustomerId, profiles }, signal);
  }

  site(signal?: AbortSignal): Promise<Site> {
    return readSite(this.#ask, signal);
  }
}
