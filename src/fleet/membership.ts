// The processes of a fleet: each has a number, tells the database every two seconds that it lives, and hears how the fleet is: for
// how many requests that leaves room, whether the provider has asked for a pause, and who keeps what is there once.
import { randomUUID } from 'node:crypto';
import { about } from '../foundation/about.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { type Database, DatabaseTrouble, type SharedClock } from '../store/database/database.ts';
import type { FleetCounts } from './health.ts';
import type { Pace } from './pace.ts';

const KEEPER_MS = 10_000;
/** After so long without an answer the database counts as gone, and everything that looks at the fleet is told. */
const DATABASE_GONE_MS = 30_000;
const BEATS_FOR_A_COUNT = 5;
// SQLSTATE: a unique key that is there already.
const isNumberTaken = (err: unknown) => err instanceof DatabaseTrouble && err.reason === '23505';

/** A process that was stopped for long is taken for dead, and its number is given to another one. */
export class NumberTaken extends Failure {
  constructor(number: number, cause: unknown) {
    super(
      'number_taken',
      `Another process of the fleet has taken number ${number} while this one was stopped.`,
      {
        exit: EXIT.unexpected,
        retry: 'soon',
        cause,
      },
    );
  }
}

/** Without a number of its own a process gets the lowest that is free. */
const BEAT = `
WITH me AS (INSERT INTO heat2mqtt.process (id, number, version) SELECT $1, coalesce($2, min(n)), $3
  FROM generate_series(1, (SELECT count(*)::int + 1 FROM heat2mqtt.process)) n
  WHERE NOT EXISTS (SELECT FROM heat2mqtt.process WHERE number = n)
  ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING number),
keeping AS (UPDATE heat2mqtt.fleet SET keeper = $1, keeper_until = now() + make_interval(secs => $4)
  WHERE keeper = $1 OR keeper_until <= now() RETURNING true AS mine)
SELECT (SELECT number FROM me) AS number, (SELECT mine FROM keeping) AS "isKeeper",
  1 + (SELECT count(*) FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $4)) AS processes,
  greatest(0, extract(epoch FROM paused_until - now()) * 1000)::float8 AS "pausedMs",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM heat2mqtt.fleet`;

/** The database's row about the fleet. */
interface Answer {
  readonly number: number;
  readonly isKeeper: boolean | null;
  readonly processes: number;
  readonly pausedMs: number;
  readonly now: number;
}

interface Tools {
  readonly database: Database;
  readonly readSecretsAgain: () => Promise<void>;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly pace: Pace;
  readonly counts: FleetCounts;
}

/** The reason why the database did not answer last. */
interface Trouble {
  readonly fault: unknown;
  readonly failuresInARow: number;
}

export class Membership {
  readonly id = randomUUID();
  readonly #tools: Tools;
  /** 0: none yet. */
  #number = 0;
  #isKeeper = false;
  /** The question that was answered last was asked then, on the monotonic clock. */
  #askedAt = Number.NEGATIVE_INFINITY;
  #trouble: Trouble | null = null;
  #beats = 0;

  private constructor(tools: Tools) {
    this.#tools = tools;
  }

  /** Takes a number, and sets the clock to the database's time. Rejects with DatabaseTrouble. */
  static async join(tools: Tools): Promise<Membership> {
    const membership = new Membership(tools);
    while (membership.number === 0)
      await membership.#ask(null).catch((err) => {
        // Another one that starts at this moment was faster.
        if (!isNumberTaken(err)) throw err;
      });
    return membership;
  }

  get number(): number {
    return this.#number;
  }

  /** One process at a time, and none for some seconds after one has died. */
  isKeeper(): boolean {
    return this.#isKeeper && this.#silentMs() < KEEPER_MS;
  }

  isDatabaseGone(): boolean {
    return this.#silentMs() > DATABASE_GONE_MS;
  }

  /** `null`: the database did answer. */
  trouble(): Trouble | null {
    return this.#trouble;
  }

  /** The process beats every two seconds. Rejects with NumberTaken only. */
  async beat(): Promise<void> {
    const { readSecretsAgain, counts, log } = this.#tools;
    try {
      await this.#ask(this.#number);
      this.#trouble = null;
      if (this.#beats++ % BEATS_FOR_A_COUNT > 0) return;
      await readSecretsAgain();
      await counts.look(this.isKeeper());
    } catch (err) {
      if (isNumberTaken(err)) throw new NumberTaken(this.#number, err);
      this.#trouble = { fault: err, failuresInARow: 1 + (this.#trouble?.failuresInARow ?? 0) };
      // The next beat counts, so that old counts are not told as if they were new.
      this.#beats = 0;
      log.debug({ err }, 'the database does not hear this process');
      await readSecretsAgain().catch(() => undefined);
    }
  }

  /** Resolves to whether other processes live. */
  async leave(): Promise<boolean> {
    this.#isKeeper = false;
    const others = await this.#tools.database.query(
      `WITH me AS (DELETE FROM heat2mqtt.process WHERE id = $1),
      kept AS (UPDATE heat2mqtt.fleet SET keeper_until = 'epoch' WHERE keeper = $1)
      SELECT id FROM heat2mqtt.process WHERE id <> $1 AND seen_at > now() - make_interval(secs => $2)`,
      [this.id, KEEPER_MS / 1000],
    );
    return others.length > 0;
  }

  /** `number`: its own; `null`: it has none yet. */
  async #ask(number: number | null): Promise<void> {
    const { database, clock, pace } = this.#tools;
    const askedAt = clock.monotonic();
    const values = [this.id, number, about.version, KEEPER_MS / 1000];
    const [answer] = await database.query<Answer>(BEAT, values);
    if (answer === undefined) throw new TypeError('a fleet without a row');
    this.#number = answer.number;
    this.#isKeeper = answer.isKeeper === true;
    this.#askedAt = askedAt;
    clock.set(answer.now);
    pace.hear(answer.processes, answer.pausedMs);
  }

  #silentMs(): number {
    return this.#tools.clock.monotonic() - this.#askedAt;
  }
}
