// The properties of one account, discovered once and kept, and the meters that it reads: those whose ledgers no other account has. Of
// two that list the same property, the one that has the ledger reads it, else the first that finds it, until it cannot.
import { needsAPerson } from '../domain/health.ts';
import {
  type EntityContext,
  isSameProperty,
  type Property,
  seriesName,
  withFound,
} from '../domain/reading.ts';
import { cannotRead } from '../domain/sharedMeter.ts';
import { ledgerCodec } from '../store/ledgerDocument.ts';
import type { AccountContext } from './context.ts';
import type { AccountExtras } from './extras.ts';
import type { AccountJournal } from './journal.ts';
import { Meter } from './meter.ts';
import { keptLedgers, ledgerFile, type SeriesNames } from './names.ts';
import type { Upstream } from './upstream.ts';

export interface PropertiesParts {
  readonly upstream: Upstream;
  readonly journal: AccountJournal;
  readonly extras: AccountExtras;
  /** Shared by all accounts. */
  readonly names: SeriesNames;
  /** The properties of all accounts of this process, in the order of the configuration. */
  readonly ofAll: readonly Properties[];
  /** Each meter that is opened is given to it: the meter's history may be kept elsewhere, such as on the broker. */
  readonly restore: (meter: Meter) => Promise<void>;
}

/** A property of which another account reads the meter. */
interface Duplicate {
  readonly property: Property;
  /** The id of that account. */
  readonly reader: string;
}

const DISCOVERY_IS_OLD_MS = 7 * 24 * 3_600_000;
// A day that is booked late is no exchange yet.
const REGISTER_IS_SILENT_MS = 2 * 24 * 3_600_000;

export class Properties {
  readonly account: string;
  readonly #parts: PropertiesParts;
  readonly #context: AccountContext;
  #listed: EntityContext | null = null;
  #meters: readonly Meter[] | null = null;
  /** A poll reads its meters: nobody takes one away meanwhile. */
  #isPolled = false;
  /** They wait for the end of that poll. */
  readonly #waiting: (() => void)[] = [];

  /** Those that the disk has, which claim the ledgers that it has of them. `openMeters` follows, once all accounts have done so. */
  static async open(account: string, parts: PropertiesParts, context: AccountContext): Promise<Properties> {
    const properties = new Properties(account, parts, context);
    const stored = await parts.upstream.listed.read();
    // A list of nothing would take back whatever is published of its meters, until the next discovery in a week.
    if (stored !== null && stored.properties.length > 0) await properties.#know(stored);
    return properties;
  }

  private constructor(account: string, parts: PropertiesParts, context: AccountContext) {
    this.account = account;
    this.#parts = parts;
    this.#context = context;
  }

  /** The provider's list; `null` until there is one. */
  get listed(): EntityContext | null {
    return this.#listed;
  }

  /** `null` until the properties are known. */
  get meters(): readonly Meter[] | null {
    return this.#meters;
  }

