// An account that a process has claimed. The claim raised a number in the account's row, the fence, and every write names it, so that
// a write that comes late is refused. What is kept of the account is changed in memory and written in one statement at the end of the
// run. Only tokens, and that a login begins, are written at once: they have to be kept before they are used.
import { type Property, seriesName, topicSafe } from '../../domain/reading.ts';
import { cannotRead } from '../../domain/sharedMeter.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, type Failure, failure } from '../../foundation/failure.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import { type ClaimedRow, type Columns, commitStatement, type End, TAKE_SERIES } from './claimedRow.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import { Kept, keptAs, readKept, type SeriesWords } from './kept.ts';
import type { KeptMemory } from './keptMemory.ts';
import type { Seal } from './seal.ts';

/** The claim is over, or another process has the account now: everything of this run is dropped. */
const fenceLost = () =>
  failure('fence_lost', 'Another process has taken over the account.', {
    exit: EXIT.unexpected,
    retry: 'soon',
  });

export interface Tools {
  readonly database: Database;
  readonly seal: Seal;
  readonly clock: Clock;
}

/** The outcome of a login is written with its tokens, so that tokens that are lost count as a login that was not finished. */
const isOfSession = (name: string): boolean => ['tokens', 'login-budget', 'way-in'].includes(name);
const RETRY_MS = 200;

export class ClaimedAccount implements StateStore {
  readonly id: string;
  readonly row: ClaimedRow;
  readonly fault = null;
  /** The columns of a series for the views, beside its readings. */
  describe: (series: string) => SeriesWords = () => ({});
  readonly #tools: Tools;
  readonly #memory: KeptMemory;
  /** `null` once it is opened: it holds what is kept of the accounts that were claimed with this one. */
  #readKept: (() => Promise<Kept>) | null;
  /** Nothing, until it is opened. */
  #kept: Kept;
  readonly #stopping = new AbortController();
  /** On the monotonic clock. */
  #endsAt: number;

  /** `endsAt`: on the monotonic clock. `readKept`: gives what was read after the claim, when no other process can change it. */
  constructor(
    row: ClaimedRow,
    endsAt: number,
    readKept: () => Promise<Kept>,
    memory: KeptMemory,
    tools: Tools,
  ) {
    this.id = row.id;
    this.row = row;
    this.#endsAt = endsAt;
    this.#readKept = readKept;
    this.#memory = memory;
    this.#tools = tools;
    this.#kept = new Kept(row.id, tools.seal, true);
  }

  /** Aborts when the run is to stop, with the reason. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  remainingMs(): number {
    return this.#endsAt - this.#tools.clock.monotonic();
  }

  /** Throws the reason once the run is to stop; a stopped process looks here before any timer of its own has run. */
  check(): void {
    if (this.remainingMs() <= 0) this.end();
    this.signal.throwIfAborted();
  }

  /** The run is to stop, while the account is still ours. */
  stop(why: Failure): void {
    this.#stopping.abort(why);
  }

  end(): void {
    this.#endsAt = Number.NEGATIVE_INFINITY;
    this.#stopping.abort(fenceLost());
  }

  /** `until`: on the monotonic clock. One that is over stays so. */
  renew(until: number): void {
    if (this.remainingMs() > 0) this.#endsAt = until;
  }

  /** The same object from claim to claim, while no other process has the account in between; once it is opened. */
  get continuity(): object {
    return this.#kept;
  }

