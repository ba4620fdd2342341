// One account: its properties, discovered once and kept, and one poll over all of them.
import { needsAPerson } from '../domain/health.ts';
import { type BillChecks, billJudge } from '../domain/insight/bill.ts';
import { type BillForecast, forecastBill, nextBillSpan } from '../domain/insight/billForecast.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Day, DaySpan } from '../domain/period.ts';
import { type EntityContext, type Property, seriesName, withFound } from '../domain/reading.ts';
import { isClockSet } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { backOffMs } from '../foundation/retry.ts';
import { ProviderRefused } from '../provider/request.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import type { AccountExtras } from './extras.ts';
import { Meter } from './meter.ts';
import { withLedger } from './meterLedger.ts';
import type { SeriesNames } from './names.ts';
import type { PollHistory } from './pollHistory.ts';
import type { Upstream } from './upstream.ts';

interface Parts {
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** Shared by all accounts. */
  readonly names: SeriesNames<Account>;
  /** All accounts, in the order of the configuration. */
  readonly all: readonly Account[];
  /** To be called with each meter that is opened: its history may be kept elsewhere, such as on the broker. */
  readonly restore: (meter: Meter) => Promise<void>;
}

/** A property whose ledger another account of the configuration keeps. */
interface Duplicate {
  readonly property: Property;
  readonly owner: Account;
}

/** What came of the poll of one account. Properties that could be read are read, whatever happens to the others. */
export interface AccountOutcome {
  readonly account: string;
  readonly events: readonly MeterEvent[];
  /** The first thing that went wrong, or `null`. */
  readonly fault: unknown;
  /** After a fault: what it was to read and has not read. */
  readonly unread: readonly Meter[];
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
  readonly chosen: readonly Meter[];
  /** What was known of its own meters when it began. */
  readonly before: readonly Meter[];
  readonly read: Set<Meter>;
  readonly events: MeterEvent[];
}

