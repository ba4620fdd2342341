// One account while the daemon runs: its properties, discovered once and kept, and one poll over all of them.
import type { DaySpan } from '../domain/period.ts';
import { type Property, seriesName, withFound } from '../domain/reading.ts';
import { isClockSet } from '../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../foundation/failure.ts';
import { RateLimit } from '../foundation/limits.ts';
import { discover, type EntityContext } from '../provider/discovery.ts';
import { ProviderRefused } from '../provider/request.ts';
import type { AccountContext, AccountOutcome, MeterEvent } from './context.ts';
import type { AccountExtras } from './extras.ts';
import { Meter } from './meter.ts';
import { ledgerFile } from './meterLedger.ts';
import type { PollHistory } from './pollHistory.ts';
import type { SeriesNames } from './seriesNames.ts';
import type { Upstream } from './upstream.ts';

/** What is kept elsewhere of the history of a meter, such as on the broker. */
export interface KeptElsewhere {
  /** To be called with each meter that is opened. */
  apply(meter: Meter): Promise<void>;
}

export interface AccountParts {
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** Shared by all accounts. */
  readonly names: SeriesNames<Account>;
  /** All accounts, in the order of the configuration. */
  readonly all: readonly Account[];
  readonly restore: KeptElsewhere;
}

/** A property that another account of the configuration reads. */
interface Duplicate {
  readonly property: Property;
  readonly reader: Account;
}

const DAY_MS = 24 * 3_600_000;
const DISCOVERY_IS_OLD_MS = 7 * DAY_MS;
const LONGEST_WAIT_MS = 3_000;

class ClockNotSet extends Failure {
  readonly code = 'clock_not_set';
  readonly exitCode = EXIT.unexpected;

  constructor() {
    super('The clock of this machine is not set yet.', {
      retry: 'soon',
      hint: 'Check its time service (NTP).',
    });
  }
}

export class Account {
  readonly id: string;
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** `null` until the properties are known. */
  meters: readonly Meter[] | null = null;
  /** What this account has besides its meters: read by it while the other account cannot. */
  duplicates: readonly Duplicate[] = [];
  readonly #context: AccountContext;
  readonly #names: SeriesNames<Account>;
  readonly #all: readonly Account[];
  readonly #restore: AccountParts['restore'];
  readonly #rediscoveries: RateLimit;
  readonly #searches: RateLimit;
  #entities: EntityContext | null = null;
  /** Its properties but the duplicates. */
  #ownEntities: EntityContext | null = null;
  #poll: Promise<unknown> | null = null;
  #discovery: Promise<unknown> | null = null;

  static async open(id: string, parts: AccountParts, context: AccountContext): Promise<Account> {
    const account = new Account(id, parts, context);
    account.#entities = await parts.upstream.context.read();
    return account;
  }

  async claimWhatItHasRead(): Promise<void> {
    const files = this.#entities ? await this.#context.state.list(`accounts/${this.id}`) : [];
    for (const property of this.#entities?.properties ?? [])
      if (files.some((file) => ledgerFile(this.id, property).endsWith(`/${file}`)))
        this.#names.readerOf(property, this);
  }

  async openKnownMeters(): Promise<void> {
    if (this.#entities !== null) this.meters = await this.#openMeters(this.#entities);
  }

  private constructor(
    id: string,
    { upstream, history, extras, names, all, restore }: AccountParts,
    context: AccountContext,
  ) {
    this.id = id;
    this.upstream = upstream;
    this.history = history;
    this.extras = extras;
    this.#names = names;
    this.#all = all;
    this.#restore = restore;
    this.#context = context;
    this.#rediscoveries = new RateLimit(context.clock, 1, DAY_MS);
    this.#searches = new RateLimit(context.clock, 1, DAY_MS);
  }

  /** Never rejects. `again`: those days instead of what is due. */
  async poll(signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
    const failed = (fault: unknown) => ({ account: this.id, events: [], fault });
    for (const meter of this.meters ?? []) meter.isRead = false;
    const attempt = this.#attempt(signal, again).catch(failed);
    this.#poll = attempt;
    const outcome = await attempt;
    this.#poll = null;
    // A stop in the middle of a poll says nothing about the provider.
    if (signal.aborted) return outcome;
    this.history.notePoll(outcome.fault === null ? null : safeWords(outcome.fault).code);
    this.history.save();
    if (outcome.fault === null && this.#ownEntities !== null) this.extras.begin(this.#ownEntities, signal);
    return outcome;
  }

  /** Resolves once nothing is under way, and everything is on the disk. */
  async settled(): Promise<void> {
    await this.extras.settled();
    await this.history.saved();
  }

  async #attempt(signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
    const { clock, log } = this.#context;
    if (!isClockSet(clock.now())) throw new ClockNotSet();
    const hasChanged = this.duplicates.some(({ property, reader }) => !this.#names.isRead(property, reader));
    if (hasChanged) await this.openKnownMeters();
    const known = this.meters;
    let { events, faults } = await this.#pollMeters(known ?? (await this.#discover(signal)), signal, again);
    const isRefused = faults.some((err) => err instanceof ProviderRefused && [403, 404].includes(err.status));
    if (known !== null && isRefused && this.#rediscoveries.tryStart()) {
      log.info('the provider refuses a known property: discovering again');
      const second = await this.#pollMeters(await this.#discover(signal), signal, again);
      events = [...events, ...second.events];
      faults = second.faults;
      // It helped: the next refusal is a new one.
      if (faults.length === 0) this.#rediscoveries.reset();
    }
    if (known !== null && faults.length === 0 && this.#discoveryIsOld() && this.#searches.tryStart()) {
      const more = await this.#pollMeters(await this.#searchNew(this.meters ?? known, signal), signal);
      events = [...events, ...more.events];
      faults = more.faults;
    }
    const instead = await this.#pollMeters(await this.#unreadElsewhere(), signal, again);
    const fault = faults[0] ?? instead.faults[0] ?? null;
    return { account: this.id, events: [...events, ...instead.events], fault };
  }

  /** What another account reads usually, and could not read this time. */
  async #unreadElsewhere(): Promise<Meter[]> {
    const unread: Meter[] = [];
    for (const { property, reader } of this.duplicates) {
      // In the same round it has begun before this one, or it comes later.
      await reader.#poll;
      const { propertyCustomerId: id } = property;
      unread.push(
        ...(reader.meters ?? []).filter((one) => !one.isRead && one.property.propertyCustomerId === id),
      );
    }
    return unread;
  }

  async #pollMeters(
    meters: readonly Meter[],
    signal: AbortSignal,
    again?: DaySpan,
  ): Promise<{ events: MeterEvent[]; faults: unknown[] }> {
    const events: MeterEvent[] = [];
    const faults: unknown[] = [];
    for (const meter of meters) {
      try {
        const changes = await meter.poll(this.upstream, signal, again);
        if (meter.account !== this.id) this.#tellOwner(meter);
        events.push(...changes.map((change) => ({ meter: meter.name, change })));
      } catch (err) {
        faults.push(err);
        // Whatever is not about this one property will not go better with the next.
        if (!(err instanceof ProviderRefused)) break;
      }
    }
    return { events, faults };
  }

  #tellOwner({ account, name }: Meter): void {
    this.#context.log.info({ meter: name, insteadOf: account }, 'read in place of another account');
    this.#context.signals.emit('accountChanged', account);
  }

