// The extras of an account beside its usage: register, balance, invoices and site. Each is asked for at most once a day,
// after a poll that went well; no answer to it reaches the session, the poll or its outcome.
import type { Config } from '../config/schema.ts';
import {
  type Extra,
  type Extras,
  isDue,
  NEVER_ASKED,
  NO_EXTRAS,
  registerKey,
  registerOf,
  registersOf,
  type Site,
  takeInvoices,
} from '../domain/extras.ts';
import type { Reason } from '../domain/health.ts';
import type { Invoice } from '../domain/invoice.ts';
import { type Day, isSameZone } from '../domain/period.ts';
import {
  type EntityContext,
  namedReadings,
  namesOf,
  type Property,
  type RegisterHistory,
  withReadings,
} from '../domain/reading.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { ConcurrencyLimit } from '../foundation/limits.ts';
import { ProviderRefused, UnexpectedReply } from '../provider/request.ts';
import type { AccountContext } from './context.ts';
import type { AccountJournal } from './journal.ts';
import type { Upstream } from './upstream.ts';

interface ExtrasParts {
  readonly upstream: Upstream;
  readonly journal: AccountJournal;
  /** One round at a time, for all accounts. */
  readonly queue: ConcurrencyLimit;
}

type Single = Exclude<keyof Extras, 'registers'>;
type Answer<K extends Single> = NonNullable<Extras[K]['found']>;

/** One thing that is asked for. */
interface Question {
  /** The log names it so. */
  readonly name: string;
  readonly everyDays: number;
  readonly get: () => Extra<unknown>;
  readonly set: (next: Extra<unknown>) => void;
  /** Resolves to `null` when there is nothing new. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
}

const DAILY = 1;
const WEEKLY = 7;
// A reading of midnight is booked in the small hours: before that the answer is yesterday's.
const DAY_BEGINS_MS = 4 * 3_600_000;

export class AccountExtras {
  readonly #account: string;
  readonly #parts: ExtrasParts;
  readonly #context: AccountContext;
  /** The extras that the configuration wants. */
  #known: Extras;
  #saved: Extras;
  /** Invoices that were not known before and are not told yet, oldest first. */
  #news: readonly Invoice[];
  #round: Promise<void> | null = null;

  static async open(account: string, parts: ExtrasParts, context: AccountContext): Promise<AccountExtras> {
    const stored = (await parts.upstream.extras.read()) ?? NO_EXTRAS;
    return new AccountExtras(account, parts, onlyWanted(stored, context.config.extras), context);
  }

  private constructor(account: string, parts: ExtrasParts, stored: Extras, context: AccountContext) {
    this.#account = account;
    this.#parts = parts;
    this.#context = context;
    this.#known = stored;
    this.#saved = stored;
    this.#news = untoldOf(stored);
    this.#warnOf(stored.site.found);
  }

  get known(): Extras {
    return this.#known;
  }

