// The accounts of a fleet: put in, listed, paused, removed and sealed anew. The process that works next does what follows.
import { type KeptRow, openDocument } from '../store/database/accountState.ts';
import type { Database } from '../store/database/database.ts';
import { PLACES, type Seal } from '../store/database/seal.ts';
import type { AccountLogin } from './loginFile.ts';
import type { Login } from './run.ts';

/** Times in epoch milliseconds. */
export interface Listed {
  readonly id: string;
  readonly paused: boolean;
  readonly removed: boolean;
  readonly due_at: number;
  readonly last_poll_at: number | null;
  readonly last_success_at: number | null;
  readonly failing_since: number | null;
  readonly failures: number;
  readonly last_error: string | null;
  readonly advice: string | null;
  readonly auth_state: string | null;
}

/** Ids, by what became of them. */
export type Imported = Readonly<Record<'imported' | 'changed' | 'unchanged', readonly string[]>>;

const BATCH = 1_000;

type Parts = { readonly database: Database; readonly seal: Seal };

/**
 * Twice is harmless. An account of which something is damaged counts as changed: its next run reads that anew. `isDry`: tells
 * only what it would do. Rejects with DatabaseTrouble; what was imported until then stays.
 */
export async function importLogins(
  logins: readonly AccountLogin[],
  isDry: boolean,
  { database, seal }: Parts,
): Promise<Imported> {
  const sum: { [key in keyof Imported]: string[] } = { imported: [], changed: [], unchanged: [] };
  for (let at = 0; at < logins.length; at += BATCH) {
    const some = logins.slice(at, at + BATCH);
    const ids = some.map(({ id }) => id);
    const rows = await database.query<KnownRow>(
      'SELECT id, login, removed, history_since, last_error FROM heat2mqtt.account WHERE id = ANY($1)',
      [ids],
    );
    const sealed = await database.query<KeptRow>(
      'SELECT account, name, sealed FROM heat2mqtt.document WHERE account = ANY($1) AND sealed IS NOT NULL',
      [ids],
    );
    const known = new Map(rows.map((row) => [row.id, row]));
    const damaged = new Set(sealed.filter((row) => !canBeOpened(row, seal)).map(({ account }) => account));
    const others: AccountLogin[] = [];
    for (const login of some) {
      const row = known.get(login.id);
      const isSame = row && isUnchanged(login, row, seal) && !damaged.has(login.id);
      sum[row === undefined ? 'imported' : isSame ? 'unchanged' : 'changed'].push(login.id);
      if (!isSame) others.push(login);
    }
    if (!isDry && others.length > 0) await writeLogins(others, database, seal);
  }
  return sum;
}

interface KnownRow {
  readonly id: string;
  readonly login: Buffer;
  readonly removed: boolean;
  readonly history_since: string | null;
  readonly last_error: string | null;
}

function canBeOpened(row: KeptRow, seal: Seal): boolean {
  try {
    openDocument(row, seal);
    return true;
  } catch {
    return false;
  }
}

/** `null`: it cannot be opened. */
export function loginOf({ id, login }: Pick<KnownRow, 'id' | 'login'>, seal: Seal): Login | null {
  try {
    return seal.open(PLACES.login(id), login) as Login;
  } catch {
    return null;
  }
}

function isUnchanged({ username, password, historySince }: AccountLogin, row: KnownRow, seal: Seal): boolean {
  const login = loginOf(row, seal);
  const isLogin = login?.username === username && login.password === password;
  const isWell = !row.removed && !row.last_error?.startsWith('damaged');
  return isLogin && isWell && row.history_since === historySince;
}

/** A changed one is tried at once; one that is being removed and comes back is published again. */
async function writeLogins(logins: readonly AccountLogin[], database: Database, seal: Seal): Promise<void> {
  const sealed = logins.map(({ id, username, password }) =>
    seal.close(PLACES.login(id), { username, password } satisfies Login),
  );
  await database.query(
    `INSERT INTO heat2mqtt.account AS a (id, login, history_since)
    SELECT * FROM unnest($1::text[], $2::bytea[], $3::date[])
    ON CONFLICT (id) DO UPDATE SET login = excluded.login, history_since = excluded.history_since, wanted = a.wanted + 1,
      due_at = now(), poll_at = now(), republish = a.republish + a.removed::int, removed = false, repair = true`,
    [logins.map(({ id }) => id), sealed, logins.map(({ historySince }) => historySince)],
  );
}

