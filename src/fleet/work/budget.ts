// How many requests the whole fleet sends in a second. The database hands out moments, one for each request; requests of
// one process that wait together share a statement.
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import type { Database } from '../../store/database/database.ts';

/** The provider has asked for a pause. */
export class FleetPaused extends Failure {
  readonly code = 'fleet_paused';
  readonly exitCode = EXIT.provider;

  constructor(ms: number) {
    super('The provider has asked for a pause.', { retry: 'later', retryAfterMs: ms });
  }
}

/** When one request may be sent, on the monotonic clock; or for how long none may be. */
interface Moment {
  readonly at: number;
  readonly pausedMs: number;
}

// Whoever was stopped must not send later what was handed out for a moment long ago.
const LATEST_MS = 500;

export class Budget {
  readonly #database: Database;
  readonly #perSecond: number;
  readonly #clock: Clock;
  /** Those that the next statement asks for. */
  #waiting: ((moment: Promise<Moment>) => void)[] = [];
  #isAsking = false;
  /** On the monotonic clock. */
  #pausedUntil = 0;

  constructor(database: Database, perSecond: number, clock: Clock) {
    this.#database = database;
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Milliseconds for which no request may be sent, as far as is known here. */
  pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** Resolves when one request may be sent. Rejects with FleetPaused, or with DatabaseTrouble. */
  async take(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { at, pausedMs } = await new Promise<Moment>((resolve) => {
        this.#waiting.push(resolve);
        void this.#ask();
      });
      if (pausedMs > 0) throw new FleetPaused(pausedMs);
      await this.#clock.sleep(at - this.#clock.monotonic(), signal);
      signal.throwIfAborted();
      if (this.#clock.monotonic() - at <= LATEST_MS) return;
    }
  }

  /** The provider has asked for a pause of so many milliseconds: it counts for all. */
  async pause(ms: number): Promise<void> {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
    await this.#database.query(
      `UPDATE heat2mqtt.fleet SET paused_until = greatest(paused_until, now() + make_interval(secs => $1))`,
      [ms / 1000],
    );
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#waiting.length > 0) {
      const asking = this.#waiting.splice(0);
      const moments = this.#reserve(asking.length);
      for (const [n, answer] of asking.entries()) answer(moments.then((found) => found(n)));
      await moments.catch(() => undefined);
    }
    this.#isAsking = false;
  }

  /** Resolves to the moment of each of so many requests. */
  async #reserve(count: number): Promise<(n: number) => Moment> {
    const [row] = await this.#database.query<{ wait_ms: number; paused_ms: number }>(
      `UPDATE heat2mqtt.fleet SET budget_at = CASE WHEN paused_until > clock_timestamp() THEN budget_at
        ELSE greatest(budget_at, clock_timestamp()) + make_interval(secs => $1) END
      RETURNING ((extract(epoch FROM budget_at - clock_timestamp())::float8 - $1) * 1000) AS wait_ms,
        greatest(0, extract(epoch FROM paused_until - clock_timestamp()) * 1000)::float8 AS paused_ms`,
      [count / this.#perSecond],
    );
    const now = this.#clock.monotonic();
    const { wait_ms: waitMs = 0, paused_ms: pausedMs = 0 } = row ?? {};
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pausedMs);
    return (n) => ({ at: now + Math.max(0, waitMs) + (n * 1000) / this.#perSecond, pausedMs });
  }
}
