// The state of one claimed account: read when it is claimed, changed in memory, and written in one transaction at the end of
// the run. Only tokens and login budget are written at once: they have to be kept before they are used.
import type { Clock } from '../../foundation/clock.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import { type Claim, FenceLost } from './claims.ts';
import { type Database, DatabaseTrouble, type Statements } from './database.ts';
import { documentPlace, KeptDocuments } from './keptDocuments.ts';
import { type Series, writeDays } from './readings.ts';
import type { Seal } from './seal.ts';

/** What is still to be published; `id` gives the order. */
export interface OutboxRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

interface Parts {
  readonly claim: Claim;
  readonly database: Database;
  readonly seal: Seal;
  readonly clock: Clock;
}

const AT_ONCE = ['tokens', 'login-budget', 'way-in'];
const RETRY_MS = 200;
const HELD = 'WITH held AS (SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE)';

export class ClaimedState implements StateStore {
  readonly fault = null;
  readonly #parts: Parts;
  readonly #kept: KeptDocuments;
  /** By name, as it is to be; `null`: to be removed. */
  readonly #changed = new Map<string, unknown>();

  static async open(parts: Parts): Promise<ClaimedState> {
    const { claim, database, seal } = parts;
    return new ClaimedState(parts, await KeptDocuments.read(claim.account, database, seal));
  }

  private constructor(parts: Parts, kept: KeptDocuments) {
    this.#parts = parts;
    this.#kept = kept;
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const name = this.#kept.nameOf(path);
    const put = async (json: unknown) => {
      if (AT_ONCE.includes(name)) await this.#writeAtOnce(name, json);
      else this.#changed.set(name, json);
    };
    return {
      read: async () => {
        const json = this.#changed.has(name) ? this.#changed.get(name) : this.#kept.json(name);
        return json == null ? null : codec.decode(json);
      },
      write: (value) => put(codec.encode(value)),
      remove: () => put(null),
    };
  }

