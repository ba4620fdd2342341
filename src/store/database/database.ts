// The PostgreSQL database of a fleet: connections, transactions, and the time that all processes share. The only door to pg.
import pg from 'pg';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';

export type Row = Record<string, unknown>;

export interface Statements {
  /**
   * Runs one statement. Days come as `YYYY-MM-DD`, instants as epoch milliseconds, big integers as numbers.
   * Rejects with DatabaseTrouble.
   */
  query<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** The same with the types of pg, which the engine of the jobs expects. */
  plain(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** The database cannot be reached, or refuses. */
export class DatabaseTrouble extends Failure {
  readonly code = 'database_trouble';
  readonly exitCode = EXIT.unexpected;
  /** PostgreSQL's own code (SQLSTATE), or that of the system. */
  readonly reason: string;

  constructor(cause: unknown) {
    const reason = String(Object(cause).code ?? 'no answer');
    super(`The database of the fleet cannot be used (${reason}).`, {
      retry: 'soon',
      hint: 'Check that PostgreSQL runs, and fleet.database_url. What the accounts have stays as it is meanwhile.',
      cause,
    });
    this.reason = reason;
  }
}

const MOST_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5_000;
const { builtins } = pg.types;
const READ = new Map<number, (text: string) => unknown>([
  [builtins.INT8, Number],
  [builtins.DATE, String],
  // PostgreSQL writes `2026-11-22 10:00:00.123456+00`.
  [builtins.TIMESTAMPTZ, (text) => Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))],
]);
const types = {
  getTypeParser: (oid: number) => READ.get(oid) ?? pg.types.getTypeParser(oid, 'text'),
} as pg.CustomTypesConfig;

export class Database implements Statements {
  readonly #pool: pg.Pool;

  /** `patienceMs`: after this, a statement is given up, and so is a transaction with which nobody goes on. */
  constructor(url: string, patienceMs: number, log: Log) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: MOST_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: patienceMs,
      statement_timeout: patienceMs,
      // A process that is stopped in the middle of a transaction must not hold the row of an account.
      idle_in_transaction_session_timeout: patienceMs,
      keepAlive: true,
      application_name: 'heat2mqtt',
    });
    this.#pool.on('error', (err) => log.debug({ err }, 'an idle connection to the database was lost'));
  }

  query<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R[]> {
    return statementsOf(this.#pool).query(text, values);
  }

  plain(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return statementsOf(this.#pool).plain(text, values);
  }

  /** All of the step or nothing. Rejects with DatabaseTrouble, or with what the step rejects with. */
  async transaction<T>(step: (statements: Statements) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((err) => Promise.reject(new DatabaseTrouble(err)));
    // Told by the next statement; without a listener it would end the process.
    const hear = () => undefined;
    client.on('error', hear);
    const statements = statementsOf(client);
    const { query } = statements;
    let fault: unknown;
    try {
      await query('BEGIN');
      const result = await step(statements);
      await query('COMMIT');
      return result;
    } catch (err) {
      fault = err;
      // A connection on which something is still under way is of no use any more.
      if (!(err instanceof DatabaseTrouble))
        await query('ROLLBACK').then(
          () => (fault = undefined),
          () => undefined,
        );
      throw err;
    } finally {
      if (fault === undefined) client.off('error', hear);
      client.release(fault !== undefined);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(() => undefined);
  }
}

function statementsOf(connection: Pick<pg.Pool | pg.PoolClient, 'query'>): Statements {
  const run = async <R extends object>(text: string, values: readonly unknown[], own: object) => {
    try {
      // Without parameters there may be several statements in one text, with a result each.
      const parameters = values.length === 0 ? {} : { values: [...values] };
      const result = await (connection as pg.Pool).query<R>({ text, ...parameters, ...own });
      return [result].flat().flatMap(({ rows }) => rows);
    } catch (err) {
      throw new DatabaseTrouble(err);
    }
  };
  return {
    query: (text, values = []) => run(text, values, { types }),
    plain: (text, values = []) => run(text, values, {}),
  };
}

/** The database's time, carried on by the monotonic clock of this process: the clocks of the machines do not matter. */
export class SharedClock implements Clock {
  readonly monotonic: Clock['monotonic'];
  readonly sleep: Clock['sleep'];
  readonly after: Clock['after'];
  readonly #own: Clock;
  #ahead: number | null = null;

  constructor(own: Clock) {
    this.#own = own;
    this.monotonic = () => own.monotonic();
    this.sleep = (ms, signal) => own.sleep(ms, signal);
    this.after = (ms, step) => own.after(ms, step);
  }

  /** `databaseNow`: epoch milliseconds, asked for at `askedAt` on the monotonic clock. */
  set(databaseNow: number, askedAt: number): void {
    this.#ahead = databaseNow - askedAt;
  }

  now(): number {
    return this.#ahead === null ? this.#own.now() : Math.round(this.#own.monotonic() + this.#ahead);
  }
}
