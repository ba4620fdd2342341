// Accounts that a process has claimed. Each claim raises a number in the account's row, the fence, and every write of that claim names
// it, so that a write that comes late is refused. What is kept of the account is read with the claim, changed in memory, and written
// in one statement at the end of the run. Only tokens, and that a login begins, are written at once: they have to be kept before
// they are used.
import type { Day } from '../../domain/period.ts';
import { type Property, seriesName, topicSafe } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure, failure } from '../../foundation/failure.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import { PLACES, type Seal } from './seal.ts';

/** The claim is over, or another process has the account now: everything of this run is dropped. */
export class FenceLost extends Failure {
  constructor() {
    const message = 'Another process has taken over the account.';
    super('fence_lost', message, { exit: EXIT.unexpected, retry: 'soon' });
  }
}

/** The row of an account as the claim found it. Times in epoch milliseconds. */
export interface ClaimedRow {
  readonly id: string;
  readonly fence: number;
  /** Sealed: user name and password. */
  readonly login: Buffer;
  readonly history_since: Day | null;
  readonly removed: boolean;
  /** It was imported again: documents that are damaged count as absent. */
  readonly repair: boolean;
  readonly first_history: boolean;
  /** How many polls are asked for, and how often everything is to be published again. */
  readonly wanted: number;
  readonly republish: number;
  readonly poll_at: number;
  readonly failures: number;
  readonly failing_since: number | null;
  readonly needs_user: boolean;
}

const ROW = `a.id, a.fence, a.login, a.history_since, a.removed, a.repair, a.first_history, a.wanted, a.republish, a.poll_at,
  a.failures, a.failing_since, a.needs_user`;

/** What a run makes of the account's row. */
export type Columns = Readonly<Record<string, unknown>>;

/** The end of a claim. */
export interface End {
  /** Unless something is wished for that was not when it was claimed: then it is due at once. */
  readonly dueAt: Date;
  /** The polls that were wished for are done, and so is publishing everything again. */
  readonly isPolled: boolean;
  readonly isPublished: boolean;
}

interface Tools {
  readonly database: Database;
  readonly seal: Seal;
  readonly clock: Clock;
}

/** A document of an account, or the ledger of one of its series: `days` are as a ledger's document has them. */
interface KeptRow {
  readonly account: string;
  /** A ledger's is the mark of its series. */
  readonly name: string;
  readonly json: object | null;
  readonly sealed: Buffer | null;
  /** What the meter is called in topics; `null`: it is no ledger. */
  readonly series: string | null;
  readonly days: readonly unknown[] | null;
}

/** Everything that is kept of these accounts. */
export const readKept = (database: Database, accounts: readonly string[]): Promise<KeptRow[]> =>
  database.query<KeptRow>(
    `SELECT account, name, json, sealed, NULL AS series, NULL::json AS days FROM heat2mqtt.document WHERE account = ANY($1)
    UNION ALL SELECT s.account, s.mark, s.ledger, NULL, s.name, (SELECT json_agg(json_build_array(r.day, r.energy, r.cost,
      r.revision, (extract(epoch FROM r.received_at) * 1000)::bigint) ORDER BY r.day)
      FROM heat2mqtt.reading r WHERE r.series = s.id) FROM heat2mqtt.series s WHERE s.account = ANY($1)`,
    [accounts],
  );

/** The property whose ledger a document of this name is. */
export function propertyOf(name: string): string | null {
  const property = /^ledger-(.+)$/.exec(name)?.[1];
  return property === undefined ? null : decodeURIComponent(property);
}

/** They hold no secret and no number of a person. */
const PLAIN = ['journal', 'published'];
/** What is known of a login's end is written with its tokens, so that tokens that are lost count as a login that was not finished. */
const WITH_TOKENS = ['tokens', 'login-budget', 'way-in'];
const RETRY_MS = 200;

/** What SQL may be asked about a document. */
function plainPart(name: string, json: unknown): unknown {
  if (name !== 'extras') return PLAIN.includes(name) ? json : null;
  const { balance, credit, invoices } = Object(Object(json).value);
  return { balance: balance?.found, credit: credit?.found, invoices: invoices?.found?.all ?? [] };
}

