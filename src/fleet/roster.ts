// The accounts of a fleet: put in, listed, paused, removed and sealed again. The process that works next does what follows.
import type { Day } from '../domain/period.ts';
import type { ClaimedRow } from '../store/database/claimedRow.ts';
import type { Database } from '../store/database/database.ts';
import { PLACES, type Seal } from '../store/database/seal.ts';

export interface AccountLogin {
  readonly id: string;
  readonly username: string;
  readonly password: string;
  /** From when on its readings are asked for; `null`: as configured for all. */
  readonly historySince: Day | null;
}

type SealedLogin = Pick<ClaimedRow, 'id' | 'login'>;
type Parts = { readonly database: Database; readonly seal: Seal };

const BATCH = 1_000;

/** `1 account`, `2 accounts`. */
export const countWords = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;

export const sealLogin = (id: string, username: string, password: string, seal: Seal): Buffer =>
  seal.close(PLACES.login(id), { username, password });

/** `undefined`: it cannot be opened. The row has been changed by something else than this program. */
export const loginOf = ({ id, login }: SealedLogin, seal: Seal) =>
  seal.open(PLACES.login(id), login) as Pick<AccountLogin, 'username' | 'password'> | undefined;

/**
 * Twice is harmless. An account that is known to be damaged counts as changed: its next run reads that anew. `isDry`: tells
 * only what it would do. Resolves to ids, by what became of them. Rejects with DatabaseTrouble; what was imported until then stays.
 */
export async function importLogins(
  logins: readonly AccountLogin[],
  isDry: boolean,
  { database, seal }: Parts,
) {
  const ids = { imported: [] as string[], changed: [] as string[], unchanged: [] as string[] };
  for (let at = 0; at < logins.length; at += BATCH) {
    const some = logins.slice(at, at + BATCH);
    const rows = await database.query<SealedLogin & { history_since: string | null; isWell: boolean }>(
      `SELECT id, login, history_since, NOT removed AND coalesce(last_error, '') NOT LIKE 'damaged%' AS "isWell"
      FROM heat2mqtt.account WHERE id = ANY($1)`,
      [some.map(({ id }) => id)],
    );
    const known = new Map(rows.map((row) => [row.id, row]));
    const others = some.filter(({ id, username, password, historySince }) => {
      const row = known.get(id);
      const login = row && loginOf(row, seal);
      const isSame = login?.username === username && login.password === password;
      const isUnchanged = isSame && row?.isWell === true && row.history_since === historySince;
      const outcomeUnlessSame = row ? 'changed' : 'imported';
      ids[isUnchanged ? 'unchanged' : outcomeUnlessSame].push(id);
      return !isUnchanged;
    });
    if (isDry) continue;
    // A changed one is tried at once; one that is being removed and comes back is published again.
    await database.query(
      `INSERT INTO heat2mqtt.account AS a (id, login, history_since)
      SELECT * FROM unnest($1::text[], $2::bytea[], $3::date[])
      ON CONFLICT (id) DO UPDATE SET login = excluded.login, history_since = excluded.history_since, wanted = a.wanted + 1,
        due_at = now(), poll_at = now(), republish = a.republish + a.removed::int, removed = false, repair = true`,
      [
        others.map(({ id }) => id),
        others.map(({ id, username, password }) => sealLogin(id, username, password, seal)),
        others.map(({ historySince }) => historySince),
      ],
    );
  }
  return ids;
}

/** Times in epoch milliseconds. */
type Listed = Readonly<
  Record<'id' | 'state', string> &
    Record<'last_error' | 'auth_state' | 'advice', string | null> &
    Record<'last_success_at' | 'next_run_at' | 'failing_since', number | null> &
    Record<'failures', number>
>;

/** In the order of their ids. */
export const listAccounts = (database: Database, onlyFailing: boolean): Promise<Listed[]> =>
  database.query<Listed>(
    `SELECT id, CASE WHEN removed THEN 'removing' WHEN paused THEN 'paused' WHEN failures > 0 THEN 'failing'
        WHEN last_poll_at IS NULL THEN 'new' ELSE 'ok' END AS state,
      last_success_at, CASE WHEN NOT paused THEN due_at END AS next_run_at, failing_since, failures, last_error, auth_state, advice
    FROM heat2mqtt.account WHERE NOT $1 OR (NOT paused AND (last_error IS NOT NULL OR needs_user)) ORDER BY id`,
    [onlyFailing],
  );

/** Those that are not being removed, in the order of their ids. */
export const readAccounts = (database: Database) =>
  database.query<{ readonly id: string; readonly history_since: string | null }>(
    'SELECT id, history_since FROM heat2mqtt.account WHERE NOT removed ORDER BY id',
  );

