// One account: its properties, discovered once and kept, and one poll over all of its meters.
import { needsAPerson } from '../domain/health.ts';
import type { BillChecks } from '../domain/insight/bill.ts';
import type { BillForecast } from '../domain/insight/nextBill.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Day, DaySpan } from '../domain/period.ts';
import { isSameProperty, type Property, seriesName, withFound } from '../domain/reading.ts';
import { cannotRead, type Standing } from '../domain/sharedMeter.ts';
import { isClockSet } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { backOffMs } from '../foundation/retry.ts';
import { ProviderRefused } from '../provider/request.ts';
import type { Told } from '../store/documents.ts';
import { Bills } from './bills.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import type { AccountExtras } from './extras.ts';
import type { Meter } from './meter.ts';
import type { SeriesNames } from './names.ts';
import { OwnMeters } from './ownMeters.ts';
import type { PollHistory } from './pollHistory.ts';
import type { Upstream } from './upstream.ts';

export interface AccountParts {
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** Shared by all accounts. */
  readonly names: SeriesNames;
  /** All accounts, in the order of the configuration. */
  readonly all: readonly Account[];
  /** To be called with each meter that is opened: its history may be kept elsewhere, such as on the broker. */
  readonly restore: (meter: Meter) => Promise<void>;
}

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

const DAY_MS = 24 * 3_600_000;
const NOTHING_TOLD: Told = { needsPerson: false, late: {}, use: {} };
const DISCOVERY_IS_OLD_MS = 7 * DAY_MS;
// A day that is booked late is no exchange yet.
const REGISTER_IS_SILENT_MS = 2 * DAY_MS;
const NO_INVOICES: readonly Invoice[] = [];

const clockNotSet = () =>
  failure('clock_not_set', 'The clock of this machine is not set yet.', {
    exit: EXIT.unexpected,
    retry: 'soon',
    hint: 'Check its time service (NTP).',
  });

export class Account {
  readonly id: string;
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** The facts that its events have told. */
  told: Told;
  /** Its last poll needed a person, as it is known from before it was opened. */
  hasToSignIn = false;
  readonly own: OwnMeters;
  readonly #context: AccountContext;
  readonly #all: readonly Account[];
  readonly #bills: Bills;
  isPolling = false;

  private constructor(id: string, parts: AccountParts, context: AccountContext) {
    const { upstream, history, extras, all } = parts;
    this.id = id;
    this.upstream = upstream;
    this.history = history;
    this.told = history.record.told ?? NOTHING_TOLD;
    this.extras = extras;
    this.own = new OwnMeters(id, parts, context);
    this.#all = all;
    this.#context = context;
    const invoices = () => extras.known.invoices.found?.all ?? NO_INVOICES;
    this.#bills = new Bills(invoices, () => this.own.billed(), context.zone);
  }

  /** Reads what the disk has of its properties; `own.open` follows, for all accounts. */
  static async open(id: string, parts: AccountParts, context: AccountContext): Promise<Account> {
    const account = new Account(id, parts, context);
    const stored = await parts.upstream.context.read();
    if (stored !== null) await account.own.know(stored);
    return account;
  }

  /** `null` until the properties are known. */
  get meters(): readonly Meter[] | null {
    return this.own.meters;
  }

  /** Its sign-in is not suspended, and needs no person. */
  get isUsable(): boolean {
    const { session } = this.upstream;
    return !session.isSuspended && !needsAPerson(session.status().state);
  }

  get standing(): Standing {
    const { failingSince } = this.history.record;
    return { failingSince, needsPerson: needsAPerson(this.upstream.session.status().state) };
  }

  /** Never rejects. `again`: those days instead of what is due. */
  async poll(signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
    const round: Round = { signal, again, read: new Set(), events: [] };
    this.isPolling = true;
    const fault = await this.#attempt(round)
      .catch((err: unknown) => err)
      .finally(() => {
        this.isPolling = false;
      });
    const { entities, meters } = this.own;
    // A stop in the middle of a poll says nothing about the provider.
    if (!signal.aborted && fault === null && entities !== null && meters !== null) {
      const properties = meters.map(({ property }) => property);
      this.extras.begin({ ...entities, properties }, signal);
    }
    return { account: this.id, events: round.events, fault };
  }

