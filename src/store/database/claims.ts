// Claims: which process works on which account. Each claim raises a number in the account's row, the fence, and every
// write of that claim names it, so that a write that comes late is refused.
import { type Clock, systemClock } from '../../foundation/clock.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import type { Database, Statements } from './database.ts';

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
  readonly paused: boolean;
  readonly removed: boolean;
  /** How often somebody has asked for a poll, and how many of these are answered. */
  readonly wanted: number;
  readonly answered: number;
  /** Everything is to be published again. */
  readonly anew: boolean;
  readonly poll_at: number;
  readonly failures: number;
  readonly last_success_at: number | null;
}

export class Claim {
  readonly row: ClaimedRow;
  readonly #clock: Clock;
  readonly #ending = new AbortController();
  /** On the monotonic clock. */
  #endsAt = 0;
  #cancel: () => void = () => undefined;

  constructor(row: ClaimedRow, endsAt: number, clock: Clock) {
    this.row = row;
    this.#clock = clock;
    this.extend(endsAt);
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
    if (this.remainingMs() <= 0) this.end(new FenceLost());
    this.signal.throwIfAborted();
  }

  remainingMs(): number {
    return this.signal.aborted ? 0 : this.#endsAt - this.#clock.monotonic();
  }

  extend(endsAt: number): void {
    this.#cancel();
    this.#endsAt = endsAt;
    this.#cancel = this.#clock.after(endsAt - this.#clock.monotonic(), () => this.end(new FenceLost()));
  }

  end(reason: unknown): void {
    this.#cancel();
    this.#ending.abort(reason);
  }
}

/** Ends a claim, with its fence: what the network still holds back of it is refused when it comes. */
export const GIVEN_BACK = `claimed_until = 'epoch', claimed_by = NULL, fence = fence + 1`;

const COLUMNS =
  'a.id, a.fence, a.login, a.paused, a.removed, a.wanted, a.answered, a.anew, a.poll_at, a.failures, a.last_success_at';

export class Claims {
  readonly #database: Database;
  readonly #process: string;
  readonly #seconds: number;
  readonly #clock: Clock;
  readonly #held = new Set<Claim>();

  /** `process`: a UUID. `seconds`: how long a claim lasts unless it is renewed, by the clock of the database. */
  constructor(database: Database, process: string, seconds: number, clock: Clock = systemClock) {
    this.#database = database;
    this.#process = process;
    this.#seconds = seconds;
    this.#clock = clock;
  }

  /** Claims those of the accounts that nobody has. `sql`: within a transaction; where that fails, they are to be forgotten. */
  async raise(accounts: readonly string[], sql: Statements = this.#database): Promise<Claim[]> {
    const endsAt = this.#nextEnd();
    // Not the time at which the transaction began: the database's claim must end later than ours.
    const rows = await sql.query<ClaimedRow>(
      `UPDATE heat2mqtt.account a
      SET fence = a.fence + 1, claimed_by = $2, claimed_until = clock_timestamp() + make_interval(secs => $3)
      FROM (SELECT id FROM heat2mqtt.account WHERE id = ANY($1) AND claimed_until <= clock_timestamp()
        ORDER BY id FOR UPDATE SKIP LOCKED) free
      WHERE a.id = free.id RETURNING ${COLUMNS}`,
      [accounts, this.#process, this.#seconds],
    );
    return rows.map((row) => {
      const claim = new Claim(row, endsAt, this.#clock);
      this.#held.add(claim);
      return claim;
    });
  }

  /** Renews these claims, by default all that are held; those that are another's by now end. Rejects with DatabaseTrouble. */
  async renew(claims: readonly Claim[] = [...this.#held]): Promise<void> {
    const living = claims.filter((claim) => claim.remainingMs() > 0);
    if (living.length === 0) return;
    const endsAt = this.#nextEnd();
    const rows = await this.#database.query<{ id: string }>(
      `UPDATE heat2mqtt.account a SET claimed_until = now() + make_interval(secs => $3)
      FROM unnest($1::text[], $2::bigint[]) AS mine(id, fence)
      WHERE a.id = mine.id AND a.fence = mine.fence AND a.claimed_by = $4 RETURNING a.id`,
      [
        living.map(({ account }) => account),
        living.map(({ row }) => row.fence),
        this.#seconds,
        this.#process,
      ],
    );
    const renewed = new Set(rows.map(({ id }) => id));
    for (const claim of living) {
      if (!renewed.has(claim.account)) claim.end(new FenceLost());
      else if (claim.remainingMs() > 0) claim.extend(endsAt);
    }
  }

  /** Rejects with FenceLost unless the account is still ours, by the database, and stays so for a whole claim. */
  async confirm(claim: Claim): Promise<void> {
    await this.renew([claim]);
    claim.check();
  }

  /** The run is over, whatever came of it. */
  forget(claim: Claim): void {
    this.#held.delete(claim);
    claim.end(new FenceLost());
  }

  // From before the statement is sent: the database's claim ends later than ours.
  #nextEnd(): number {
    return this.#clock.monotonic() + this.#seconds * 1000;
  }
}
