// Accounts that a process has claimed. Each claim raises a number in the account's row, the fence, and every write of that claim names
// it, so that a write that comes late is refused. What is kept of the account is read with the claim, changed in memory, and written
// in one statement at the end of the run. Only tokens, and that a login begins, are written at once: they have to be kept before
// they are used.
import type { Day } from '../../domain/period.ts';
import { type Property, seriesName, topicSafe } from '../../domain/reading.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, type Failure, failure } from '../../foundation/failure.ts';
import type { Codec, Document, StateStore } from '../stateStore.ts';
import { type Database, DatabaseTrouble } from './database.ts';
import { PLACES, type Seal } from './seal.ts';

/** The claim is over, or another process has the account now: everything of this run is dropped. */
const fenceLost = () =>
  failure('fence_lost', 'Another process has taken over the account.', {
    exit: EXIT.unexpected,
    retry: 'soon',
  });

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
const isOfSession = (name: string): boolean => ['tokens', 'login-budget', 'way-in'].includes(name);
const RETRY_MS = 200;

/** What SQL may be asked about a document. */
function plainPart(name: string, json: unknown): unknown {
  if (name !== 'extras') return PLAIN.includes(name) ? json : null;
  const { balance, credit, invoices } = Object(Object(json).value);
  return { balance: balance?.found, credit: credit?.found, invoices: invoices?.found?.all ?? [] };
}

export type ClaimedAccount = ReturnType<typeof claimedAccount>;

/**
 * `endsAt`: on the monotonic clock. `rows`: what is kept of it, and of others; asked for after the claim, when no other process can
 * change it any more.
 */
