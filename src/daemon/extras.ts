// What an account has beside its usage: register, balance, invoices and site, asked for at most once a day, after a
// poll that went well, and never in its way.
import type { Config } from '../config/schema.ts';
import {
  type Balance,
  type Extra,
  type Extras,
  NEVER_ASKED,
  NO_EXTRAS,
  registerKey,
  registersOf,
  takeInvoices,
} from '../domain/extras.ts';
import type { Reason } from '../domain/health.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Day } from '../domain/period.ts';
import type { Property, Register } from '../domain/reading.ts';
import type { EntityContext } from '../provider/discovery.ts';
import { askIfDue, type ExtraQuestion, type QuestionParts, questionDay } from './extraQuestion.ts';
import { currencyOf, siteReasons } from './siteCheck.ts';
import type { Upstream } from './upstream.ts';

export interface AccountExtras {
  /** What is known of those that the configuration wants. */
  readonly known: Extras;
  readonly currency: string;
  register(property: Property): Register | null;
  reasons(): Reason[];
  /** The currency had better be known before anything is published. Never rejects. */
  askSite(signal: AbortSignal): Promise<void>;
  /** Asks for what is due, in its turn. */
  begin(context: EntityContext, signal: AbortSignal): void;
  /** Resolves once nothing is under way. */
  settled(): Promise<void>;
}

export interface ExtrasParts extends QuestionParts {
  readonly config: Config;
  readonly account: string;
  readonly upstream: Upstream;
  /** Runs it when nothing else of its kind is under way in the house. */
  readonly inTurn: (step: () => Promise<void>) => Promise<void>;
  /** Called when something may be known that was not. */
  readonly onFound: () => void;
  readonly onBills: (bills: readonly Invoice[]) => void;
  /** Called after each round in which something was asked. */
  readonly onAsked: () => void;
}

const DAILY = 1;
const WEEKLY = 7;

export async function openExtras(parts: ExtrasParts): Promise<AccountExtras> {
  const { config, upstream, clock, log } = parts;
  const client = upstream.modestClient;
  const wanted = config.extras;
  let kept = wantedOf((await upstream.extras.read()) ?? NO_EXTRAS, wanted);
  let flight: Promise<void> | null = null;
  let warned = '';
  /** Nothing more is due for these properties on this day. */
  let done: { readonly context: EntityContext; readonly day: Day } | null = null;
  warnOfSite();

  async function keep(changes: Partial<Extras>): Promise<void> {
    kept = { ...kept, ...changes };
    await upstream.extras.write(kept).catch((err) => log.error({ err }, 'extras could not be saved'));
  }

  function question<K extends 'site' | 'balance' | 'credit' | 'invoices'>(
    extra: K,
    everyDays: number,
    ask: ExtraQuestion<NonNullable<Extras[K]['found']>>['ask'],
  ) {
    return {
      extra,
      everyDays,
      get: () => kept[extra] as Extra<NonNullable<Extras[K]['found']>>,
      set: (next: Extra<NonNullable<Extras[K]['found']>>) => keep({ [extra]: next }),
      ask,
    };
  }

  const site = question('site', WEEKLY, (_, signal) => client.site(signal));

  const amount = (extra: 'balance' | 'credit', context: EntityContext) =>
    question(
      extra,
      DAILY,
      async (_, signal): Promise<Balance> => ({
        amount: await client[extra](context, signal),
      }),
    );

  const invoices = ({ personCustomerId, billingProfileIds }: EntityContext, bills: Invoice[]) =>
    question('invoices', DAILY, async (known, signal) => {
      const read = new Map<string, readonly Invoice[]>();
      for (const billingProfileId of billingProfileIds.length > 0 ? billingProfileIds : [null]) {
        const asked = { personCustomerId, billingProfileId, now: clock.now(), signal };
        read.set(billingProfileId ?? '', await client.invoices(asked));
      }
      const taken = takeInvoices(known, read, clock.now());
      bills.push(...taken.bills);
      return taken.invoices;
    });

  const register = (property: Property, context: EntityContext): ExtraQuestion<Register> => ({
    extra: 'meter_reading',
    everyDays: DAILY,
    get: () => kept.registers[registerKey(property)] ?? NEVER_ASKED,
    set: (next) =>
      keep({ registers: { ...registersOf(kept, context.properties), [registerKey(property)]: next } }),
    ask: (known, signal) =>
      client.register({ property, knownReadAt: known?.readAt ?? null, now: clock.now(), signal }),
  });

  /** Resolves to whether the provider can be asked for more. */
  const ask = <T>(one: ExtraQuestion<T>, signal: AbortSignal) => askIfDue(one, parts, signal);

  async function round(context: EntityContext, signal: AbortSignal): Promise<void> {
    const before = kept;
    const day = questionDay(parts.zone, clock);
    const bills: Invoice[] = [];
    const steps = [
      ...(wanted.site ? [() => ask(site, signal)] : []),
      ...(wanted.meter_reading
        ? ofOneMeter(context).map((one) => () => ask(register(one, context), signal))
        : []),
      ...(wanted.balance ? [() => ask(amount('balance', context), signal)] : []),
      ...(wanted.balance ? [() => ask(amount('credit', context), signal)] : []),
      ...(wanted.invoices ? [() => ask(invoices(context, bills), signal)] : []),
    ];
    let isWhole = true;
    for (const step of steps) {
      isWhole = await step();
      if (!isWhole) break;
    }
    if (isWhole) done = { context, day };
    warnOfSite();
    if (kept !== before) {
      parts.onFound();
      if (bills.length > 0) parts.onBills(bills);
      parts.onAsked();
    }
    log.debug({ asked: kept !== before }, 'extras asked for');
  }

  function warnOfSite(): void {
    const reasons = siteReasons(config, kept.site.found);
    const said = JSON.stringify(reasons);
    if (said === warned) return;
    warned = said;
    for (const { message } of reasons) log.warn(message);
  }

  return {
    get known() {
      return kept;
    },
    get currency() {
      return currencyOf(config, kept.site.found);
    },
    register: (property) => kept.registers[registerKey(property)]?.found ?? null,
    reasons: () =>
      siteReasons(config, kept.site.found).map((reason) => ({ ...reason, account: parts.account })),
    async askSite(signal) {
      if (wanted.site) await ask(site, signal);
      warnOfSite();
    },
    begin(context, signal) {
      if (flight !== null) {
        log.debug('extras still being asked for');
        return;
      }
      if (done?.context === context && done.day === questionDay(parts.zone, clock)) {
        log.debug('extras not due');
        return;
      }
      flight = parts
        .inTurn(() => round(context, signal))
        .finally(() => {
          flight = null;
        });
    },
    settled: async () => flight ?? undefined,
  };
}

/** Registers of several meters are not one number. */
const ofOneMeter = ({ properties }: EntityContext): readonly Property[] =>
  properties.filter(({ meterIdentifiers }) => meterIdentifiers.length <= 1);

const wantedOf = (stored: Extras, wanted: Config['extras']): Extras => ({
  site: wanted.site ? stored.site : NO_EXTRAS.site,
  balance: wanted.balance ? stored.balance : NO_EXTRAS.balance,
  credit: wanted.balance ? stored.credit : NO_EXTRAS.credit,
  invoices: wanted.invoices ? stored.invoices : NO_EXTRAS.invoices,
  registers: wanted.meter_reading ? stored.registers : {},
});