  #discover(signal: AbortSignal, known: readonly Property[] = []): Promise<readonly Meter[]> {
    const discovery = this.#discoverNow(signal, known);
    const ended = () => {
      this.#discovery = null;
    };
    this.#discovery = discovery.then(ended, ended);
    return discovery;
  }

  /** Of two that find the same property at once, the first one of the configuration is to read it. */
  async #waitForEarlierOnes(): Promise<void> {
    const earlier = this.#all.slice(0, this.#all.indexOf(this)).flatMap((one) => one.#discovery ?? []);
    if (earlier.length === 0) return;
    const over = new AbortController();
    const { clock } = this.#context;
    // A slow one is not waited for: what is read by the second is not lost.
    await Promise.race([Promise.all(earlier), clock.sleep(LONGEST_WAIT_MS, over.signal)]);
    over.abort();
  }

  async #discoverNow(signal: AbortSignal, known: readonly Property[]): Promise<readonly Meter[]> {
    const { log, signals } = this.#context;
    const listed = await discover(this.upstream.ask, await this.upstream.identity(), log, signal);
    this.history.noteDiscovery();
    const found = { ...listed, properties: await this.#names.claim(withFound(known, listed.properties)) };
    log.info({ properties: found.properties.length }, 'heat meters found');
    await this.upstream.context
      .write(found)
      .catch((err) => log.error({ err }, 'entity context could not be saved'));
    await this.extras.askSite(signal);
    await this.#waitForEarlierOnes();
    this.#entities = found;
    this.meters = await this.#openMeters(found);
    signals.emit('accountChanged', this.id);
    return this.meters;
  }

  #discoveryIsOld(): boolean {
    const { discoveredAt } = this.history.record;
    // A clock that was far ahead must not put it off for long.
    return discoveredAt === null || Math.abs(this.#context.clock.now() - discoveredAt) >= DISCOVERY_IS_OLD_MS;
  }

  /** Properties that have appeared since the last discovery. */
  async #searchNew(known: readonly Meter[], signal: AbortSignal): Promise<readonly Meter[]> {
    try {
      const properties = known.map(({ property }) => property);
      const all = await this.#discover(signal, properties);
      return all.filter((meter) => !known.includes(meter));
    } catch (err) {
      this.#context.log.warn(safeWords(err), 'new properties could not be looked for');
      return [];
    }
  }

  async #openMeters(entities: EntityContext): Promise<Meter[]> {
    const { properties } = entities;
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (this.meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) this.#names.release(property);
    const opened: Meter[] = [];
    const duplicates: Duplicate[] = [];
    for (const property of properties) {
      const reader = this.#names.readerOf(property, this);
      if (reader !== this) {
        duplicates.push({ property, reader });
        continue;
      }
      const name = this.#names.nameOf(property);
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
    for (const { property, reader } of duplicates) {
      const meter = seriesName(property);
      this.#context.log.warn({ meter, account: reader.id }, 'another account reads this meter already');
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
    await this.#restore.apply(meter);
    return meter;
  }
}

const isSame = (one: Property, other: Property): boolean => JSON.stringify(one) === JSON.stringify(other);