export class ClaimedAccount implements StateStore {
  readonly fault = null;
  readonly row: ClaimedRow;
  /** What the views tell of a series beside its readings. */
  describe: (series: string) => { readonly currency?: string; readonly friendlyName?: string | null } =
    () => ({});
  readonly #tools: Tools;
  readonly #rows: Promise<readonly KeptRow[]>;
  readonly #ending = new AbortController();
  /** On the monotonic clock. */
  endsAt: number;
  /** Keys are names; a ledger's is the mark of its series. */
  readonly #kept = new Map<string, { readonly series: string | null; json: unknown; isChanged: boolean }>();

  /** `rows`: what is kept of it, and of others; asked for after the claim, when no other process can change it any more. */
  constructor(row: ClaimedRow, endsAt: number, rows: Promise<readonly KeptRow[]>, tools: Tools) {
    this.row = row;
    this.endsAt = endsAt;
    this.#rows = rows;
    this.#tools = tools;
  }

  get id(): string {
    return this.row.id;
  }

  /** Aborts when the claim is over, with the reason. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Throws the reason once the claim is over; a stopped process looks here before any timer of its own has run. */
  check(): void {
    if (this.remainingMs() <= 0) this.end();
    this.signal.throwIfAborted();
  }

  remainingMs(): number {
    return this.signal.aborted ? 0 : this.endsAt - this.#tools.clock.monotonic();
  }

  end(): void {
    this.#ending.abort(new FenceLost());
  }

  /** To be called before any document is asked for. Rejects with damaged_document, or DatabaseTrouble. */
  async open(): Promise<void> {
    this.#take(await this.#rows);
  }

  #take(rows: readonly KeptRow[]): void {
    for (const { account, name, json, sealed, series, days } of rows) {
      if (account !== this.id) continue;
      const opened = sealed === null ? json : this.#tools.seal.open(PLACES.document(account, name), sealed);
      const ledger = series !== null && json !== null ? { ...json, days: days ?? [] } : null;
      this.#kept.set(name, { series, json: ledger ?? opened ?? null, isChanged: false });
      if (opened === undefined) this.#noteDamage(name);
    }
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const file = path.slice(path.lastIndexOf('/') + 1);
    const property = propertyOf(file);
    const name = property === null ? file : this.#tools.seal.mark(property);
    let known: { readonly json: unknown; readonly value: T | null } = { json: null, value: null };
    const put = async (json: unknown, value: T | null) => {
      const { series = null } = this.#kept.get(name) ?? {};
      // Another account reads the meter of a ledger that has no series here.
      if (property !== null && series === null) return true;
      known = { json, value };
      this.#kept.set(name, { series, json, isChanged: true });
      const isLoginBegun = name === 'login-budget' && Object(json).code === 'login_unfinished';
      // What cannot be kept must not be used: the run is over then.
      if (name === 'tokens' || isLoginBegun) await this.#commit((one) => WITH_TOKENS.includes(one));
      return true;
    };
    return {
      read: async () => {
        const { json = null } = this.#kept.get(name) ?? {};
        if (json !== known.json) known = { json, value: this.#decode(name, json, codec) };
        return known.value;
      },
      write: (value) => put(codec.encode(value), value),
      remove: () => put(null, null),
    };
  }

  async list(): Promise<string[]> {
    return [...this.#kept.keys()];
  }

  /** The claim is the lock. */
  withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return step(true);
  }

  async retry(): Promise<void> {}
  async unlock(): Promise<void> {}

