// The state of one claimed account: read when it is claimed, changed in memory, and written in one statement at the end of
// the run. Only tokens and login budget are written at once: they have to be kept before they are used.
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import {
  type Claim,
  type Columns,
  FenceLost,
  type Given,
  type GivenBack,
  givenBack,
  setColumns,
} from './claims.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import { type DocumentForm, propertyOf, type Series, type StoredDay } from './documents.ts';

/** An event that is still to be published. */
export interface OutboxEvent {
  readonly topic: string;
  readonly payload: string;
}

/** What the views tell of a series beside its readings. */
export interface SeriesWords {
  readonly currency: string | null;
  /** What the configuration calls the meter of a series; `null`: nothing. */
  readonly nameOf: (series: string) => string | null;
}

interface Parts {
  readonly claim: Claim;
  readonly database: Database;
  readonly form: DocumentForm;
  readonly clock: Clock;
  readonly log: Log;
}

/** A property, and how its series may be called: the plain name, and one for when another has that. */
export interface WantedSeries {
  readonly property: string;
  readonly name: string;
  readonly longerName: string;
}

const AT_ONCE = ['tokens', 'login-budget', 'way-in'];
const RETRY_MS = 200;

export class AccountState implements StateStore {
  readonly fault = null;
  readonly #parts: Parts;
  /** By name, as it is in the database. */
  readonly #stored = new Map<string, unknown>();
  /** By name, as it is to be; `null`: to be removed. */
  readonly #changed = new Map<string, unknown>();
  /** By mark. */
  readonly #series = new Map<string, Series>();
  /** Left by former runs, in their order. */
  events: readonly OutboxEvent[] = [];