  async list(): Promise<string[]> {
    return [...new Set([...this.#kept.stored.keys(), ...this.#changed.keys()])];
  }

  /** Nobody else works on the account. */
  withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return step(true);
  }

  async retry(): Promise<void> {}
  async unlock(): Promise<void> {}

  /** What the series of a property is called; undefined: it has none, or another account reads it. */
  seriesName(property: string): string | undefined {
    return this.#kept.series(property)?.name;
  }

  /** Takes the properties, unless another account reads them, under these names, unless another series has them. */
  async claimSeries(wanted: readonly { readonly property: string; readonly name: string }[]): Promise<void> {
    const { database, claim, seal } = this.#parts;
    const fresh = wanted
      .filter(({ property }) => this.#kept.series(property) === undefined)
      .map(({ property, name }) => ({ mark: seal.mark(property), name }));
    if (fresh.length === 0) return;
    await database.query(
      `${HELD} INSERT INTO heat2mqtt.series (account, mark, name)
      SELECT held.id, wanted.mark, wanted.name FROM held, unnest($3::text[], $4::text[]) AS wanted(mark, name)
      ON CONFLICT DO NOTHING`,
      [claim.account, claim.row.fence, fresh.map(({ mark }) => mark), fresh.map(({ name }) => name)],
    );
    await this.#kept.readSeriesAnew(database);
  }

  /**
   * Writes everything that has changed, or nothing. `columns`: of the account's row, as SQL with values from $3 on.
   * Rejects with FenceLost when the account is another's by now, or with DatabaseTrouble.
   */
  async commit(
    columns: string,
    values: readonly unknown[],
    messages: readonly Omit<OutboxRow, 'id'>[],
  ): Promise<void> {
    const { database, claim } = this.#parts;
    const { account, row } = claim;
    claim.check();
    await database.transaction(async (sql) => {
      const held = await sql.query(
        `UPDATE heat2mqtt.account SET ${columns} WHERE id = $1 AND fence = $2 RETURNING id`,
        [account, row.fence, ...values],
      );
      if (held.length === 0) throw new FenceLost();
      await this.#writeDocuments(sql);
      if (messages.length === 0) return;
      await sql.query(
        `INSERT INTO heat2mqtt.outbox (account, topic, payload, retain)
        SELECT $1, * FROM unnest($2::text[], $3::text[], $4::boolean[])`,
        [
          account,
          messages.map(({ topic }) => topic),
          messages.map(({ payload }) => payload),
          messages.map(({ retain }) => retain),
        ],
      );
    });
    this.#changed.clear();
  }

  async #writeDocuments(sql: Statements): Promise<void> {
    const { claim, seal } = this.#parts;
    const changes = [...this.#changed].map(([name, json]) => ({ name, mark: seal.mark(name), json }));
    const kept: { mark: string; sealed: Buffer }[] = [];
    for (const { name, mark, json } of changes) {
      const without = json === null ? null : await this.#writeReadings(sql, name, json);
      if (without === null || JSON.stringify(without) === JSON.stringify(this.#kept.stored.get(name)))
        continue;
      kept.push({ mark, sealed: seal.close(documentPlace(claim.account, mark), { name, json: without }) });
    }
    if (kept.length > 0)
      await sql.query(
        `INSERT INTO heat2mqtt.document (account, mark, sealed)
        SELECT $1, * FROM unnest($2::text[], $3::bytea[])
        ON CONFLICT (account, mark) DO UPDATE SET sealed = excluded.sealed`,
        [claim.account, kept.map(({ mark }) => mark), kept.map(({ sealed }) => sealed)],
      );
    const gone = changes.filter(({ json }) => json === null).map(({ mark }) => mark);
    if (gone.length > 0)
      await sql.query('DELETE FROM heat2mqtt.document WHERE account = $1 AND mark = ANY($2)', [
        claim.account,
        gone,
      ]);
  }

  /** Resolves to the document without what is kept in rows. */
  async #writeReadings(sql: Statements, name: string, json: unknown): Promise<unknown> {
    const series = this.#kept.seriesOf(name);
    if (series === undefined) return json;
    const { days, ...rest } = json as { days: Series['days']; readingCloses: string | null };
    await writeDays(sql, series, days);
    await sql.query(
      'UPDATE heat2mqtt.series SET reading_closes = $2 WHERE id = $1 AND reading_closes IS DISTINCT FROM $2',
      [series.id, rest.readingCloses],
    );
    return rest;
  }

  /** Tried for as long as the claim lasts. What cannot be kept must not be used: the run is over then. */
  async #writeAtOnce(name: string, json: unknown): Promise<void> {
    const { claim, seal, clock } = this.#parts;
    const mark = seal.mark(name);
    const sealed = json === null ? null : seal.close(documentPlace(claim.account, mark), { name, json });
    for (;;) {
      claim.check();
      try {
        if (!(await this.#tryWrite(mark, sealed))) claim.end(new FenceLost());
        claim.check();
        this.#kept.stored.set(name, json);
        return;
      } catch (err) {
        if (!(err instanceof DatabaseTrouble)) throw err;
        await clock.sleep(RETRY_MS, claim.signal);
      }
    }
  }

  async #tryWrite(mark: string, sealed: Buffer | null): Promise<boolean> {
    const { claim, database } = this.#parts;
    const change =
      sealed === null
        ? 'DELETE FROM heat2mqtt.document USING held WHERE account = held.id AND mark = $3 AND $4::bytea IS NULL'
        : `INSERT INTO heat2mqtt.document (account, mark, sealed) SELECT id, $3, $4 FROM held
          ON CONFLICT (account, mark) DO UPDATE SET sealed = excluded.sealed`;
    const held = await database.query(`${HELD}, changed AS (${change}) SELECT id FROM held`, [
      claim.account,
      claim.row.fence,
      mark,
      sealed,
    ]);
    return held.length > 0;
  }
}