/** Those of the ids that no account has, or one that is being removed. */
export async function unknownIds(ids: readonly string[], database: Database): Promise<string[]> {
  const text = 'SELECT unnest($1::text[]) AS id EXCEPT SELECT id FROM heat2mqtt.account WHERE NOT removed';
  return (await database.query<{ id: string }>(text, [ids])).map(({ id }) => id);
}

/** Sets and conditions of what is done with accounts by their ids. */
const DEEDS = {
  /** Work under way comes to its end. */
  pause: 'paused = true WHERE NOT paused',
  /** Polls go on at once, also of an account that waits for its user, or that was told to wait longer by its failures. */
  resume: 'paused = false, due_at = now(), wanted = wanted + 1 WHERE true',
  /** The next run withdraws its topics, and deletes everything that is kept of it. */
  remove: `removed = true, paused = false, wanted = wanted + 1, due_at = now(), retry_after = 'epoch' WHERE NOT removed`,
} as const;

export type Deed = keyof typeof DEEDS;

/** Resolves to how many accounts were not so before. Rejects with DatabaseTrouble. */
export async function changeAccounts(
  deed: Deed,
  ids: readonly string[],
  database: Database,
): Promise<number> {
  const text = `UPDATE heat2mqtt.account SET ${DEEDS[deed]} AND id = ANY($1) RETURNING id`;
  return (await database.query(text, [ids])).length;
}

/** Everything that is sealed. `place`: what its seal is bound to, by the values of its key. */
const SEALED: readonly SealedColumn[] = [
  { table: 'fleet', column: 'mark_key', key: ['installation'], place: () => PLACES.markKey },
  { table: 'account', column: 'login', key: ['id'], place: ([id = '']) => PLACES.login(id) },
  {
    table: 'document',
    column: 'sealed',
    key: ['account', 'name'],
    place: ([account = '', name = '']) => PLACES.document(account, name),
  },
];

interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** Columns of text. The index goes by them. */
  readonly key: readonly string[];
  readonly place: (key: readonly string[]) => string;
}

interface SealedCell {
  readonly key: readonly string[];
  readonly sealed: Buffer;
}

/**
 * Seals everything anew that the first key does not open. A row that changes meanwhile has been sealed by the first key: it
 * is left. Resolves to how many were changed, and the places of those that no key opens. Rejects with DatabaseTrouble.
 */
export async function resealAll({ database, seal }: Parts): Promise<{ changed: number; damaged: string[] }> {
  let changed = 0;
  const damaged: string[] = [];
  for (const sealed of SEALED)
    for (let last: readonly string[] | undefined = sealed.key.map(() => ''); last !== undefined; ) {
      const cells = await cellsAfter(last, sealed, database);
      last = cells.at(-1)?.key;
      const renewed = cells.map((cell) => ({
        ...cell,
        next: seal.renew(sealed.place(cell.key), cell.sealed),
      }));
      damaged.push(...renewed.filter(({ next }) => next === undefined).map(({ key }) => sealed.place(key)));
      changed += await writeCells(
        renewed.flatMap(({ next, ...cell }) => (next ? { ...cell, next } : [])),
        sealed,
        database,
      );
    }
  return { changed, damaged };
}

/** The next ones in the order of their keys. */
function cellsAfter(
  last: readonly string[],
  { table, column, key }: SealedColumn,
  database: Database,
): Promise<SealedCell[]> {
  const values = key.map((_, at) => `$${at + 1}`);
  return database.query<SealedCell>(
    `SELECT json_build_array(${key}) AS key, ${column} AS sealed FROM heat2mqtt.${table}
    WHERE ${column} IS NOT NULL AND (${key}) > (${values}) ORDER BY ${key} LIMIT ${BATCH}`,
    last,
  );
}

/** Resolves to how many are still what they were. */
async function writeCells(
  cells: readonly (SealedCell & { readonly next: Buffer })[],
  { table, column, key }: SealedColumn,
  database: Database,
): Promise<number> {
  const lists = [...key.map((_, at) => `$${at + 3}::text[]`), '$1::bytea[]', '$2::bytea[]'];
  const isSame = key.map((name) => `t.${name} = r.${name}`).join(' AND ');
  const written = await database.query(
    `UPDATE heat2mqtt.${table} t SET ${column} = r.next FROM unnest(${lists}) AS r(${key}, before, next)
    WHERE ${isSame} AND t.${column} = r.before RETURNING 1`,
    [
      cells.map(({ sealed }) => sealed),
      cells.map(({ next }) => next),
      ...key.map((_, at) => cells.map((cell) => cell.key[at])),
    ],
  );
  return written.length;
}