  /** Rejects with DatabaseTrouble. */
  static async open(parts: Parts): Promise<AccountState> {
    const state = new AccountState(parts);
    await state.#read();
    return state;
  }

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const name = path.replace(`accounts/${this.#parts.claim.account}/`, '');
    const put = async (json: unknown) => {
      if (AT_ONCE.includes(name)) await this.#writeAtOnce(name, json);
      else this.#changed.set(name, json);
    };
    return {
      read: async () => this.#decode(name, codec),
      write: (value) => put(codec.encode(value)),
      remove: () => put(null),
    };
  }

  async list(): Promise<string[]> {
    return [...new Set([...this.#stored.keys(), ...this.#changed.keys()])];
  }

  /** The claim is the lock. */
  withLock<T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    return step(true);
  }

  async retry(): Promise<void> {}
  async unlock(): Promise<void> {}

  /** What the series of a property is called; undefined: it has none, or another account reads it. */
  seriesName(property: string): string | undefined {
    return this.#series.get(this.#parts.form.mark(property))?.name;
  }

  /**
   * Takes the series of these properties, which are all that the account has: new ones, and those of accounts that may not read
   * them, or come later by their id, and that are not claimed. A series of this account whose property is gone goes on
   * under the property that has its meter now.
   */
  async takeSeries(all: readonly WantedSeries[]): Promise<void> {
    const { database, claim, form } = this.#parts;
    if (all.every(({ property }) => this.seriesName(property) !== undefined)) return;
    const names = new Set<string>();
    const plain = all.map(({ name, longerName }) => {
      const first = names.has(name) ? longerName : name;
      names.add(first);
      return first;
    });
    const marks = all.map(({ property }) => form.mark(property));
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
      [
        claim.account,
        claim.row.fence,
        marks,
        plain,
        all.map(({ longerName }) => longerName),
        all.map(({ property }) => form.sealProperty(property)),
        claim.row.needs_user,
      ],
    );
    await this.#read();
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

  /** Writes everything that has changed, or nothing; twice is once. Rejects with FenceLost. */
  async commit(columns: Columns, events: readonly OutboxEvent[], words: SeriesWords): Promise<void> {
    const { row } = this.#parts.claim;
    const ledgers = [...this.#changed].flatMap(([name, json]) => {
      const series = this.#seriesOf(name);
      return series === undefined || json === null ? [] : [{ series, ...apart(json) }];
    });
    await this.#insist((given) => [
      `held AS (UPDATE heat2mqtt.account SET ${setColumns(columns, given)} WHERE id = $1 AND fence = $2 RETURNING id)`,
      ...this.#documents(this.#changed, given),
      ...writeLedgers(ledgers, words, given),
      ...(events.length === 0
        ? []
        : [
            `events AS (INSERT INTO heat2mqtt.outbox (account, fence, n, topic, payload)
            SELECT held.id, ${given(row.fence)}, e.n, e.topic, e.payload
            FROM held, unnest(${given(events.map(({ topic }) => topic))}::text[],
              ${given(events.map(({ payload }) => payload))}::text[]) WITH ORDINALITY AS e(topic, payload, n)
            ON CONFLICT DO NOTHING)`,
          ]),
    ]);
    for (const [name, json] of this.#changed)
      if (this.#seriesOf(name) === undefined) this.#stored.set(name, json);
    for (const { series, rest, days } of ledgers) Object.assign(series, { ledger: rest, days });
    this.#changed.clear();
    this.events = [...this.events, ...events];
  }

  /** Gives the account back. `isTold`: the broker has acknowledged all events. Rejects with FenceLost. */
  async giveBack(how: GivenBack, columns: Columns, isTold: boolean): Promise<void> {
    const { row } = this.#parts.claim;
    await this.#insist((given) => [
      `held AS (${givenBack(how, columns, given)} RETURNING id)`,
      ...this.#documents(this.#changed, given),
      ...(isTold && this.events.length > 0
        ? [
            `told AS (DELETE FROM heat2mqtt.outbox o USING held WHERE o.account = held.id AND o.fence <= ${given(row.fence)})`,
          ]
        : []),
    ]);
  }

  /** Deletes the account with all that is kept of it. Rejects with FenceLost. */
  async deleteAccount(): Promise<void> {
    await this.#insist(() => [
      'held AS (DELETE FROM heat2mqtt.account WHERE id = $1 AND fence = $2 RETURNING id)',
    ]);
  }

  /** One statement; tried for as long as the claim lasts. `parts` begin with `held`, the row of the account. */
  async #insist(parts: (given: Given) => readonly string[]): Promise<void> {
    const { database, claim, clock } = this.#parts;
    const values: unknown[] = [claim.account, claim.row.fence];
    const text = parts((value) => `$${values.push(value)}`).join(',\n');
    for (;;) {
      claim.check();
      try {
        const held = await database.query(`WITH ${text}\nSELECT id FROM held`, values);
        if (held.length === 0) claim.end(new FenceLost());
        claim.signal.throwIfAborted();
        return;
      } catch (err) {
        if (!(err instanceof DatabaseTrouble)) throw err;
        await clock.sleep(RETRY_MS, claim.signal);
      }
    }
  }

  #documents(changed: ReadonlyMap<string, unknown>, given: Given): string[] {
    const { claim, form } = this.#parts;
    const changes = [...changed].filter(([name]) => this.#seriesOf(name) === undefined);
    const kept = changes
      .filter(([name, json]) => json !== null && written(json) !== written(this.#stored.get(name) ?? null))
      .map(([name, json]) => form.toRow(claim.account, name, json));
    const gone = changes.flatMap(([name, json]) => (json === null ? [name] : []));
    const parts: string[] = [];
    if (kept.length > 0)
      parts.push(`documents AS (INSERT INTO heat2mqtt.document (account, name, json, sealed)
        SELECT held.id, d.* FROM held, unnest(${given(kept.map(({ name }) => name))}::text[],
          ${given(kept.map(({ json }) => written(json)))}::jsonb[], ${given(kept.map(({ sealed }) => sealed))}::bytea[]) AS d
        ON CONFLICT (account, name) DO UPDATE SET json = excluded.json, sealed = excluded.sealed)`);
    if (gone.length > 0)
      parts.push(
        `gone AS (DELETE FROM heat2mqtt.document d USING held WHERE d.account = held.id AND d.name = ANY(${given(gone)}))`,
      );
    return parts;
  }

  /** What cannot be kept must not be used: the run is over then. */
  async #writeAtOnce(name: string, json: unknown): Promise<void> {
    await this.#insist((given) => [
      'held AS (SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE)',
      ...this.#documents(new Map([[name, json]]), given),
    ]);
    this.#stored.set(name, json);
  }

  #seriesOf(name: string): Series | undefined {
    const property = propertyOf(name);
    return property === null ? undefined : this.#series.get(this.#parts.form.mark(property));
  }

  #decode<T>(name: string, codec: Codec<T>): T | null {
    const series = this.#seriesOf(name);
    const kept = series ? series.ledger && { ...series.ledger, days: series.days } : this.#stored.get(name);
    const json = this.#changed.has(name) ? this.#changed.get(name) : kept;
    if (json == null) return null;
    try {
      return codec.decode(json);
    } catch (err) {
      this.#parts.log.warn(
        { err, document: name },
        'a document of the account cannot be understood: it counts as absent',
      );
      return null;
    }
  }

  async #read(): Promise<void> {
    const { claim, database, form, log } = this.#parts;
    const rows = await database.query<{
      kind: 'document' | 'series' | 'event';
      id: number;
      name: string;
      text: string;
      json: unknown;
      sealed: Buffer | null;
      days: readonly StoredDay[] | null;
    }>(
      `SELECT 'document' AS kind, 0 AS id, name, '' AS text, json, sealed, NULL::json AS days
      FROM heat2mqtt.document WHERE account = $1
      UNION ALL SELECT 'series', s.id, s.name, s.mark, s.ledger, s.property, (
        SELECT json_agg(json_build_array(r.day, r.energy, r.cost, r.revision,
          (extract(epoch FROM r.received_at) * 1000)::bigint) ORDER BY r.day)
        FROM heat2mqtt.reading r WHERE r.series = s.id)
      FROM heat2mqtt.series s WHERE s.account = $1
      UNION ALL (SELECT 'event', o.n, o.topic, o.payload, NULL, NULL, NULL
      FROM heat2mqtt.outbox o WHERE o.account = $1 ORDER BY o.fence, o.n)`,
      [claim.account],
    );
    this.#stored.clear();
    this.#series.clear();
    for (const { kind, id, name, text, json, sealed, days } of rows)
      if (kind === 'series') this.#series.set(text, { id, mark: text, name, ledger: json, days: days ?? [] });
      else if (kind === 'document')
        try {
          this.#stored.set(name, form.fromRow(claim.account, { name, json, sealed }));
        } catch (err) {
          log.warn(
            { err, document: name },
            'a document of the account cannot be opened: it counts as absent',
          );
        }
    this.events = rows
      .filter(({ kind }) => kind === 'event')
      .map(({ name, text }) => ({ topic: name, payload: text }));
  }
}