  /** Waiting for the account would leave its meters unread. */
  get cannotBeRead(): boolean {
    const { journal, upstream } = this.#parts;
    const { failingSince } = journal.record;
    const needsPerson = needsAPerson(upstream.session.status().state);
    return cannotRead({ failingSince, needsPerson }, this.#context.clock.now());
  }

  async #know(stored: EntityContext): Promise<void> {
    this.#listed = stored;
    const { names } = this.#parts;
    await names.claim(stored.properties);
    const ids = await keptLedgers(this.#context.state, this.account);
    for (const property of stored.properties)
      if (ids.includes(property.propertyCustomerId)) names.ownerOf(property, this.account);
  }

  async openMeters(): Promise<void> {
    if (this.#listed !== null) this.#meters = await this.#metersOf(this.#listed.properties);
  }

  duplicates(): Duplicate[] {
    const isRead = (property: Property) => this.#meters?.some((meter) => isOf(meter, property)) ?? true;
    return (this.#listed?.properties ?? [])
      .filter((property) => !isRead(property))
      .map((property) => ({ property, reader: this.#parts.names.ownerOf(property, this.account) }));
  }

  #of(account: string): Properties | undefined {
    return this.#parts.ofAll.find((other) => other.account === account);
  }

  /** All its meters: the bills are about those that another account reads as well. None while one is not complete, or not known here. */
  billed(): readonly Meter[] {
    const shared = this.duplicates().map(({ property, reader }) =>
      this.#of(reader)?.meters?.find((meter) => isOf(meter, property)),
    );
    const meters = [...(this.#meters ?? []), ...shared];
    const complete = meters.flatMap((meter) => (meter?.isComplete ? meter : []));
    return complete.length === meters.length ? complete : [];
  }

  /** A poll starts with this, before anything else. */
  beginPoll(): void {
    this.#isPolled = true;
  }

  endPoll(): void {
    this.#isPolled = false;
    for (const goOn of this.#waiting.splice(0)) goOn();
  }

  async #untilPolled(): Promise<void> {
    while (this.#isPolled) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Takes over what others of this process cannot read, with all that is known of it. Of two that cannot, neither takes from the other. */
  async takeOver(): Promise<void> {
    for (const { property, reader } of this.duplicates()) {
      const owner = this.#of(reader);
      if (this.cannotBeRead || !owner?.cannotBeRead) continue;
      // All are polled at the same times. Nothing is read here yet: two that wait for each other would wait for ever.
      this.endPoll();
      await owner.#untilPolled();
      this.beginPoll();
      const isStillTheirs = this.#parts.names.ownerOf(property, this.account) === reader;
      if (isStillTheirs && owner.cannotBeRead && !this.cannotBeRead) await this.#takeFrom(owner, property);
    }
  }

  async #takeFrom(owner: Properties, property: Property): Promise<void> {
    const { state, log, changed } = this.#context;
    const meter = owner.meters?.find((candidate) => isOf(candidate, property));
    owner.#meters = owner.meters?.filter((candidate) => candidate !== meter) ?? null;
    this.#parts.names.give(property, this.account);
    const ledger = state.document(ledgerFile(this.account, property), ledgerCodec);
    // It is written here before it is removed there: after a crash in between, or a failed write, its owner still has it.
    if (meter && !(await ledger.write(meter.book.document))) {
      // It would be written later, and be out of date by then.
      await ledger.remove();
      this.#parts.names.give(property, owner.account);
      owner.#meters = [...(owner.meters ?? []), meter];
      return;
    }
    await this.openMeters();
    await state.document(ledgerFile(owner.account, property), ledgerCodec).remove();
    log.info({ meter: seriesName(property), from: owner.account }, 'took over the meter of another account');
    changed(owner.account);
    changed(this.account);
  }

  /** Properties may have appeared, or a meter may have been exchanged, since the last discovery. */
  get areDoubtful(): boolean {
    const { discoveredAt } = this.#parts.journal.record;
    // A clock that was far ahead must not put it off for long.
    const ageMs = discoveredAt === null ? Number.POSITIVE_INFINITY : this.#context.clock.now() - discoveredAt;
    return Math.abs(ageMs) >= DISCOVERY_IS_OLD_MS || this.#isSomeRegisterSilent(discoveredAt ?? 0);
  }

  /** While days go on, a register that stands still hints at an exchange. It is looked into once. */
  #isSomeRegisterSilent(discoveredAt: number): boolean {
    return (this.#meters ?? []).some((meter) => {
      const { property } = meter;
      const register = this.#parts.extras.register(property);
      const readingAt = meter.reading()?.readingAt ?? null;
      if (register === null || readingAt === null) return false;
      const silentSince = register.readAt + REGISTER_IS_SILENT_MS;
      // A build before 0.1.0 kept the meter that it knew, and left no `namedAfter`.
      const isLookedInto = discoveredAt > silentSince && property.namedAfter !== undefined;
      return readingAt > silentSince && !isLookedInto;
    });
  }

  /** Asks the provider. `keepsUnlisted`: what is read stays although the provider leaves it out. */
  async discover(signal: AbortSignal, keepsUnlisted = false): Promise<void> {
    const { upstream, journal, extras, names, ofAll } = this.#parts;
    const answer = await upstream.provider.discover(signal);
    journal.note({ discoveredAt: this.#context.clock.now() });
    const before = this.#listed?.properties ?? [];
    const propertiesOf = (properties: Properties) =>
      (properties.meters ?? []).map(({ property }) => property);
    const unlisted = keepsUnlisted ? propertiesOf(this) : [];
    const properties = withFound(before, answer.properties, unlisted, ofAll.flatMap(propertiesOf));
    const listed = { ...answer, properties };
    this.#context.log.info({ properties: properties.length }, 'heat meters found');
    await upstream.listed.write(listed);
    this.#noteExchanges(before, properties);
    await extras.askSite(signal);
    await names.claim(properties);
    this.#meters = await this.#metersOf(properties);
    this.#listed = listed;
    this.#context.changed(this.account);
  }

  #noteExchanges(before: readonly Property[], now: readonly Property[]): void {
    for (const property of now) {
      const { meterIdentifiers: was } =
        before.find((earlier) => isSameProperty(earlier, property)) ?? property;
      const is = property.meterIdentifiers;
      if (String(was) === String(is)) continue;
      this.#context.log.info(
        { meter: seriesName(property), was, is },
        'other heat meters are at the property now',
      );
      this.#parts.extras.askRegisterAgain(property);
    }
  }

  /** The meters of those that no other account reads. What is open stays so. */
  async #metersOf(properties: readonly Property[]): Promise<Meter[]> {
    const { names, restore } = this.#parts;
    const before = this.#meters ?? [];
    const gone = before.filter((meter) => !properties.some((property) => isOf(meter, property)));
    for (const { property } of gone) names.release(property);
    const meters: Meter[] = [];
    for (const property of properties) {
      const owner = names.ownerOf(property, this.account);
      if (owner !== this.account) {
        const about = { meter: seriesName(property), otherAccount: owner };
        this.#context.log.warn(about, 'another account has this meter already');
        continue;
      }
      const name = names.nameOf(property);
      const open = before.find((meter) => meter.name === name && isOf(meter, property));
      if (open) open.property = property;
      // A property that is gone and had this name: its series goes on.
      const predecessor = gone.find((meter) => meter.name === name);
      meters.push(open ?? (await this.#openMeter(property, name, predecessor)));
    }
    // All at once: each may take as long as a silent broker.
    await Promise.all(meters.filter((meter) => !before.includes(meter)).map(restore));
    return meters;
  }

  async #openMeter(property: Property, name: string, predecessor?: Meter): Promise<Meter> {
    const meter = await Meter.open({ account: this.account, property, name }, this.#parts, this.#context);
    if (predecessor?.ledger.complete) await meter.book.restore(predecessor.book.history);
    return meter;
  }
}

const isOf = ({ property }: Meter, other: Property): boolean => isSameProperty(property, other);
