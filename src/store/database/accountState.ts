// The state of one claimed account: read when it is claimed, changed in memory, and written in one statement at the end of
// the run. Only tokens, and that a login begins, are written at once: they have to be kept before they are used.
import { type Property, seriesName, topicSafe } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, failure } from '../../foundation/failure.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import type { Claim, ClaimedRow } from './claims.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import { PLACES, type Seal } from './seal.ts';

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

/** As a ledger's document has it; amounts in millionths, the time in epoch milliseconds. */
type StoredDay = readonly [
  day: string,
  energy: number | null,
  cost: number | null,
  revision: number,
  receivedAt: number,
];

/** A document of an account, or the ledger of one of its series. */
export interface KeptRow {
  readonly account: string;
  /** A ledger's is the mark of its series. */
  readonly name: string;
  /** A ledger's is without its days. */
  readonly json: unknown;
  readonly sealed: Buffer | null;
  /** `name`: as its meter is called in topics. */
  readonly series: { readonly id: number; readonly name: string; readonly days: StoredDay[] | null } | null;
}

/** Everything that is kept of these accounts. To be asked for after the claim: no other process can change it any more. */
export const readKept = (database: Database, accounts: readonly string[]): Promise<KeptRow[]> =>
  database.query<KeptRow>(
    `SELECT account, name, json, sealed, NULL::json AS series FROM heat2mqtt.document WHERE account = ANY($1)
    UNION ALL SELECT s.account, s.mark, s.ledger, NULL, json_build_object('id', s.id, 'name', s.name, 'days', (
      SELECT json_agg(json_build_array(r.day, r.energy, r.cost, r.revision,
        (extract(epoch FROM r.received_at) * 1000)::bigint) ORDER BY r.day)
      FROM heat2mqtt.reading r WHERE r.series = s.id))
    FROM heat2mqtt.series s WHERE s.account = ANY($1)`,
    [accounts],
  );

/** What SQL may be asked about a document; everything of those that hold no secret and no number of a person. */
function plainPart(name: string, json: unknown): unknown {
  if (name !== 'extras') return PLAIN.includes(name) ? json : null;
  const { balance, credit, invoices } = Object(Object(json).value);
  return { balance: balance?.found, credit: credit?.found, invoices: invoices?.found?.all ?? [] };
}

/** The property whose ledger a document of this name is. */
export function propertyOf(name: string): string | null {
  const property = /^ledger-(.+)$/.exec(name)?.[1];
  return property === undefined ? null : decodeURIComponent(property);
}

const PLAIN = ['journal', 'published'];
/** What is known of a login's end is written with its tokens, so that tokens that are lost count as a login that was not finished. */
const WITH_TOKENS = ['tokens', 'login-budget', 'way-in'];
const isAtOnce = (name: string, json: unknown): boolean =>
  name === 'tokens' || (name === 'login-budget' && Object(json).code === 'login_unfinished');
const RETRY_MS = 200;

const damagedDocument = (account: string, name: string, cause: unknown) =>
  failure('damaged_document', `What the database keeps of ${account} as ${name} is damaged.`, {
    exit: EXIT.unexpected,
    retry: 'never',
    hint: 'Import this account again with `heat2mqtt accounts import`: what is damaged is then read anew.',
    cause,
  });

interface Parts {
  readonly claim: Claim;
  readonly database: Database;
  readonly seal: Seal;
  readonly clock: Clock;
}

/** What differs from the database, by name; `null`: to be removed. */
type Changes = readonly (readonly [name: string, json: unknown])[];

export class AccountState implements StateStore {
  readonly fault = null;
  /** What the views tell of a series beside its readings. */
  describe: (series: string) => { readonly currency: string | null; readonly friendlyName: string | null } =
    () => ({ currency: null, friendlyName: null });
  readonly #parts: Parts;
  /** As the database has them, by name, and opened. */
  readonly #rows = new Map<string, Pick<KeptRow, 'json' | 'series'>>();
  /** As they were read or written last. */
  readonly #values = new Map<string, unknown>();
  readonly #changed = new Map<string, unknown>();