export function claimedAccount(
  row: ClaimedRow,
  endsAt: number,
  rows: Promise<readonly KeptRow[]>,
  { database, seal, clock }: Tools,
) {
  const { id, fence } = row;
  const stopping = new AbortController();
  let ends = endsAt;
  /** Keys are names; a ledger's is the mark of its series. */
  const kept = new Map<
    string,
    Pick<KeptRow, 'series'> & { json: unknown; value?: unknown; isChanged: boolean }
  >();
  const markOf = ({ propertyCustomerId }: Property): string => seal.mark(propertyCustomerId);
  const nameOf = (property: Property): string => kept.get(markOf(property))?.series ?? '';

  const remainingMs = (): number => ends - clock.monotonic();

  function end(): void {
    ends = Number.NEGATIVE_INFINITY;
    stopping.abort(fenceLost());
  }

  function take(all: readonly KeptRow[]): void {
    for (const { account, name, json, sealed, series, days } of all) {
      if (account !== id) continue;
      const opened = sealed === null ? json : seal.open(PLACES.document(account, name), sealed);
      const ledger = series !== null && json !== null ? { ...json, days: days ?? [] } : null;
      kept.set(name, { series, json: ledger ?? opened ?? null, isChanged: false });
      if (opened === undefined) noteDamage(name);
    }
  }

  /** After the account was imported again, and where it is removed, what is damaged counts as absent. Else throws damaged_document. */
  function noteDamage(name: string, cause?: unknown): void {
    const { series = null } = kept.get(name) ?? {};
    const called = series === null ? name : 'ledger';
    if (!row.repair && !row.removed)
      throw failure('damaged_document', `What the database keeps of ${id} as ${called} is damaged.`, {
        exit: EXIT.unexpected,
        retry: 'never',
        hint: 'Import this account again with `heat2mqtt accounts import`: what is damaged is then read again.',
        cause,
      });
    if (series === null) kept.set(name, { series, json: null, isChanged: true });
  }

  function read<T>(name: string, codec: Codec<T>): T | null {
    const one = kept.get(name);
    if (one === undefined || one.json === null) return null;
    try {
      one.value ??= codec.decode(one.json);
      return one.value as T;
    } catch (err) {
      noteDamage(name, err);
      return null;
    }
  }

  async function commit(
    isWanted: (name: string) => boolean,
    columns: Columns = {},
    end?: End,
  ): Promise<void> {
    const documents: object[] = [];
    const ledgers: object[] = [];
    const changes = [...kept].filter(([name, { isChanged }]) => isChanged && isWanted(name));
    for (const [name, { series, json }] of changes) {
      if (series === null) {
        const isOpen = json === null || PLAIN.includes(name);
        const sealed = isOpen ? null : seal.close(PLACES.document(id, name), json).toString('base64');
        documents.push({ name, json: plainPart(name, json), sealed });
      } else {
        const { days, ...ledger } = Object(json);
        ledgers.push({ mark: name, ledger: { ...ledger, ...own.describe(series) }, days });
      }
    }
    const given = JSON.stringify({ row: { ...columns, due_at: end?.dueAt }, documents, ledgers });
    // PostgreSQL plans each statement when it comes: most runs have no new day.
    const parts = [
      `held AS (${updateOfRow(row, columns, end)})`,
      DOCUMENTS,
      ...(ledgers[0] ? [LEDGERS] : []),
    ];
    await insist(`WITH ${parts.join()} SELECT id FROM held`, [id, fence, given]);
    for (const [, one] of changes) one.isChanged = false;
  }

  /** One statement that finds the row of the account; tried for as long as the claim lasts. */
  async function insist(text: string, values: readonly unknown[]): Promise<void> {
    while (remainingMs() > 0) {
      const found = await database.query(text, values).catch((err) => {
        if (!(err instanceof DatabaseTrouble)) throw err;
      });
      if (found && found.length > 0) return;
      if (found) break;
      await clock.sleep(RETRY_MS);
    }
    end();
    throw fenceLost();
  }

  const own = {
    id,
    row,
    fault: null,
    /** Aborts when the run is to stop, with the reason. */
    signal: stopping.signal,
    remainingMs,
    /** What the views tell of a series beside its readings. */
    describe: (
      _series: string,
    ): {
      readonly currency?: string;
      readonly friendlyName?: string | null;
      readonly identifiers?: readonly string[];
    } => ({}),

    /** Throws the reason once the run is to stop; a stopped process looks here before any timer of its own has run. */
    check(): void {
      if (remainingMs() <= 0) end();
      stopping.signal.throwIfAborted();
    },

    /** The run is to stop, while the account is still ours. */
    stop: (why: Failure): void => stopping.abort(why),

    end,

    /** `until`: on the monotonic clock. One that is over stays so. */
    renew(until: number): void {
      if (remainingMs() > 0) ends = until;
    },

    /** To be called before any document is asked for. Rejects with damaged_document, or DatabaseTrouble. */
    open: async (): Promise<void> => take(await rows),

    document<T>(path: string, codec: Codec<T>): Document<T> {
      const file = path.slice(path.lastIndexOf('/') + 1);
      const property = propertyOf(file);
      const name = property === null ? file : seal.mark(property);
      const put = async (json: unknown, value?: T) => {
        const { series = null } = kept.get(name) ?? {};
        // Another account reads the meter of a ledger that has no series here.
        if (property !== null && series === null) return true;
        kept.set(name, { series, json, value, isChanged: true });
        const isLoginBegun = name === 'login-budget' && Object(json).code === 'login_unfinished';
        // What cannot be kept must not be used: the run is over then.
        if (name === 'tokens' || isLoginBegun) await commit(isOfSession);
        return true;
      };
      return {
        read: async () => read(name, codec),
        write: (value) => put(codec.encode(value), value),
        remove: () => put(null),
      };
    },

    list: async (): Promise<string[]> => [...kept.keys()],
    /** The claim is the lock. */
    withLock: <T>(_name: string, _clock: Clock, step: (isHeld: boolean) => Promise<T>) => step(true),

    /** Readings, or something beside them, are to be written: nothing may be published before. */
    hasNews: (): boolean =>
      [...kept].some(([name, one]) => one.isChanged && (name === 'extras' || one.series !== null)),

    /** What the series of a property is called; `''`: it has none, or another account reads it. */
    nameOf,

    /** It has a series of this name, which no other account can take while the claim lasts. */
    hasSeries: (series: string): boolean => [...kept.values()].some((one) => one.series === series),

    /**
     * Takes the series of these properties, which are all that the account has: new ones, and those of accounts that may not read
     * them, or come later by their id, and that are not claimed. A series of this account whose property is gone goes on
     * under the property that has its meter now. Resolves to those that the account may read.
     */
    async takeSeries(properties: readonly Property[]): Promise<readonly Property[]> {
      const mayRead = (one: Property) => nameOf(one) !== '';
      if (properties.every(mayRead)) return properties;
      const plain = properties.map(seriesName);
      const wanted = properties.map((property, at) => {
        const name = plain[at] ?? '';
        // Another property may have the plain name.
        const longer = `${name}-${topicSafe(property.propertyCustomerId)}`;
        return { mark: markOf(property), name: plain.indexOf(name) === at ? name : longer, longer };
      });
      await database.query(TAKE_SERIES, [id, fence, JSON.stringify(wanted), row.needs_user]);
      for (const [name, one] of kept) if (one.series !== null) kept.delete(name);
      take((await readKept(database, [id])).filter(({ series }) => series !== null));
      return properties.filter(mayRead);
    },

    /** Writes everything that has changed, or nothing; twice is once. `end`: ends the claim. Rejects with fence_lost. */
    write: (columns: Columns, end?: End): Promise<void> => commit(() => true, columns, end),

    /** Ends the claim without what has changed, but for the session. Rejects with fence_lost. */
    giveBack: (columns: Columns, end: End): Promise<void> => commit(isOfSession, columns, end),

    /** Deletes the account with all that is kept of it. Rejects with fence_lost. */
    deleteAccount: (): Promise<void> =>
      insist('DELETE FROM heat2mqtt.account a WHERE id = $1 AND a.fence = $2 RETURNING id', [id, fence]),
  } satisfies StateStore & Readonly<Record<string, unknown>>;
  return own;
}

