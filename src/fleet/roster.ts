// The accounts of a fleet: put in, listed, paused, removed and sealed again. The process that works next does what follows.
import type { Day } from '../domain/period.ts';
import type { ClaimedRow } from '../store/database/claim.ts';
import type { Database } from '../store/database/database.ts';
import { PLACES, type Seal } from '../store/database/seal.ts';

export interface AccountLogin {
  readonly id: string;
  readonly username: string;
  readonly password: string;
  /** Its readings are asked for from this day on; `null`: as configured for all. */
  readonly historySince: Day | null;
}

type SealedLogin = Pick<ClaimedRow, 'id' | 'login'>;
type RosterParts = { readonly database: Database; readonly seal: Seal };

const BATCH = 1_000;

/** `1 account`, `2 accounts`. */
export const countWords = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;

export const sealLogin = (id: string, username: string, password: string, seal: Seal): Buffer =>
  seal.close(PLACES.login(id), { username, password });

/** `undefined`: it cannot be opened. The row has been changed by something else than this program. */
export const loginOf = ({ id, login }: SealedLogin, seal: Seal) =>
  seal.open(PLACES.login(id), login) as Pick<AccountLogin, 'username' | 'password'> | undefined;

/** A changed one is tried at once; one that is being removed and comes back is published again. */
const IMPORT = `
INSERT INTO heat2mqtt.account AS a (id, login, history_since)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::date[])
ON CONFLICT (id) DO UPDATE SET login = excluded.login, history_since = excluded.history_since, wanted = a.wanted + 1,
  due_at = now(), poll_at = now(), republish = a.republish + a.removed::int, removed = false, repair = true`;

interface ImportedRow extends SealedLogin {
  readonly history_since: string | null;
  readonly isWell: boolean;
}

/**
 * Twice is harmless. An account that is known to be damaged counts as changed: its next run reads that anew. `isDry`: tells
 * only what it would do. Resolves to ids, by what became of them. Rejects with DatabaseTrouble; what was imported until then stays.
 */
export async function importLogins(
  logins: readonly AccountLogin[],
  isDry: boolean,
  { database, seal }: RosterParts,
) {
  const imported: string[] = [];
  const changed: string[] = [];
  const unchanged: string[] = [];
  for (let at = 0; at < logins.length; at += BATCH) {
    const batch = logins.slice(at, at + BATCH);
    const rows = await database.query<ImportedRow>(
      `SELECT id, login, history_since, NOT removed AND coalesce(last_error, '') NOT LIKE 'damaged%' AS "isWell"
      FROM heat2mqtt.account WHERE id = ANY($1)`,
      [batch.map(({ id }) => id)],
    );
    const rowOf = new Map(rows.map((row) => [row.id, row]));
    const toWrite = batch.filter((login) => !isSameLogin(login, rowOf.get(login.id), seal));
    const ids = new Set(toWrite.map(({ id }) => id));
    imported.push(...[...ids].filter((id) => !rowOf.has(id)));
    changed.push(...[...ids].filter((id) => rowOf.has(id)));
    unchanged.push(...batch.map(({ id }) => id).filter((id) => !ids.has(id)));
    if (isDry || toWrite.length === 0) continue;
    await database.query(IMPORT, [
      toWrite.map(({ id }) => id),
      toWrite.map(({ id, username, password }) => sealLogin(id, username, password, seal)),
      toWrite.map(({ historySince }) => historySince),
    ]);
  }
  return { imported, changed, unchanged };
}

function isSameLogin(login: AccountLogin, row: ImportedRow | undefined, seal: Seal): boolean {
  if (!row?.isWell || row.history_since !== login.historySince) return false;
  const stored = loginOf(row, seal);
  return stored?.username === login.username && stored.password === login.password;
}

/** Times in epoch milliseconds. */
type Listed = Readonly<
  Record<'id' | 'state', string> &
    Record<'last_error' | 'auth_state' | 'advice', string | null> &
    Record<'last_success_at' | 'next_run_at' | 'failing_since', number | null> &
    Record<'failures', number>
>;

