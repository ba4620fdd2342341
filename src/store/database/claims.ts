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
  /** How often a poll was asked for, and how many of these are answered. */
  readonly wanted: number;
  readonly answered: number;
  /** The same for publishing everything again. */
  readonly republish: number;
  readonly republished: number;
  readonly poll_at: number;
  readonly failures: number;
  readonly failing_since: number | null;
  readonly needs_user: boolean;
}

const COLUMNS = `a.id, a.fence, a.login, a.history_since, a.removed, a.repair, a.first_history, a.wanted, a.answered,
  a.republish, a.republished, a.poll_at, a.failures, a.failing_since, a.needs_user`;

/** What a run makes of the account's row. */
export type Columns = Readonly<Record<string, unknown>>;
/** Takes a value, and gives its place in the statement; the first two are the account and its fence. */
export type Given = (value: unknown) => string;

/** The end of a claim: what the run has done for wishes, and when the account is due without another. */
export interface End {
  readonly dueAt: Date;
  readonly answered: number;
  readonly republished: number;
}

/** With a new fence at its end, what the network still holds back of the run is refused when it comes. */
export function updateOfRow(columns: Columns, end: End | null, given: Given): string {
  const set = Object.entries(columns).map(([name, value]) => `${name} = ${given(value)}`);
  if (end !== null) {
    const [answered, republished] = [given(end.answered), given(end.republished)];
    set.push(
      `fence = fence + 1, claimed_until = 'epoch', claimed_by = NULL, answered = ${answered}, republished = ${republished}`,
      `due_at = CASE WHEN wanted > ${answered} OR republish > ${republished} THEN now() ELSE ${given(end.dueAt)}::timestamptz END`,
    );
  }
  return set.length === 0
    ? 'SELECT id FROM heat2mqtt.account WHERE id = $1 AND fence = $2 FOR UPDATE'
    : `UPDATE heat2mqtt.account SET ${set.join(', ')} WHERE id = $1 AND fence = $2 RETURNING id`;
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
    if (this.remainingMs() <= 0) this.end();
    this.signal.throwIfAborted();
  }

  remainingMs(): number {
    return this.signal.aborted ? 0 : this.#endsAt - this.#clock.monotonic();
  }

  extend(endsAt: number): void {
    this.#cancel();
    this.#endsAt = endsAt;
    this.#cancel = this.#clock.after(endsAt - this.#clock.monotonic(), () => this.end());
  }

  end(): void {
    this.#cancel();
    this.#ending.abort(new FenceLost());
  }
}

export class Claims {
  readonly #database: Database;
  readonly #process: string;
  readonly #seconds: number;
  readonly #clock: Clock;
  readonly #held = new Set<Claim>();

  /** `process`: a UUID. `seconds`: how long a claim lasts unless it is renewed, by the clock of the database. */
  constructor(database: Database, process: string, seconds: number, clock: Clock) {
    this.#database = database;
    this.#process = process;
    this.#seconds = seconds;
    this.#clock = clock;
  }

  /**
   * Claims up to so many accounts that are due, the oldest first; of these at most so many whose history is read for the first
   * time. Rejects with DatabaseTrouble.
   */
  take(most: number, mostFirstHistories: number): Promise<Claim[]> {
    const due = (
      kind: string,
      limit: string,
    ) => `(SELECT id FROM heat2mqtt.account WHERE ${kind} AND NOT paused
      AND due_at <= now() AND claimed_until <= now() AND retry_after <= now() ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;
    return this.#raise(
      `fresh AS ${due('first_history', '$4')},
      others AS ${due('NOT first_history', '$3 - (SELECT count(*) FROM fresh)')},
      free AS (SELECT id FROM fresh UNION ALL SELECT id FROM others)`,
      [most, mostFirstHistories],
    );
  }

  /** Claims one account, due or not, for a command. `null`: another process has it, or it is not there. */
  async takeOne(account: string): Promise<Claim | null> {
    const free =
      'SELECT id FROM heat2mqtt.account WHERE id = $3 AND claimed_until <= now() FOR UPDATE SKIP LOCKED';
    return (await this.#raise(`free AS (${free})`, [account]))[0] ?? null;
  }

  // Held only once the statement has ended: a renewal on another connection does not see the new fence before.
  async #raise(free: string, values: readonly unknown[]): Promise<Claim[]> {
    const endsAt = this.#nextEnd();
    const rows = await this.#database.query<ClaimedRow>(
      `WITH ${free}
      UPDATE heat2mqtt.account a
      SET fence = a.fence + 1, claimed_by = $1, claimed_until = clock_timestamp() + make_interval(secs => $2)
      FROM free WHERE a.id = free.id RETURNING ${COLUMNS}`,
      [this.#process, this.#seconds, ...values],
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
      `UPDATE heat2mqtt.account a SET claimed_until = clock_timestamp() + make_interval(secs => $2)
      FROM unnest($3::text[], $4::bigint[]) AS mine(id, fence)
      WHERE a.id = mine.id AND a.fence = mine.fence AND a.claimed_by = $1 RETURNING a.id`,
      [
        this.#process,
        this.#seconds,
        living.map(({ account }) => account),
        living.map(({ row }) => row.fence),
      ],
    );
    const renewed = new Set(rows.map(({ id }) => id));
    for (const claim of living) {
      if (!renewed.has(claim.account)) claim.end();
      else if (claim.remainingMs() > 0) claim.extend(endsAt);
    }
  }

  /** Rejects with FenceLost unless the account is still ours, by the database, and stays so for a whole claim. */
  async confirm(claim: Claim): Promise<void> {
    await this.renew([claim]);
    claim.check();
  }

  /** Gives the account back without anything else of the run. Rejects with DatabaseTrouble. */
  async giveBack({ account, row }: Claim, end: End, columns: Columns): Promise<void> {
    const values: unknown[] = [account, row.fence];
    const text = updateOfRow(columns, end, (value) => `$${values.push(value)}`);
    await this.#database.query(text, values);
  }

  /** The run is over, whatever came of it. */
  forget(claim: Claim): void {
    this.#held.delete(claim);
    claim.end();
  }

  // From before the statement is sent: the database's claim ends later than ours.
  #nextEnd(): number {
    return this.#clock.monotonic() + this.#seconds * 1000;
  }
}
