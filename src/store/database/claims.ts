// Which accounts this process works on: it claims rows that are due, and renews its claims.
import type { Day } from '../../domain/period.ts';
import { ClaimedAccount, type Tools } from './claimedAccount.ts';
import type { ClaimedRow } from './claimedRow.ts';
import { KeptMemory } from './keptMemory.ts';

/** Accounts that are due and that no process has. Their two kinds are asked for apart, so that the index gives each in its order. */
const DUE = 'NOT paused AND due_at <= now() AND claimed_until <= now() AND retry_after <= now()';
/** For so long an account is left to the process that knows what is kept of it. */
const ANOTHERS_TURN = '2 s';
const TAKE = `
WITH fresh AS (SELECT id FROM heat2mqtt.account WHERE first_history AND ${DUE}
  ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED),
known AS (SELECT id FROM heat2mqtt.account WHERE NOT first_history AND ${DUE}
    AND (kept_by IS NULL OR kept_by = $1 OR due_at <= now() - interval '${ANOTHERS_TURN}')
  ORDER BY due_at LIMIT $3 - (SELECT count(*) FROM fresh) FOR UPDATE SKIP LOCKED),
more AS (SELECT id FROM heat2mqtt.account WHERE first_history AND ${DUE} AND id <> ALL (ARRAY(SELECT id FROM fresh))
  ORDER BY due_at LIMIT $3 - (SELECT count(*) FROM fresh) - (SELECT count(*) FROM known) FOR UPDATE SKIP LOCKED)`;
/** The process that had it last did not give it back: what it has published nobody knows. */
const UNKNOWN = 'republish = a.republish + (a.claimed_by IS NOT NULL)::int';
/** The ids are one list, known before the update begins: a join with what is found is planned as a look at every row. */
const TAKEN = 'ARRAY(SELECT id FROM fresh UNION ALL SELECT id FROM known UNION ALL SELECT id FROM more)';

export type Claims = ReturnType<typeof openClaims>;

/** `process`: a UUID. `seconds`: how long a claim lasts unless it is renewed, by the clock of the database. */
export function openClaims(tools: Tools, process: string, seconds: number) {
  const { database, clock } = tools;
  const memory = new KeptMemory(process);
  const UNTIL = 'clock_timestamp() + make_interval(secs => $2)';
  // From before the statement is sent: the database's claim ends later than ours.
  const nextEnd = () => clock.monotonic() + seconds * 1000;

  /** Runs a statement that claims rows; its first values are the process and the seconds. */
  async function raise(text: string, values: readonly unknown[]): Promise<ClaimedAccount[]> {
    const endsAt = nextEnd();
    const rows = await database.query<ClaimedRow>(`${text} RETURNING a.*`, [process, seconds, ...values]);
    const keptOf = memory.read(rows, tools);
    return rows.map((row) => new ClaimedAccount(row, endsAt, () => keptOf(row), memory, tools));
  }

  return {
    /**
     * Claims up to so many accounts that are due, the oldest first. Those whose history is read for the first time come last, but for
     * `firstHistories` of them. Rejects with DatabaseTrouble.
     */
    take: (most: number, firstHistories: number): Promise<ClaimedAccount[]> =>
      raise(
        `${TAKE} UPDATE heat2mqtt.account a SET fence = a.fence + 1, claimed_by = $1, claimed_until = ${UNTIL}, ${UNKNOWN}
        WHERE a.id = ANY (${TAKEN})`,
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
