// Claims: which process works on which account. Each claim raises a number in the account's row, the fence, and every
// write of that claim names it, so that a write that comes late is refused.
import type { Day } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import type { Database } from './database.ts';

/** The claim is over, or another process has the account now: everything of this run is dropped. */
export class FenceLost extends Failure {
  readonly code = 'fence_lost';
  readonly exitCode = EXIT.unexpected;

  constructor() {
    super('Another process has taken over the account.', { retry: 'soon' });
  }
}

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

const COLUMNS = `a.id, a.fence, a.login, a.history_since, a.removed, a.repair, a.first_history, a.wanted, a.republish,
  a.poll_at, a.failures, a.failing_since, a.needs_user`;

export class Claim {
  readonly row: ClaimedRow;
  readonly #clock: Clock;
  readonly #ending = new AbortController();
  /** On the monotonic clock. */
  #endsAt: number;

  constructor(row: ClaimedRow, endsAt: number, clock: Clock) {
    this.row = row;
    this.#endsAt = endsAt;
    this.#clock = clock;
  }

  get account(): string {
    return this.row.id;
  }

  /** Aborts when the claim is over, with the reason. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Throws the reason once the claim is over; a stopped process looks here before any timer of its own has run. */
  check(): void {
    if (this.remainingMs() <= 0) this.end();
    this.signal.throwIfAborted();
  }

  remainingMs(): number {
    return this.signal.aborted ? 0 : this.#endsAt - this.#clock.monotonic();
  }

  extend(endsAt: number): void {
    this.#endsAt = endsAt;
  }

  end(): void {
    this.#ending.abort(new FenceLost());
  }
}

export type Claims = ReturnType<typeof openClaims>;

/** `process`: a UUID. `seconds`: how long a claim lasts unless it is renewed, by the clock of the database. */
export function openClaims(database: Database, process: string, seconds: number, clock: Clock) {
  const held = new Set<Claim>();

  // From before the statement is sent: the database's claim ends later than ours.
  const nextEnd = () => clock.monotonic() + seconds * 1000;

  // Held only once the statement has ended: a renewal on another connection does not see the new fence before.
  async function raise(free: string, values: readonly unknown[]): Promise<Claim[]> {
    const endsAt = nextEnd();
    const rows = await database.query<ClaimedRow>(
      `WITH ${free}
      UPDATE heat2mqtt.account a
      SET fence = a.fence + 1, claimed_by = $1, claimed_until = clock_timestamp() + make_interval(secs => $2)
      FROM free WHERE a.id = free.id RETURNING ${COLUMNS}`,
      [process, seconds, ...values],
    );
    const claims = rows.map((row) => new Claim(row, endsAt, clock));
    for (const claim of claims) held.add(claim);
    return claims;
  }

  /** Renews these claims; those that are over, or another's by now, end. Rejects with DatabaseTrouble. */
  async function renew(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) if (claim.remainingMs() <= 0) claim.end();
    const living = claims.filter(({ signal }) => !signal.aborted);
    if (living.length === 0) return;
    const endsAt = nextEnd();
    const rows = await database.query<{ id: string }>(
      `UPDATE heat2mqtt.account a SET claimed_until = clock_timestamp() + make_interval(secs => $2)
      FROM unnest($3::text[], $4::bigint[]) AS mine(id, fence)
      WHERE a.id = mine.id AND a.fence = mine.fence AND a.claimed_by = $1 RETURNING a.id`,
      [process, seconds, living.map(({ account }) => account), living.map(({ row }) => row.fence)],
    );
    const renewed = new Set(rows.map(({ id }) => id));
    for (const claim of living) {
      if (!renewed.has(claim.account)) claim.end();
      else if (claim.remainingMs() > 0) claim.extend(endsAt);
    }
  }

  return {
    /**
     * Claims up to so many accounts that are due, the oldest first; of these at most so many whose history is read for the
     * first time. Rejects with DatabaseTrouble.
     */
    take(most: number, mostFirstHistories: number): Promise<Claim[]> {
      const due = (
        kind: string,
        limit: string,
      ) => `(SELECT id FROM heat2mqtt.account WHERE ${kind} AND NOT paused
        AND due_at <= now() AND claimed_until <= now() AND retry_after <= now() ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;
      return raise(
        `fresh AS ${due('first_history', '$4')},
        others AS ${due('NOT first_history', '$3 - (SELECT count(*) FROM fresh)')},
        free AS (SELECT id FROM fresh UNION ALL SELECT id FROM others)`,
        [most, mostFirstHistories],
      );
    },

    /** Claims one account, due or not, for a command. `undefined`: another process has it, or it is not there. */
    async takeOne(account: string): Promise<Claim | undefined> {
      const free =
        'SELECT id FROM heat2mqtt.account WHERE id = $3 AND claimed_until <= now() FOR UPDATE SKIP LOCKED';
      return (await raise(`free AS (${free})`, [account]))[0];
    },

    /** Renews all that are held. Rejects with DatabaseTrouble. */
    renew: () => renew([...held]),

    /** Rejects with FenceLost unless the account is still ours, by the database, and stays so for a whole claim. */
    async confirm(claim: Claim): Promise<void> {
      await renew([claim]);
      claim.check();
    },

    /** The run is over, whatever came of it. */
    forget(claim: Claim): void {
      held.delete(claim);
      claim.end();
    },
  };
}
