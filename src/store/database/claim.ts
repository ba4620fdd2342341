// An account that a process has claimed. The claim raised a number in the account's row, the fence, and every write names it, so that
// a write that comes late is refused. What is stored of the account is changed in memory, and written in one statement: before
// something new is published, and with the end of the claim. Only tokens, and that a login begins, are written at once: they have to be
// kept before they are used.
import type { Day } from '../../domain/period.ts';
import { type Property, seriesName, topicSafe } from '../../domain/reading.ts';
import { cannotRead, LONGEST_FAILURE_MS } from '../../domain/sharedMeter.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, type Failure, failure } from '../../foundation/failure.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import type { Seal } from './seal.ts';
import { type Changes, readRows, type StoredAccount } from './storedAccount.ts';

/** The claim is over, or another process has the account now: everything of this run is dropped. */
const fenceLost = () =>
  failure('fence_lost', 'Another process has taken over the account.', {
    exit: EXIT.unexpected,
    retry: 'soon',
  });

/** The row of an account as the claim found it. Times in epoch milliseconds. */
export interface ClaimedRow {
  readonly id: string;
  /** One more than before the claim. */
  readonly fence: number;
  /** Sealed: user name and password. */
  readonly login: Buffer;
  readonly history_since: Day | null;
  readonly removed: boolean;
  /** It was imported again: documents that are damaged count as absent. */
  readonly repair: boolean;
  readonly first_history: boolean;
  /** `wanted` polls are asked for; `republish` counts how often everything is to be published again. */
  readonly wanted: number;
  readonly republish: number;
  readonly poll_at: number;
  readonly failures: number;
  readonly failing_since: number | null;
  readonly needs_user: boolean;
  /** The process that has given it back last, and remembers it; a process of before does not note itself. */
  readonly kept_by: string | null;
}

/** The account's row after a run. */
export type Columns = Readonly<Record<string, unknown>>;

/** The end of a claim. */
export interface End {
  /** Unless something is wished for that was not when it was claimed: then it is due at once. */
  readonly dueAt: Date;
  /** The polls that were wished for are done, and so is publishing everything again. */
  readonly isPolled: boolean;
  readonly isPublished: boolean;
}

export interface Tools {
  readonly database: Database;
  readonly seal: Seal;
  readonly clock: Clock;
}

