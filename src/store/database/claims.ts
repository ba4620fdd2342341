// This process works on the accounts that it claims: it claims rows that are due, and renews its claims. It remembers
// what it has given back last.
import type { Day } from '../../domain/period.ts';
import { Claim, type ClaimedRow, type Tools } from './claim.ts';
import { readRows, StoredAccount, type StoredRow } from './storedAccount.ts';

/** Accounts that are due and that no process has. Their two kinds are asked for apart, so that the index gives each in its order. */
const DUE = 'NOT paused AND due_at <= now() AND claimed_until <= now() AND retry_after <= now()';
/** An account is left so long to the process that remembers it. */
const ANOTHERS_TURN = '2 s';
/**
 * First histories have places of their own, since one takes minutes. All others come next, and further first histories only where places
 * are left: accounts that are overdue do not wait for them.
 */
const TAKE = `
WITH reserved AS (SELECT id FROM heat2mqtt.account WHERE first_history AND ${DUE}
  ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED),
usual AS (SELECT id FROM heat2mqtt.account WHERE NOT first_history AND ${DUE}
    AND (kept_by IS NULL OR kept_by = $1 OR due_at <= now() - interval '${ANOTHERS_TURN}')
  ORDER BY due_at LIMIT $3 - (SELECT count(*) FROM reserved) FOR UPDATE SKIP LOCKED),
further AS (SELECT id FROM heat2mqtt.account WHERE first_history AND ${DUE} AND id <> ALL (ARRAY(SELECT id FROM reserved))
  ORDER BY due_at LIMIT $3 - (SELECT count(*) FROM reserved) - (SELECT count(*) FROM usual) FOR UPDATE SKIP LOCKED)`;
/** The process that had it last did not give it back: what it has published nobody knows. */
const UNKNOWN = 'republish = a.republish + (a.claimed_by IS NOT NULL)::int';
/** The ids are one list, known before the update begins: a join with what is found is planned as a look at every row. */
const TAKEN =
  'ARRAY(SELECT id FROM reserved UNION ALL SELECT id FROM usual UNION ALL SELECT id FROM further)';

export type Claims = ReturnType<typeof openClaims>;

/** `process`: a UUID. `seconds`: how long a claim lasts unless it is renewed, by the clock of the database. */
export function openClaims(tools: Tools, process: string, seconds: number) {
  const { database, seal, clock } = tools;
  const memory = new AccountMemory(process);
  const UNTIL = 'clock_timestamp() + make_interval(secs => $2)';
  // The time counts from before the statement is sent: the database's claim ends later than ours.
  const nextEnd = () => clock.monotonic() + seconds * 1000;

  /** Runs a statement that claims rows; its first values are the process and the seconds. */
  async function raise(text: string, values: readonly unknown[]): Promise<Claim[]> {
    const endsAt = nextEnd();
    const rows = await database.query<ClaimedRow>(`${text} RETURNING a.*`, [process, seconds, ...values]);
    const remembered = rows.map((row) => memory.take(row));
    const toRead = rows.filter((_, at) => remembered[at] === null).map(({ id }) => id);
    const reading = toRead.length > 0 ? readRows(database, toRead) : Promise.resolve([]);
    // Opening a claim tells of a failure; this only avoids an unhandled rejection.
    reading.catch(() => undefined);
    const remember = memory.remember.bind(memory);
    return rows.map((row, at) => {
      const read = async () => remembered[at] ?? storedFrom(await reading, row);
      return new Claim(row, endsAt, read, tools, remember);
    });
  }

  function storedFrom(stored: readonly StoredRow[], { id, repair, removed }: ClaimedRow): StoredAccount {
    const account = new StoredAccount(id, seal, repair || removed);
    account.load(stored);
    return account;
  }

  return {
    /**
     * Claims up to so many accounts that are due, the oldest first. Those whose history is read for the first time come last, but for
     * `firstHistories` of them. Rejects with DatabaseTrouble.
     */
    take: (most: number, firstHistories: number): Promise<Claim[]> =>
      raise(
        `${TAKE} UPDATE heat2mqtt.account a SET fence = a.fence + 1, claimed_by = $1, claimed_until = ${UNTIL}, ${UNKNOWN}
        WHERE a.id = ANY (${TAKEN})`,
        [most, firstHistories],
      ),

    /**
     * Claims an account that the fleet does not have, or on which it has not worked yet: it is due in an hour. `login`: sealed.
     * `undefined`: the fleet works on it. Rejects with DatabaseTrouble.
     */
    async takeNew(id: string, login: Buffer, historySince: Day | null): Promise<Claim | undefined> {
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
    async renew(claims: readonly Claim[]): Promise<void> {
      const living = claims.filter((claim) => claim.remainingMs() > 0);
      for (const claim of claims) if (!living.includes(claim)) claim.end();
      if (living.length === 0) return;
      const until = nextEnd();
      const values = [process, seconds, living.map(({ id }) => id), living.map(({ row }) => row.fence)];
      const renewed = await database.query<{ id: string }>(
        `UPDATE heat2mqtt.account a SET claimed_until = ${UNTIL}
        FROM unnest($3::text[], $4::bigint[]) AS mine(id, fence)
        WHERE a.id = mine.id AND a.fence = mine.fence AND a.claimed_by = $1 RETURNING a.id`,
        values,
      );
      for (const claim of living) {
        if (renewed.some(({ id }) => id === claim.id)) claim.renew(until);
        else claim.end();
      }
    },
  };
}

const MOST_ACCOUNTS = 1_000;
/** Some 40 MB. */
const MOST_DAYS = 100_000;

interface Remembered {
  readonly stored: StoredAccount;
  /** The row's, once it was given back. */
  readonly fence: number;
  readonly days: number;
}

/**
 * Accounts that this process has given back: as long as no other process has had one since, which its fence tells, it need not be read
 * again. The newest only, since the days of thousands of accounts would fill the memory.
 */
export class AccountMemory {
  /** A UUID. */
  readonly #process: string;
  /** The keys are ids; the one that was given back longest ago comes first. */
  readonly #accounts = new Map<string, Remembered>();
  #days = 0;

  constructor(process: string) {
    this.#process = process;
  }

  /** `fence`: that of the row now. */
  remember(stored: StoredAccount, fence: number): void {
    this.#forget(stored.id);
    const days = stored.countDays();
    this.#accounts.set(stored.id, { stored, fence, days });
    this.#days += days;
    for (const oldest of this.#accounts.keys()) {
      if (this.#accounts.size <= MOST_ACCOUNTS && this.#days <= MOST_DAYS) return;
      this.#forget(oldest);
    }
  }

  /** `row`: just claimed. `null`: it has to be read. It is remembered no longer, since the run will change it. */
  take({ id, fence, kept_by, wanted, repair, removed }: ClaimedRow): StoredAccount | null {
    const remembered = this.#accounts.get(id);
    this.#forget(id);
    // An account that was removed and comes back begins with the first fence again.
    const isContinued = remembered?.fence === fence - 1 && kept_by === this.#process;
    // A person who asks for a poll may have put something right by hand.
    const isAskedFor = wanted > 0 || repair || removed;
    return isContinued && !isAskedFor ? remembered.stored : null;
  }

  #forget(id: string): void {
    this.#days -= this.#accounts.get(id)?.days ?? 0;
    this.#accounts.delete(id);
  }
}