/** They have the order of their ids. */
export const listAccounts = (database: Database, onlyFailing: boolean): Promise<Listed[]> =>
  database.query<Listed>(
    `SELECT id, CASE WHEN removed THEN 'removing' WHEN paused THEN 'paused' WHEN failures > 0 THEN 'failing'
        WHEN last_poll_at IS NULL THEN 'new' ELSE 'ok' END AS state,
      last_success_at, CASE WHEN NOT paused THEN due_at END AS next_run_at, failing_since, failures, last_error, auth_state, advice
    FROM heat2mqtt.account WHERE NOT $1 OR (NOT paused AND (last_error IS NOT NULL OR needs_user)) ORDER BY id`,
    [onlyFailing],
  );

/** Accounts that are being removed are left out. The order is that of the ids. */
export const readAccounts = (database: Database) =>
  database.query<{ readonly id: string; readonly history_since: string | null }>(
    'SELECT id, history_since FROM heat2mqtt.account WHERE NOT removed ORDER BY id',
  );

/** The ids that no account has, or one that is being removed. */
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

/** A value that is sealed: of a document, of a login where the name is `null`, else the mark's key, which is no account's. */
interface SealedValue {
  readonly account: string | null;
  readonly name: string | null;
  readonly sealed: Buffer;
}

const NEXT_SEALED = `
WITH batch AS (SELECT id FROM heat2mqtt.account WHERE id > $1 ORDER BY id LIMIT $2)
SELECT NULL AS account, NULL AS name, mark_key AS sealed FROM heat2mqtt.fleet WHERE $1 = '' AND mark_key IS NOT NULL
UNION ALL SELECT id, NULL, login FROM heat2mqtt.account WHERE id IN (SELECT id FROM batch)
UNION ALL SELECT account, name, sealed FROM heat2mqtt.document WHERE account IN (SELECT id FROM batch) AND sealed IS NOT NULL
ORDER BY account NULLS FIRST`;

const WRITE_SEALED = `
WITH given AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) AS g(account, name, before, next)),
fleet AS (UPDATE heat2mqtt.fleet f SET mark_key = next FROM given WHERE account IS NULL AND mark_key = before RETURNING 1),
logins AS (UPDATE heat2mqtt.account a SET login = next FROM given
  WHERE a.id = account AND name IS NULL AND login = before RETURNING 1),
documents AS (UPDATE heat2mqtt.document d SET sealed = next FROM given g
  WHERE d.account = g.account AND d.name = g.name AND sealed = before RETURNING 1)
SELECT 1 FROM fleet UNION ALL SELECT 1 FROM logins UNION ALL SELECT 1 FROM documents`;

/** Accounts whose values are sealed anew together. */
const RESEALED_TOGETHER = 200;

/**
 * Seals everything anew that the first key does not open. A value that changes meanwhile has been sealed by the first key: it
 * is left. Resolves to how many were changed, and the places of those that no key opens. Rejects with DatabaseTrouble.
 */
export async function resealAll({
  database,
  seal,
}: RosterParts): Promise<{ changed: number; damaged: string[] }> {
  let changed = 0;
  const damaged: string[] = [];
  for (let last: string | null | undefined = ''; last != null; ) {
    const values: SealedValue[] = await database.query(NEXT_SEALED, [last, RESEALED_TOGETHER]);
    last = values.at(-1)?.account;
    const renewed = values.map((value) => ({ ...value, next: seal.renew(placeOf(value), value.sealed) }));
    damaged.push(...renewed.filter(({ next }) => next === undefined).map(placeOf));
    const stale = renewed.filter(({ next }) => next);
    if (stale.length > 0) changed += (await database.query(WRITE_SEALED, columnsOf(stale))).length;
  }
  return { changed, damaged };
}

function placeOf({ account, name }: SealedValue): string {
  if (account === null) return PLACES.markKey;
  return name === null ? PLACES.login(account) : PLACES.document(account, name);
}

const columnsOf = (values: readonly (SealedValue & { readonly next?: Buffer | null | undefined })[]) => [
  values.map(({ account }) => account),
  values.map(({ name }) => name),
  values.map(({ sealed }) => sealed),
  values.map(({ next }) => next),
];