const DAY_MS = 24 * 3_600_000;
const DISCOVERY_IS_OLD_MS = 7 * DAY_MS;
const LONGEST_WAIT_MS = 3_000;
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
  /** `null` until the properties are known. */
  meters: readonly Meter[] | null = null;
  /** What this account has besides its meters. */
  duplicates: readonly Duplicate[] = [];
  readonly #parts: Parts;
  readonly #context: AccountContext;
  readonly #judge = billJudge();
  #entities: EntityContext | null = null;
  /** Its properties but the duplicates. */
  #ownEntities: EntityContext | null = null;
  #discovery: Promise<unknown> | null = null;

  /** What the disk has of it is opened by the three steps that follow, each of them for all accounts. */
  constructor(id: string, parts: Parts, context: AccountContext) {
    this.id = id;
    this.upstream = parts.upstream;
    this.history = parts.history;
    this.extras = parts.extras;
    this.#parts = parts;
    this.#context = context;
  }

  async readContext(): Promise<void> {
    const known = await this.upstream.context.read();
    if (known !== null) this.#entities = await this.#claimed(known);
  }

  async claimWhatItHasRead(): Promise<void> {
    const properties = this.#entities?.properties ?? [];
    for (const property of await withLedger(this.#context.state, this.id, properties))
      this.#parts.names.ownerOf(property, this);
  }

  async openKnownMeters(): Promise<void> {
    if (this.#entities !== null) this.meters = await this.#openMeters(this.#entities);
  }

  /** Its sign-in is not suspended, and needs no person. */
  get isUsable(): boolean {
    const { session } = this.upstream;
    return !session.isSuspended && !needsAPerson(session.status().state);
  }

  /**
   * Never rejects. `again`: those days instead of what is due. `chosen`: the known meters that it is to read; it also reads those
   * that it finds meanwhile, and that are its own.
   */
  async poll(
    signal: AbortSignal,
    again?: DaySpan,
    chosen: readonly Meter[] = this.meters ?? [],
  ): Promise<AccountOutcome> {
    const round = this.#begin(signal, again, chosen);
    const outcome = this.#outcome(round, await this.#attempt(round).catch((fault: unknown) => fault));
    // A stop in the middle of a poll says nothing about the provider.
    if (signal.aborted) return outcome;
    this.history.notePoll(outcome.fault === null ? null : safeWords(outcome.fault).code);
    this.history.save();
    if (outcome.fault === null && this.#ownEntities !== null) this.extras.begin(this.#ownEntities, signal);
    return outcome;
  }

  /** Milliseconds after a failed poll until the next try; `null`: waiting would not help. `failures`: in a row, this one included. */
  retryDelayMs(fault: unknown, failures: number): number | null {
    const { clock, random } = this.#context;
    if (!(fault instanceof Failure) || fault.retry !== 'never') return backOffMs(fault, failures, random);
    const { nextAttemptAt } = this.upstream.session.status();
    return nextAttemptAt === null ? null : Math.max(0, nextAttemptAt - clock.now());
  }

  /** After a poll of its own: one meter that another account was to read, and could not. Never rejects. */
  async readInstead(meter: Meter, signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
    const round = this.#begin(signal, again, [meter]);
    const [fault = null] = await this.#pollMeters([meter], round);
    return this.#outcome(round, fault);
  }

  /** The meters of other accounts that it has too. */
  sharedMeters(): Meter[] {
    return this.duplicates.flatMap(
      ({ property, owner }) => owner.meters?.find((meter) => isOf(meter, property)) ?? [],
    );
  }

  /** Its bills against the days of its meters, by the id of the invoice. The same map as long as nothing changes. */
  checks(): BillChecks {
    const ledgers = this.#billedMeters().map(({ store }) => store.tenancy);
    return this.#judge(this.#invoices(), ledgers, this.#context.zone);
  }

  /** The bill after the newest one. `null` without invoices that tell a period, and while the ledgers do not cover it. */
  nextBill(today: Day): BillForecast | null {
    const span = nextBillSpan(this.#invoices(), today, this.#context.zone);
    const meters = this.#billedMeters();
    if (!span || meters.some(({ store }) => store.tenancy.origin > span.from)) return null;
    const checks = this.checks();
    const explained = this.#invoices().map(({ id }) => checks.get(id));
    const forecasts = meters.map((meter) => meter.forecastOver(span));
    return forecastBill(span, forecasts, explained.find((check) => check?.rule) ?? null);
  }

  /** Resolves once nothing is under way, and everything is on the disk. */
  async settled(): Promise<void> {
    await this.extras.settled();
    await this.history.saved();
  }

  #invoices(): readonly Invoice[] {
    return this.extras.known.invoices.found?.all ?? NO_INVOICES;
  }

  /** All its meters: the bills are about those that another account reads as well. None while one is not complete. */
  #billedMeters(): readonly Meter[] {
    const all = [...(this.meters ?? []), ...this.sharedMeters()];
    const areKnown = all.length === (this.meters?.length ?? 0) + this.duplicates.length;
    return areKnown && all.every(({ isComplete }) => isComplete) ? all : [];
  }

  #begin(signal: AbortSignal, again: DaySpan | undefined, chosen: readonly Meter[]): Round {
    return { signal, again, chosen, before: this.meters ?? [], read: new Set(), events: [] };
  }

  /** Resolves to the first thing that went wrong with a meter, or to `null`. */
  async #attempt(round: Round): Promise<unknown> {
    const { clock, log } = this.#context;
    const { signal } = round;
    if (!isClockSet(clock.now())) throw clockNotSet();
    if (this.duplicates.some(({ property, owner }) => !this.#parts.names.isOwner(property, owner)))
      await this.openKnownMeters();
    const isKnown = this.meters !== null;
    if (!isKnown) await this.#discover(signal);
    else if (!this.isUsable) await this.#signIn(round);
    let faults = await this.#pollMeters(this.#metersOf(round), round);
    const isRefused = faults.some((err) => err instanceof ProviderRefused && [403, 404].includes(err.status));
    if (isKnown && isRefused && this.history.tryOnceADay('rediscoveredAt')) {
      log.info('the provider refuses a known property: discovering again');
      await this.#discover(signal);
      faults = await this.#pollMeters(this.#metersOf(round), round);
      // It helped: the next refusal is a new one.
      if (faults.length === 0) this.history.allowAgain('rediscoveredAt');
    }
    if (isKnown && faults.length === 0 && this.#discoveryIsOld() && this.history.tryOnceADay('searchedAt')) {
      await this.#searchNew(this.meters ?? [], signal);
      faults = await this.#pollMeters(this.#metersOf(round), round);
    }
    return faults[0] ?? null;
  }

  /** What it is to read in the round and has not read: nothing that another account may be reading. */
  #metersOf({ chosen, before, read }: Round): readonly Meter[] {
    const isWanted = (meter: Meter) => chosen.includes(meter) || !before.includes(meter);
    const others = this.sharedMeters().filter((meter) => chosen.includes(meter));
    return [...(this.meters ?? []).filter(isWanted), ...others].filter((meter) => !read.has(meter));
  }

  #outcome({ chosen, read, events }: Round, fault: unknown): AccountOutcome {
    const unread = fault === null ? [] : chosen.filter((meter) => !read.has(meter));
    return { account: this.id, events, fault, unread };
  }

  /** While others read its meters, no request of its own would show that it is signed in again. */
  async #signIn({ chosen }: Round): Promise<void> {
    const { session } = this.upstream;
    await session.accessToken();
    // An access token that still serves reads what the account is to read, whatever its last refresh came to.
    if (chosen.length === 0 && !this.isUsable && session.fault !== null) throw session.fault;
  }

  /** Resolves to what went wrong. */
  async #pollMeters(
    meters: readonly Meter[],
    { signal, again, read, events }: Round,
  ): Promise<readonly unknown[]> {
    const faults: unknown[] = [];
    for (const meter of meters) {
      try {
        const changes = await meter.poll(this.upstream.provider, signal, again);
        read.add(meter);
        this.#tellReader(meter);
        events.push(...changes.map((change) => ({ meter: meter.name, change })));
      } catch (err) {
        faults.push(err);
        // Whatever is not about this one property will not go better with the next.
        if (!(err instanceof ProviderRefused)) break;
      }
    }
    return faults;
  }

  #tellReader(meter: Meter): void {
    const { account, name, readBy } = meter;
    meter.readBy = this.id;
    if (account === this.id) return;
    if (readBy !== this.id)
      this.#context.log.info({ meter: name, insteadOf: account }, 'read in place of another account');
    this.#context.changed(account);
  }

  #discover(signal: AbortSignal, known: readonly Property[] = []): Promise<readonly Meter[]> {
    const discovery = this.#discoverNow(signal, known);
    const ended = () => {
      this.#discovery = null;
    };
    this.#discovery = discovery.then(ended, ended);
    return discovery;
  }

  /** When two find the same property at once, the first one of the configuration is to keep its ledger. */
  async #waitForEarlierOnes(): Promise<void> {
    const { all } = this.#parts;
    const earlier = all.slice(0, all.indexOf(this)).flatMap((one) => one.#discovery ?? []);
    if (earlier.length === 0) return;
    const over = new AbortController();
    const { clock } = this.#context;
    // A slow one is not waited for: what is read by the second is not lost.
    await Promise.race([Promise.all(earlier), clock.sleep(LONGEST_WAIT_MS, over.signal)]);
    over.abort();
  }

  async #discoverNow(signal: AbortSignal, known: readonly Property[]): Promise<readonly Meter[]> {
    const { log, changed } = this.#context;
    const listed = await this.upstream.provider.discover(signal);
    this.history.noteDiscovery();
    const all = { ...listed, properties: withFound(known, listed.properties) };
    log.info({ properties: all.properties.length }, 'heat meters found');
    await this.upstream.context
      .write(all)
      .catch((err) => log.error({ err }, 'entity context could not be saved'));
    await this.extras.askSite(signal);
    await this.#waitForEarlierOnes();
    this.#entities = await this.#claimed(all);
    this.meters = await this.#openMeters(this.#entities);
    changed(this.id);
    return this.meters;
  }

  /** What is left to this account, where other processes read as well. */
  async #claimed(all: EntityContext): Promise<EntityContext> {
    return { ...all, properties: await this.#parts.names.claim(all.properties) };
  }

  #discoveryIsOld(): boolean {
    const { discoveredAt } = this.history.record;
    // A clock that was far ahead must not put it off for long.
    return discoveredAt === null || Math.abs(this.#context.clock.now() - discoveredAt) >= DISCOVERY_IS_OLD_MS;
  }

  /** Looks for properties that have appeared since the last discovery. */
  async #searchNew(known: readonly Meter[], signal: AbortSignal): Promise<void> {
    try {
      const properties = known.map(({ property }) => property);
      await this.#discover(signal, properties);
    } catch (err) {
      this.#context.log.warn(safeWords(err), 'new properties could not be looked for');
    }
  }

  async #openMeters(entities: EntityContext): Promise<Meter[]> {
    const { properties } = entities;
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (this.meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) this.#parts.names.release(property);
    const opened: Meter[] = [];
    const duplicates: Duplicate[] = [];
    for (const property of properties) {
      const owner = this.#parts.names.ownerOf(property, this);
      if (owner !== this) {
        duplicates.push({ property, owner });
        continue;
      }
      const name = this.#parts.names.nameOf(property);
      const known = this.meters?.find((meter) => meter.name === name && isSame(meter.property, property));
      // A property that is gone and had this name: its series goes on.
      const predecessor = gone.find((meter) => meter.name === name);
      opened.push(known ?? (await this.#openMeter(property, name, predecessor)));
    }
    this.#noteDuplicates(entities, duplicates);
    return opened;
  }

  #noteDuplicates(entities: EntityContext, duplicates: readonly Duplicate[]): void {
    const isOwn = (property: Property) => !duplicates.some((one) => one.property === property);
    for (const { property, owner } of duplicates) {
      const meter = seriesName(property);
      this.#context.log.warn({ meter, otherAccount: owner.id }, 'another account has this meter already');
    }
    this.duplicates = duplicates;
    this.#ownEntities =
      duplicates.length === 0 ? entities : { ...entities, properties: entities.properties.filter(isOwn) };
  }

  async #openMeter(property: Property, name: string, predecessor?: Meter): Promise<Meter> {
    const meter = await Meter.open(
      { account: this.id, property, name },
      () => ({
        currency: this.extras.currency,
        register: this.extras.register(property),
        lastSuccessAt: this.history.record.lastSuccessAt,
      }),
      this.#context,
    );
    if (predecessor?.ledger.complete) await meter.store.restore(predecessor.store.history);
    await this.#parts.restore(meter);
    return meter;
  }
}

const isOf = ({ property }: Meter, { propertyCustomerId }: Property): boolean =>
  property.propertyCustomerId === propertyCustomerId;
const isSame = (one: Property, other: Property): boolean => JSON.stringify(one) === JSON.stringify(other);