  /** Readings, or something beside them, are to be written: nothing may be published before. */
  get hasNews(): boolean {
    return [...this.#kept].some(([name, one]) => one.isChanged && (name === 'extras' || one.series !== null));
  }

  /** What the series of a property is called; `''`: it has none, or another account reads it. */
  nameOf({ propertyCustomerId }: Property): string {
    return this.#kept.get(this.#tools.seal.mark(propertyCustomerId))?.series ?? '';
  }

  /**
   * Takes the series of these properties, which are all that the account has: new ones, and those of accounts that may not read
   * them, or come later by their id, and that are not claimed. A series of this account whose property is gone goes on
   * under the property that has its meter now. Resolves to those that the account may read.
   */
  async takeSeries(properties: readonly Property[]): Promise<readonly Property[]> {
    const { database, seal } = this.#tools;
    const { id, fence, needs_user } = this.row;
    const mayRead = (one: Property) => this.nameOf(one) !== '';
    if (properties.every(mayRead)) return properties;
    const plain = properties.map(seriesName);
    const wanted = properties.map(({ propertyCustomerId: property }, at) => {
      const name = plain[at] ?? '';
      // Another property may have the plain name.
      const longer = `${name}-${topicSafe(property)}`;
      const isFirst = plain.indexOf(name) === at;
      return [seal.mark(property), isFirst ? name : longer, longer];
    });
    await database.query(
      `WITH held AS (SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE),
      wanted AS (SELECT * FROM unnest($3::text[], $4::text[], $5::text[]) AS w(mark, name, longer)),
      idle AS (SELECT a.id FROM heat2mqtt.account a
        WHERE a.id IN (SELECT s.account FROM heat2mqtt.series s JOIN wanted USING (mark)) AND a.id <> $1
          AND a.claimed_until <= now() AND NOT $6 AND (a.id > $1 OR a.paused OR a.removed OR a.needs_user)
        FOR UPDATE SKIP LOCKED),
      taken AS (UPDATE heat2mqtt.series s SET account = held.id FROM held, wanted w, idle
        WHERE s.mark = w.mark AND s.account = idle.id),
      succeeding AS (UPDATE heat2mqtt.series s SET mark = w.mark FROM held, wanted w
        WHERE s.name = w.name AND s.account = held.id AND s.mark <> ALL ($3)
          AND NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark) RETURNING s.mark)
      INSERT INTO heat2mqtt.series (account, mark, name)
      SELECT held.id, w.mark, CASE WHEN EXISTS (SELECT FROM heat2mqtt.series x WHERE x.name = w.name) THEN w.longer
        ELSE w.name END FROM held, wanted w
      WHERE NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark)
        AND NOT EXISTS (SELECT FROM succeeding WHERE succeeding.mark = w.mark)
      ON CONFLICT DO NOTHING`,
      [id, fence, ...turned(wanted), needs_user],
    );
    const isLedger = ({ series }: { readonly series: string | null }) => series !== null;
    for (const [name, row] of this.#kept) if (isLedger(row)) this.#kept.delete(name);
    this.#take((await readKept(database, [id])).filter(isLedger));
    return properties.filter(mayRead);
  }

  /** Those of these topics that are of no meter which another account reads. */
  async readByNoOther(topics: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#tools.database.query<{ topic: string }>(
      `SELECT topic FROM unnest($1::text[]) AS topic WHERE NOT EXISTS (SELECT FROM heat2mqtt.series s WHERE s.account <> $2
        AND (strpos(topic || '/', '/meter/' || s.name || '/') > 0 OR strpos(topic || '/', '_meter_' || s.name || '/') > 0))`,
      [topics, this.id],
    );
    return rows.map(({ topic }) => topic);
  }

  /** Writes everything that has changed, or nothing; twice is once. `end`: ends the claim. Rejects with FenceLost. */
  write(columns: Columns, end?: End): Promise<void> {
    return this.#commit(() => true, columns, end);
  }

  /** Ends the claim without what has changed. Rejects with FenceLost. */
  giveBack(columns: Columns, end: End): Promise<void> {
    return this.#commit(() => false, columns, end);
  }

  /** Deletes the account with all that is kept of it. Rejects with FenceLost. */
  deleteAccount(): Promise<void> {
    const text = 'DELETE FROM heat2mqtt.account WHERE id = $1 AND fence = $2 RETURNING id';
    return this.#insist(text, [this.id, this.row.fence]);
  }

  async #commit(isWanted: (name: string) => boolean, columns: Columns = {}, end?: End): Promise<void> {
    const { id, row } = this;
    const documents: unknown[][] = [];
    const ledgers: unknown[][] = [];
    const changes = [...this.#kept].filter(([name, { isChanged }]) => isChanged && isWanted(name));
    for (const [name, { series, json }] of changes) {
      const { days, ...ledger } = Object(json);
      if (series !== null)
        ledgers.push([name, written({ ...ledger, ...this.describe(series) }), written(days)]);
      else {
        const isOpen = json === null || PLAIN.includes(name);
        const sealed = isOpen ? null : this.#tools.seal.close(PLACES.document(id, name), json);
        documents.push([name, written(plainPart(name, json)), sealed]);
      }
    }
    const values: unknown[] = [id, row.fence, ...turned(documents)];
    // PostgreSQL plans each statement when it comes: most runs have no new day.
    const hasLedgers = ledgers.length > 0;
    if (hasLedgers) values.push(...turned(ledgers));
    const held = updateOfRow(row, columns, end, (value) => `$${values.push(value)}`);
    const parts = [`held AS (${held})`, DOCUMENTS, ...(hasLedgers ? [LEDGERS] : [])];
    await this.#insist(`WITH ${parts.join()} SELECT id FROM held`, values);
    for (const [, one] of changes) one.isChanged = false;
  }

  /** One statement that finds the row of the account; tried for as long as the claim lasts. */
  async #insist(text: string, values: readonly unknown[]): Promise<void> {
    const { database, clock } = this.#tools;
    for (;;) {
      this.check();
      try {
        const held = await database.query(text, values);
        if (held.length === 0) this.end();
        this.signal.throwIfAborted();
        return;
      } catch (err) {
        if (!(err instanceof DatabaseTrouble)) throw err;
        await clock.sleep(RETRY_MS, this.signal);
      }
    }
  }

