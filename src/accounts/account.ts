// One account: its properties, discovered once and kept, and one poll over all of its meters.
import { needsAPerson } from '../domain/health.ts';
import type { BillChecks } from '../domain/insight/bill.ts';
import type { BillForecast } from '../domain/insight/nextBill.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Day, DaySpan } from '../domain/period.ts';
import { type EntityContext, type Property, seriesName, withFound } from '../domain/reading.ts';
import { isClockSet } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { backOffMs } from '../foundation/retry.ts';
import { ProviderRefused } from '../provider/request.ts';
import { ledgerCodec } from '../store/ledgerDocument.ts';
import { Bills } from './bills.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import type { AccountExtras } from './extras.ts';
import { type Meter, openMeter } from './meter.ts';
import { ledgerFile, type SeriesNames } from './names.ts';
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

/** What came of the poll of one account. Properties that could be read are read, whatever happens to the others. */
export interface AccountOutcome {
  readonly account: string;
  readonly events: readonly MeterEvent[];
  /** The first thing that went wrong, or `null`. */
  readonly fault: unknown;
}

/** What events have told so far: what is known already is no news. JSON, so that it may outlive one opening of the account. */
export interface Told {
  /** A refresh has told that a person is needed, and no poll has told that this is over. */
  readonly needsPerson: boolean;
  /** The keys are meters. */
  readonly late: Readonly<Record<string, boolean>>;
  /** The newest day whose use was judged, by meter, and in which direction it was unusual. */
  readonly use: Readonly<Record<string, { readonly day: Day; readonly direction: string | null }>>;
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
const DISCOVERY_IS_OLD_MS = 7 * DAY_MS;
/** After so long without a good poll, another account that has the same meter reads it. */
const STUCK_AFTER_MS = DAY_MS;
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
  /** What events have told of it. */
  told: Told = { needsPerson: false, late: {}, use: {} };
  /** Its last poll needed a person, as it is known from before it was opened. */
  hasToSignIn = false;
  readonly #parts: AccountParts;
  readonly #context: AccountContext;
  readonly #bills: Bills;
  /** `null` until the properties are known. */
  #meters: readonly Meter[] | null = null;
  #entities: EntityContext | null = null;
  #isPolling = false;

  private constructor(id: string, parts: AccountParts, context: AccountContext) {
    this.id = id;
    this.upstream = parts.upstream;
    this.history = parts.history;
    this.extras = parts.extras;
    this.#parts = parts;
    this.#context = context;
    const invoices = () => parts.extras.known.invoices.found?.all ?? NO_INVOICES;
    this.#bills = new Bills(invoices, () => this.#billedMeters(), context.zone);
  }

  /** Reads what the disk has of its properties, and claims those whose ledger it has; `openKnownMeters` follows, for all accounts. */
  static async open(id: string, parts: AccountParts, context: AccountContext): Promise<Account> {
    const account = new Account(id, parts, context);
    const stored = await parts.upstream.context.read();
    if (stored === null) return account;
    const entities = await account.#claimed(stored);
    account.#entities = entities;
    const files = await context.state.list(`accounts/${id}`);
    const hasLedger = (property: Property) => {
      const path = ledgerFile(id, property);
      return files.some((file) => path.endsWith(`/${file}`));
    };
    for (const property of entities.properties.filter(hasLedger)) parts.names.ownerOf(property, id);
    return account;
  }

  get meters(): readonly Meter[] | null {
    return this.#meters;
  }

  /** Its sign-in is not suspended, and needs no person. */
  get isUsable(): boolean {
    const { session } = this.upstream;
    return !session.isSuspended && !needsAPerson(session.status().state);
  }

  /** Waiting for it would leave its meters unread: another account that has them takes them over. */
  get isStuck(): boolean {
    const { failingSince } = this.history.record;
    const isFailingForLong =
      failingSince !== null && this.#context.clock.now() - failingSince >= STUCK_AFTER_MS;
    return isFailingForLong || needsAPerson(this.upstream.session.status().state);
  }

  /** What is left to this account, where other processes read as well. */
  async #claimed(entities: EntityContext): Promise<EntityContext> {
    return { ...entities, properties: await this.#parts.names.claim(entities.properties) };
  }

  /** Properties whose ledgers other accounts of the configuration keep. */
  #duplicates(): readonly Property[] {
    const isOwn = (property: Property) => this.#meters?.some((meter) => isOf(meter, property)) ?? true;
    return (this.#entities?.properties ?? []).filter((property) => !isOwn(property));
  }