  get currency(): string {
    return currencyOf(this.#context.config, this.#known.site.found);
  }

  reasons(): Reason[] {
    const account = this.#account;
    return siteReasons(this.#context.config, this.#known.site.found).map((reason) => ({
      ...reason,
      account,
    }));
  }

  register(property: Property): RegisterHistory | null {
    return registerOf(this.#known, property);
  }

  /** Its meter is another one now: the register of that one had better be known today. */
  askRegisterAgain(property: Property): void {
    const key = registerKey(property);
    const { [key]: asked, ...others } = this.#known.registers;
    if (asked) this.#keep({ registers: { ...others, [key]: { ...asked, askedOn: null, off: false } } });
  }

  /** Before anything is published, the currency had better be known. Never rejects. */
  async askSite(signal: AbortSignal): Promise<void> {
    for (const question of this.#site().filter(this.#isDue)) await this.#ask(question, signal);
    await this.#save();
  }

  /** Asks in the background for what is due. */
  begin(entities: EntityContext, signal: AbortSignal): void {
    const { log } = this.#context;
    const questions = this.#questions(entities).filter(this.#isDue);
    if (this.#round !== null || questions.length === 0) {
      log.debug('extras not due');
      return;
    }
    this.#round = this.#parts
      .queue(() => this.#askAll(questions, signal))
      .catch((err) => log.error({ err }, 'extras not asked for'))
      .finally(() => {
        this.#round = null;
      });
  }

  /** The broker has answered the news of these invoices. */
  async told(ids: readonly string[]): Promise<void> {
    const { found } = this.#known.invoices;
    if (!found?.untoldIds?.some((id) => ids.includes(id))) return;
    const untoldIds = found.untoldIds.filter((id) => !ids.includes(id));
    this.#keep({ invoices: { ...this.#known.invoices, found: { ...found, untoldIds } } });
    await this.#save();
  }

  /** New invoices since the last call, oldest first. */
  takeNews(): readonly Invoice[] {
    const taken = this.#news;
    this.#news = [];
    return taken;
  }

  /** Resolves once nothing is under way. */
  async settled(): Promise<void> {
    await this.#round;
  }

  #warnOf(site: Site | null): void {
    for (const { message } of siteReasons(this.#context.config, site)) this.#context.log.warn(message);
  }

  #keep(changes: Partial<Extras>): void {
    this.#known = { ...this.#known, ...changes };
  }

  /** Resolves once everything is on the disk, or could not be written. */
  async #save(): Promise<void> {
    if (this.#known === this.#saved) return;
    this.#saved = this.#known;
    await this.#parts.upstream.extras.write(this.#saved);
  }

  /** The day for which is asked now. */
  #dayNow(): Day {
    const { zone, clock } = this.#context;
    return zone.dayAt(clock.now() - DAY_BEGINS_MS);
  }

  readonly #isDue = ({ get, everyDays }: Question): boolean => isDue(get(), this.#dayNow(), everyDays);

  async #askAll(questions: readonly Question[], signal: AbortSignal): Promise<void> {
    const { changed, log } = this.#context;
    for (const question of questions) if (!(await this.#ask(question, signal))) break;
    await this.#save();
    if (signal.aborted) return;
    changed(this.#account);
    this.#parts.journal.save();
    log.debug('extras asked for');
  }

  /** Never rejects. `false`: the provider has trouble, and whatever else is due waits for the next poll. */
  async #ask({ name, get, set, ask }: Question, signal: AbortSignal): Promise<boolean> {
    const { log } = this.#context;
    if (signal.aborted) return false;
    const askedOn = this.#dayNow();
    set({ ...get(), askedOn });
    // Beforehand: a reply that ends this process must not be asked for again by the next one.
    await this.#save();
    try {
      const answer = await ask(signal);
      // The broker may have answered news meanwhile.
      set({ askedOn, off: false, found: answer ?? get().found });
      return true;
    } catch (err) {
      if (signal.aborted) return false;
      if (isRefusal(err)) {
        const before = get();
        set({ ...before, off: true });
        if (!before.off)
          log.warn({ extra: name, ...safeWords(err) }, 'not given by the provider: not asked for a week');
        return true;
      }
      const why = 'not read: asked again tomorrow';
      if (err instanceof Failure) log.info({ extra: name, ...safeWords(err) }, why);
      else log.error({ extra: name, err }, why);
      return false;
    }
  }

  /** The configuration wants these, and the provider has them. */
  #questions(entities: EntityContext): readonly Question[] {
    const { provider } = this.#parts.upstream;
    const { meter_reading, balance, invoices } = this.#context.config.extras;
    const { properties } = entities;
    const questions = [...this.#site()];
    if (meter_reading && provider.register)
      // Registers of several meters are not one number.
      for (const property of properties.filter(({ meterIdentifiers }) => meterIdentifiers.length <= 1))
        questions.push(this.#register(property, properties));
    for (const name of ['balance', 'credit'] as const)
      if (balance && provider[name])
        questions.push(
          this.#single(name, DAILY, async (signal) => ({
            amount: (await provider[name]?.(entities, signal)) ?? null,
          })),
        );
    if (invoices && provider.invoices)
      questions.push(this.#single('invoices', DAILY, (signal) => this.#readInvoices(entities, signal)));
    return questions;
  }

  #single<K extends Single>(
    name: K,
    everyDays: number,
    ask: (signal: AbortSignal) => Promise<Answer<K> | null>,
  ): Question {
    return {
      name,
      everyDays,
      get: () => this.#known[name],
      set: (next) => this.#keep({ [name]: next }),
      ask,
    };
  }

  #site(): readonly Question[] {
    const { provider } = this.#parts.upstream;
    if (!this.#context.config.extras.site || !provider.site) return [];
    const question = this.#single('site', WEEKLY, async (signal) => {
      const site = (await provider.site?.(signal)) ?? null;
      if (JSON.stringify(site) !== JSON.stringify(this.#known.site.found)) this.#warnOf(site);
      return site;
    });
    return [question];
  }

  async #readInvoices(customer: EntityContext, signal: AbortSignal): Promise<Answer<'invoices'> | null> {
    const { upstream } = this.#parts;
    const now = this.#context.clock.now();
    const notFoundAt = this.#known.invoices.found?.notFoundAt ?? null;
    const answer = await upstream.provider.invoices?.({ ...customer, notFoundAt, now, signal });
    if (answer === undefined) return null;
    const { bills, invoices } = takeInvoices(this.#known.invoices.found, answer, now);
    this.#news = [...this.#news, ...bills];
    return invoices;
  }

  #register(property: Property, properties: readonly Property[]): Question {
    const { provider } = this.#parts.upstream;
    const { clock, zone } = this.#context;
    const key = registerKey(property);
    const get = () => this.#known.registers[key] ?? NEVER_ASKED;
    return {
      name: 'meter_reading',
      everyDays: DAILY,
      get,
      set: (next) =>
        this.#keep({
          registers: { ...registersOf(this.#known, properties), [key]: next as Extra<RegisterHistory> },
        }),
      ask: async (signal) => {
        const before = get().found;
        const history = before && namedReadings(before, namesOf(property)[0]);
        const question = { property, known: history, now: clock.now(), signal };
        return withReadings(history, (await provider.register?.(question)) ?? [], zone);
      },
    };
  }
}