/** The row has this fence now, and all that is stored is in the database. */
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
  /** A moment on the monotonic clock. */
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

  /** A run starts with this. Rejects with damaged_document, or DatabaseTrouble. */
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

  /** Writes everything that has changed, or nothing; twice is once. `end`: the account is given back. Rejects with fence_lost. */
  write(columns: Columns, end?: End): Promise<void> {
    return this.#commit(false, columns, end);
  }

  /** Gives the account back without what has changed, but for the session. Rejects with fence_lost. */
  abandon(columns: Columns, end: End): Promise<void> {
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
    const { text, values } = commitStatement(
      this.row,
      changes ?? { documents: [], ledgers: [] },
      columns,
      end,
    );
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

/** Writes columns, documents and ledgers together; it finds the account's id. */
function commitStatement(
  row: ClaimedRow,
  changes: Pick<Changes, 'documents' | 'ledgers'>,
  columns: Columns,
  end: End | undefined,
): { readonly text: string; readonly values: readonly unknown[] } {
  const { documents, ledgers } = changes;
  const given = JSON.stringify({ row: { ...columns, due_at: end?.dueAt }, documents, ledgers });
  // PostgreSQL plans each statement when it comes: most runs have no new day.
  const parts = [`held AS (${updateOfRow(row, columns, end)})`, DOCUMENTS];
  if (ledgers.length > 0) parts.push(LEDGERS, daysPart(ledgers.some(({ gone }) => gone === null)));
  return { text: `WITH ${parts.join()} SELECT id FROM held`, values: [row.id, row.fence, given] };
}

/** The end of a run raises the fence, so that what the network still holds back of the run is refused when it comes. */
function updateOfRow({ wanted, republish }: ClaimedRow, columns: Columns, end: End | undefined): string {
  const set = Object.keys(columns).map((name) => `${name} = given.${name}`);
  if (end !== undefined)
    set.push(
      "fence = a.fence + 1, claimed_until = 'epoch', claimed_by = NULL, kept_by = a.claimed_by",
      `wanted = a.wanted - ${end.isPolled ? wanted : 0}, republish = a.republish - ${end.isPublished ? republish : 0}`,
      `due_at = CASE WHEN a.wanted > ${wanted} OR a.republish > ${republish} THEN now() ELSE given.due_at END`,
    );
  return set.length === 0
    ? 'SELECT id FROM heat2mqtt.account a WHERE id = $1 AND a.fence = $2 FOR UPDATE'
    : `UPDATE heat2mqtt.account a SET ${set.join(', ')}
      FROM json_populate_record(NULL::heat2mqtt.account, $3::json -> 'row') AS given
      WHERE a.id = $1 AND a.fence = $2 RETURNING a.id`;
}

/** The writes beside the row of the account, which is `held`. The third value is everything that is given. */
const DOCUMENTS = `
documents AS (INSERT INTO heat2mqtt.document (account, name, json, sealed)
  SELECT held.id, d.name, d.json, decode(d.sealed, 'base64')
  FROM held, json_to_recordset($3::json -> 'documents') AS d(name text, json json, sealed text)
  ON CONFLICT (account, name) DO UPDATE SET json = excluded.json, sealed = excluded.sealed)`;

const LEDGERS = `
given AS (SELECT * FROM json_to_recordset($3::json -> 'ledgers') AS l(mark text, ledger json, block json, days json, gone json)),
ledgers AS (UPDATE heat2mqtt.series s
  SET ledger = l.ledger, block = CASE WHEN l.gone IS NULL THEN l.block ELSE s.block END
  FROM held, given l WHERE s.mark = l.mark AND s.account = held.id RETURNING s.id, l.days, l.gone),
present AS (SELECT id AS series, (d ->> 0)::date AS day, (d ->> 1)::bigint AS energy, (d ->> 2)::bigint AS cost,
  (d ->> 3)::int AS revision, to_timestamp((d ->> 4)::bigint / 1000.0) AS received_at
  FROM ledgers, json_array_elements(days) AS d)`;

/** `hasAll`: of some ledgers all days are given, by a `gone` that is NULL. Those that differ are written, and no others stay. */
const daysPart = (hasAll: boolean): string => `
days AS (INSERT INTO heat2mqtt.reading SELECT * FROM present
  ${hasAll ? 'EXCEPT SELECT r.* FROM heat2mqtt.reading r JOIN ledgers ON ledgers.id = r.series WHERE ledgers.gone IS NULL' : ''}
  ON CONFLICT (series, day) DO UPDATE SET energy = excluded.energy, cost = excluded.cost, revision = excluded.revision,
    received_at = excluded.received_at),
gone AS (DELETE FROM heat2mqtt.reading r USING ledgers, json_array_elements_text(ledgers.gone) AS g(day)
  WHERE r.series = ledgers.id AND r.day = g.day::date)${hasAll ? OTHER_DAYS : ''}`;

const OTHER_DAYS = `,
others AS (DELETE FROM heat2mqtt.reading r USING ledgers
  WHERE r.series = ledgers.id AND ledgers.gone IS NULL AND (r.series, r.day) NOT IN (SELECT series, day FROM present))`;

/** The values are the account, its fence, what it wants, and whether it may take from those that cannot read it. */
const TAKE_SERIES = `
WITH held AS (SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE),
wanted AS (SELECT * FROM json_to_recordset($3::json) AS w(mark text, name text, longer text)),
idle AS (SELECT a.id FROM heat2mqtt.account a
  WHERE $4 AND a.id IN (SELECT s.account FROM heat2mqtt.series s JOIN wanted USING (mark)) AND a.id <> $1
    AND a.claimed_until <= now() AND (a.paused OR a.removed OR a.needs_user
      OR a.failing_since <= now() - interval '${LONGEST_FAILURE_MS} ms')
  FOR UPDATE SKIP LOCKED),
taken AS (UPDATE heat2mqtt.series s SET account = held.id FROM held, wanted w, idle
  WHERE s.mark = w.mark AND s.account = idle.id),
-- A process that remembers what is kept of these has to read it again.
changed AS (UPDATE heat2mqtt.account a SET fence = a.fence + 1 FROM idle WHERE a.id = idle.id),
succeeding AS (UPDATE heat2mqtt.series s SET mark = w.mark FROM held, wanted w
  WHERE s.name = w.name AND s.account = held.id AND s.mark NOT IN (SELECT mark FROM wanted)
    AND NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark) RETURNING s.mark)
INSERT INTO heat2mqtt.series (account, mark, name)
SELECT held.id, w.mark, CASE WHEN EXISTS (SELECT FROM heat2mqtt.series x WHERE x.name = w.name) THEN w.longer
  ELSE w.name END FROM held, wanted w
WHERE NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark)
  AND NOT EXISTS (SELECT FROM succeeding WHERE succeeding.mark = w.mark)
ON CONFLICT DO NOTHING`;