/** With a new fence at its end, what the network still holds back of the run is refused when it comes. */
function updateOfRow({ wanted, republish }: ClaimedRow, columns: Columns, end: End | undefined): string {
  const set = Object.keys(columns).map((name) => `${name} = given.${name}`);
  if (end !== undefined)
    set.push(
      "fence = a.fence + 1, claimed_until = 'epoch', claimed_by = NULL",
      `wanted = a.wanted - ${end.isPolled ? wanted : 0}, republish = a.republish - ${end.isPublished ? republish : 0}`,
      `due_at = CASE WHEN a.wanted > ${wanted} OR a.republish > ${republish} THEN now() ELSE given.due_at END`,
    );
  return set.length === 0
    ? 'SELECT id FROM heat2mqtt.account a WHERE id = $1 AND a.fence = $2 FOR UPDATE'
    : `UPDATE heat2mqtt.account a SET ${set.join(', ')}
      FROM json_populate_record(NULL::heat2mqtt.account, $3::json -> 'row') AS given
      WHERE a.id = $1 AND a.fence = $2 RETURNING a.id`;
}

/** What is written beside the row of the account, which is `held`. The third value is everything that is given. */
const DOCUMENTS = `
documents AS (INSERT INTO heat2mqtt.document (account, name, json, sealed)
  SELECT held.id, d.name, d.json, decode(d.sealed, 'base64')
  FROM held, json_to_recordset($3::json -> 'documents') AS d(name text, json json, sealed text)
  ON CONFLICT (account, name) DO UPDATE SET json = excluded.json, sealed = excluded.sealed)`;
/** Writes those of its days that differ. */
const LEDGERS = `
ledgers AS (UPDATE heat2mqtt.series s SET ledger = l.ledger
  FROM held, json_to_recordset($3::json -> 'ledgers') AS l(mark text, ledger json, days json)
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

/** The values are the account, its fence, what it wants, and whether it waits for its user. */
const TAKE_SERIES = `
WITH held AS (SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE),
wanted AS (SELECT * FROM json_to_recordset($3::json) AS w(mark text, name text, longer text)),
idle AS (SELECT a.id FROM heat2mqtt.account a
  WHERE a.id IN (SELECT s.account FROM heat2mqtt.series s JOIN wanted USING (mark)) AND a.id <> $1
    AND a.claimed_until <= now() AND NOT $4 AND (a.id > $1 OR a.paused OR a.removed OR a.needs_user)
  FOR UPDATE SKIP LOCKED),
taken AS (UPDATE heat2mqtt.series s SET account = held.id FROM held, wanted w, idle
  WHERE s.mark = w.mark AND s.account = idle.id),
succeeding AS (UPDATE heat2mqtt.series s SET mark = w.mark FROM held, wanted w
  WHERE s.name = w.name AND s.account = held.id AND s.mark NOT IN (SELECT mark FROM wanted)
    AND NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark) RETURNING s.mark)
INSERT INTO heat2mqtt.series (account, mark, name)
SELECT held.id, w.mark, CASE WHEN EXISTS (SELECT FROM heat2mqtt.series x WHERE x.name = w.name) THEN w.longer
  ELSE w.name END FROM held, wanted w
