// The accounts of the configuration. Of each: its properties, discovered once and kept, and one poll over all of them.
import type { IssuerMemory } from '../auth/oidc.ts';
import { needsAPerson } from '../domain/health.ts';
import { type BillChecks, billJudge } from '../domain/insight/bill.ts';
import { type BillForecast, forecastBill, nextBillSpan } from '../domain/insight/nextBill.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { Day, DaySpan } from '../domain/period.ts';
import {
  type EntityContext,
  isSameProperty,
  type Property,
  seriesName,
  withFound,
} from '../domain/reading.ts';
import { isClockSet } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import { backOffMs } from '../foundation/retry.ts';
import type { Gate } from '../http/client.ts';
import { ProviderRefused, type Reply } from '../provider/request.ts';
import { repliesCodec } from '../store/documents.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import { type AccountExtras, openExtras } from './extras.ts';
import { lastAnswer } from './lastAnswer.ts';
import { type Meter, openMeter } from './meter.ts';
import { ledgerFile, SeriesNames } from './names.ts';
import { openPollHistories, openReplyShapes, type PollHistory } from './pollHistory.ts';
import { openUpstream, type Upstream } from './upstream.ts';

interface Parts {
  readonly upstream: Upstream;
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** Shared by all accounts. */
  readonly names: SeriesNames;
  /** All accounts, in the order of the configuration. */
  readonly all: readonly Neighbour[];
  /** To be called with each meter that is opened: its history may be kept elsewhere, such as on the broker. */
  readonly restore: (meter: Meter) => Promise<void>;
}

