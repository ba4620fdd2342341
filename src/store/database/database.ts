// The PostgreSQL database of a fleet, and the time that all its processes share. The only door to pg.
// Each step is one statement, which is its own transaction: nothing is held while a process is stopped, and a connection
// pooler may give each statement another connection.
import pg from 'pg';
import type { Clock } from '../../foundation/clock.ts';
import { codeOf, EXIT, Failure } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';

/** The reasons why a database cannot be used: a sentence, and what to do. Keys are SQLSTATEs, or codes of the system. */
const SENTENCES: Readonly<Record<string, readonly [sentence: string, hint: string]>> = {
  '28P01': ['PostgreSQL refuses the password of fleet.database_url.', 'Correct the password in it.'],
  '28000': [
    'PostgreSQL refuses the user of fleet.database_url.',
    'Check pg_hba.conf, that the user may log in, and whether it wants TLS (?sslmode=verify-full in the address).',
  ],
  '3D000': [
    'PostgreSQL has no database of the name in fleet.database_url.',
    'Create it, or correct the name.',
  ],
  '42501': [
    'The user of fleet.database_url lacks a right in the database.',
    'Run `heat2mqtt accounts list` once as the user who owns the database: it gives the worker its rights.',
  ],
  '53300': [
    'PostgreSQL has no connection left.',
    'Raise its max_connections: a process of the fleet takes up to ten.',
  ],
  '55P03': [
    'Something else holds rows or tables of the fleet in the database.',
    'End what is open there for long, such as a pg_dump or a BEGIN in psql (pg_stat_activity tells), and try again.',
  ],
  '25001': [
    'A connection pooler hands out connections for a single statement.',
    'Set pool_mode = transaction, or session, for this database of PgBouncer.',
  ],
};
const OTHERWISE =
  'Check that PostgreSQL runs, and fleet.database_url. What the accounts have stays as it is meanwhile.';

/** The database cannot be reached, or refuses. */
export class DatabaseTrouble extends Failure {
  /** PostgreSQL's own code (SQLSTATE), or that of the system. */
  readonly reason: string;

  constructor(cause: unknown) {
    const reason = codeOf(cause) ?? 'no answer';
    const [sentence, hint] = SENTENCES[reason] ?? [
      `The database of the fleet cannot be used (${reason}).`,
      OTHERWISE,
    ];
    super('database_trouble', sentence, { exit: EXIT.unexpected, retry: 'soon', hint, cause });
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

export type Database = ReturnType<typeof openDatabase>;

/** `patienceMs`: after this, a statement is given up. PostgreSQL gives up waiting for a lock before, and goes on with nothing unheard. */
export function openDatabase(url: string, patienceMs: number, log: Log) {
  let address = url;
  let pool = open();

  function open(): pg.Pool {
    const opened = new pg.Pool({
      connectionString: address,
      max: MOST_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: patienceMs,
      keepAlive: true,
      application_name: 'heat2mqtt',
      // Without it, statements that were given up here would wait there, each with its connection, until none is left for anybody.
      onConnect: (client) => client.query(`SET lock_timeout = ${Math.ceil(patienceMs / 2)}`),
    });
    opened.on('error', (err) => log.debug({ err }, 'an idle connection to the database was lost'));
    return opened;
  }

  return {
    /**
     * Runs one statement. Days come as `YYYY-MM-DD`, instants as epoch milliseconds, big integers as numbers. Rejects with
     * DatabaseTrouble.
     */
    async query<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
      try {
        return (await pool.query<R>({ text, types, values: [...values] })).rows;
      } catch (err) {
        throw new DatabaseTrouble(err);
      }
    },

    /** The next connections go to this address: a password that was changed needs no restart. */
    moveTo(url: string): void {
      if (url === address) return;
      void pool.end().catch(() => undefined);
      address = url;
      pool = open();
    },

    close: (): Promise<void> => pool.end().catch(() => undefined),
  };
}

export type SharedClock = ReturnType<typeof sharedClock>;

/** The database's time, carried on by the monotonic clock of this process: the clocks of the machines do not matter. */
export function sharedClock(machineClock: Clock) {
  let ahead: number | null = null;
  return {
    ...machineClock,
    now: (): number => (ahead === null ? machineClock.now() : Math.round(machineClock.monotonic() + ahead)),
    /** `databaseNow`: epoch milliseconds, as it was told at this moment. */
    set(databaseNow: number): void {
      ahead = databaseNow - machineClock.monotonic();
    },
  };
}
