// How many requests the whole fleet sends in a second, of which this process has its part; and the pauses that the provider
// asks for.
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';

/** The provider has asked for a pause of all accounts: this is no failure of the one. */
export class FleetPaused extends Failure {
  readonly code = 'fleet_paused';
  readonly exitCode = EXIT.provider;

  constructor(ms: number) {
    super('The provider has asked for a pause.', { retry: 'later', retryAfterMs: ms });
  }
}

// So many accounts that are told to wait within a minute: it is not about the one.
const ACCOUNTS_THAT_ARE_ALL = 3;
const TOGETHER_MS = 60_000;

export class Pace {
  /** Processes that live: each has the same part. */
  processes = 1;
  readonly #perSecond: number;
  readonly #clock: Clock;
  /** On the monotonic clock. */
  #nextAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  readonly #toldToWait = new Map<string, number>();

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Milliseconds for which no request may be sent. */
  pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** Resolves when one request may be sent. Rejects with FleetPaused. */
  async turn(signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const at = Math.max(this.#nextAt, now);
    this.#nextAt = at + (1000 * this.processes) / this.#perSecond;
    if (at > now) await this.#clock.sleep(at - now, signal);
    signal.throwIfAborted();
    if (this.pausedMs() > 0) throw new FleetPaused(this.pausedMs());
  }

  /** No request of any account for so long. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
  }

  /** The provider has told this account to wait. Whether it is to be taken as said to all. */
  isAboutAll(account: string): boolean {
    const now = this.#clock.monotonic();
    this.#toldToWait.set(account, now);
    for (const [one, at] of this.#toldToWait) if (now - at > TOGETHER_MS) this.#toldToWait.delete(one);
    return this.#toldToWait.size >= ACCOUNTS_THAT_ARE_ALL;
  }
}