/** What an account looks at of another one. */
interface Neighbour {
  readonly id: string;
  readonly meters: readonly Meter[] | null;
  /** While it asks for its properties. */
  readonly discovery: Promise<unknown> | null;
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

export type Account = Awaited<ReturnType<typeof openAccount>>;

const DAY_MS = 24 * 3_600_000;
const DISCOVERY_IS_OLD_MS = 7 * DAY_MS;
/** A day that is booked late is no exchange yet. */
const REGISTER_IS_SILENT_MS = 2 * DAY_MS;
const LONGEST_WAIT_MS = 3_000;
const NO_INVOICES: readonly Invoice[] = [];

const clockNotSet = () =>
  failure('clock_not_set', 'The clock of this machine is not set yet.', {
    exit: EXIT.unexpected,
    retry: 'soon',
    hint: 'Check its time service (NTP).',
  });

/** Those of the configuration, with what they share. */
export async function openAccounts(
  context: AccountContext,
  /** To be called with each meter that is opened. */
  restore: (meter: Meter) => Promise<void>,
  /** What the accounts of a fleet share beyond these. */
  shared: {
    readonly names?: SeriesNames;
    readonly issuerMemory?: IssuerMemory;
    readonly gate?: (to: 'issuer' | 'provider') => Gate;
    /** Notes the shapes of replies. */
    readonly onReply?: (reply: Reply) => void;
  } = {},
): Promise<Account[]> {
  const { config, counters, changed } = context;
  const { names = new SeriesNames(), issuerMemory = { metadata: null }, gate } = shared;
  // The rounds of extras of all accounts, one after the other.
  const extrasQueue = concurrencyLimit(1);
  const replies = context.state.document('replies', repliesCodec);
  const onReply = shared.onReply ?? (await openReplyShapes(replies, context));
  const historyOf = await openPollHistories(context);
  const opened: Account[] = [];
  // In order: of two properties with the same meter the first keeps its name.
  for (const account of config.accounts) {
    const { id } = account;
    const own = { ...context, log: context.log.child({ account: id }) };
    const history = historyOf(id);
    const upstream = openUpstream(account, own, {
      issuerMemory,
      ...(gate ? { gate } : {}),
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
      onChange: () => changed(id),
    });
    const extras = await openExtras(id, { upstream, history, queue: extrasQueue }, own);
    opened.push(await openAccount(id, { upstream, history, extras, names, all: opened, restore }, own));
  }
  // When two have the same property, the one that has read it keeps it, else the first.
  for (const account of opened) await account.openKnownMeters();
  return opened;
}

/** Reads what the disk has of its properties, and claims those whose ledger it has; `openKnownMeters` follows, for all accounts. */
async function openAccount(
  id: string,
  { upstream, history, extras, names, all, restore }: Parts,
  context: AccountContext,
) {
  const { zone, clock, random, log, state, changed } = context;
  const judge = billJudge();
  const judgeOnce = lastAnswer((bills: readonly Invoice[], ...ledgers: readonly Ledger[]) =>
    judge(bills, ledgers, zone),
  );
  /** `null` until the properties are known. */
  let meters: readonly Meter[] | null = null;
  let entities: EntityContext | null = null;
  let discovery: Promise<unknown> | null = null;
  const known = await upstream.context.read();
  if (known !== null) entities = await claimed(known);
  const files = entities === null ? [] : await state.list(`accounts/${id}`);
  for (const property of entities?.properties ?? [])
    if (files.some((file) => ledgerFile(id, property).endsWith(`/${file}`))) names.ownerOf(property, id);

  /** What is left to this account, where other processes read as well. */
  async function claimed(found: EntityContext): Promise<EntityContext> {
    return { ...found, properties: await names.claim(found.properties) };
  }

  /** Its sign-in is not suspended, and needs no person. */
  const isUsable = (): boolean =>
    !upstream.session.isSuspended && !needsAPerson(upstream.session.status().state);

  /** Properties whose ledgers other accounts of the configuration keep, or have kept. */
  function duplicates(): readonly Property[] {
    const isOwn = (property: Property) => meters?.some((meter) => isOf(meter, property)) ?? true;
    return (entities?.properties ?? []).filter((property) => !isOwn(property));
  }

  /** The meters of other accounts that it has too. */
  const sharedMeters = (): Meter[] =>
    duplicates().flatMap((property) => {
      const owner = all.find((one) => one.id === names.ownerOf(property, id));
      return owner?.meters?.find((meter) => isOf(meter, property)) ?? [];
    });

  /**
   * Never rejects. `again`: those days instead of what is due. `chosen`: the known meters that it is to read; it also reads those
   * that it finds meanwhile, and that are its own.
   */
  async function poll(
    signal: AbortSignal,
    again?: DaySpan,
    chosen: readonly Meter[] = meters ?? [],
  ): Promise<AccountOutcome> {
    const round = begin(signal, again, chosen);
    const outcome = outcomeOf(round, await attempt(round).catch((fault: unknown) => fault));
    // A stop in the middle of a poll says nothing about the provider.
    if (signal.aborted) return outcome;
    history.notePoll(outcome.fault === null ? null : safeWords(outcome.fault).code);
    history.save();
    if (outcome.fault === null && entities !== null && meters !== null)
      extras.begin({ ...entities, properties: meters.map(({ property }) => property) }, signal);
    return outcome;
  }

  const begin = (signal: AbortSignal, again: DaySpan | undefined, chosen: readonly Meter[]): Round => {
    return { signal, again, chosen, before: meters ?? [], read: new Set(), events: [] };
  };

  function outcomeOf({ chosen, read, events }: Round, fault: unknown): AccountOutcome {
    const unread = fault === null ? [] : chosen.filter((meter) => !read.has(meter));
    return { account: id, events, fault, unread };
  }

  /** Resolves to the first thing that went wrong with a meter, or to `null`. */
  async function attempt(round: Round): Promise<unknown> {
    const { signal } = round;
    if (!isClockSet(clock.now())) throw clockNotSet();
    if (duplicates().some((property) => names.ownerOf(property, id) === id)) await openKnownMeters();
    const isKnown = meters !== null;
    if (!isKnown) await discover(signal);
    else if (!isUsable()) await signIn(round);
    let faults = await pollMeters(metersIn(round), round);
    const isRefused = faults.some((err) => err instanceof ProviderRefused && [403, 404].includes(err.status));
    if (isKnown && isRefused && history.tryOnceADay('rediscoveredAt')) {
      log.info('the provider refuses a known property: discovering again');
      await discover(signal);
      faults = await pollMeters(metersIn(round), round);
      // It helped: the next refusal is a new one.
      if (faults.length === 0) history.allowAgain('rediscoveredAt');
    }
    const isToSearch = isDiscoveryOld() || isSomeRegisterSilent();
    if (isKnown && faults.length === 0 && isToSearch && history.tryOnceADay('searchedAt')) {
      // Properties may have appeared since the last discovery.
      const own = (meters ?? []).map(({ property }) => property);
      await discover(signal, own).catch((err) =>
        log.warn(safeWords(err), 'new properties could not be looked for'),
      );
      faults = await pollMeters(metersIn(round), round);
    }
    return faults[0] ?? null;
  }

  function isDiscoveryOld(): boolean {
    const { discoveredAt } = history.record;
    // A clock that was far ahead must not put it off for long.
    return discoveredAt === null || Math.abs(clock.now() - discoveredAt) >= DISCOVERY_IS_OLD_MS;
  }

  /** While days go on, a register that stands still hints at an exchange. It is looked into once. */
  function isSomeRegisterSilent(): boolean {
    const { discoveredAt } = history.record;
    return (meters ?? []).some(({ property, reading }) => {
      const register = extras.register(property);
      const readingAt = reading()?.readingAt ?? null;
      if (register === null || readingAt === null) return false;
      const silentSince = register.readAt + REGISTER_IS_SILENT_MS;
      // Earlier versions looked, and kept the meter that they knew.
      const isLookedInto = (discoveredAt ?? 0) > silentSince && property.namedAfter !== undefined;
      return readingAt > silentSince && !isLookedInto;
    });
  }

  /** What it is to read in the round and has not read: nothing that another account may be reading. */
  function metersIn({ chosen, before, read }: Round): readonly Meter[] {
    const isWanted = (meter: Meter) => chosen.includes(meter) || !before.includes(meter);
    const others = sharedMeters().filter((meter) => chosen.includes(meter));
    return [...(meters ?? []).filter(isWanted), ...others].filter((meter) => !read.has(meter));
  }

  /** While others read its meters, no request of its own would show that it is signed in again. */
  async function signIn({ chosen }: Round): Promise<void> {
    const { session } = upstream;
    await session.accessToken();
    // An access token that still serves reads what the account is to read, whatever its last refresh came to.
    if (chosen.length === 0 && !isUsable() && session.fault !== null) throw session.fault;
  }

  /** Resolves to what went wrong. */
  async function pollMeters(some: readonly Meter[], round: Round): Promise<readonly unknown[]> {
    const { signal, again, read, events } = round;
    const faults: unknown[] = [];
    for (const meter of some) {
      try {
        const changes = await meter.poll(upstream.provider, signal, again);
        read.add(meter);
        noteReader(meter);
        events.push(...changes.map((change) => ({ meter: meter.name, change })));
      } catch (err) {
        faults.push(err);
        // Whatever is not about this one property will not go better with the next.
        if (!(err instanceof ProviderRefused)) break;
      }
    }
    return faults;
  }

  function noteReader(meter: Meter): void {
    const { account, name, readBy } = meter;
    meter.readBy = id;
    if (account === id) return;
    if (readBy !== id) log.info({ meter: name, insteadOf: account }, 'read in place of another account');
    changed(account);
  }

  /** `kept`: those that stay though the provider leaves them out. */
  async function discover(signal: AbortSignal, kept: readonly Property[] = []): Promise<void> {
    const finding = findProperties(signal, kept);
    discovery = finding
      .catch(() => undefined)
      .finally(() => {
        discovery = null;
      });
    await finding;
  }

  async function findProperties(signal: AbortSignal, kept: readonly Property[]): Promise<void> {
    const listed = await upstream.provider.discover(signal);
    history.noteDiscovery();
    const before = entities?.properties ?? [];
    const elsewhere = all.flatMap((one) => one.meters ?? []).map(({ property }) => property);
    const found = { ...listed, properties: withFound(before, listed.properties, kept, elsewhere) };
    log.info({ properties: found.properties.length }, 'heat meters found');
    await upstream.context.write(found);
    noteExchanges(before, found.properties);
    await extras.askSite(signal);
    await waitForEarlierOnes();
    const next = await claimed(found);
    meters = await openMeters(next);
    entities = next;
    changed(id);
  }

  function noteExchanges(before: readonly Property[], now: readonly Property[]): void {
    for (const property of now) {
      const known = before.find((one) => isSameProperty(one, property));
      if (!known || String(known.meterIdentifiers) === String(property.meterIdentifiers)) continue;
      const [was, is] = [known.meterIdentifiers, property.meterIdentifiers];
      log.info({ meter: seriesName(property), was, is }, 'other heat meters are at the property now');
      extras.askRegisterAgain(property);
    }
  }

  /** When two find the same property at once, the first one of the configuration is to keep its ledger. */
  async function waitForEarlierOnes(): Promise<void> {
    const place = all.findIndex((one) => one.id === id);
    const earlier = all.slice(0, place).flatMap((one) => one.discovery ?? []);
    if (earlier.length === 0) return;
    const over = new AbortController();
    // A slow one is not waited for: what is read by the second is not lost.
    await Promise.race([Promise.all(earlier), clock.sleep(LONGEST_WAIT_MS, over.signal)]);
    over.abort();
  }

  async function openKnownMeters(): Promise<void> {
    if (entities !== null) meters = await openMeters(entities);
  }

  async function openMeters({ properties }: EntityContext): Promise<Meter[]> {
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) names.release(property);
    const opened: Meter[] = [];
    for (const property of properties) {
      const owner = names.ownerOf(property, id);
      if (owner !== id) {
        log.warn(
          { meter: seriesName(property), otherAccount: owner },
          'another account has this meter already',
        );
        continue;
      }
      const name = names.nameOf(property);
      const before = meters?.find((meter) => meter.name === name && isSameProperty(meter.property, property));
      before?.describe(property);
      // A property that is gone and had this name: its series goes on.
      const predecessor = gone.find((meter) => meter.name === name);
      opened.push(before ?? (await openOne(property, name, predecessor)));
    }
    return opened;
  }