  #decode<T>(name: string, json: unknown, codec: Codec<T>): T | null {
    try {
      return json === null ? null : codec.decode(json);
    } catch (err) {
      this.#noteDamage(name, err);
      return null;
    }
  }

  /** After the account was imported again, and where it is removed, what is damaged counts as absent. Else throws damaged_document. */
  #noteDamage(name: string, cause?: unknown): void {
    const { id, repair, removed } = this.row;
    const { series = null } = this.#kept.get(name) ?? {};
    const called = series === null ? name : 'ledger';
    if (!repair && !removed)
      throw failure('damaged_document', `What the database keeps of ${id} as ${called} is damaged.`, {
        exit: EXIT.unexpected,
        retry: 'never',
        hint: 'Import this account again with `heat2mqtt accounts import`: what is damaged is then read again.',
        cause,
      });
    if (series === null) this.#kept.set(name, { series, json: null, isChanged: true });
  }
}

/** With a new fence at its end, what the network still holds back of the run is refused when it comes. */
function updateOfRow(
  row: ClaimedRow,
  columns: Columns,
  end: End | undefined,
  given: (value: unknown) => string,
): string {
  const set = Object.entries(columns).map(([name, value]) => `${name} = ${given(value)}`);
  if (end !== undefined) {
    const [wanted, republish] = [given(row.wanted), given(row.republish)];
    set.push(
      "fence = fence + 1, claimed_until = 'epoch', claimed_by = NULL",
      ...(end.isPolled ? [`wanted = wanted - ${wanted}`] : []),
      ...(end.isPublished ? [`republish = republish - ${republish}`] : []),
      `due_at = CASE WHEN wanted > ${wanted} OR republish > ${republish} THEN now() ELSE ${given(end.dueAt)}::timestamptz END`,
    );
  }
  return set.length === 0
    ? 'SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE'
    : `UPDATE heat2mqtt.account SET ${set.join(', ')} WHERE id = $1 AND fence = $2 RETURNING id`;
}

const written = (json: unknown): string | null => (json === null ? null : JSON.stringify(json));

/** A column for each of the three places of the rows. */
const turned = (rows: readonly (readonly unknown[])[]): unknown[][] =>
  [0, 1, 2].map((at) => rows.map((row) => row[at]));

/** What is written beside the row of the account, which is `held`. The values are the two of the account, then these. */
const DOCUMENTS = `
documents AS (INSERT INTO heat2mqtt.document (account, name, json, sealed)
  SELECT held.id, d.* FROM held, unnest($3::text[], $4::json[], $5::bytea[]) AS d
  ON CONFLICT (account, name) DO UPDATE SET json = excluded.json, sealed = excluded.sealed)`;
