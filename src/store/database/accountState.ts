// The state of one claimed account: read when it is claimed, changed in memory, and written in one statement at the end of
// the run. Only tokens, and that a login begins, are written at once: they have to be kept before they are used.
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, failure } from '../../foundation/failure.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import { type Claim, type Columns, type End, type Given, updateOfRow } from './claims.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import { PLACES, type Seal } from './seal.ts';

/** An event that is still to be published. */
export interface OutboxEvent {
  readonly topic: string;
  readonly payload: string;
}

/** A property, and how its series may be called: the plain name, and one for when another has that. */
export interface WantedSeries {
  readonly property: string;
  readonly name: string;
  readonly longerName: string;
}

/** What a run writes beside its documents. */
export interface Change {
  readonly columns: Columns;
  /** Kept until the broker has acknowledged them. */
  readonly events?: readonly OutboxEvent[];
  /** Ends the claim. `isTold`: the broker has acknowledged all events. */
  readonly end?: End & { readonly isTold: boolean };
}

/** As a ledger's document has it; amounts in millionths, the time in epoch milliseconds. */
type StoredDay = readonly [
  day: string,
  energy: number | null,
  cost: number | null,
  revision: number,
  receivedAt: number,
];

/** The ledger of one property. */
interface Series {
  readonly id: number;
  /** As its meter is called in topics. */
  readonly name: string;
  /** Without its days. */
  ledger: unknown;
  days: readonly StoredDay[];
}

/** One thing that is kept of an account. */
export interface KeptRow {
  readonly account: string;
  readonly kind: 'document' | 'series' | 'event';
  readonly id: number;
  /** Of a document, of a series, or the topic of an event. */
  readonly name: string;
  /** The mark of a series, or the payload of an event. */
  readonly text: string;
  readonly json: unknown;
  readonly sealed: Buffer | null;
  readonly days: readonly StoredDay[] | null;
}

/** Everything that is kept of these accounts. To be asked for after the claim: no other process can change it any more. */
export const readKept = (database: Database, accounts: readonly string[]): Promise<KeptRow[]> =>
  database.query<KeptRow>(
    `SELECT account, 'document' AS kind, 0 AS id, name, '' AS text, json, sealed, NULL::json AS days
    FROM heat2mqtt.document WHERE account = ANY($1)
    UNION ALL SELECT s.account, 'series', s.id, s.name, s.mark, s.ledger, NULL, (
      SELECT json_agg(json_build_array(r.day, r.energy, r.cost, r.revision,
        (extract(epoch FROM r.received_at) * 1000)::bigint) ORDER BY r.day)
      FROM heat2mqtt.reading r WHERE r.series = s.id)
    FROM heat2mqtt.series s WHERE s.account = ANY($1)
    UNION ALL (SELECT o.account, 'event', o.n, o.topic, o.payload, NULL, NULL, NULL
    FROM heat2mqtt.outbox o WHERE o.account = ANY($1) ORDER BY o.account, o.fence, o.n)`,
    [accounts],
  );

/** The whole document. Throws when it is sealed and cannot be opened. */
export const openDocument = ({ account, name, json, sealed }: KeptRow, seal: Seal): unknown =>
  sealed === null ? json : seal.open(PLACES.document(account, name), sealed);

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

const PLAIN = ['journal', 'published', 'told'];
/** What is known of a login's end: written with its tokens, so that tokens that are lost count as a login that was not finished. */
const WITH_TOKENS = ['login-budget', 'way-in'];
const isAtOnce = (name: string, json: unknown): boolean =>
  name === 'tokens' || (name === 'login-budget' && Object(json).code === 'login_unfinished');
const RETRY_MS = 200;

