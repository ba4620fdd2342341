// One account while the daemon runs: its properties, found once and kept, and one poll over all of them.
import type { DaySpan } from '../domain/period.ts';
import { type Property, seriesName, topicSafe, withFound } from '../domain/reading.ts';
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { EntityContext } from '../provider/discovery.ts';
import { ProviderRefused } from '../provider/request.ts';
import { openDiscoveryPace } from './discoveryPace.ts';
import type { AccountExtras } from './extras.ts';
import type { JournalPage } from './journal.ts';
import type { Meter, MeterChange } from './meter.ts';
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

const CLOCK_IS_SET_AFTER = Date.UTC(2020, 0, 1);

/** A Raspberry Pi has no clock battery: before the network has told the time, days cannot be told apart. */
export class ClockNotSet extends Failure {
  readonly code = 'clock_not_set';
  readonly exitCode = 1;

  constructor() {
    super('The clock of this machine is not set yet.', {
      retry: 'soon',
      hint: 'Check its time service (NTP).',
    });
  }
}

export async function openAccount(parts: AccountParts): Promise<AccountRuntime> {
  const { upstream, journal, extras, clock, log } = parts;
  let meters: readonly Meter[] | null = null;
  const pace = openDiscoveryPace(journal, clock);
  let context = await upstream.context.read();
  if (context !== null) meters = await openMeters(context);

  async function openMeters({ properties }: EntityContext): Promise<Meter[]> {
    const opened: Meter[] = [];
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) parts.releaseNames(property.propertyCustomerId);
    for (const property of properties) {
      const known = meters?.find((meter) => isSame(meter.property, property));
      const name = nameOf(property);
      if (known && known.name === name) opened.push(known);
      else {
        const predecessor = gone.find((meter) => meter.name === name);
        opened.push(await parts.openMeter(property, name, predecessor));
      }
    }
    return opened;
  }

  function nameOf(property: Property): string {
    const name = seriesName(property);
    if (parts.claimName(name, property.propertyCustomerId)) return name;
    return `${name}-${topicSafe(property.propertyCustomerId)}`;
  }

  async function discover(signal: AbortSignal, known: readonly Property[] = []): Promise<readonly Meter[]> {
    const listed = await upstream.client.discover(await upstream.identity(), signal);
    journal.noteDiscovery();
    const found = { ...listed, properties: withFound(known, listed.properties) };
    log.info({ properties: found.properties.length }, 'heat meters found');
    await upstream.context
      .write(found)
      .catch((err) => log.error({ err }, 'entity context could not be saved'));
    await extras.askSite(signal);
    context = found;
    meters = await openMeters(found);
    parts.onMeters();
    return meters;
  }

  async function pollMeters(
    all: readonly Meter[],
    signal: AbortSignal,
    span?: DaySpan,
  ): Promise<{ events: MeterEvent[]; faults: unknown[] }> {
    const events: MeterEvent[] = [];
    const faults: unknown[] = [];
    for (const meter of all) {
      try {
        const changes = await meter.poll(upstream.client, signal, span);
        events.push(...changes.map((change) => ({ meter: meter.name, change })));
      } catch (err) {
        faults.push(err);
        // Whatever is not about this one property will not go better with the next.
        if (!(err instanceof ProviderRefused)) break;
      }
    }
    return { events, faults };
  }

  /** Properties that have appeared since. */
  async function lookForMore(known: readonly Meter[], signal: AbortSignal): Promise<readonly Meter[]> {
    try {
      const all = await discover(
        signal,
        known.map(({ property }) => property),
      );
      return all.filter((meter) => !known.includes(meter));
    } catch (err) {
      log.warn(safeWords(err), 'new properties could not be looked for');
      return [];
    }
  }

  async function attempt(signal: AbortSignal, span?: DaySpan): Promise<AccountOutcome> {
    if (clock.now() < CLOCK_IS_SET_AFTER) throw new ClockNotSet();
    const cached = meters;
    let { events, faults } = await pollMeters(cached ?? (await discover(signal)), signal, span);
    if (cached !== null && pace.forRefused(faults)) {
      log.info('the provider refuses a known property: discovering again');
      const again = await pollMeters(await discover(signal), signal, span);
      events = [...events, ...again.events];
      faults = again.faults;
      if (faults.length === 0) pace.helped();
    }
    if (cached !== null && faults.length === 0 && pace.forMore()) {
      const more = await pollMeters(await lookForMore(meters ?? cached, signal), signal);
      events = [...events, ...more.events];
      faults = more.faults;
    }
    return { account: parts.id, events, fault: faults[0] ?? null };
  }

  return {
    id: parts.id,
    upstream,
    journal,
    extras,
    get meters() {
      return meters;
    },
    async poll(signal, span) {
      const outcome = await attempt(signal, span).catch((fault) => ({
        account: parts.id,
        events: [],
        fault,
      }));
      journal.notePoll(outcome.fault === null ? null : safeWords(outcome.fault).code);
      journal.save();
      if (outcome.fault === null && context !== null) extras.begin(context, signal);
      return outcome;
    },
    async settled() {
      await extras.settled();
      await journal.saved();
    },
  };
}

const isSame = (one: Property, other: Property): boolean => JSON.stringify(one) === JSON.stringify(other);
