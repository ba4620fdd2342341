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
import type { PollHistory } from './pollHistory.ts';
import type { Upstream } from './upstream.ts';

interface Parts {
  readonly upstream: Upstream;
  readonly history: PollHistory;
  /** One round at a time, for all accounts. */
  readonly queue: ConcurrencyLimit;
}

/** Where an answer is kept, until it is saved. */
interface Kept<T> {
  readonly get: () => Extra<T>;
  readonly set: (next: Extra<T>) => void;
}
type Single = 'site' | 'balance' | 'credit' | 'invoices';
type Found<K extends Single> = NonNullable<Extras[K]['found']>;

/** One thing that is asked for. */
interface Step {
  readonly isDue: () => boolean;
  /** Never rejects. `false`: the provider has trouble, and whatever else is due waits for the next poll. */
  readonly ask: (signal: AbortSignal) => Promise<boolean>;
}

export type AccountExtras = Awaited<ReturnType<typeof openExtras>>;

const DAILY = 1;
const WEEKLY = 7;
// A reading of midnight is booked in the small hours: before that the answer is yesterday's.
const DAY_BEGINS_MS = 4 * 3_600_000;

export async function openExtras(
  account: string,
  { upstream, history, queue }: Parts,
  context: AccountContext,
) {
  const { config, zone, clock, log, limit, changed } = context;
  const { provider } = upstream;
  const wanted = config.extras;
  /** What is known of those that the configuration wants. */
  let known: Extras = onlyWanted((await upstream.extras.read()) ?? NO_EXTRAS, wanted);
  /** Invoices that were not known before and are not told yet, oldest first. */
  let news = untoldOf(known);
  let saved = known;
  let round: Promise<void> | null = null;

  const reasons = (): Reason[] =>
    siteReasons(config, known.site.found).map((reason) => ({ ...reason, account }));
  const warnOfSite = () => reasons().forEach(({ message }) => void log.warn(message));
  warnOfSite();

  /** The day for which is asked now. */
  const dayNow = (): Day => zone.dayAt(clock.now() - DAY_BEGINS_MS);

  function keep(changes: Partial<Extras>): void {
    const before = JSON.stringify(known.site.found);
    known = { ...known, ...changes };
    if (JSON.stringify(known.site.found) !== before) warnOfSite();
  }

  /** Resolves once everything is on the disk, or could not be written. */
  async function save(): Promise<void> {
    if (known === saved) return;
    saved = known;
    await upstream.extras.write(saved);
  }

  /** `ask`: resolves to `null` when there is nothing new. */
  function step<T>(
    name: string,
    everyDays: number,
    { get, set }: Kept<T>,
    ask: (known: T | null, signal: AbortSignal) => Promise<T | null>,
  ): Step {
    async function askNow(signal: AbortSignal): Promise<boolean> {
      const today = dayNow();
      const before = get();
      if (signal.aborted) return false;
      set({ ...before, askedOn: today });
      // Beforehand: a reply that ends this process must not be asked for again by the next one.
      await save();
      try {
        const found = await ask(before.found, signal);
        set({ askedOn: today, off: false, found: found ?? before.found });
        return true;
      } catch (err) {
        if (signal.aborted) return false;
        if (isRefusal(err)) {
          set({ ...before, askedOn: today, off: true });
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
    return { isDue: () => isDue(get(), dayNow(), everyDays), ask: askNow };
  }

  const keptAs = <K extends Single>(name: K): Kept<Found<K>> => ({
    get: () => known[name] as Extra<Found<K>>,
    set: (next) => keep({ [name]: next }),
  });

  const site = step(
    'site',
    WEEKLY,
    keptAs('site'),
    async (_, signal) => (await provider.site?.(signal)) ?? null,
  );

  const amount = (name: 'balance' | 'credit', entities: EntityContext): Step =>
    step(name, DAILY, keptAs(name), async (_, signal) => ({
      amount: (await provider[name]?.(entities, signal)) ?? null,
    }));

  const invoices = ({ personCustomerId, billingProfileIds }: EntityContext): Step =>
    step('invoices', DAILY, keptAs('invoices'), async (before, signal) => {
      const now = clock.now();
      const notFoundAt = before?.notFoundAt ?? null;
      const question = { personCustomerId, billingProfileIds, notFoundAt, now, signal };
      const found = await provider.invoices?.(question);
      if (found === undefined) return null;
      const taken = takeInvoices(before, found, now);
      news = [...news, ...taken.bills];
      return taken.invoices;
    });

  function register(property: Property, { properties }: EntityContext): Step {
    const key = registerKey(property);
    const kept: Kept<RegisterHistory> = {
      get: () => known.registers[key] ?? NEVER_ASKED,
      set: (next) => keep({ registers: { ...registersOf(known, properties), [key]: next } }),
    };
    return step('meter_reading', DAILY, kept, async (before, signal) => {
      const known = before && namedReadings(before, namesOf(property)[0]);
      const question = { property, known, now: clock.now(), signal };
      return withReadings(known, (await provider.register?.(question)) ?? [], zone);
    });
  }

  function stepsFor(entities: EntityContext): readonly Step[] {
    // Registers of several meters are not one number.
    const withOneMeter = entities.properties.filter(({ meterIdentifiers }) => meterIdentifiers.length <= 1);
    return [
      ...(wanted.site && provider.site ? [site] : []),
      ...(wanted.meter_reading && provider.register
        ? withOneMeter.map((one) => register(one, entities))
        : []),
      ...(wanted.balance && provider.balance ? [amount('balance', entities)] : []),
      ...(wanted.balance && provider.credit ? [amount('credit', entities)] : []),
      ...(wanted.invoices && provider.invoices ? [invoices(entities)] : []),
    ];
  }

  async function askAll(steps: readonly Step[], signal: AbortSignal): Promise<void> {
    const before = known;
    for (const { ask } of steps) if (!(await limit(() => ask(signal)))) break;
    await save();
    if (known !== before) {
      changed(account);
      history.save();
    }
    log.debug('extras asked for');
  }

  return {
    reasons,
    get known(): Extras {
      return known;
    },
    get currency(): string {
      return currencyOf(config, known.site.found);
    },
    register: (property: Property): RegisterHistory | null => registerOf(known, property),
    /** Its meter is another one now: the register of that one had better be known today. */
    askRegisterAgain(property: Property): void {
      const key = registerKey(property);
      const { [key]: asked, ...others } = known.registers;
      if (asked) keep({ registers: { ...others, [key]: { ...asked, askedOn: null, off: false } } });
    },
    /** Before anything is published, the currency had better be known. Never rejects. */
    async askSite(signal: AbortSignal): Promise<void> {
      if (wanted.site && provider.site && site.isDue()) await site.ask(signal);
      await save();
    },
    /** Asks in the background for what is due. */
    begin(entities: EntityContext, signal: AbortSignal): void {
      const steps = stepsFor(entities).filter((step) => step.isDue());
      if (round !== null || steps.length === 0) {
        log.debug('extras not due');
        return;
      }
      round = queue(() => askAll(steps, signal))
        .catch((err) => log.error({ err }, 'extras not asked for'))
        .finally(() => {
          round = null;
        });
    },
    /** The broker has taken the news of these invoices. */
    async told(ids: readonly string[]): Promise<void> {
      const { found } = known.invoices;
      if (!found?.untoldIds?.some((id) => ids.includes(id))) return;
      const untoldIds = found.untoldIds.filter((id) => !ids.includes(id));
      keep({ invoices: { ...known.invoices, found: { ...found, untoldIds } } });
      await save();
    },
    /** New invoices since the last call, oldest first. */
    takeNews(): readonly Invoice[] {
      const taken = news;
      news = [];
      return taken;
    },
    /** Resolves once nothing is under way. */
    async settled(): Promise<void> {
      await round;
    },
  };
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
function siteReasons({ provider, usage }: Config, site: Site | null): Reason[] {
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
