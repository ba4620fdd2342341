// What an account has beside its usage: register, balance, invoices and site. Each is asked for at most once a day,
// after a poll that went well; no answer to it reaches the session, the poll or its outcome.
import type { Config } from '../config/schema.ts';
import {
  type Extra,
  type Extras,
  isDue,
  NEVER_ASKED,
  NO_EXTRAS,
  registerKey,
  registersOf,
  takeInvoices,
} from '../domain/extras.ts';
import type { Reason } from '../domain/health.ts';
import { withReadings } from '../domain/insight/registerCheck.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Day } from '../domain/period.ts';
import type { EntityContext, Property, RegisterHistory } from '../domain/reading.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { ConcurrencyLimit } from '../foundation/limits.ts';
import { ReplyTooLarge } from '../http/client.ts';
import type { Provider } from '../provider/provider.ts';
import { ProviderRefused, UnexpectedReply } from '../provider/request.ts';
import type { AccountContext } from './context.ts';
import type { PollHistory } from './pollHistory.ts';
import { currencyOf, siteReasons } from './site.ts';
import type { Upstream } from './upstream.ts';

interface Parts {
  readonly upstream: Upstream;
  readonly history: PollHistory;
  /** One round at a time, for all accounts. */
  readonly queue: ConcurrencyLimit;
}

/** One thing that may be asked for: where its answer is kept, and how to ask. */
interface Question<T> {
  /** Its name in the log. */
  readonly name: string;
  readonly everyDays: number;
  readonly get: () => Extra<T>;
  /** Resolves once it is on the disk. */
  readonly set: (next: Extra<T>) => Promise<void>;
  /** `null`: nothing new. */
  readonly ask: (known: T | null, signal: AbortSignal) => Promise<T | null>;
}

type Single = 'site' | 'balance' | 'credit' | 'invoices';
type Found<K extends Single> = NonNullable<Extras[K]['found']>;

const DAILY = 1;
const WEEKLY = 7;
// A reading of midnight is booked in the small hours: before that the answer is yesterday's.
const DAY_BEGINS_MS = 4 * 3_600_000;

export class AccountExtras {
  /** What is known of those that the configuration wants. */
  known: Extras;
  readonly #account: string;
  readonly #parts: Parts;
  readonly #context: AccountContext;
  #round: Promise<void> | null = null;
  /** Nothing more is due for these properties on this day. */
  #done: { readonly entities: EntityContext; readonly day: Day } | null = null;
  #warnedOf = '';

  static async open(account: string, parts: Parts, context: AccountContext): Promise<AccountExtras> {
    return new AccountExtras(account, parts, context, (await parts.upstream.extras.read()) ?? NO_EXTRAS);
  }

  private constructor(account: string, parts: Parts, context: AccountContext, stored: Extras) {
    this.#account = account;
    this.#parts = parts;
    this.#context = context;
    this.known = onlyWanted(stored, context.config.extras);
    this.#warnOfSite();
  }