  #ownerOf(property: Property): Account | undefined {
    const owner = this.#parts.names.ownerOf(property, this.id);
    return this.#parts.all.find((one) => one.id === owner);
  }

  /** The meters of other accounts that it has too. */
  sharedMeters(): Meter[] {
    return this.#duplicates().flatMap(
      (property) => this.#ownerOf(property)?.meters?.find((meter) => isOf(meter, property)) ?? [],
    );
  }

  /** Never rejects. `again`: those days instead of what is due. */
  async poll(signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
    const round: Round = { signal, again, read: new Set(), events: [] };
    this.#isPolling = true;
    const fault = await this.#attempt(round)
      .catch((err: unknown) => err)
      .finally(() => {
        this.#isPolling = false;
      });
    const entities = this.#entities;
    // A stop in the middle of a poll says nothing about the provider.
    if (!signal.aborted && fault === null && entities !== null && this.#meters !== null) {
      const properties = this.#meters.map(({ property }) => property);
      this.extras.begin({ ...entities, properties }, signal);
    }
    return { account: this.id, events: round.events, fault };
  }

  /** Resolves to the first thing that went wrong with a meter, or to `null`. */
  async #attempt(round: Round): Promise<unknown> {
    if (!isClockSet(this.#context.clock.now())) throw clockNotSet();
    const isKnown = this.#meters !== null;
    if (!isKnown) await this.#discover(round.signal);
    await this.#takeOver();
    if (isKnown && (this.hasToSignIn || !this.isUsable)) await this.#signIn();
    let faults = await this.#pollMeters(round);
    if (isKnown && faults.some(isRefusal) && this.history.tryOnceADay('rediscoveredAt')) {
      this.#context.log.info('the provider refuses a known property: discovering again');
      await this.#discover(round.signal);
      faults = await this.#pollMeters(round);
      // It helped: the next refusal is a new one.
      if (faults.length === 0) this.history.allowAgain('rediscoveredAt');
    }
    if (isKnown && faults.length === 0 && this.#isDiscoveryOld() && this.history.tryOnceADay('searchedAt')) {
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

  /** Properties may have appeared since the last discovery. */
  async #lookForMore(signal: AbortSignal): Promise<void> {
    const properties = (this.#meters ?? []).map(({ property }) => property);
    await this.#discover(signal, properties).catch((err) =>
      this.#context.log.warn(safeWords(err), 'new properties could not be looked for'),
    );
  }

  /** While others read its meters, no request of its own would show that it is signed in again. */
  async #signIn(): Promise<void> {
    const { session } = this.upstream;
    await session.accessToken();
    // An access token that still serves reads its meters, whatever its last refresh came to.
    if (this.#meters?.length === 0 && !this.isUsable && session.fault !== null) throw session.fault;
  }

  /** Its meters that the round has not read. Resolves to what went wrong. */
  async #pollMeters({ signal, again, read, events }: Round): Promise<readonly unknown[]> {
    const faults: unknown[] = [];
    for (const meter of (this.#meters ?? []).filter((one) => !read.has(one))) {
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

  async #discover(signal: AbortSignal, before: readonly Property[] = []): Promise<void> {
    const listed = await this.upstream.provider.discover(signal);
    this.history.noteDiscovery();
    const found = { ...listed, properties: withFound(before, listed.properties) };
    this.#context.log.info({ properties: found.properties.length }, 'heat meters found');
    await this.upstream.context.write(found);
    await this.extras.askSite(signal);
    const next = await this.#claimed(found);
    this.#meters = await this.#openMeters(next);
    this.#entities = next;
    this.#context.changed(this.id);
  }

  /** Meters, with their ledgers, of accounts that cannot read them. */
  async #takeOver(): Promise<void> {
    const { names } = this.#parts;
    const { state, log, changed } = this.#context;
    for (const property of this.#duplicates()) {
      const owner = this.#ownerOf(property);
      if (!owner?.isStuck || owner.#isPolling) continue;
      const meter = owner.#give(property);
      // On disk here before it goes there: a crash in between leaves it with its owner.
      if (meter)
        await state.document(ledgerFile(this.id, property), ledgerCodec).write(meter.store.toDocument());
      names.give(property, this.id);
      await this.openKnownMeters();
      await state.document(ledgerFile(owner.id, property), ledgerCodec).remove();
      log.info({ meter: seriesName(property), from: owner.id }, 'took over the meter of another account');
      changed(owner.id);
      changed(this.id);
    }
  }

  /** It has the meter no longer. */
  #give(property: Property): Meter | undefined {
    const meter = this.#meters?.find((one) => isOf(one, property));
    this.#meters = this.#meters?.filter((one) => one !== meter) ?? null;
    return meter;
  }

  async openKnownMeters(): Promise<void> {
    if (this.#entities !== null) this.#meters = await this.#openMeters(this.#entities);
  }

  async #openMeters({ properties }: EntityContext): Promise<Meter[]> {
    const { names } = this.#parts;
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (this.#meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) names.release(property);
    const opened: Meter[] = [];
    for (const property of properties) {
      const owner = names.ownerOf(property, this.id);
      if (owner !== this.id) {
        this.#context.log.warn(
          { meter: seriesName(property), otherAccount: owner },
          'another account has this meter already',
        );
        continue;
      }
      const name = names.nameOf(property);
      const before = this.#meters?.find((meter) => meter.name === name && isSame(meter.property, property));
      // A property that is gone and had this name: its series goes on.
      const predecessor = gone.find((meter) => meter.name === name);
      opened.push(before ?? (await this.#openOne(property, name, predecessor)));
    }
    return opened;
  }

  async #openOne(property: Property, name: string, predecessor?: Meter): Promise<Meter> {
    const { extras, history } = this;
    const fromAccount = () => ({
      currency: extras.currency,
      register: extras.register(property),
      lastSuccessAt: history.record.lastSuccessAt,
    });
    const meter = await openMeter({ account: this.id, property, name }, fromAccount, this.#context);
    if (predecessor?.ledger.complete) await meter.store.restore(predecessor.store.history);
    await this.#parts.restore(meter);
    return meter;
  }

  /** All its meters: the bills are about those that another account reads as well. None while one is not complete. */
  #billedMeters(): readonly Meter[] {
    const own = this.#meters ?? [];
    const both = [...own, ...this.sharedMeters()];
    const areKnown = both.length === own.length + this.#duplicates().length;
    return areKnown && both.every(({ isComplete }) => isComplete) ? both : [];
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

const isOf = ({ property }: Meter, { propertyCustomerId }: Property): boolean =>
  property.propertyCustomerId === propertyCustomerId;
const isSame = (one: Property, other: Property): boolean => JSON.stringify(one) === JSON.stringify(other);
const isRefusal = (err: unknown): boolean =>
  err instanceof ProviderRefused && [403, 404].includes(err.status);
