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

export type Membership = Awaited<ReturnType<typeof joinFleet>>;

/** Takes the lowest number that is free, and sets the clock to the database's time. Rejects with DatabaseTrouble. */
export async function joinFleet(database: Database, clock: SharedClock) {
  const id = randomUUID();
  const number = await takeNumber(id, database);
  /** On the monotonic clock. */
  let keeperUntil = Number.NEGATIVE_INFINITY;
  let heardAt = clock.monotonic();
  /** Why the database did not answer last; `null`: it did. */
  let fault: unknown = null;
  let failuresInARow = 0;

  /** What the database tells. */
  async function tell() {
    const [row] = await database.query<{
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
      [id, number, about.version, KEEPER_SECONDS],
    );
    if (row === undefined) throw new TypeError('the fleet has no row');
    return row;
  }

  const membership = {
    id,
    number,
    /** One process at a time, and none for some seconds after one has died. */
    isKeeper: (): boolean => clock.monotonic() < keeperUntil,
    isDatabaseGone: (): boolean => clock.monotonic() - heardAt > DATABASE_GONE_MS,
    trouble: () => ({ fault, failuresInARow }),

    /** To be called every two seconds. Rejects with DatabaseTrouble, or with number_taken. */
    async beat(): Promise<{ readonly processes: number; readonly pausedMs: number }> {
      const askedAt = clock.monotonic();
      try {
        const row = await tell();
        clock.set(row.now);
        keeperUntil = row.mine ? askedAt + KEEPER_SECONDS * 1000 : Number.NEGATIVE_INFINITY;
        heardAt = clock.monotonic();
        fault = null;
        failuresInARow = 0;
        return { processes: Math.max(1, row.processes), pausedMs: row.paused_ms };
      } catch (err) {
        fault = err;
        failuresInARow += 1;
        throw err instanceof DatabaseTrouble && err.reason === TAKEN ? numberTaken(number) : err;
      }
    },

    /** For the keeper: the numbers of processes that are gone. */
    async forgetGone(): Promise<number[]> {
      const rows = await database.query<{ number: number }>(
        'DELETE FROM heat2mqtt.process WHERE seen_at < now() - make_interval(secs => $1) RETURNING number',
        [GONE_SECONDS],
      );
      return rows.map((row) => row.number);
    },

    /** Resolves to whether other processes live. */
    async leave(): Promise<boolean> {
      keeperUntil = Number.NEGATIVE_INFINITY;
      const others = await database.query(
        `WITH me AS (DELETE FROM heat2mqtt.process WHERE id = $1),
        kept AS (UPDATE heat2mqtt.fleet SET keeper_until = 'epoch' WHERE keeper = $1)
        SELECT id FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $2)`,
        [id, KEEPER_SECONDS],
      );
      return others.length > 0;
    },
  };
  await membership.beat();
  return membership;
}

async function takeNumber(id: string, database: Database): Promise<number> {
  for (;;) {
    const [row] = await database.query<{ number: number }>(
      `INSERT INTO heat2mqtt.process (id, number, version)
      SELECT $1, n, $2 FROM generate_series(1, (SELECT count(*)::int + 1 FROM heat2mqtt.process)) n
      WHERE NOT EXISTS (SELECT FROM heat2mqtt.process WHERE number = n) ORDER BY n LIMIT 1
      ON CONFLICT DO NOTHING RETURNING number`,
      [id, about.version],
    );
    if (row !== undefined) return row.number;
  }
}

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