WHERE NOT EXISTS (SELECT FROM heat2mqtt.series x WHERE x.mark = w.mark)
  AND NOT EXISTS (SELECT FROM succeeding WHERE succeeding.mark = w.mark)
ON CONFLICT DO NOTHING`;

/** Accounts that are due and that no process has. Both values are named, so that the index has two short ranges for them. */
const DUE = `SELECT id FROM heat2mqtt.account WHERE first_history = ANY ('{f,t}')
  AND NOT paused AND due_at <= now() AND claimed_until <= now() AND retry_after <= now()`;

export type Claims = ReturnType<typeof openClaims>;

/** `process`: a UUID. `seconds`: how long a claim lasts unless it is renewed, by the clock of the database. */
export function openClaims(tools: Tools, process: string, seconds: number) {
  const { database, clock } = tools;
  const UNTIL = 'clock_timestamp() + make_interval(secs => $2)';
  // From before the statement is sent: the database's claim ends later than ours.
  const nextEnd = () => clock.monotonic() + seconds * 1000;

  /** Runs a statement that claims rows; its first values are the process and the seconds. */
  async function raise(text: string, values: readonly unknown[]): Promise<ClaimedAccount[]> {
    const endsAt = nextEnd();
    const rows = await database.query<ClaimedRow>(`${text} RETURNING a.*`, [process, seconds, ...values]);
    const ids = rows.map(({ id }) => id);
    const kept = ids.length > 0 ? readKept(database, ids) : Promise.resolve([]);
    // Who opens a claim is told.
    kept.catch(() => undefined);
    return rows.map((row) => claimedAccount(row, endsAt, kept, tools));
  }

  return {
    /**
     * Claims up to so many accounts that are due, the oldest first. Those whose history is read for the first time come last, but for
     * `firstHistories` of them. Rejects with DatabaseTrouble.
     */
    take: (most: number, firstHistories: number): Promise<ClaimedAccount[]> =>
      raise(
        `WITH fresh AS (${DUE} AND first_history ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED),
        others AS (${DUE} AND id NOT IN (SELECT id FROM fresh)
          ORDER BY first_history, due_at LIMIT $3 - (SELECT count(*) FROM fresh) FOR UPDATE SKIP LOCKED)
        UPDATE heat2mqtt.account a SET fence = a.fence + 1, claimed_by = $1, claimed_until = ${UNTIL}
        FROM (SELECT id FROM fresh UNION ALL SELECT id FROM others) free WHERE a.id = free.id`,
        [most, firstHistories],
      ),

    /**
     * Claims an account that the fleet does not have, or on which it has not worked yet: it is due in an hour. `login`: sealed.
     * `undefined`: the fleet works on it. Rejects with DatabaseTrouble.
     */
    async takeNew(id: string, login: Buffer, historySince: Day | null): Promise<ClaimedAccount | undefined> {
      const taken = await raise(
        `INSERT INTO heat2mqtt.account AS a (id, login, history_since, due_at, fence, claimed_by, claimed_until)
        VALUES ($3, $4, $5, now() + interval '1 hour', 1, $1, ${UNTIL})
        ON CONFLICT (id) DO UPDATE SET fence = a.fence + 1, claimed_by = $1, claimed_until = excluded.claimed_until
          WHERE a.last_poll_at IS NULL AND a.claimed_until <= now()`,
        [id, login, historySince],
      );
      return taken[0];
    },

    /**
     * Renews these, which `take` has given: a statement under way is not seen by one on another connection. Those that are over, or
     * another's by now, end. Rejects with DatabaseTrouble.
     */
    async renew(claimed: readonly ClaimedAccount[]): Promise<void> {
      const living = claimed.filter((one) => one.remainingMs() > 0);
      for (const one of claimed) if (!living.includes(one)) one.end();
      if (living.length === 0) return;
      const until = nextEnd();
      const values = [process, seconds, living.map(({ id }) => id), living.map(({ row }) => row.fence)];
      const renewed = await database.query<{ id: string }>(
        `UPDATE heat2mqtt.account a SET claimed_until = ${UNTIL}
        FROM unnest($3::text[], $4::bigint[]) AS mine(id, fence)
        WHERE a.id = mine.id AND a.fence = mine.fence AND a.claimed_by = $1 RETURNING a.id`,
        values,
      );
      for (const one of living) {
        if (renewed.some(({ id }) => id === one.id)) one.renew(until);
        else one.end();
      }
    },
  };
}