/** In the order of their ids. */
export const listAccounts = (database: Database, onlyFailing: boolean): Promise<Listed[]> =>
  database.query<Listed>(
    `SELECT id, paused, removed, due_at, last_poll_at, last_success_at, failing_since, failures, last_error, advice, auth_state
    FROM heat2mqtt.account WHERE NOT $1 OR (NOT paused AND (failures > 0 OR needs_user)) ORDER BY id`,
    [onlyFailing],
  );

/** Those of the ids that no account has, or one that is being removed. */
export async function unknownIds(ids: readonly string[], database: Database): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'SELECT id FROM heat2mqtt.account WHERE id = ANY($1) AND NOT removed',
    [ids],
  );
  const known = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !known.has(id));
}

/** Sets and conditions of what is done with accounts by their ids. */
const DEEDS = {
  /** What is under way comes to its end. */
  pause: 'paused = true WHERE NOT paused',
  /** Polls go on at once, also of an account that waits for its user, or that was told to wait longer by its failures. */
  resume: 'paused = false, due_at = now(), wanted = wanted + 1 WHERE true',
  /** The next run withdraws its topics, and deletes everything that is kept of it. */
  remove: `removed = true, paused = false, wanted = wanted + 1, due_at = now(), retry_after = 'epoch' WHERE NOT removed`,
} as const;

/** Resolves to how many accounts were not so before. Rejects with DatabaseTrouble. */
export async function changeAccounts(
  deed: keyof typeof DEEDS,
  ids: readonly string[],
  database: Database,
): Promise<number> {
  const text = `UPDATE heat2mqtt.account SET ${DEEDS[deed]} AND id = ANY($1) RETURNING id`;
  return (await database.query(text, [ids])).length;
}

/** Everything that is sealed: where, and the place by which its seal is bound. */
const SEALED = [
  { table: 'fleet', column: 'mark_key', key: `'fleet'::text`, place: () => PLACES.markKey },
  { table: 'account', column: 'login', key: 'id', place: (id: string) => PLACES.login(id) },
  { table: 'series', column: 'property', key: 'mark', place: (mark: string) => PLACES.property(mark) },
  {
    table: 'document',
    column: 'sealed',
    key: `account || ' ' || name`,
    place: (key: string) => PLACES.document(...(key.split(' ') as [string, string])),
  },
];

/**
 * Seals everything anew that the first key does not open. A row that changes meanwhile has been sealed by the first key: it
 * is left. Resolves to how many were changed, and the places of those that no key opens. Rejects with DatabaseTrouble.
 */
export async function resealAll({ database, seal }: Parts): Promise<{ changed: number; damaged: string[] }> {
  let changed = 0;
  const damaged: string[] = [];
  for (const { table, column, key, place } of SEALED)
    for (let last: string | undefined = ''; last !== undefined; ) {
      const rows: { key: string; sealed: Buffer }[] = await database.query(
        `SELECT * FROM (SELECT ${key} AS key, ${column} AS sealed FROM heat2mqtt.${table}) t
        WHERE sealed IS NOT NULL AND key > $1 COLLATE "C" ORDER BY key COLLATE "C" LIMIT ${BATCH}`,
        [last],
      );
      last = rows.at(-1)?.key;
      const renewed = rows.flatMap((row) => {
        try {
          const next = seal.renewed(place(row.key), row.sealed);
          return next === null ? [] : [{ ...row, next }];
        } catch {
          damaged.push(place(row.key));
          return [];
        }
      });
      if (renewed.length === 0) continue;
      const written = await database.query(
        `UPDATE heat2mqtt.${table} SET ${column} = r.next FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS r(key, before, next)
        WHERE ${key} = r.key AND ${column} = r.before RETURNING 1`,
        [renewed.map((row) => row.key), renewed.map((row) => row.sealed), renewed.map((row) => row.next)],
      );
      changed += written.length;
    }
  return { changed, damaged };
}