  async function openOne(property: Property, name: string, predecessor?: Meter): Promise<Meter> {
    const fromAccount = (now: Property) => ({
      currency: extras.currency,
      register: extras.register(now),
      lastSuccessAt: history.record.lastSuccessAt,
    });
    const meter = await openMeter({ account: id, property, name }, fromAccount, context);
    if (predecessor?.ledger.complete) await meter.store.restore(predecessor.store.history);
    await restore(meter);
    return meter;
  }

  const invoices = (): readonly Invoice[] => extras.known.invoices.found?.all ?? NO_INVOICES;

  /** All its meters: the bills are about those that another account reads as well. None while one is not complete. */
  function billedMeters(): readonly Meter[] {
    const both = [...(meters ?? []), ...sharedMeters()];
    const areKnown = both.length === (meters?.length ?? 0) + duplicates().length;
    return areKnown && both.every(({ isComplete }) => isComplete) ? both : [];
  }

  /** Its bills against the days of its meters, by the id of the invoice. The same map as long as nothing changes. */
  const checks = (): BillChecks => judgeOnce(invoices(), ...billedMeters().map(({ store }) => store.tenancy));

  return {
    id,
    upstream,
    history,
    extras,
    /** What events have told of it. */
    told: { needsPerson: false, late: {}, use: {} } as Told,
    get meters(): readonly Meter[] | null {
      return meters;
    },
    get discovery(): Promise<unknown> | null {
      return discovery;
    },
    get isUsable(): boolean {
      return isUsable();
    },
    sharedMeters,
    openKnownMeters,
    poll,
    checks,
    /** After a poll of its own: one meter that another account was to read, and could not. Never rejects. */
    async readInstead(meter: Meter, signal: AbortSignal, again?: DaySpan): Promise<AccountOutcome> {
      const round = begin(signal, again, [meter]);
      const [fault = null] = await pollMeters([meter], round);
      return outcomeOf(round, fault);
    },
    /** Milliseconds after a failed poll until the next try; `null`: waiting would not help. `failures`: in a row, this one included. */
    retryDelayMs(fault: unknown, failures: number): number | null {
      if (!(fault instanceof Failure) || fault.retry !== 'never') return backOffMs(fault, failures, random);
      const { nextAttemptAt } = upstream.session.status();
      return nextAttemptAt === null ? null : Math.max(0, nextAttemptAt - clock.now());
    },
    /** The bill after the newest one. `null` without invoices that tell a period, and while the ledgers do not cover it. */
    nextBill(today: Day): BillForecast | null {
      const span = nextBillSpan(invoices(), today, zone);
      const billed = billedMeters();
      if (!span || billed.some(({ store }) => store.tenancy.origin > span.from)) return null;
      const found = checks();
      const rules = invoices().map(({ id }) => found.get(id)?.rule ?? null);
      const forecasts = billed.map((meter) => meter.forecastOver(span));
      return forecastBill(span, forecasts, rules.find((rule) => rule !== null) ?? null);
    },
    /** Resolves once nothing is under way, and everything is on the disk. */
    async settled(): Promise<void> {
      await extras.settled();
      await history.saved();
    },
  };
}

const isOf = ({ property }: Meter, other: Property): boolean => isSameProperty(property, other);
