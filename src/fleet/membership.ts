// The processes of a fleet: each has a number, tells the database every two seconds that it lives, and hears how it is.
import { randomUUID } from 'node:crypto';
import { about } from '../foundation/about.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { type Database, DatabaseTrouble, type SharedClock } from '../store/database/database.ts';

const KEEPER_SECONDS = 10;
/** A process that is not heard of for so long gives its number away. */
const GONE_SECONDS = 120;
/** After so long without an answer the database counts as gone, and everything that looks at the fleet is told. */
const DATABASE_GONE_MS = 30_000;
// SQLSTATE: a unique key that is there already.
const TAKEN = '23505';

export const NUMBER_TAKEN = 'number_taken';

const numberTaken = (number: number) =>
  failure(
    NUMBER_TAKEN,
    `Another process has become number ${number} of the fleet while this one was stopped.`,
    {
      exit: EXIT.unexpected,
      retry: 'later',
      hint: 'It ends, and whatever supervises it starts it anew.',
    },
  );

export class Membership {
  readonly id: string;
  readonly number: number;
  readonly #database: Database;
  readonly #clock: SharedClock;
  /** On the monotonic clock. */
  #keeperUntil = Number.NEGATIVE_INFINITY;
  #heardAt: number;
  /** Why the database did not answer last; `null`: it did. */
  fault: unknown = null;
  failuresInARow = 0;

  /** Takes the lowest number that is free. Rejects with DatabaseTrouble. */
  static async join(database: Database, clock: SharedClock): Promise<Membership> {
    const id = randomUUID();
    for (;;) {
      const [row] = await database.query<{ number: number }>(
        `INSERT INTO heat2mqtt.process (id, number, version)
        SELECT $1, n, $2 FROM generate_series(1, (SELECT count(*)::int + 1 FROM heat2mqtt.process)) n
        WHERE NOT EXISTS (SELECT FROM heat2mqtt.process WHERE number = n) ORDER BY n LIMIT 1
        ON CONFLICT DO NOTHING RETURNING number`,
        [id, about.version],
      );
      if (row !== undefined) return new Membership(id, row.number, database, clock);
    }
  }

  private constructor(id: string, number: number, database: Database, clock: SharedClock) {
    this.id = id;
    this.number = number;
    this.#database = database;
    this.#clock = clock;
    this.#heardAt = clock.monotonic();
  }

  /** One process at a time, and none for some seconds after one has died. */
  get isKeeper(): boolean {
    return this.#clock.monotonic() < this.#keeperUntil;
  }

  get isDatabaseGone(): boolean {
    return this.#clock.monotonic() - this.#heardAt > DATABASE_GONE_MS;
  }

  /** Sets the clock to the database's time. Rejects with DatabaseTrouble, or with number_taken. */
  async beat(): Promise<{ readonly processes: number; readonly pausedMs: number }> {
    const askedAt = this.#clock.monotonic();
    try {
      const [row] = await this.#database.query<{
        mine: boolean | null;
        processes: number;
        paused_ms: number;
        now: number;
      }>(
        `WITH me AS (INSERT INTO heat2mqtt.process (id, number, version) VALUES ($1, $2, $3)
          ON CONFLICT (id) DO UPDATE SET seen_at = now()),
        keeping AS (UPDATE heat2mqtt.fleet SET keeper = $1, keeper_until = now() + make_interval(secs => $4)
          WHERE keeper = $1 OR keeper_until <= now() RETURNING true AS mine)
        SELECT (SELECT mine FROM keeping) AS mine,
          (SELECT count(*) FROM heat2mqtt.process WHERE id = $1 OR seen_at > now() - make_interval(secs => $4)) AS processes,
          greatest(0, extract(epoch FROM paused_until - now()) * 1000)::float8 AS paused_ms,
          (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
        FROM heat2mqtt.fleet`,
        [this.id, this.number, about.version, KEEPER_SECONDS],
      );
      if (row === undefined) throw new TypeError('the fleet has no row');
      this.#clock.set(row.now);
      this.#keeperUntil = row.mine ? askedAt + KEEPER_SECONDS * 1000 : Number.NEGATIVE_INFINITY;
      this.#heardAt = this.#clock.monotonic();
      this.fault = null;
      this.failuresInARow = 0;
      return { processes: Math.max(1, row.processes), pausedMs: row.paused_ms };
    } catch (err) {
      this.fault = err;
      this.failuresInARow += 1;
      throw err instanceof DatabaseTrouble && err.reason === TAKEN ? numberTaken(this.number) : err;
    }
  }

  /** For the keeper: the numbers of processes that are gone. */
  async forgetGone(): Promise<number[]> {
    const rows = await this.#database.query<{ number: number }>(
      'DELETE FROM heat2mqtt.process WHERE seen_at < now() - make_interval(secs => $1) RETURNING number',
      [GONE_SECONDS],
    );
    return rows.map(({ number }) => number);
  }

  /** Resolves to whether other processes live. */
  async leave(): Promise<boolean> {
    this.#keeperUntil = Number.NEGATIVE_INFINITY;
    const others = await this.#database.query(
      `WITH me AS (DELETE FROM heat2mqtt.process WHERE id = $1),
      kept AS (UPDATE heat2mqtt.fleet SET keeper_until = 'epoch' WHERE keeper = $1)
      SELECT id FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $2)`,
      [this.id, KEEPER_SECONDS],
    );
    return others.length > 0;
  }
}