const written = (json: unknown): string | null => (json === null ? null : JSON.stringify(json));

function apart(json: unknown): { readonly rest: unknown; readonly days: readonly StoredDay[] } {
  const { days, ...rest } = json as { readonly days: readonly StoredDay[] };
  return { rest, days };
}

interface ChangedLedger {
  readonly series: Series;
  readonly rest: unknown;
  readonly days: readonly StoredDay[];
}

function writeLedgers(
  ledgers: readonly ChangedLedger[],
  { currency, nameOf }: SeriesWords,
  given: Given,
): string[] {
  if (ledgers.length === 0) return [];
  const changed: (readonly [number, ...StoredDay])[] = [];
  const gone: (readonly [number, string])[] = [];
  for (const { series, days } of ledgers) {
    const before = new Map(series.days.map((day) => [day[0], day.join()]));
    for (const day of days) {
      if (before.get(day[0]) !== day.join()) changed.push([series.id, ...day]);
      before.delete(day[0]);
    }
    for (const day of before.keys()) gone.push([series.id, day]);
  }
  const column = (rows: readonly (readonly unknown[])[], at: number) => given(rows.map((row) => row[at]));
  return [
    `ledgers AS (UPDATE heat2mqtt.series s SET ledger = l.ledger, currency = ${given(currency)}, friendly_name = l.name
    FROM held, unnest(${given(ledgers.map(({ series }) => series.id))}::int[],
      ${given(ledgers.map(({ rest }) => written(rest)))}::jsonb[],
      ${given(ledgers.map(({ series }) => nameOf(series.name)))}::text[]) AS l(id, ledger, name) WHERE s.id = l.id AND s.account = held.id)`,
    ...(changed.length === 0
      ? []
      : [
          `days AS (INSERT INTO heat2mqtt.reading (series, day, energy, cost, revision, received_at)
          SELECT s.id, d.day, d.energy, d.cost, d.revision, to_timestamp(d.received / 1000.0)
          FROM held JOIN heat2mqtt.series s ON s.account = held.id JOIN unnest(${column(changed, 0)}::int[],
            ${column(changed, 1)}::date[], ${column(changed, 2)}::bigint[], ${column(changed, 3)}::bigint[],
            ${column(changed, 4)}::int[], ${column(changed, 5)}::bigint[])
            AS d(series, day, energy, cost, revision, received) ON d.series = s.id
          ON CONFLICT (series, day) DO UPDATE SET energy = excluded.energy, cost = excluded.cost,
            revision = excluded.revision, received_at = excluded.received_at)`,
        ]),
    ...(gone.length === 0
      ? []
      : [
          `absent AS (DELETE FROM heat2mqtt.reading r USING held, heat2mqtt.series s,
            unnest(${column(gone, 0)}::int[], ${column(gone, 1)}::date[]) AS g(series, day)
          WHERE s.account = held.id AND r.series = s.id AND g.series = s.id AND g.day = r.day)`,
        ]),
  ];
}