/** Oldest first. */
const untoldOf = ({ invoices: { found } }: Extras): readonly Invoice[] =>
  found?.all.filter(({ id }) => found.untoldIds?.includes(id)).toReversed() ?? [];

/** It will be the same tomorrow. A refused access token (401) will not: that is the session's matter. */
const isRefusal = (err: unknown): boolean =>
  (err instanceof ProviderRefused && err.status !== 401) ||
  err instanceof UnexpectedReply ||
  (err instanceof Failure && err.code === 'reply_too_large');

const onlyWanted = (stored: Extras, wanted: Config['extras']): Extras => ({
  site: wanted.site ? stored.site : NO_EXTRAS.site,
  balance: wanted.balance ? stored.balance : NO_EXTRAS.balance,
  credit: wanted.balance ? stored.credit : NO_EXTRAS.credit,
  invoices: wanted.invoices ? stored.invoices : NO_EXTRAS.invoices,
  registers: wanted.meter_reading ? stored.registers : {},
});

const USUAL_CURRENCY = 'EUR';

/** The configured one, else the site's. */
export const currencyOf = ({ provider }: Config, site: Site | null): string =>
  provider?.currency ?? site?.currency ?? USUAL_CURRENCY;

/** Differences are worth a look; whether they are mistakes only a person can tell. */
export function siteReasons({ provider, usage }: Config, site: Site | null): Reason[] {
  const reasons: Reason[] = [];
  if (site?.timezone && !isSameZone(site.timezone, usage.timezone)) {
    reasons.push({
      code: 'timezone_differs',
      message: `The provider's site is in ${site.timezone}, usage.timezone is ${usage.timezone}.`,
      hint: "Days are cut in usage.timezone. Set it to the site's, unless you know better.",
    });
  }
  if (site?.currency && provider?.currency && site.currency !== provider.currency) {
    reasons.push({
      code: 'currency_differs',
      message: `The provider's site counts in ${site.currency}, provider.currency is ${provider.currency}.`,
      hint: "Leave provider.currency out to follow the site's.",
    });
  }
  return reasons;
}
