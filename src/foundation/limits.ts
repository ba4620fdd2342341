// Limits of rate and concurrency, kept in memory and measured on the monotonic clock. The only door to p-limit.
import pLimit, { type LimitFunction } from 'p-limit';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

export type ConcurrencyLimit = LimitFunction;

/** Runs at most so many steps at once, the others in the order in which they came. */
export const concurrencyLimit = (atOnce: number): ConcurrencyLimit => pLimit(atOnce);

/** It allows so many starts within a sliding window of `windowMs`. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #windowMs: number;
  #starts: readonly number[] = [];

  constructor(clock: Clock, most: number, windowMs: number) {
    this.#clock = clock;
    this.#most = most;
    this.#windowMs = windowMs;
  }

  /** Milliseconds until the next start is allowed; 0: now. */
  waitMs(): number {
    const now = this.#clock.monotonic();
    this.#starts = this.#starts.filter((at) => now - at < this.#windowMs);
    const [first] = this.#starts;
    return first === undefined || this.#starts.length < this.#most ? 0 : first + this.#windowMs - now;
  }

  /** Counts a start, unless none is allowed now. */
  tryStart(): boolean {
    if (this.waitMs() > 0) return false;
    this.#starts = [...this.#starts, this.#clock.monotonic()];
    return true;
  }
}

/** Steps in the order in which they came: so many within a sliding window, the others after it. */
export class PacedQueue {
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  readonly #longest: number;
  #waiting: (() => void)[] = [];

  /** `longest`: how many may wait. */
  constructor(
    clock: Clock,
    limits: { readonly most: number; readonly windowMs: number; readonly longest: number },
  ) {
    this.#clock = clock;
    this.#limit = new RateLimit(clock, limits.most, limits.windowMs);
    this.#longest = limits.longest;
  }

  /** `false`: too many wait, and the step will not run. */
  add(step: () => void): boolean {
    if (this.#waiting.length >= this.#longest) return false;
    this.#waiting.push(step);
    if (this.#waiting.length === 1) this.#go();
    return true;
  }

  #go(): void {
    while (this.#waiting.length > 0 && this.#limit.tryStart()) this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#clock.after(this.#limit.waitMs(), () => this.#go());
  }
}

/** A step that others ask for, however often: it runs once for all who have asked until then, and rests before it runs again. */
export class Paced {
  readonly #clock: Clock;
  readonly #restMs: number;
  readonly #step: () => void;
  #restsUntil = Number.NEGATIVE_INFINITY;
  #unplan: (() => void) | null = null;

  constructor(clock: Clock, restMs: number, step: () => void) {
    this.#clock = clock;
    this.#restMs = restMs;
    this.#step = step;
  }

  /** Somebody has asked for a run that has not begun. */
  get isPlanned(): boolean {
    return this.#unplan !== null;
  }

  /** Not before `delayMs` from now; a run that is planned already stays where it is. */
  ask(delayMs = 0): void {
    if (this.isPlanned) return;
    const waitMs = Math.max(delayMs, this.#restsUntil - this.#clock.monotonic());
    if (waitMs > 0) this.#unplan = this.#clock.after(waitMs, () => this.#run());
    else this.#run();
  }

  /** The run that is planned does not happen. */
  cancel(): void {
    this.#unplan?.();
    this.#unplan = null;
  }

  #run(): void {
    this.#unplan = null;
    this.#restsUntil = this.#clock.monotonic() + this.#restMs;
    this.#step();
  }
}

const REST_FACTOR = 100;
const LONGEST_REST_MS = 60_000;

/** A hundredth of the time for work that grows with the number of accounts; rests a minute at most. */
export class Throttle {
  readonly #clock: Clock;
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until the work may begin again; 0 or less: now. */
  restMs(): number {
    return this.#restsUntil - this.#clock.monotonic();
  }

  /** The work begins; it ends with the call of the returned function. */
  begin(): () => void {
    const began = this.#clock.monotonic();
    return () => {
      const ended = this.#clock.monotonic();
      this.#restsUntil = ended + Math.min((ended - began) * REST_FACTOR, LONGEST_REST_MS);
    };
  }
}

/** One run at a time: a call while one is under way gets the result of that one. */
export class SingleFlight<T> {
  #current: Promise<T> | null = null;

  /** The run under way, or `null`. */
  get current(): Promise<T> | null {
    return this.#current;
  }

  run(step: () => Promise<T>): Promise<T> {
    this.#current ??= step().finally(() => {
      this.#current = null;
    });
    return this.#current;
  }
}

const QUIET_MS = 3_600_000;

/** Log lines about what others send, or what fails again and again: the first of a kind at once, then one an hour with the count of the others. */
export class ThrottledLog {
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  readonly #written = new Map<string, { readonly at: number; repeated: number }>();

  constructor(clock: Clock, log: Log | undefined) {
    this.#clock = clock;
    this.#log = log;
  }

  /** `kind` comes from a short list of our own, never from the input: each kind is remembered. */
  write(level: 'warn' | 'error', kind: string, fields: object, words: string): void {
    const last = this.#written.get(kind);
    if (last && this.#clock.monotonic() - last.at < QUIET_MS) {
      last.repeated += 1;
      return;
    }
    this.#written.set(kind, { at: this.#clock.monotonic(), repeated: 0 });
    this.#log?.[level](last?.repeated ? { ...fields, repeated: last.repeated } : fields, words);
  }
}
