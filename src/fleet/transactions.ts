// Transactions of others that stay open in the database: until they end, no row that was changed since they began can be cleared away,
// and the look for accounts that are due goes past all of them. When a transaction of another user began may not be seen by everyone,
// but how many were numbered since may: its age is told by the number that was the next one a minute ago.
import type { Reason } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';

/** The numbers of transactions are those of PostgreSQL (xid). */
export interface Transactions {
  /** The next one that will be given. */
  readonly next: number;
  /** The numbers given since the oldest one began that is open, or since what it sees; 0: none was. */
  readonly oldestAge: number;
  /** The process of PostgreSQL that has it open; `null`: a replication slot, a prepared transaction, or none. */
  readonly pid: number | null;
}

const LONG_MS = 60_000;

export class TransactionWatch {
  /** SQL that gives one `Transactions` as JSON. VACUUM is seen as a transaction, and holds nothing up. */
  static readonly QUESTION = `
SELECT json_build_object('next', pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
    'oldestAge', coalesce(max(t.age), 0), 'pid', (array_agg(t.pid ORDER BY t.age DESC, t.writes DESC))[1])
  FROM (SELECT pid, greatest(age(backend_xmin), age(backend_xid)) AS age, backend_xid IS NOT NULL AS writes FROM pg_stat_activity
      WHERE datname = current_database() AND usesysid IS NOT NULL AND pid <> pg_backend_pid()
        AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
    UNION ALL SELECT NULL, age(xmin), false FROM pg_replication_slots
    UNION ALL SELECT NULL, age(transaction), true FROM pg_prepared_xacts WHERE database = current_database()) t
  WHERE t.age >= 0`;

  readonly #clock: Clock;
  /** The next numbers over time, by the monotonic clock: the newest of more than a minute ago, and those since; oldest first. */
  #numbers: readonly { readonly at: number; readonly next: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `ageMs`: how long ago they were looked at. Gives what is to be told of them. */
  note({ next, oldestAge, pid }: Transactions, ageMs: number): Reason | null {
    const at = this.#clock.monotonic() - ageMs;
    const isLongAgo = (noted: { readonly at: number }) => at - noted.at >= LONG_MS;
    const before = this.#numbers.findLast(isLongAgo);
    const since = this.#numbers.filter((noted) => !isLongAgo(noted));
    this.#numbers = [...(before === undefined ? [] : [before]), ...since, { at, next }];
    const isOpenForLong = before !== undefined && next - oldestAge < before.next;
    return isOpenForLong ? openForLong(pid) : null;
  }
}

function openForLong(pid: number | null): Reason {
  const what =
    pid === null
      ? 'A replication slot or a prepared transaction'
      : `A transaction of PostgreSQL's process ${pid}`;
  return {
    code: 'open_transaction',
    message: `${what} has been open for more than a minute: the fleet gets slower until it ends.`,
    hint: 'Look it up in pg_stat_activity, and end it if nobody needs it. pg_dump of a large database ends by itself.',
  };
}
