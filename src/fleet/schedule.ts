// When each account is due: at a tick of the schedule, and later by its own share of the shortest time between two ticks, so
// that the polls of thousands come evenly.
import { createHash } from 'node:crypto';

/** A cron expression. Times are epoch milliseconds. */
export interface CronTimes {
  /** So many of its next ticks, from the present moment on. */
  readonly next: (count: number) => readonly number[];
  /** Whether one is in this second. */
  readonly matches: (at: number) => boolean;
}

const AT_ONCE = 100;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The share of an account, from 0 to 1: always the same. */
const shareOf = (account: string): number =>
  createHash('sha1').update(account).digest().readUInt32BE(0) / 2 ** 32;

export class Schedule {
  readonly #cron: CronTimes;
  #ticks: number[];
  /** What the accounts are spread over. */
  readonly #spanMs: number;

  constructor(cron: CronTimes, now: number) {
    this.#cron = cron;
    const ticks = [...cron.next(AT_ONCE)];
    const gaps = ticks.slice(1).map((tick, at) => tick - (ticks[at] ?? 0));
    this.#spanMs = Math.min(DAY_MS, ...gaps);
    this.#ticks = [...this.#before(ticks[0] ?? now, now), ...ticks];
  }

  /** When the account is to be polled next after this moment. */
  nextPoll(account: string, now: number): number {
    const delay = shareOf(account) * this.#spanMs;
    const isLater = (tick: number) => tick + delay > now;
    if (!this.#ticks.some(isLater)) {
      const last = this.#ticks.at(-1) ?? 0;
      this.#ticks = [...this.#ticks.slice(-2), ...this.#cron.next(AT_ONCE).filter((tick) => tick > last)];
    }
    return (this.#ticks.find(isLater) ?? now + this.#spanMs) + delay;
  }

  /** Ticks before the first one, of which some accounts may still be due. The clock of this process may be ahead. */
  #before(first: number, now: number): number[] {
    const step = this.#spanMs < MINUTE_MS ? SECOND_MS : MINUTE_MS;
    const most = Math.min(DAY_MS / MINUTE_MS, Math.ceil((first - now + this.#spanMs) / step));
    return Array.from({ length: Math.max(0, most) }, (_, n) => first - (most - n) * step).filter((at) =>
      this.#cron.matches(at),
    );
  }
}