/** Writes those of its days that differ. */
const LEDGERS = `
ledgers AS (UPDATE heat2mqtt.series s SET ledger = l.ledger
  FROM held, unnest($6::text[], $7::json[], $8::json[]) AS l(mark, ledger, days)
  WHERE s.mark = l.mark AND s.account = held.id RETURNING s.id, l.days),
present AS (SELECT id AS series, (d ->> 0)::date AS day, (d ->> 1)::bigint AS energy, (d ->> 2)::bigint AS cost,
  (d ->> 3)::int AS revision, to_timestamp((d ->> 4)::bigint / 1000.0) AS received_at
  FROM ledgers, json_array_elements(days) AS d),
days AS (INSERT INTO heat2mqtt.reading
  SELECT * FROM present EXCEPT SELECT r.* FROM heat2mqtt.reading r JOIN ledgers ON ledgers.id = r.series
  ON CONFLICT (series, day) DO UPDATE SET energy = excluded.energy, cost = excluded.cost, revision = excluded.revision,
    received_at = excluded.received_at),
absent AS (DELETE FROM heat2mqtt.reading r USING ledgers
  WHERE r.series = ledgers.id AND NOT EXISTS (SELECT FROM present p WHERE p.series = r.series AND p.day = r.day))`;

export type Claims = ReturnType<typeof openClaims>;

/** `process`: a UUID. `seconds`: how long a claim lasts unless it is renewed, by the clock of the database. */
export function openClaims(tools: Tools, process: string, seconds: number) {
  const { database, clock } = tools;
  // From before the statement is sent: the database's claim ends later than ours.
  const nextEnd = () => clock.monotonic() + seconds * 1000;

  async function raise(free: string, values: readonly unknown[]): Promise<ClaimedAccount[]> {
    const endsAt = nextEnd();
    const rows = await database.query<ClaimedRow>(
      `WITH ${free}
      UPDATE heat2mqtt.account a
      SET fence = a.fence + 1, claimed_by = $1, claimed_until = clock_timestamp() + make_interval(secs => $2)
      FROM free WHERE a.id = free.id RETURNING ${ROW}`,
      [process, seconds, ...values],
    );
    const ids = rows.map(({ id }) => id);
    const kept = ids.length > 0 ? readKept(database, ids) : Promise.resolve([]);
    return rows.map((row) => new ClaimedAccount(row, endsAt, kept, tools));
  }

  const due = (kind: string, limit: string) =>
    `(SELECT id FROM heat2mqtt.account WHERE ${kind} AND NOT paused AND due_at <= now() AND claimed_until <= now()
      AND retry_after <= now() ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;

  return {
    /**
     * Claims up to so many accounts that are due, the oldest first; of these at most so many whose history is read for the
     * first time. Rejects with DatabaseTrouble.
     */
    take: (most: number, mostFirstHistories: number): Promise<ClaimedAccount[]> =>
      raise(
        `fresh AS ${due('first_history', '$4')},
        others AS ${due('NOT first_history', '$3 - (SELECT count(*) FROM fresh)')},
        free AS (SELECT id FROM fresh UNION ALL SELECT id FROM others)`,
        [most, mostFirstHistories],
      ),

    /** Claims one account, due or not, for a command. `undefined`: another process has it, or it is not there. */
    async takeOne(id: string): Promise<ClaimedAccount | undefined> {
      const free =
        'SELECT id FROM heat2mqtt.account WHERE id = $3 AND claimed_until <= now() FOR UPDATE SKIP LOCKED';
      return (await raise(`free AS (${free})`, [id]))[0];
    },

    /**
     * Renews these, which `take` has given: a statement under way is not seen by one on another connection. Those that are over, or
     * another's by now, end. Rejects with DatabaseTrouble.
     */
    async renew(claimed: readonly ClaimedAccount[]): Promise<void> {
      for (const one of claimed) if (one.remainingMs() <= 0) one.end();
      const living = claimed.filter(({ signal }) => !signal.aborted);
      if (living.length === 0) return;
      const endsAt = nextEnd();
      const values = [process, seconds, living.map(({ id }) => id), living.map(({ row }) => row.fence)];
      const renewed = await database.query<{ id: string }>(
        `UPDATE heat2mqtt.account a SET claimed_until = clock_timestamp() + make_interval(secs => $2)
        FROM unnest($3::text[], $4::bigint[]) AS mine(id, fence)
        WHERE a.id = mine.id AND a.fence = mine.fence AND a.claimed_by = $1 RETURNING a.id`,
        values,
      );
      const ids = new Set(renewed.map(({ id }) => id));
      for (const one of living) {
        if (!ids.has(one.id)) one.end();
        else if (one.remainingMs() > 0) one.endsAt = endsAt;
      }
    },
  };
}
