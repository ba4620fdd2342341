// One account while the daemon runs: its properties, found once and kept, and one poll over all of them.
import type { DaySpan } from '../../domain/period.ts';
import { type Property, seriesName, topicSafe, withFound } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import { safeWords } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';
import { discover, type EntityContext } from '../../provider/discovery.ts';
import { ProviderRefused } from '../../provider/request.ts';
import { mustBeSet } from './clockNotSet.ts';
import { type DiscoveryPace, openDiscoveryPace } from './discoveryPace.ts';
import type { AccountExtras } from './extras.ts';
import type { Meter, MeterChange } from './meter.ts';
import type { JournalPage } from './pollHistory.ts';
import type { Upstream } from './upstream.ts';

export interface MeterEvent {
  readonly meter: string;
  readonly change: MeterChange;
}

/** Failing is one of a poll's ordinary results; properties that could be read are read all the same. */
export interface AccountOutcome {
  readonly account: string;
  readonly events: readonly MeterEvent[];
  /** The first thing that went wrong, or `null`. */
  readonly fault: unknown;
}

export interface AccountRuntime {
  readonly id: string;
  readonly upstream: Upstream;
  readonly journal: JournalPage;
  readonly extras: AccountExtras;
  /** `null` until the properties are known. */
  readonly meters: readonly Meter[] | null;
  /** `span`: those days again, instead of what is due. */
  poll(signal: AbortSignal, span?: DaySpan): Promise<AccountOutcome>;
  /** Resolves once nothing is under way, and everything is on the disk. */
  settled(): Promise<void>;
}

export interface AccountParts {
  readonly id: string;
  readonly upstream: Upstream;
  readonly journal: JournalPage;
  readonly extras: AccountExtras;
  /** `predecessor`: had that name, and its property is gone; the series goes on from it. */
  readonly openMeter: (property: Property, name: string, predecessor?: Meter) => Promise<Meter>;
  /** Gives out names of series: `false` when another property has it. */
  readonly claimName: (name: string, propertyCustomerId: string) => boolean;
  /** The names of a property that is gone are free again: its meter may have moved to another property. */
  readonly releaseNames: (propertyCustomerId: string) => void;
  /** Called when the properties have become known, or others. */
  readonly onMeters: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

export async function openAccount(parts: AccountParts): Promise<AccountRuntime> {
  const account = new OpenAccount(parts);
  await account.open();
  return account;
}

class OpenAccount implements AccountRuntime {
  readonly id: string;
  readonly upstream: Upstream;
  readonly journal: JournalPage;
  readonly extras: AccountExtras;
  readonly #parts: AccountParts;
  readonly #pace: DiscoveryPace;
  #context: EntityContext | null = null;
  meters: readonly Meter[] | null = null;

  constructor(parts: AccountParts) {
    this.id = parts.id;
    this.upstream = parts.upstream;
    this.journal = parts.journal;
    this.extras = parts.extras;
    this.#parts = parts;
    this.#pace = openDiscoveryPace(parts.journal, parts.clock);
  }

  async open(): Promise<void> {
    this.#context = await this.upstream.context.read();
    if (this.#context !== null) this.meters = await this.#openMeters(this.#context);
  }

  async poll(signal: AbortSignal, span?: DaySpan): Promise<AccountOutcome> {
    const { id, journal, extras } = this.#parts;
    const failed = (fault: unknown) => ({ account: id, events: [], fault });
    const outcome = await this.#attempt(signal, span).catch(failed);
    journal.notePoll(outcome.fault === null ? null : safeWords(outcome.fault).code);
    journal.save();
    if (outcome.fault === null && this.#context !== null) extras.begin(this.#context, signal);
    return outcome;
  }

  async settled(): Promise<void> {
    await this.extras.settled();
    await this.journal.saved();
  }

  async #attempt(signal: AbortSignal, span?: DaySpan): Promise<AccountOutcome> {
    const { id, clock, log } = this.#parts;
    mustBeSet(clock);
    const cached = this.meters;
    let { events, faults } = await this.#pollMeters(cached ?? (await this.#discover(signal)), signal, span);
    if (cached !== null && this.#pace.forRefused(faults)) {
      log.info('the provider refuses a known property: discovering again');
      const again = await this.#pollMeters(await this.#discover(signal), signal, span);
      events = [...events, ...again.events];
      faults = again.faults;
      if (faults.length === 0) this.#pace.helped();
    }
    if (cached !== null && faults.length === 0 && this.#pace.forMore()) {
      const more = await this.#pollMeters(await this.#lookForMore(this.meters ?? cached, signal), signal);
      events = [...events, ...more.events];
      faults = more.faults;
    }
    return { account: id, events, fault: faults[0] ?? null };
  }

  async #pollMeters(
    all: readonly Meter[],
    signal: AbortSignal,
    span?: DaySpan,
  ): Promise<{ events: MeterEvent[]; faults: unknown[] }> {
    const events: MeterEvent[] = [];
    const faults: unknown[] = [];
    for (const meter of all) {
      try {
        const changes = await meter.poll(this.upstream, signal, span);
        events.push(...changes.map((change) => ({ meter: meter.name, change })));
      } catch (err) {
        faults.push(err);
        // Whatever is not about this one property will not go better with the next.
        if (!(err instanceof ProviderRefused)) break;
      }
    }
    return { events, faults };
  }

  async #discover(signal: AbortSignal, known: readonly Property[] = []): Promise<readonly Meter[]> {
    const { upstream, journal, extras, log } = this.#parts;
    const listed = await discover(upstream.ask, await upstream.identity(), log, signal);
    journal.noteDiscovery();
    const found = { ...listed, properties: withFound(known, listed.properties) };
    log.info({ properties: found.properties.length }, 'heat meters found');
    await upstream.context
      .write(found)
      .catch((err) => log.error({ err }, 'entity context could not be saved'));
    await extras.askSite(signal);
    this.#context = found;
    this.meters = await this.#openMeters(found);
    this.#parts.onMeters();
    return this.meters;
  }

  /** Properties that have appeared since. */
  async #lookForMore(known: readonly Meter[], signal: AbortSignal): Promise<readonly Meter[]> {
    try {
      const properties = known.map(({ property }) => property);
      const all = await this.#discover(signal, properties);
      return all.filter((meter) => !known.includes(meter));
    } catch (err) {
      this.#parts.log.warn(safeWords(err), 'new properties could not be looked for');
      return [];
    }
  }

  async #openMeters({ properties }: EntityContext): Promise<Meter[]> {
    const { openMeter, releaseNames } = this.#parts;
    const opened: Meter[] = [];
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (this.meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) releaseNames(property.propertyCustomerId);
    for (const property of properties) {
      const known = this.meters?.find((meter) => isSame(meter.property, property));
      const name = this.#nameOf(property);
      if (known && known.name === name) opened.push(known);
      else {
        const predecessor = gone.find((meter) => meter.name === name);
        opened.push(await openMeter(property, name, predecessor));
      }
    }
    return opened;
  }

  #nameOf(property: Property): string {
    const name = seriesName(property);
    if (this.#parts.claimName(name, property.propertyCustomerId)) return name;
    return `${name}-${topicSafe(property.propertyCustomerId)}`;
  }
}

const isSame = (one: Property, other: Property): boolean => JSON.stringify(one) === JSON.stringify(other);
