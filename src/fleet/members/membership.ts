// The processes of a fleet: each has a number, tells the database that it lives, and one of them is the keeper.
import { randomUUID } from 'node:crypto';
import { about } from '../../foundation/about.ts';
import type { Database, SharedClock } from '../../store/database/database.ts';

export interface Member {
  readonly id: string;
  readonly number: number;
}

const KEEPER_SECONDS = 10;
/** Whoever is not heard of for so long gives its number away. */
const GONE_SECONDS = 120;

/** Takes the lowest number that is free. */
export async function join(database: Database, id = randomUUID()): Promise<Member> {
  for (;;) {
    const [row] = await database.query<{ number: number }>(
      `INSERT INTO heat2mqtt.process (id, number, version)
      SELECT $1, n, $2 FROM generate_series(1, (SELECT count(*)::int + 1 FROM heat2mqtt.process)) n
      WHERE NOT EXISTS (SELECT FROM heat2mqtt.process WHERE number = n) ORDER BY n LIMIT 1
      ON CONFLICT DO NOTHING RETURNING number`,
      [id, about.version],
    );
    if (row !== undefined) return { id, number: row.number };
  }
}

export class Membership {
  readonly member: Member;
  readonly #database: Database;
  readonly #clock: SharedClock;
  /** On the monotonic clock. */
  #keeperUntil = Number.NEGATIVE_INFINITY;

  constructor(member: Member, database: Database, clock: SharedClock) {
    this.member = member;
    this.#database = database;
    this.#clock = clock;
  }

  /** One process at a time, and none for some seconds after one has died. */
  get isKeeper(): boolean {
    return this.#clock.monotonic() < this.#keeperUntil;
  }

  /** Says that this process lives, looks who is the keeper, and sets the shared clock. Rejects with DatabaseTrouble. */
  async beat(): Promise<void> {
    const askedAt = this.#clock.monotonic();
    const { id, number } = this.member;
    // A process that was given up comes back with its number, if nobody has it by now.
    await this.#database.query(
      `INSERT INTO heat2mqtt.process (id, number, version) VALUES ($1, $2, $3)
      ON CONFLICT (id) DO UPDATE SET seen_at = now()`,
      [id, number, about.version],
    );
    const [row] = await this.#database.query<{ mine: boolean; now: number }>(
      `UPDATE heat2mqtt.fleet SET keeper_until = CASE WHEN keeper = $1 OR keeper_until <= now()
          THEN now() + make_interval(secs => $2) ELSE keeper_until END,
        keeper = CASE WHEN keeper_until <= now() THEN $1 ELSE keeper END
      RETURNING keeper = $1 AS mine, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`,
      [id, KEEPER_SECONDS],
    );
    if (row?.mine) this.#keeperUntil = askedAt + KEEPER_SECONDS * 1000;
    if (row !== undefined) this.#clock.set(row.now, this.#clock.monotonic());
  }

  /** For the keeper: the numbers of processes that are gone. */
  async forgetGone(): Promise<number[]> {
    const rows = await this.#database.query<{ number: number }>(
      `DELETE FROM heat2mqtt.process WHERE seen_at < now() - make_interval(secs => $1) RETURNING number`,
      [GONE_SECONDS],
    );
    return rows.map(({ number }) => number);
  }

  /** Resolves to whether other processes live. */
  async leave(): Promise<boolean> {
    const { id } = this.member;
    await this.#database.query('DELETE FROM heat2mqtt.process WHERE id = $1', [id]);
    await this.#database.query(`UPDATE heat2mqtt.fleet SET keeper_until = 'epoch' WHERE keeper = $1`, [id]);
    const others = await this.#database.query(
      'SELECT id FROM heat2mqtt.process WHERE seen_at > now() - make_interval(secs => $1)',
      [KEEPER_SECONDS],
    );
    return others.length > 0;
  }
}