const damagedDocument = (account: string, name: string, cause: unknown) =>
  failure('damaged_document', `What the database keeps of ${account} as ${name.split('-')[0]} is damaged.`, {
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
  /** Damaged documents count as absent, and are removed with the next write. */
  readonly isLenient: boolean;
}

export class AccountState implements StateStore {
  readonly fault = null;
  /** In the order in which they are to be published: those of this run stand behind what former ones have left. */
  events: readonly OutboxEvent[] = [];
  /** What the views tell of a series beside its readings. */
  currency: string | null = null;
  friendlyNameOf: (series: string) => string | null = () => null;
  readonly #parts: Parts;
  /** By name, as it is in the database, and as it is to be; `null`: to be removed. */
  readonly #stored = new Map<string, unknown>();
  readonly #changed = new Map<string, unknown>();
  readonly #decoded = new Map<string, unknown>();
  /** By mark. */
  readonly #series = new Map<string, Series>();

  /** `kept`: what `readKept` gives. Throws damaged_document. */
  constructor(parts: Parts, kept: readonly KeptRow[]) {
    this.#parts = parts;
    this.#take(kept);
  }

  document<T>(path: string, codec: Codec<T>): Document<T> {
    const name = path.replace(`accounts/${this.#parts.claim.account}/`, '');
    const put = async (json: unknown) => {
      this.#decoded.delete(name);
      if (isAtOnce(name, json)) await this.#writeAtOnce(name, json);
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

  /** Readings, or something beside them, are to be written: nothing may be published before. */
  get hasNews(): boolean {
    return [...this.#changed.keys()].some((name) => name === 'extras' || propertyOf(name) !== null);
  }

  /** What the series of a property is called; undefined: it has none, or another account reads it. */
  seriesName(property: string): string | undefined {
    return this.#series.get(this.#parts.seal.mark(property))?.name;
  }

  /**
   * Takes the series of these properties, which are all that the account has: new ones, and those of accounts that may not read
   * them, or come later by their id, and that are not claimed. A series of this account whose property is gone goes on
   * under the property that has its meter now.
   */
  async takeSeries(all: readonly WantedSeries[]): Promise<void> {
    const { database, claim, seal } = this.#parts;
    if (all.every(({ property }) => this.seriesName(property) !== undefined)) return;
    const isFirst = ({ name }: WantedSeries, at: number) => all.findIndex((one) => one.name === name) === at;
    const wanted = all.map((one, at) => ({
      mark: seal.mark(one.property),
      name: isFirst(one, at) ? one.name : one.longerName,
      longer: one.longerName,
      property: seal.close(PLACES.property(seal.mark(one.property)), one.property),
    }));
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
        ...[claim.account, claim.row.fence],
        ...(['mark', 'name', 'longer', 'property'] as const).map((key) => wanted.map((one) => one[key])),
        claim.row.needs_user,
      ],
    );
    this.#take(await readKept(database, [claim.account]));
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
  async write({ columns, events = [], end }: Change): Promise<void> {
    const { fence } = this.#parts.claim.row;
    await this.#insist((given) => [
      `held AS (${updateOfRow(columns, end ?? null, given)})`,
      ...this.#documents(this.#changed, given),
      ...this.#ledgers(given),
      ...ifAny(
        events,
        () => `events AS (INSERT INTO heat2mqtt.outbox (account, fence, n, topic, payload)
        SELECT held.id, ${given(fence)}, e.n, e.topic, e.payload
        FROM held, unnest(${given(events.map(({ topic }) => topic))}::text[],
          ${given(events.map(({ payload }) => payload))}::text[]) WITH ORDINALITY AS e(topic, payload, n)
        ON CONFLICT DO NOTHING)`,
      ),
      ...ifAny(
        end?.isTold ? this.events : [],
        () => `told AS (DELETE FROM heat2mqtt.outbox o USING held
        WHERE o.account = held.id AND o.fence <= ${given(fence)})`,
      ),
    ]);
    for (const [name, json] of this.#changed) {
      const series = this.#seriesOf(name);
      if (series === undefined) this.#stored.set(name, json);
      else Object.assign(series, apart(json));
    }
    this.#changed.clear();
    this.events = [...this.events, ...events];
  }

  /** Deletes the account with all that is kept of it. Rejects with FenceLost. */
  async deleteAccount(): Promise<void> {
    const text = 'DELETE FROM heat2mqtt.account WHERE id = $1 AND fence = $2 RETURNING id';
    await this.#insist(() => [`held AS (${text})`]);
  }

  /** What cannot be kept must not be used: the run is over then. */
  async #writeAtOnce(name: string, json: unknown): Promise<void> {
    const pending = [...this.#changed].filter(([one]) => WITH_TOKENS.includes(one));
    const written = new Map([...pending, [name, json]]);
    await this.#insist((given) => [
      `held AS (${updateOfRow({}, null, given)})`,
      ...this.#documents(written, given),
    ]);
    for (const [one, kept] of written) {
      this.#stored.set(one, kept);
      this.#changed.delete(one);
    }
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
        if (held.length === 0) claim.end();
        claim.signal.throwIfAborted();
        return;
      } catch (err) {
        if (!(err instanceof DatabaseTrouble)) throw err;
        await clock.sleep(RETRY_MS, claim.signal);
      }
    }
  }

  #documents(changed: ReadonlyMap<string, unknown>, given: Given): string[] {
    const { account } = this.#parts.claim;
    const changes = [...changed].filter(([name]) => this.#seriesOf(name) === undefined);
    const gone = changes.flatMap(([name, json]) => (json === null ? [name] : []));
    const kept = changes.filter(
      ([name, json]) => json !== null && written(json) !== written(this.#stored.get(name) ?? null),
    );
    const sealed = ([name, json]: readonly [string, unknown]) =>
      PLAIN.includes(name) ? null : this.#parts.seal.close(PLACES.document(account, name), json);
    return [
      ...ifAny(
        kept,
        () => `documents AS (INSERT INTO heat2mqtt.document (account, name, json, sealed)
        SELECT held.id, d.* FROM held, unnest(${given(kept.map(([name]) => name))}::text[],
          ${given(kept.map(([name, json]) => written(plainPart(name, json))))}::json[],
          ${given(kept.map(sealed))}::bytea[]) AS d
        ON CONFLICT (account, name) DO UPDATE SET json = excluded.json, sealed = excluded.sealed)`,
      ),
      ...ifAny(
        gone,
        () => `gone AS (DELETE FROM heat2mqtt.document d USING held
        WHERE d.account = held.id AND d.name = ANY(${given(gone)}))`,
      ),
    ];
  }

  /** Ledgers that have changed, and of their days those that have. */
  #ledgers(given: Given): string[] {
    const ledgers = [...this.#changed].flatMap(([name, json]) => {
      const series = this.#seriesOf(name);
      return series === undefined || json === null ? [] : [{ series, ...apart(json) }];
    });
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
      ...ifAny(
        ledgers,
        () => `ledgers AS (UPDATE heat2mqtt.series s SET ledger = l.ledger, friendly_name = l.name, currency = ${given(this.currency)}
        FROM held, unnest(${given(ledgers.map(({ series }) => series.id))}::int[],
          ${given(ledgers.map(({ ledger }) => written(ledger)))}::json[],
          ${given(ledgers.map(({ series }) => this.friendlyNameOf(series.name)))}::text[]) AS l(id, ledger, name)
        WHERE s.id = l.id AND s.account = held.id)`,
      ),
      ...ifAny(
        changed,
        () => `days AS (INSERT INTO heat2mqtt.reading (series, day, energy, cost, revision, received_at)
        SELECT s.id, d.day, d.energy, d.cost, d.revision, to_timestamp(d.received / 1000.0)
        FROM held JOIN heat2mqtt.series s ON s.account = held.id JOIN unnest(${column(changed, 0)}::int[],
          ${column(changed, 1)}::date[], ${column(changed, 2)}::bigint[], ${column(changed, 3)}::bigint[],
          ${column(changed, 4)}::int[], ${column(changed, 5)}::bigint[])
          AS d(series, day, energy, cost, revision, received) ON d.series = s.id
        ON CONFLICT (series, day) DO UPDATE SET energy = excluded.energy, cost = excluded.cost,
          revision = excluded.revision, received_at = excluded.received_at)`,
      ),
      ...ifAny(
        gone,
        () => `absent AS (DELETE FROM heat2mqtt.reading r USING held, heat2mqtt.series s,
          unnest(${column(gone, 0)}::int[], ${column(gone, 1)}::date[]) AS g(series, day)
        WHERE s.account = held.id AND r.series = s.id AND g.series = s.id AND g.day = r.day)`,
      ),
    ];
  }

  #seriesOf(name: string): Series | undefined {
    const property = propertyOf(name);
    return property === null ? undefined : this.#series.get(this.#parts.seal.mark(property));
  }

  #decode<T>(name: string, codec: Codec<T>): T | null {
    if (this.#decoded.has(name)) return this.#decoded.get(name) as T;
    const series = this.#seriesOf(name);
    const kept = series
      ? series.ledger && { ...Object(series.ledger), days: series.days }
      : this.#stored.get(name);
    const json = this.#changed.has(name) ? this.#changed.get(name) : kept;
    if (json == null) return null;
    const value = this.#unlessDamaged(name, () => codec.decode(json));
    this.#decoded.set(name, value);
    return value;
  }

  #unlessDamaged<T>(name: string, read: () => T): T | null {
    try {
      return read();
    } catch (err) {
      if (!this.#parts.isLenient) throw damagedDocument(this.#parts.claim.account, name, err);
      if (this.#seriesOf(name) === undefined && !this.#changed.has(name)) this.#changed.set(name, null);
      return null;
    }
  }

  #take(rows: readonly KeptRow[]): void {
    this.#stored.clear();
    this.#series.clear();
    this.#decoded.clear();
    for (const row of rows) {
      const { kind, id, name, text, json, days } = row;
      if (kind === 'series') this.#series.set(text, { id, name, ledger: json, days: days ?? [] });
      else if (kind === 'document')
        this.#stored.set(
          name,
          this.#unlessDamaged(name, () => openDocument(row, this.#parts.seal)),
        );
    }
    const events = rows.filter(({ kind }) => kind === 'event');
    this.events = events.map(({ name, text }) => ({ topic: name, payload: text }));
  }
}

const written = (json: unknown): string | null => (json === null ? null : JSON.stringify(json));

const ifAny = (some: readonly unknown[], part: () => string): string[] => (some.length === 0 ? [] : [part()]);

function apart(json: unknown): Pick<Series, 'ledger' | 'days'> {
  const { days, ...ledger } = Object(json) as { readonly days: readonly StoredDay[] };
  return { ledger, days };
}
