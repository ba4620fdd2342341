// The meters that one account reads: those of its properties whose ledgers no other account keeps. Of two that list the same property,
// the one that has the ledger reads it, else the first that finds it, until it cannot.
import { type EntityContext, isSameProperty, type Property, seriesName } from '../domain/reading.ts';
import { cannotRead, type Standing } from '../domain/sharedMeter.ts';
import { ledgerCodec } from '../store/ledgerDocument.ts';
import type { AccountContext } from './context.ts';
import type { AccountExtras } from './extras.ts';
import { Meter } from './meter.ts';
import { ledgerFile, type SeriesNames } from './names.ts';
import type { PollHistory } from './pollHistory.ts';

/** An account of this process, as far as its meters go. */
export interface Neighbour {
  readonly id: string;
  readonly own: OwnMeters;
  readonly standing: Standing;
  readonly isPolling: boolean;
}

/** A property of which another account reads the meter. */
export interface Duplicate {
  readonly property: Property;
  /** The id of that account. */
  readonly reader: string;
}

interface Parts {
  readonly history: PollHistory;
  readonly extras: AccountExtras;
  /** Shared by all accounts. */
  readonly names: SeriesNames;
  /** All accounts, in the order of the configuration. */
  readonly all: readonly Neighbour[];
  /** To be called with each meter that is opened: its history may be kept elsewhere, such as on the broker. */
  readonly restore: (meter: Meter) => Promise<void>;
}

export class OwnMeters {
  readonly #id: string;
  readonly #parts: Parts;
  readonly #context: AccountContext;
  #entities: EntityContext | null = null;
  /** `null` until the properties are known. */
  #meters: readonly Meter[] | null = null;

  constructor(id: string, parts: Parts, context: AccountContext) {
    this.#id = id;
    this.#parts = parts;
    this.#context = context;
  }

  /** The account's properties at the provider; `null` until they are known. */
  get entities(): EntityContext | null {
    return this.#entities;
  }

  get meters(): readonly Meter[] | null {
    return this.#meters;
  }

  /** Those that the disk knows: claims the ones whose ledger it has. `open` follows, once all accounts have done so. */
  async know(stored: EntityContext): Promise<void> {
    this.#entities = stored;
    await this.#parts.names.claim(stored.properties);
    const files = await this.#context.state.list(`accounts/${this.#id}`);
    for (const property of stored.properties) {
      const path = ledgerFile(this.#id, property);
      if (files.some((file) => path.endsWith(`/${file}`))) this.#parts.names.ownerOf(property, this.#id);
    }
  }

  /** After a discovery. */
  async take(found: EntityContext): Promise<void> {
    await this.#parts.names.claim(found.properties);
    this.#meters = await this.#openAll(found);
    this.#entities = found;
  }

  async open(): Promise<void> {
    if (this.#entities !== null) this.#meters = await this.#openAll(this.#entities);
  }

  duplicates(): Duplicate[] {
    const isOwn = (property: Property) => this.#meters?.some((meter) => isOf(meter, property)) ?? true;
    return (this.#entities?.properties ?? [])
      .filter((property) => !isOwn(property))
      .map((property) => ({ property, reader: this.#parts.names.ownerOf(property, this.#id) }));
  }

  #neighbour(id: string): Neighbour | undefined {
    return this.#parts.all.find((one) => one.id === id);
  }

  /** All its meters: the bills are about those that another account reads as well. None while one is not complete, or not known here. */
  billed(): readonly Meter[] {
    const shared = this.duplicates().map(({ property, reader }) =>
      this.#neighbour(reader)?.own.meters?.find((meter) => isOf(meter, property)),
    );
    const all = [...(this.#meters ?? []), ...shared];
    const complete = all.flatMap((meter) => (meter?.isComplete ? meter : []));
    return complete.length === all.length ? complete : [];
  }

  /** Takes over what others of this process cannot read, with all that is known of it. */
  async takeOver(): Promise<void> {
    const now = this.#context.clock.now();
    for (const { property, reader } of this.duplicates()) {
      const owner = this.#neighbour(reader);
      if (owner && !owner.isPolling && cannotRead(owner.standing, now)) await this.#takeFrom(owner, property);
    }
  }

  async #takeFrom(owner: Neighbour, property: Property): Promise<void> {
    const { state, log, changed } = this.#context;
    const meter = owner.own.#give(property);
    // On disk here before it goes there: a crash in between leaves it with its owner.
    if (meter)
      await state.document(ledgerFile(this.#id, property), ledgerCodec).write(meter.store.toDocument());
    this.#parts.names.give(property, this.#id);
    await this.open();
    await state.document(ledgerFile(owner.id, property), ledgerCodec).remove();
    log.info({ meter: seriesName(property), from: owner.id }, 'took over the meter of another account');
    changed(owner.id);
    changed(this.#id);
  }

  #give(property: Property): Meter | undefined {
    const meter = this.#meters?.find((one) => isOf(one, property));
    this.#meters = this.#meters?.filter((one) => one !== meter) ?? null;
    return meter;
  }

  async #openAll({ properties }: EntityContext): Promise<Meter[]> {
    const { names } = this.#parts;
    const present = new Set(properties.map(({ propertyCustomerId }) => propertyCustomerId));
    const gone = (this.#meters ?? []).filter(({ property }) => !present.has(property.propertyCustomerId));
    for (const { property } of gone) names.release(property);
    const opened: Meter[] = [];
    const added: Meter[] = [];
    for (const property of properties) {
      const owner = names.ownerOf(property, this.#id);
      if (owner !== this.#id) {
        const about = { meter: seriesName(property), otherAccount: owner };
        this.#context.log.warn(about, 'another account has this meter already');
        continue;
      }
      const name = names.nameOf(property);
      const before = this.#meters?.find(
        (meter) => meter.name === name && isSameProperty(meter.property, property),
      );
      before?.describe(property);
      // A property that is gone and had this name: its series goes on.
      const predecessor = gone.find((meter) => meter.name === name);
      const meter = before ?? (await this.#openOne(property, name, predecessor));
      opened.push(meter);
      if (meter !== before) added.push(meter);
    }
    // All at once: each may take as long as a silent broker.
    await Promise.all(added.map((meter) => this.#parts.restore(meter)));
    return opened;
  }

  async #openOne(property: Property, name: string, predecessor?: Meter): Promise<Meter> {
    const { extras, history } = this.#parts;
    const fromAccount = (now: Property) => ({
      currency: extras.currency,
      register: extras.register(now),
      lastSuccessAt: history.record.lastSuccessAt,
    });
    const meter = await Meter.open({ account: this.#id, property, name }, fromAccount, this.#context);
    if (predecessor?.ledger.complete) await meter.store.restore(predecessor.store.history);
    return meter;
  }
}

const isOf = ({ property }: Meter, other: Property): boolean => isSameProperty(property, other);
