// An account that a process has claimed. The claim raised a number in the account's row, the fence, and every write names it, so that
// a write that comes late is refused. What is stored of the account is changed in memory and written in one statement at the end of
// the run. Only tokens, and that a login begins, are written at once: they have to be kept before they are used.
import { type Property, seriesName, topicSafe } from '../../domain/reading.ts';
import { cannotRead } from '../../domain/sharedMeter.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, type Failure, failure } from '../../foundation/failure.ts';
import {
  type ClaimedRow,
  type Columns,
  commitStatement,
  type End,
  NO_CHANGES,
  TAKE_SERIES,
} from './claimedRow.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import type { Seal } from './seal.ts';
import { readRows, type StoredAccount } from './storedAccount.ts';

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

/** To be called when the row has this fence, and all that is stored is in the database. */
type GivenBack = (stored: StoredAccount, fence: number) => void;

const RETRY_MS = 200;

export class Claim {
  readonly id: string;
  readonly row: ClaimedRow;
  readonly #tools: Tools;
  readonly #readStored: () => Promise<StoredAccount>;
  readonly #givenBack: GivenBack;
  /** `null` until it is opened. */
  #stored: StoredAccount | null = null;
  readonly #stopping = new AbortController();
  /** On the monotonic clock. */
  #endsAt: number;

  /** `endsAt`: on the monotonic clock. `read`: gives what was read after the claim, when no other process can change it. */
  constructor(
    row: ClaimedRow,
    endsAt: number,
    read: () => Promise<StoredAccount>,
    tools: Tools,
    givenBack: GivenBack = () => undefined,
  ) {
    this.id = row.id;
    this.row = row;
    this.#endsAt = endsAt;
    this.#readStored = read;
    this.#givenBack = givenBack;
    this.#tools = tools;
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

  /** To be called first. Rejects with damaged_document, or DatabaseTrouble. */
  async open(): Promise<void> {
    this.#stored = await this.#readStored();
    this.#stored.writeSession = () => this.#commit(true);
  }

  /** The same object from claim to claim, while no other process has the account in between. */
  get stored(): StoredAccount {
    if (this.#stored === null) throw new TypeError('a claim is opened before it is used');
    return this.#stored;
  }

  /**
   * Takes the series of these properties, which are all that the account has: new ones, and those of accounts that cannot read
   * them and are not claimed. A series of this account whose property is gone goes on under the property that has its meter now.
   * Resolves to the accounts that read the others, by property. Rejects with fence_lost, or DatabaseTrouble.
   */
  async takeSeries(properties: readonly Property[]): Promise<ReadonlyMap<string, string>> {
    const isElsewhere = (property: Property) => this.stored.nameOf(property) === '';
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
    this.stored.replaceSeries(await readRows(database, [id]));
    const elsewhere = properties.filter(isElsewhere);
    if (elsewhere.length === 0) return new Map();
    const readers = await database.query<{ account: string }>(
      'SELECT account FROM unnest($1::text[]) WITH ORDINALITY AS w(mark, at) JOIN heat2mqtt.series USING (mark) ORDER BY at',
      [elsewhere.map((property) => this.#markOf(property))],
    );
    // Every property has a series by now, unless another process has the account.
    if (readers.length < elsewhere.length) throw fenceLost();
    return new Map(
      elsewhere.map(({ propertyCustomerId }, at) => [propertyCustomerId, readers[at]?.account ?? '']),
    );
  }

  #markOf({ propertyCustomerId }: Property): string {
    return this.#tools.seal.mark(propertyCustomerId);
  }

  /** Writes everything that has changed, or nothing; twice is once. `end`: ends the claim. Rejects with fence_lost. */
  write(columns: Columns, end?: End): Promise<void> {
    return this.#commit(false, columns, end);
  }

  /** Ends the claim without what has changed, but for the session. Rejects with fence_lost. */
  giveBack(columns: Columns, end: End): Promise<void> {
    return this.#commit(true, columns, end);
  }

  /** Deletes the account with all that is stored of it. Rejects with fence_lost. */
  deleteAccount(): Promise<void> {
    const text = 'DELETE FROM heat2mqtt.account a WHERE id = $1 AND a.fence = $2 RETURNING id';
    return this.#insist(text, [this.id, this.row.fence]);
  }

  async #commit(isOfSessionOnly: boolean, columns: Columns = {}, end?: End): Promise<void> {
    const stored = this.#stored;
    const changes = stored?.changes(isOfSessionOnly);
    const { text, values } = commitStatement(this.row, changes ?? NO_CHANGES, columns, end);
    await this.#insist(text, values);
    changes?.written();
    // The end has raised the fence again. What a run has changed and not written never was.
    if (end && stored?.isClean()) this.#givenBack(stored, this.row.fence + 1);
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
