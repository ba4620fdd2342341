// The accounts of a fleet: put in, listed, paused and removed. Whoever works next does what follows from that.
import type { Database } from '../../store/database/database.ts';
import type { Seal } from '../../store/database/seal.ts';
import { type Login, loginPlace } from '../work/accountRun.ts';
import type { Jobs } from '../work/jobs.ts';
import type { AccountLogin } from './loginFile.ts';

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
}

/** Ids, by what became of them. */
export interface Imported {
  readonly imported: readonly string[];
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
  /** These are being removed at this moment: another try will do. */
  readonly busy: readonly string[];
}

const BATCH = 1_000;

interface Parts {
  readonly database: Database;
  readonly seal: Seal;
  readonly jobs: Jobs;
}

export class Roster {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Twice is harmless. Rejects with DatabaseTrouble; what was imported until then stays. */
  async import(logins: readonly AccountLogin[]): Promise<Imported> {
    const all: Imported[] = [];
    for (let at = 0; at < logins.length; at += BATCH)
      all.push(await this.#importSome(logins.slice(at, at + BATCH)));
    const of = (key: keyof Imported) => all.flatMap((one) => one[key]);
    return { imported: of('imported'), changed: of('changed'), unchanged: of('unchanged'), busy: of('busy') };
  }

  async #importSome(logins: readonly AccountLogin[]): Promise<Imported> {
    const { database, seal, jobs } = this.#parts;
    const rows = await database.query<{ id: string; login: Buffer; removed: boolean }>(
      'SELECT id, login, removed FROM heat2mqtt.account WHERE id = ANY($1)',
      [logins.map(({ id }) => id)],
    );
    const known = new Map(rows.map((row) => [row.id, row]));
    const isSame = ({ id, username, password }: AccountLogin) => {
      const row = known.get(id);
      if (row === undefined || row.removed) return false;
      const login = seal.open(loginPlace(id), row.login) as Login;
      return login.username === username && login.password === password;
    };
    const unchanged = logins.filter(isSame).map(({ id }) => id);
    const fresh = logins.filter(({ id }) => !known.has(id));
    const others = logins.filter((login) => known.has(login.id) && !isSame(login));
    const imported = await this.#write(
      `INSERT INTO heat2mqtt.account (id, login) SELECT * FROM given
      ON CONFLICT DO NOTHING RETURNING id`,
      fresh,
    );
    // A new password is tried at once. One that is removed and comes back is published anew.
    const changed = await this.#write(
      `UPDATE heat2mqtt.account a SET login = given.login, wanted = wanted + 1, due_at = now(), poll_at = now(),
        anew = anew OR removed, removed = false
      FROM given WHERE a.id = given.id AND NOT (removed AND claimed_until > now()) RETURNING a.id`,
      others,
    );
    await jobs.add(imported);
    await jobs.wake(changed);
    const busy = others.filter(({ id }) => !changed.includes(id)).map(({ id }) => id);
    return { imported, changed, unchanged, busy };
  }

  async #write(statement: string, logins: readonly AccountLogin[]): Promise<string[]> {
    if (logins.length === 0) return [];
    const { database, seal } = this.#parts;
    const sealed = logins.map(({ id, ...login }) => seal.close(loginPlace(id), login satisfies Login));
    const rows = await database.query<{ id: string }>(
      `WITH given AS (SELECT * FROM unnest($1::text[], $2::bytea[]) AS given(id, login)) ${statement}`,
      [logins.map(({ id }) => id), sealed],
    );
    return rows.map(({ id }) => id);
  }

  /** In the order of their ids. */
  list(): Promise<Listed[]> {
    return this.#parts.database.query<Listed & Record<string, unknown>>(
      `SELECT id, paused, removed, due_at, last_poll_at, last_success_at, failing_since, failures, last_error
      FROM heat2mqtt.account ORDER BY id COLLATE "C"`,
    );
  }

  /** Those of the ids that no account has, or one that is being removed. */
  async unknown(ids: readonly string[]): Promise<string[]> {
    const rows = await this.#parts.database.query<{ id: string }>(
      'SELECT id FROM heat2mqtt.account WHERE id = ANY($1) AND NOT removed',
      [ids],
    );
    const known = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !known.has(id));
  }

  /** What is under way comes to its end. Resolves to how many were not so before. */
  async pause(ids: readonly string[], paused: boolean): Promise<number> {
    const { database, jobs } = this.#parts;
    const rows = await database.query<{ id: string }>(
      `UPDATE heat2mqtt.account SET paused = $2, due_at = greatest(now(), least(due_at, poll_at))
      WHERE id = ANY($1) AND NOT removed AND paused <> $2 RETURNING id`,
      [ids, paused],
    );
    if (!paused) await jobs.wake(rows.map(({ id }) => id));
    return rows.length;
  }

  /**
   * The next run withdraws its topics, and deletes everything that is kept of it. One that is under way makes it due at
   * once, as something is wanted. Resolves to how many were there.
   */
  async remove(ids: readonly string[]): Promise<number> {
    const { database, jobs } = this.#parts;
    const rows = await database.query<{ id: string }>(
      `UPDATE heat2mqtt.account SET removed = true, paused = false, wanted = wanted + 1, due_at = now()
      WHERE id = ANY($1) AND NOT removed RETURNING id`,
      [ids],
    );
    await jobs.wake(rows.map(({ id }) => id));
    return rows.length;
  }
}