  /** `kept`: what `readKept` gives of the account. Throws damaged_document. */
  constructor(parts: Parts, kept: readonly KeptRow[]) {
    this.#parts = parts;
    for (const { account, name, json, sealed, series } of kept) {
      const opened = sealed === null ? json : parts.seal.open(PLACES.document(account, name), sealed);
      if (opened === undefined) this.#noteDamage(name);
      this.#rows.set(name, { json: opened ?? null, series });
    }
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const file = path.slice(path.lastIndexOf('/') + 1);
    const property = propertyOf(file);
    const name = property === null ? file : this.#parts.seal.mark(property);
    const put = async (value: T | null, json: unknown) => {
      // Another account reads the meter of a ledger that has no series here.
      if (property !== null && !this.#rows.has(name)) return true;
      this.#values.set(name, value);
      this.#changed.set(name, json);
      // What cannot be kept must not be used: the run is over then.
      if (isAtOnce(name, json))
        await this.#commit(
          {},
          [...this.#changed].filter(([one]) => WITH_TOKENS.includes(one)),
        );
      return true;
    };
    return {
      read: async () => {
        if (!this.#values.has(name)) this.#values.set(name, this.#decode(name, codec));
        return this.#values.get(name) as T | null;
      },
      write: (value) => put(value, codec.encode(value)),
      remove: () => put(null, null),
    };
  }

  async list(): Promise<string[]> {
    return [...this.#rows.keys()];
  }

  /** The claim is the lock. */
  withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return step(true);
  }

  async retry(): Promise<void> {}
  async unlock(): Promise<void> {}

  /** Readings, or something beside them, are to be written: nothing may be published before. */
  get hasNews(): boolean {
    return [...this.#changed.keys()].some((name) => name === 'extras' || this.#rows.get(name)?.series);
  }

  /** What the series of a property is called; undefined: it has none, or another account reads it. */
  seriesName({ propertyCustomerId }: Property): string | undefined {
    return this.#rows.get(this.#parts.seal.mark(propertyCustomerId))?.series?.name;
  }

  /**
   * Takes the series of these properties, which are all that the account has: new ones, and those of accounts that may not read
   * them, or come later by their id, and that are not claimed. A series of this account whose property is gone goes on
   * under the property that has its meter now.
   */
  async takeSeries(properties: readonly Property[]): Promise<void> {
    const { database, claim, seal } = this.#parts;
    if (properties.every((one) => this.seriesName(one) !== undefined)) return;
    const plain = properties.map(seriesName);
    const wanted = properties.map(({ propertyCustomerId: id }, at) => {
      const mark = seal.mark(id);
      const name = plain[at] ?? '';
      // For when another property has the plain name.
      const longer = `${name}-${topicSafe(id)}`;
      const isFirst = plain.indexOf(name) === at;
      return [mark, isFirst ? name : longer, longer, seal.close(PLACES.property(mark), id)];
    });
    await database.query(
      `WITH held AS (SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE),
      wanted AS (SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::bytea[]) AS w(mark, name, longer, property)),
      idle AS (SELECT a.id FROM heat2mqtt.account a
        WHERE a.id IN (SELECT s.account FROM heat2mqtt.series s JOIN wanted USING (mark)) AND a.id <> $1
          AND a.claimed_until <= now() AND NOT $7 AND (a.id > $1 OR a.paused OR a.removed OR a.needs_user)
        FOR UPDATE SKIP LOCKED),
      taken AS (UPDATE heat2mqtt.series s SET account = held.id FROM held, wanted w, idle
        WHERE s.mark = w.mark AND s.account = idle.id),
      succeeding AS (UPDATE heat2mqtt.series s SET mark = w.mark, property = w.property FROM held, wanted w
        WHERE s.name = w.name AND s.account = held.id AND s.mark <> ALL ($3)
          AND NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark) RETURNING s.mark)
      INSERT INTO heat2mqtt.series (account, mark, name, property)
      SELECT held.id, w.mark, CASE WHEN EXISTS (SELECT FROM heat2mqtt.series x WHERE x.name = w.name) THEN w.longer
        ELSE w.name END, w.property FROM held, wanted w
      WHERE NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark)
        AND NOT EXISTS (SELECT FROM succeeding WHERE succeeding.mark = w.mark)
      ON CONFLICT DO NOTHING`,
      [claim.account, claim.row.fence, ...turned(wanted, 4), claim.row.needs_user],
    );
    const series = (await readKept(database, [claim.account])).filter((row) => row.series !== null);
    for (const [name, row] of this.#rows) if (row.series !== null) this.#rows.delete(name);
    for (const row of series) {
      this.#rows.set(row.name, row);
      this.#values.delete(row.name);
    }
  }

  /** Those of these series that another account reads. */
  async othersSeries(names: readonly string[]): Promise<readonly string[]> {
    const { database, claim } = this.#parts;
    const rows = await database.query<{ name: string }>(
      'SELECT name FROM heat2mqtt.series WHERE name = ANY($1) AND account <> $2',
      [names, claim.account],
    );
    return rows.map(({ name }) => name);
  }

  /** Writes everything that has changed, or nothing; twice is once. `end`: ends the claim. Rejects with FenceLost. */
  write(columns: Columns, end?: End): Promise<void> {
    return this.#commit(columns, [...this.#changed], end);
  }

  /** Deletes the account with all that is kept of it. Rejects with FenceLost. */
  deleteAccount(): Promise<void> {
    const { account, row } = this.#parts.claim;
    const text = 'DELETE FROM heat2mqtt.account WHERE id = $1 AND fence = $2 RETURNING id';
    return this.#insist(text, [account, row.fence]);
  }

  async #commit(columns: Columns, changes: Changes, end?: End): Promise<void> {
    const { account, row } = this.#parts.claim;
    const ledgers = this.#ledgers(changes);
    const values = [account, row.fence, ...this.#documents(changes), ...ledgers];
    const held = updateOfRow(row, columns, end, (value) => `$${values.push(value)}`);
    // PostgreSQL plans each statement anew: most runs have no new day.
    const parts = [`held AS (${held})`, DOCUMENTS, ...(ledgers.length === 0 ? [] : [LEDGERS])];
    await this.#insist(`WITH ${parts.join()} SELECT id FROM held`, values);
    for (const [name, json] of changes) {
      const { series = null } = this.#rows.get(name) ?? {};
      const { days = [], ...ledger } = Object(json);
      const kept = series === null ? { series, json } : { json: ledger, series: { ...series, days } };
      this.#rows.set(name, kept);
      this.#changed.delete(name);
    }
  }

  /** One statement that finds the row of the account; tried for as long as the claim lasts. */
  async #insist(text: string, values: readonly unknown[]): Promise<void> {
    const { database, claim, clock } = this.#parts;
    for (;;) {
      claim.check();
      try {
        const held = await database.query(text, values);
        if (held.length === 0) claim.end();
        claim.signal.throwIfAborted();
        return;
      } catch (err) {
        if (!(err instanceof DatabaseTrouble)) throw err;
        await clock.sleep(RETRY_MS, claim.signal);
      }
    }
  }

  /** Names, what is readable and what is sealed of those that differ; and the names of those that are gone. */
  #documents(changes: Changes): unknown[] {
    const { claim, seal } = this.#parts;
    const documents = changes.filter(([name]) => !this.#rows.get(name)?.series);
    const differs = ([name, json]: Changes[number]) => {
      const row = this.#rows.get(name);
      return json !== null && written(row?.json ?? null) !== written(json);
    };
    const kept = documents.filter(differs).map(([name, json]) => {
      const sealed = PLAIN.includes(name) ? null : seal.close(PLACES.document(claim.account, name), json);
      return [name, written(plainPart(name, json)), sealed];
    });
    const gone = documents.flatMap(([name, json]) => (json === null ? [name] : []));
    return [...turned(kept, 3), gone];
  }

  /** Ledgers that have changed, and of their days those that have, and those that are gone. */
  #ledgers(changes: Changes): unknown[] {
    const ledgers: unknown[][] = [];
    const changed: unknown[][] = [];
    const gone: unknown[][] = [];
    for (const [name, json] of changes) {
      const { series } = this.#rows.get(name) ?? {};
      if (!series) continue;
      const { id, days: before } = series;
      const { days, ...ledger } = json as { readonly days: readonly StoredDay[] };
      const { currency, friendlyName } = this.describe(series.name);
      ledgers.push([id, written(ledger), currency, friendlyName]);
      const known = new Set(before?.map(String));
      changed.push(...days.filter((day) => !known.has(String(day))).map((day) => [id, ...day]));
      const left = new Set(days.map(([day]) => day));
      gone.push(...(before ?? []).filter(([day]) => !left.has(day)).map(([day]) => [id, day]));
    }
    return ledgers.length === 0 ? [] : [...turned(ledgers, 4), ...turned(changed, 6), ...turned(gone, 2)];
  }

  #decode<T>(name: string, codec: Codec<T>): T | null {
    const { json = null, series } = this.#rows.get(name) ?? {};
    if (json === null) return null;
    try {
      return codec.decode(series ? { ...json, days: series.days ?? [] } : json);
    } catch (err) {
      this.#noteDamage(series ? 'ledger' : name, err);
      return null;
    }
  }

  /** After the account was imported again, and where it is removed, what is damaged counts as absent. Else throws damaged_document. */
  #noteDamage(name: string, cause?: unknown): void {
    const { account, row } = this.#parts.claim;
    if (!row.repair && !row.removed) throw damagedDocument(account, name, cause);
    if (name !== 'ledger') this.#changed.set(name, null);
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

/** A column for each place of the rows. */
const turned = (rows: readonly (readonly unknown[])[], width: number): unknown[][] =>
  Array.from({ length: width }, (_, at) => rows.map((row) => row[at]));

/** What is written beside the row of the account, which is `held`. The values are the two of the account, then these. */
const DOCUMENTS = `
documents AS (INSERT INTO heat2mqtt.document (account, name, json, sealed)
  SELECT held.id, d.* FROM held, unnest($3::text[], $4::json[], $5::bytea[]) AS d
  ON CONFLICT (account, name) DO UPDATE SET json = excluded.json, sealed = excluded.sealed),
gone AS (DELETE FROM heat2mqtt.document d USING held WHERE d.account = held.id AND d.name = ANY($6))`;
const LEDGERS = `
ledgers AS (UPDATE heat2mqtt.series s SET ledger = l.ledger, currency = l.currency, friendly_name = l.name
  FROM held, unnest($7::int[], $8::json[], $9::text[], $10::text[]) AS l(id, ledger, currency, name)
  WHERE s.id = l.id AND s.account = held.id),
days AS (INSERT INTO heat2mqtt.reading (series, day, energy, cost, revision, received_at)
  SELECT s.id, d.day, d.energy, d.cost, d.revision, to_timestamp(d.received / 1000.0)
  FROM held JOIN heat2mqtt.series s ON s.account = held.id
    JOIN unnest($11::int[], $12::date[], $13::bigint[], $14::bigint[], $15::int[], $16::bigint[])
    AS d(series, day, energy, cost, revision, received) ON d.series = s.id
  ON CONFLICT (series, day) DO UPDATE SET energy = excluded.energy, cost = excluded.cost,
    revision = excluded.revision, received_at = excluded.received_at),
absent AS (DELETE FROM heat2mqtt.reading r USING held, heat2mqtt.series s, unnest($17::int[], $18::date[]) AS g(series, day)
  WHERE s.account = held.id AND r.series = s.id AND g.series = s.id AND g.day = r.day)`;
