// One account: a poll of it, which reads all of its meters, and its view at this moment.
import { RefreshPlan } from '../auth/refreshPlan.ts';
import { needsAPerson } from '../domain/health.ts';
import { type Invoice, newestOf } from '../domain/invoice.ts';
import type { DaySpan } from '../domain/period.ts';
import { isClockSet } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { backOffMs } from '../foundation/retry.ts';
import { ProviderRefused } from '../provider/request.ts';
import type { AccountView, MeterView } from '../publication/views.ts';
import type { Told } from '../store/documents.ts';
import { openBills } from './bills.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import type { AccountExtras } from './extras.ts';
import type { AccountJournal } from './journal.ts';
import { tenantSince } from './ledgerBook.ts';
import type { Meter } from './meter.ts';
import { Properties, type PropertiesParts } from './properties.ts';
import type { Upstream } from './upstream.ts';

/** The outcome of the poll of one account. Properties that could be read are read, whatever happens to the others. */
export interface AccountOutcome {
  readonly account: string;
  readonly events: readonly MeterEvent[];
  /** The first thing that went wrong, or `null`. */
  readonly fault: unknown;
}

/** One poll of an account. */
interface Round {
  readonly signal: AbortSignal;
  readonly again: DaySpan | undefined;
  /** The meters that it has read. */
  readonly read: Set<Meter>;
  readonly events: MeterEvent[];
}

const NOTHING_TOLD: Told = { needsPerson: false, late: {}, use: {} };
const NO_INVOICES: readonly Invoice[] = [];

const clockNotSet = (message: string, hint = 'Check its time service (NTP).') =>
  failure('clock_not_set', message, { exit: EXIT.unexpected, retry: 'soon', hint });

export class Account {
  readonly id: string;
  readonly upstream: Upstream;
  readonly refreshPlan: RefreshPlan;
  readonly journal: AccountJournal;
  readonly extras: AccountExtras;
  readonly properties: Properties;
  /** The facts that its events have told. */
  told: Told;
  /** Its last poll needed a person, as it is known from before it was opened. */
  hasToSignIn = false;
  readonly #context: AccountContext;
  readonly #billsIn: ReturnType<typeof openBills>;

  private constructor(
    properties: Properties,
    { upstream, journal, extras }: PropertiesParts,
    context: AccountContext,
  ) {
    this.id = properties.account;
    this.upstream = upstream;
    const { session } = upstream;
    this.refreshPlan = new RefreshPlan({ ...context, account: this.id, session, journal });
    this.journal = journal;
    this.told = journal.record.told ?? NOTHING_TOLD;
    this.extras = extras;
    this.properties = properties;
    this.#context = context;
    this.#billsIn = openBills(context.zone);
  }

  static async open(id: string, parts: PropertiesParts, context: AccountContext): Promise<Account> {
    return new Account(await Properties.open(id, parts, context), parts, context);
  }

  /** `null` until the properties are known. */
  get meters(): readonly Meter[] | null {
    return this.properties.meters;
  }

  /** Its history is being read for the first time, or its meters are not known yet. */
  get isIncomplete(): boolean {
    return this.meters?.some(({ ledger }) => !ledger.complete) ?? true;
  }

  /** Never rejects. `again`: those days instead of what is due. */
  async poll(signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
    const round: Round = { signal, again, read: new Set(), events: [] };
    this.properties.beginPoll();
    const fault = await this.#attempt(round).catch((err: unknown) => err);
    this.properties.endPoll();
    const { listed, meters } = this.properties;
    // A stop in the middle of a poll says nothing about the provider.
    if (!signal.aborted && fault === null && listed !== null && meters !== null)
      this.extras.begin({ ...listed, properties: meters.map(({ property }) => property) }, signal);
    return { account: this.id, events: round.events, fault };
  }