  /** To be called before any document is asked for. Rejects with damaged_document, or DatabaseTrouble. */
  async open(): Promise<void> {
    if (this.#readKept === null) return;
    this.#kept = await this.#readKept();
    this.#readKept = null;
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const { name, property } = keptAs(path, this.#tools.seal);
    const put = async (json: unknown, value?: T) => {
      // Another account reads the meter of a ledger that has no series here.
      if (property !== null && this.#kept.seriesOf(name) === '') return true;
      this.#kept.put(name, json, value);
      const isLoginBegun = name === 'login-budget' && Object(json).code === 'login_unfinished';
      // Tokens that cannot be kept must not be used: the run is over then.
      if (name === 'tokens' || isLoginBegun) await this.#commit(isOfSession);
      return true;
    };
    return {
      read: async () => this.#kept.read(name, codec),
      write: (value) => put(codec.encode(value), value),
      remove: () => put(null),
    };
  }

  async list(): Promise<string[]> {
    return this.#kept.names();
  }

  /** The claim is the lock. */
  withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return step(true);
  }

  /** Readings, or something beside them, are to be written: nothing may be published before. */
  hasNews(): boolean {
    return this.#kept.hasNews();
  }

  /** The name of a property's series; `''`: it has none, or another account reads it. */
  nameOf(property: Property): string {
    return this.#kept.seriesOf(this.#markOf(property));
  }

  /** It has a series of this name, which no other account can take while the claim lasts. */
  hasSeries(series: string): boolean {
    return this.#kept.hasSeries(series);
  }

  /**
   * Takes the series of these properties, which are all that the account has: new ones, and those of accounts that cannot read
   * them and are not claimed. A series of this account whose property is gone goes on under the property that has its meter now.
   * Resolves to the accounts that read the others, by property. Rejects with fence_lost, or DatabaseTrouble.
   */
  async takeSeries(properties: readonly Property[]): Promise<ReadonlyMap<string, string>> {
    const isElsewhere = (one: Property) => this.nameOf(one) === '';
    if (!properties.some(isElsewhere)) return new Map();
    const plain = properties.map(seriesName);
    const wanted = properties.map((property, at) => {
      const name = plain[at] ?? '';
      // Another property may have the plain name.
      const longer = `${name}-${topicSafe(property.propertyCustomerId)}`;
      return { mark: this.#markOf(property), name: plain.indexOf(name) === at ? name : longer, longer };
    });
    const { id, row } = this;
    const { database, clock } = this.#tools;
    const standing = { failingSince: row.failing_since, needsPerson: row.needs_user };
    const mayTake = !cannotRead(standing, clock.now());
    await database.query(TAKE_SERIES, [id, row.fence, JSON.stringify(wanted), mayTake]);
    this.#kept.replaceSeries(await readKept(database, [id]));
    return this.#readersOf(properties.filter(isElsewhere));
  }

  async #readersOf(properties: readonly Property[]): Promise<ReadonlyMap<string, string>> {
    if (properties.length === 0) return new Map();
    const rows = await this.#tools.database.query<{ mark: string; account: string }>(
      'SELECT mark, account FROM heat2mqtt.series WHERE mark = ANY($1)',
      [properties.map((one) => this.#markOf(one))],
    );
    const readers = new Map(rows.map(({ mark, account }) => [mark, account]));
    return new Map(
      properties.map((one) => {
        const reader = readers.get(this.#markOf(one));
        // Every property has a series by now, unless another process has the account.
        if (reader === undefined) throw fenceLost();
        return [one.propertyCustomerId, reader];
      }),
    );
  }

  /** Writes everything that has changed, or nothing; twice is once. `end`: ends the claim. Rejects with fence_lost. */
  write(columns: Columns, end?: End): Promise<void> {
    return this.#commit(() => true, columns, end);
  }

  /** Ends the claim without what has changed, but for the session. Rejects with fence_lost. */
  giveBack(columns: Columns, end: End): Promise<void> {
    return this.#commit(isOfSession, columns, end);
  }

  /** Deletes the account with all that is kept of it. Rejects with fence_lost. */
  deleteAccount(): Promise<void> {
    const text = 'DELETE FROM heat2mqtt.account a WHERE id = $1 AND a.fence = $2 RETURNING id';
    return this.#insist(text, [this.id, this.row.fence]);
  }

  #markOf({ propertyCustomerId }: Property): string {
    return this.#tools.seal.mark(propertyCustomerId);
  }

  async #commit(isWanted: (name: string) => boolean, columns: Columns = {}, end?: End): Promise<void> {
    const { process } = this.#memory;
    const changes = this.#kept.changes(isWanted, this.describe);
    const { text, values } = commitStatement(this.row, changes, columns, end && { ...end, keptBy: process });
    await this.#insist(text, values);
    changes.written();
    // The end has raised the fence again. What a run has changed and not written never was.
    if (end && this.#readKept === null && this.#kept.isClean())
      this.#memory.remember(this.id, this.row.fence + 1, this.#kept);
  }

  /** Runs a statement that finds the row of the account; tried for as long as the claim lasts. */
  async #insist(text: string, values: readonly unknown[]): Promise<void> {
    const { database, clock } = this.#tools;
    while (this.remainingMs() > 0) {
      const rows = await database.query(text, values).catch((err) => {
        if (!(err instanceof DatabaseTrouble)) throw err;
      });
      if (rows && rows.length > 0) return;
      if (rows) break;
      await clock.sleep(RETRY_MS);
    }
    this.end();
    throw fenceLost();
  }
}
