// The accounts of a fleet: put in, listed, paused, removed and sealed anew. The process that works next does what follows.
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
export interface Imported {
  readonly imported: readonly string[];
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
}

const BATCH = 1_000;

type Parts = { readonly database: Database; readonly seal: Seal };

/** Twice is harmless. `isDry`: tells only what it would do. Rejects with DatabaseTrouble; what was imported until then stays. */
export async function importLogins(
  logins: readonly AccountLogin[],
  isDry: boolean,
  { database, seal }: Parts,
): Promise<Imported> {
  const sum: { [key in keyof Imported]: string[] } = { imported: [], changed: [], unchanged: [] };
  for (let at = 0; at < logins.length; at += BATCH) {
    const some = logins.slice(at, at + BATCH);
    const rows = await database.query<KnownRow>(
      'SELECT id, login, removed, history_since FROM heat2mqtt.account WHERE id = ANY($1)',
      [some.map(({ id }) => id)],
    );
    const known = new Map(rows.map((row) => [row.id, row]));
    const others = some.filter((login) => !isSame(login, known.get(login.id), seal));
    sum.unchanged.push(...some.filter((login) => !others.includes(login)).map(({ id }) => id));
    for (const { id } of others) sum[known.has(id) ? 'changed' : 'imported'].push(id);
    if (!isDry && others.length > 0) await writeLogins(others, database, seal);
  }
  return sum;
}

interface KnownRow {
  readonly id: string;
  readonly login: Buffer;
  readonly removed: boolean;
  readonly history_since: string | null;
}

/** A login that cannot be opened is written anew. */
function isSame(
  { id, username, password, historySince }: AccountLogin,
  row: KnownRow | undefined,
  seal: Seal,
): boolean {
  if (row === undefined || row.removed || row.history_since !== historySince) return false;
  try {
    const login = seal.open(PLACES.login(id), row.login) as Login;
    return login.username === username && login.password === password;
  } catch {
    return false;
  }
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
      due_at = now(), poll_at = now(), republish = a.republish + a.removed::int, removed = false`,
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

/** What is under way comes to its end. Resolves to how many were not so before. */
export async function pauseAccounts(ids: readonly string[], database: Database): Promise<number> {
  const text = 'UPDATE heat2mqtt.account SET paused = true WHERE id = ANY($1) AND NOT paused RETURNING id';
  return (await database.query(text, [ids])).length;
}

/** Polls go on at once, also of an account that waits for its user, or that was told to wait longer by its failures. */
export async function resumeAccounts(ids: readonly string[], database: Database): Promise<number> {
  const rows = await database.query(
    `UPDATE heat2mqtt.account SET paused = false, due_at = now(), wanted = wanted + 1 WHERE id = ANY($1) RETURNING id`,
    [ids],
  );
  return rows.length;
}

/** The next run withdraws its topics, and deletes everything that is kept of it. Resolves to how many were there. */
export async function removeAccounts(ids: readonly string[], database: Database): Promise<number> {
  const rows = await database.query(
    `UPDATE heat2mqtt.account SET removed = true, paused = false, wanted = wanted + 1, due_at = now(), retry_after = 'epoch'
    WHERE id = ANY($1) AND NOT removed RETURNING id`,
    [ids],
  );
  return rows.length;
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
  for (const { table, column, key, place } of SEALED) {
    const last = { key: '' };
    for (;;) {
      const rows = await database.query<{ key: string; sealed: Buffer }>(
        `SELECT * FROM (SELECT ${key} AS key, ${column} AS sealed FROM heat2mqtt.${table}) t
        WHERE sealed IS NOT NULL AND key > $1 COLLATE "C" ORDER BY key COLLATE "C" LIMIT ${BATCH}`,
        [last.key],
      );
      if (rows.length === 0) break;
      last.key = rows.at(-1)?.key ?? '';
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
  }
  return { changed, damaged };
}
