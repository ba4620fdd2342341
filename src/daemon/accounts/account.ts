// The accounts while the daemon runs: the properties of each, discovered once and kept, and one poll over all of them.
import type { IssuerMemory } from '../../auth/oidc.ts';
import type { DaySpan } from '../../domain/period.ts';
import { type Property, seriesName, topicSafe, withFound } from '../../domain/reading.ts';
import { isClockSet } from '../../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit, RateLimit } from '../../foundation/limits.ts';
import { discover, type EntityContext } from '../../provider/discovery.ts';
import { ProviderRefused } from '../../provider/request.ts';
import type { AccountOutcome, Context, MeterEvent } from '../context.ts';
import type { Restore } from '../publishing/restore.ts';
import { AccountExtras } from './extras.ts';
import { Meter } from './meter.ts';
import { openPollHistories, type PollHistory } from './pollHistory.ts';
import { openReplyShapes } from './replyShapes.ts';
import { openUpstream, type Upstream } from './upstream.ts';

interface Parts {
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** Shared by all accounts. */
  readonly names: SeriesNames;
  readonly restore: Restore;
}

const DAY_MS = 24 * 3_600_000;
const DISCOVERY_IS_OLD_MS = 7 * DAY_MS;

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

/** Names of series in topics: of two properties with the same meter the first one keeps the plain name. */
class SeriesNames {
  readonly #owners = new Map<string, string>();

  claim(property: Property): string {
    const { propertyCustomerId } = property;
    const name = seriesName(property);
    const owner = this.#owners.get(name) ?? propertyCustomerId;
    this.#owners.set(name, owner);
    return owner === propertyCustomerId ? name : `${name}-${topicSafe(propertyCustomerId)}`;
  }

  /** The property is gone: its meter may have moved to another one. */
  release({ propertyCustomerId }: Property): void {
    for (const [name, owner] of this.#owners) if (owner === propertyCustomerId) this.#owners.delete(name);
  }
}

export async function openAccounts(context: Context, restore: Restore): Promise<Account[]> {
  const { config, counters, signals } = context;
  const names = new SeriesNames();
  // The rounds of extras of all accounts, one after the other.
  const extrasQueue = concurrencyLimit(1);
  const onReply = await openReplyShapes(context);
  const historyOf = await openPollHistories(context);
  const issuerMemory: IssuerMemory = { metadata: null };
  const opened: Account[] = [];
  // In order: of two properties with the same meter the first keeps its name.
  for (const account of config.accounts) {
    const { id } = account;
    const own = { ...context, log: context.log.child({ account: id }) };
    const history = historyOf(id);
    const upstream = openUpstream(account, own, {
      issuerMemory,
      onRequest(seen) {
        history.countRequest();
        counters.countRequest(seen);
      },
      onLogin() {
        history.countLogin();
        counters.logins += 1;
      },
      onRefresh() {
        counters.refreshes += 1;
      },
      onReply,
      onChange: () => signals.emit('accountChanged', id),
    });
    const extras = await AccountExtras.open(id, { upstream, history, queue: extrasQueue }, own);
    opened.push(await Account.open(id, { upstream, history, extras, names, restore }, own));
  }
  return opened;
}

export class Account {
  readonly id: string;
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** `null` until the properties are known. */
  meters: readonly Meter[] | null = null;
  readonly #context: Context;
  readonly #names: SeriesNames;
  readonly #restore: Restore;
  readonly #rediscoveries: RateLimit;
  readonly #searches: RateLimit;
  #entities: EntityContext | null = null;

  static async open(id: string, parts: Parts, context: Context): Promise<Account> {
    const account = new Account(id, parts, context);
    account.#entities = await parts.upstream.context.read();
    if (account.#entities !== null) account.meters = await account.#openMeters(account.#entities);
    return account;
  }

  private constructor(id: string, { upstream, history, extras, names, restore }: Parts, context: Context) {
    this.id = id;
    this.upstream = upstream;
    this.history = history;
    this.extras = extras;
    this.#names = names;
    this.#restore = restore;
    this.#context = context;
    this.#rediscoveries = new RateLimit(context.clock, 1, DAY_MS);
    this.#searches = new RateLimit(context.clock, 1, DAY_MS);
  }

  /** Never rejects. `again`: those days instead of what is due. */
  async poll(signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
    const failed = (fault: unknown) => ({ account: this.id, events: [], fault });
    const outcome = await this.#attempt(signal, again).catch(failed);
    // A stop in the middle of a poll says nothing about the provider.
    if (signal.aborted) return outcome;
    this.history.notePoll(outcome.fault === null ? null : safeWords(outcome.fault).code);
    this.history.save();
    if (outcome.fault === null && this.#entities !== null) this.extras.begin(this.#entities, signal);
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
    return { account: this.id, events, fault: faults[0] ?? null };
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
    const { log, signals } = this.#context;
    const listed = await discover(this.upstream.ask, await this.upstream.identity(), log, signal);
    this.history.noteDiscovery();
    const found = { ...listed, properties: withFound(known, listed.properties) };
    log.info({ properties: found.properties.length }, 'heat meters found');
    await this.upstream.context
      .write(found)
      .catch((err) => log.error({ err }, 'entity context could not be saved'));
    await this.extras.askSite(signal);
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

  async #openMeters({ properties }: EntityContext): Promise<Meter[]> {
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (this.meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) this.#names.release(property);
    const opened: Meter[] = [];
    for (const property of properties) {
      const name = this.#names.claim(property);
      const known = this.meters?.find((meter) => meter.name === name && isSame(meter.property, property));
      // A property that is gone and had this name: its series goes on.
      const predecessor = gone.find((meter) => meter.name === name);
      opened.push(known ?? (await this.#openMeter(property, name, predecessor)));
    }
    return opened;
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