  get #provider(): Provider {
    return this.#parts.upstream.provider;
  }

  /** By the configuration, of what the provider has. */
  get #wanted() {
    const { site, balance, invoices, meter_reading } = this.#context.config.extras;
    const has = this.#provider;
    return {
      site: site && has.site,
      balance: balance && has.balance,
      credit: balance && has.credit,
      invoices: invoices && has.invoices,
      meter_reading: meter_reading && has.register,
    };
  }

  get currency(): string {
    return currencyOf(this.#context.config, this.known.site.found);
  }

  register(property: Property): RegisterHistory | null {
    return this.known.registers[registerKey(property)]?.found ?? null;
  }

  reasons(): Reason[] {
    const reasons = siteReasons(this.#context.config, this.known.site.found);
    return reasons.map((reason) => ({ ...reason, account: this.#account }));
  }

  /** Before anything is published, the currency had better be known. Never rejects. */
  async askSite(signal: AbortSignal): Promise<void> {
    if (this.#wanted.site) await this.#askIfDue(this.#site(), signal);
    this.#warnOfSite();
  }

  /** Asks in the background for what is due. */
  begin(entities: EntityContext, signal: AbortSignal): void {
    const { log } = this.#context;
    if (this.#round !== null) {
      log.debug('extras still being asked for');
      return;
    }
    if (this.#done?.entities === entities && this.#done.day === this.#day()) {
      log.debug('extras not due');
      return;
    }
    this.#round = this.#parts
      .queue(() => this.#askAll(entities, signal))
      .catch((err) => log.error({ err }, 'extras not asked for'))
      .finally(() => {
        this.#round = null;
      });
  }

  /** Resolves once nothing is under way. */
  async settled(): Promise<void> {
    await this.#round;
  }

  async #askAll(entities: EntityContext, signal: AbortSignal): Promise<void> {
    const { limit, signals, log } = this.#context;
    const wanted = this.#wanted;
    const before = this.known;
    const day = this.#day();
    const newInvoices: Invoice[] = [];
    const ask = <T>(question: Question<T>) => [() => this.#askIfDue(question, signal)];
    // Registers of several meters are not one number.
    const withOneMeter = entities.properties.filter(({ meterIdentifiers }) => meterIdentifiers.length <= 1);
    const steps = [
      ...(wanted.site ? ask(this.#site()) : []),
      ...(wanted.meter_reading ? withOneMeter.flatMap((one) => ask(this.#register(one, entities))) : []),
      ...(wanted.balance ? ask(this.#amount('balance', entities)) : []),
      ...(wanted.credit ? ask(this.#amount('credit', entities)) : []),
      ...(wanted.invoices ? ask(this.#invoices(entities, newInvoices)) : []),
    ];
    let isComplete = true;
    for (const step of steps) {
      isComplete = await limit(step);
      if (!isComplete) break;
    }
    if (isComplete) this.#done = { entities, day };
    this.#warnOfSite();
    if (this.known !== before) {
      signals.emit('accountChanged', this.#account);
      if (newInvoices.length > 0) signals.emit('newInvoices', this.#account, newInvoices);
      this.#parts.history.save();
    }
    log.debug({ asked: this.known !== before }, 'extras asked for');
  }

  /** Never rejects. Resolves to `false` when the provider has trouble: whatever else is due waits for the next poll. */
  async #askIfDue<T>({ name, everyDays, get, set, ask }: Question<T>, signal: AbortSignal): Promise<boolean> {
    const { log } = this.#context;
    const today = this.#day();
    const before = get();
    if (signal.aborted) return false;
    if (!isDue(before, today, everyDays)) return true;
    // Beforehand: a reply that ends this process must not be asked for again by the next one.
    await set({ ...before, askedOn: today });
    try {
      const found = await ask(before.found, signal);
      await set({ askedOn: today, off: false, found: found ?? before.found });
      return true;
    } catch (err) {
      if (signal.aborted) return false;
      if (isRefusal(err)) {
        await set({ ...before, askedOn: today, off: true });
        if (!before.off)
          log.warn({ extra: name, ...safeWords(err) }, 'not given by the provider: not asked for a week');
        return true;
      }
      if (err instanceof Failure)
        log.info({ extra: name, ...safeWords(err) }, 'not read: asked again tomorrow');
      else log.error({ extra: name, err }, 'not read: asked again tomorrow');
      return false;
    }
  }

  #question<K extends Single>(
    name: K,
    everyDays: number,
    ask: Question<Found<K>>['ask'],
  ): Question<Found<K>> {
    return {
      name,
      everyDays,
      get: () => this.known[name] as Extra<Found<K>>,
      set: (next) => this.#keep({ [name]: next }),
      ask,
    };
  }

  #site(): Question<Found<'site'>> {
    return this.#question('site', WEEKLY, async (_, signal) => (await this.#provider.site?.(signal)) ?? null);
  }

  #amount(name: 'balance' | 'credit', entities: EntityContext): Question<Found<'balance'>> {
    return this.#question(name, DAILY, async (_, signal) => ({
      amount: (await this.#provider[name]?.(entities, signal)) ?? null,
    }));
  }

  /** New ones are added to `news`, oldest first. */
  #invoices(
    { personCustomerId, billingProfileIds }: EntityContext,
    news: Invoice[],
  ): Question<Found<'invoices'>> {
    return this.#question('invoices', DAILY, async (known, signal) => {
      const now = this.#context.clock.now();
      const notFoundAt = known?.notFoundAt ?? null;
      const question = { personCustomerId, billingProfileIds, notFoundAt, now, signal };
      const found = await this.#provider.invoices?.(question);
      if (found === undefined) return null;
      const { invoices, bills } = takeInvoices(known, found, now);
      news.push(...bills);
      return invoices;
    });
  }

  #register(property: Property, { properties }: EntityContext): Question<RegisterHistory> {
    const key = registerKey(property);
    return {
      name: 'meter_reading',
      everyDays: DAILY,
      get: () => this.known.registers[key] ?? NEVER_ASKED,
      set: (next) => this.#keep({ registers: { ...registersOf(this.known, properties), [key]: next } }),
      ask: async (known, signal) => {
        const { zone, clock } = this.#context;
        const question = { property, knownReadAt: known?.readAt ?? null, now: clock.now(), signal };
        return withReadings(known, (await this.#provider.register?.(question)) ?? [], zone);
      },
    };
  }

  async #keep(changes: Partial<Extras>): Promise<void> {
    this.known = { ...this.known, ...changes };
    await this.#parts.upstream.extras
      .write(this.known)
      .catch((err) => this.#context.log.error({ err }, 'extras could not be saved'));
  }

  /** The day for which is asked now. */
  #day(): Day {
    const { zone, clock } = this.#context;
    return zone.dayAt(clock.now() - DAY_BEGINS_MS);
  }

  #warnOfSite(): void {
    const reasons = this.reasons();
    const words = JSON.stringify(reasons);
    if (words === this.#warnedOf) return;
    this.#warnedOf = words;
    for (const { message } of reasons) this.#context.log.warn(message);
  }
}

/** It will be the same tomorrow. A refused access token (401) will not: that is the session's matter. */
const isRefusal = (err: unknown): boolean =>
  (err instanceof ProviderRefused && err.status !== 401) ||
  err instanceof UnexpectedReply ||
  err instanceof ReplyTooLarge;

const onlyWanted = (stored: Extras, wanted: Config['extras']): Extras => ({
  site: wanted.site ? stored.site : NO_EXTRAS.site,
  balance: wanted.balance ? stored.balance : NO_EXTRAS.balance,
  credit: wanted.balance ? stored.credit : NO_EXTRAS.credit,
  invoices: wanted.invoices ? stored.invoices : NO_EXTRAS.invoices,
  registers: wanted.meter_reading ? stored.registers : {},
});