  /** Resolves to the first thing that went wrong with a meter, or to `null`. */
  async #attempt(round: Round): Promise<unknown> {
    if (!isClockSet(this.#context.clock.now())) throw clockNotSet();
    const isKnown = this.meters !== null;
    if (!isKnown) await this.#discover(round.signal);
    // Of two that cannot, neither takes from the other.
    if (!cannotRead(this.standing, this.#context.clock.now())) await this.own.takeOver();
    if (isKnown && (this.hasToSignIn || !this.isUsable)) await this.#signIn();
    let faults = await this.#pollMeters(round);
    if (isKnown && faults.some(isRefusal) && this.history.tryOnceADay('rediscoveredAt')) {
      this.#context.log.info('the provider refuses a known property: discovering again');
      await this.#discover(round.signal);
      faults = await this.#pollMeters(round);
      // It helped: the next refusal is a new one.
      if (faults.length === 0) this.history.allowAgain('rediscoveredAt');
    }
    const isToSearch = this.#isDiscoveryOld() || this.#isSomeRegisterSilent();
    if (isKnown && faults.length === 0 && isToSearch && this.history.tryOnceADay('searchedAt')) {
      await this.#lookForMore(round.signal);
      faults = await this.#pollMeters(round);
    }
    return faults[0] ?? null;
  }

  #isDiscoveryOld(): boolean {
    const { discoveredAt } = this.history.record;
    // A clock that was far ahead must not put it off for long.
    return discoveredAt === null || Math.abs(this.#context.clock.now() - discoveredAt) >= DISCOVERY_IS_OLD_MS;
  }

  /** While days go on, a register that stands still hints at an exchange. It is looked into once. */
  #isSomeRegisterSilent(): boolean {
    const { discoveredAt } = this.history.record;
    return (this.meters ?? []).some((meter) => {
      const { property } = meter;
      const register = this.extras.register(property);
      const readingAt = meter.reading()?.readingAt ?? null;
      if (register === null || readingAt === null) return false;
      const silentSince = register.readAt + REGISTER_IS_SILENT_MS;
      // Earlier versions looked, and kept the meter that they knew.
      const isLookedInto = (discoveredAt ?? 0) > silentSince && property.namedAfter !== undefined;
      return readingAt > silentSince && !isLookedInto;
    });
  }

  /** Properties may have appeared since the last discovery. */
  async #lookForMore(signal: AbortSignal): Promise<void> {
    const kept = (this.meters ?? []).map(({ property }) => property);
    await this.#discover(signal, kept).catch((err) => {
      // A stop in the middle of it says nothing about the provider.
      if (!signal.aborted) this.#context.log.warn(safeWords(err), 'new properties could not be looked for');
    });
  }

  /** While others read its meters, no request of its own would show that it is signed in again. */
  async #signIn(): Promise<void> {
    const { session } = this.upstream;
    await session.accessToken();
    // An access token that still serves reads its meters, whatever its last refresh came to.
    if (this.meters?.length === 0 && !this.isUsable && session.fault !== null) throw session.fault;
  }

  /** Its meters that the round has not read. Resolves to what went wrong. */
  async #pollMeters({ signal, again, read, events }: Round): Promise<readonly unknown[]> {
    const faults: unknown[] = [];
    for (const meter of (this.meters ?? []).filter((one) => !read.has(one))) {
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

  /** `kept`: those that stay though the provider leaves them out. */
  async #discover(signal: AbortSignal, kept: readonly Property[] = []): Promise<void> {
    const listed = await this.upstream.provider.discover(signal);
    this.history.noteDiscovery();
    const before = this.own.entities?.properties ?? [];
    const elsewhere = this.#all.flatMap((one) => one.meters ?? []).map(({ property }) => property);
    const found = { ...listed, properties: withFound(before, listed.properties, kept, elsewhere) };
    this.#context.log.info({ properties: found.properties.length }, 'heat meters found');
    await this.upstream.context.write(found);
    this.#noteExchanges(before, found.properties);
    await this.extras.askSite(signal);
    await this.own.take(found);
    this.#context.changed(this.id);
  }

  #noteExchanges(before: readonly Property[], now: readonly Property[]): void {
    for (const property of now) {
      const known = before.find((one) => isSameProperty(one, property));
      if (!known || String(known.meterIdentifiers) === String(property.meterIdentifiers)) continue;
      const about = {
        meter: seriesName(property),
        was: known.meterIdentifiers,
        is: property.meterIdentifiers,
      };
      this.#context.log.info(about, 'other heat meters are at the property now');
      this.extras.askRegisterAgain(property);
    }
  }

  /** Its bills against the days of its meters, by the id of the invoice. */
  checks(): BillChecks {
    return this.#bills.checks();
  }

  nextBill(today: Day): BillForecast | null {
    return this.#bills.next(today);
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
    await this.history.saved();
  }
}

const isRefusal = (err: unknown): boolean =>
  err instanceof ProviderRefused && [403, 404].includes(err.status);