  /** Resolves to the first thing that went wrong with a meter, or to `null`. */
  async #attempt(round: Round): Promise<unknown> {
    const { properties, journal } = this;
    const { log } = this.#context;
    this.#checkClock();
    if (properties.meters === null) {
      await properties.discover(round.signal);
      await properties.takeOver();
      return (await this.#pollMeters(round))[0] ?? null;
    }
    await properties.takeOver();
    await this.#signInIfNeeded(round.signal);
    let faults = await this.#pollMeters(round);
    if (faults.some(isRefusal) && journal.tryOnceADay('rediscoveredAt')) {
      log.info('the provider refuses a known property: discovering again');
      await properties.discover(round.signal);
      faults = await this.#pollMeters(round);
      // It helped: the next refusal is a new one.
      if (faults.length === 0) journal.note({ rediscoveredAt: null });
    }
    if (faults.length === 0 && properties.areDoubtful && journal.tryOnceADay('searchedAt')) {
      await this.#lookForMore(round.signal);
      faults = await this.#pollMeters(round);
    }
    return faults[0] ?? null;
  }

  /** Throws clock_not_set. Days that are read by a wrong clock may begin and end wrong. */
  #checkClock(): void {
    const { clock, zone, config } = this.#context;
    const now = clock.now();
    if (!isClockSet(now)) throw clockNotSet('The clock of this machine is not set yet.');
    const today = zone.dayAt(now);
    const since = tenantSince(this.id, config) ?? config.usage.history_since ?? today;
    if (since > today)
      throw clockNotSet(
        `The clock of this machine is behind, or history_since is wrong: today is ${today}, and the history begins on ${since}.`,
        'Check its time service (NTP), and history_since.',
      );
  }

  async #lookForMore(signal: AbortSignal): Promise<void> {
    await this.properties.discover(signal, true).catch((err) => {
      // A stop in the middle of it says nothing about the provider.
      if (!signal.aborted) this.#context.log.warn(safeWords(err), 'new properties could not be looked for');
    });
  }

  /** While others read its meters, no request of its own would show that it is signed in again. */
  async #signInIfNeeded(signal: AbortSignal): Promise<void> {
    const { session } = this.upstream;
    const isUsable = () => !session.isSuspended && !needsAPerson(session.status().state);
    if (!this.hasToSignIn && isUsable()) return;
    await this.upstream.signIn(signal);
    // An access token that still serves reads its meters, whatever its last refresh came to.
    if (this.meters?.length === 0 && !isUsable() && session.fault !== null) throw session.fault;
  }

  /** Its meters that the round has not read. Resolves to what went wrong. */
  async #pollMeters({ signal, again, read, events }: Round): Promise<readonly unknown[]> {
    const faults: unknown[] = [];
    for (const meter of (this.meters ?? []).filter((meter) => !read.has(meter))) {
      try {
        const changes = await meter.poll(this.upstream.provider, signal, again);
        read.add(meter);
        events.push(...changes.map((change) => ({ meter: meter.name, change })));
      } catch (err) {
        faults.push(err);
        // Whatever is not about this one property will not go better with the next.
        if (!(err instanceof ProviderRefused)) break;
      }
    }
    return faults;
  }

  view(): AccountView {
    const { zone, clock, config } = this.#context;
    const { requests, logins } = this.journal.today();
    const { balance, credit, invoices } = this.extras.known;
    const bills = invoices.found?.all ?? NO_INVOICES;
    const today = zone.dayAt(clock.now());
    return {
      ...this.#billsIn(bills, this.properties.billed(), today),
      account: this.id,
      auth: this.upstream.session.status(),
      zone,
      today,
      currency: this.extras.currency,
      balance: balance.found,
      credit: credit.found,
      invoices: invoices.found,
      newestInvoice: newestOf(bills, clock.now()),
      asked: config.extras,
      statement: config.statement,
      requestsToday: requests,
      loginsToday: logins,
    };
  }

  /** The meters whose history is complete. */
  meterViews(): MeterView[] {
    return this.meters?.flatMap((meter) => meter.view() ?? []) ?? [];
  }

  /** Milliseconds after a failed poll until the next try; `null`: waiting would not help. `failures`: in a row, this one included. */
  retryDelayMs(fault: unknown, failures: number): number | null {
    const { clock, random } = this.#context;
    if (!(fault instanceof Failure) || fault.retry !== 'never') return backOffMs(fault, failures, random);
    const { nextAttemptAt } = this.upstream.session.status();
    return nextAttemptAt === null ? null : Math.max(0, nextAttemptAt - clock.now());
  }

  /** Resolves once nothing is under way, and everything is on the disk. */
  async settled(): Promise<void> {
    await this.extras.settled();
    await this.journal.saved();
  }
}

const isRefusal = (err: unknown): boolean =>
  err instanceof ProviderRefused && [403, 404].includes(err.status);
