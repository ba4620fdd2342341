// How often a refused login may be tried again: on disk, so that no restart buys another try.
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../foundation/clock.ts';
import type { LoginRefused } from './refusals.ts';

/** As kept on disk; times in epoch milliseconds. */
export interface LoginBudgetRecord {
  readonly refusals: number;
  /** `null` = stopped until the secret changes or somebody asks. */
  readonly nextAttemptAt: number | null;
  readonly state: LoginRefused['state'] | null;
  readonly code: string | null;
  /** Salted hash of everything the refused login was made of, to notice when it changes. */
  readonly secretMark: string | null;
  /** When somebody asked for one more try, and got it. */
  readonly askedAt: number | null;
}

/** Where a record is kept between restarts. */
export interface TokenStore<T> {
  read(): Promise<T | null>;
  write(value: T): Promise<void>;
  remove(): Promise<void>;
}

export interface LoginBudget {
  /** The refusal that is in force for these credentials, or `null` when a login may be tried now. */
  inForce(credentials: string): Promise<LoginBudgetRecord | null>;
  refused(refusal: LoginRefused, credentials: string): Promise<void>;
  accepted(): Promise<void>;
  /**
   * Somebody asks for one more try. It counts only after the budget has stopped, not more than once an hour, and not
   * while that cannot be written down.
   */
  ask(): Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const WAITS_MS = [15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS];
const LONGEST_WAIT_MS = 6 * HOUR_MS;

export function openLoginBudget(store: TokenStore<LoginBudgetRecord>, clock: Clock): LoginBudget {
  return new Budget(store, clock);
}

class Budget implements LoginBudget {
  readonly #store: TokenStore<LoginBudgetRecord>;
  readonly #clock: Clock;
  readonly #openedAt: number;
  #known: Promise<LoginBudgetRecord | null> | null = null;
  #askedFor = false;
  #lastAskedAt: number | null = null;
  /** The hash is slow on purpose; while a login waits, the same question comes every few seconds. */
  #compared: { credentials: string; mark: string; same: boolean } | null = null;

  constructor(store: TokenStore<LoginBudgetRecord>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#openedAt = clock.monotonic();
  }

  async inForce(credentials: string): Promise<LoginBudgetRecord | null> {
    const budget = await this.#record();
    if (budget === null || budget.state === null) return null;
    if (budget.secretMark !== null && !this.#isRefused(credentials, budget.secretMark)) return null;
    if (budget.nextAttemptAt === null) return this.#askedFor ? null : budget;
    const wait = budget.nextAttemptAt - this.#clock.now();
    // A clock that stepped back must not stretch the wait.
    return wait > 0 && wait <= LONGEST_WAIT_MS ? budget : null;
  }

  async refused(refusal: LoginRefused, credentials: string): Promise<void> {
    const before = await this.#record();
    const sameSecret = before?.secretMark != null && this.#isRefused(credentials, before.secretMark);
    const refusals = (sameSecret ? before.refusals : 0) + 1;
    const wait = refusal.final ? undefined : WAITS_MS[refusals - 1];
    const after: LoginBudgetRecord = {
      refusals,
      nextAttemptAt: wait === undefined ? null : this.#clock.now() + wait,
      state: refusal.state,
      code: refusal.code,
      secretMark: sameSecret ? before.secretMark : markOf(credentials),
      askedAt: before?.askedAt ?? null,
    };
    this.#askedFor = false;
    this.#known = Promise.resolve(after);
    await this.#store.write(after);
  }

  async accepted(): Promise<void> {
    this.#askedFor = false;
    if ((await this.#record()) === null) return;
    this.#known = Promise.resolve(null);
    await this.#store.remove();
  }

  async ask(): Promise<void> {
    const budget = await this.#record();
    if (budget === null || budget.nextAttemptAt !== null) return;
    if (this.#wasAskedLately(budget)) return;
    this.#lastAskedAt = this.#clock.monotonic();
    const after = { ...budget, askedAt: this.#clock.now() };
    this.#known = Promise.resolve(after);
    this.#askedFor = await this.#store.write(after).then(
      () => true,
      () => false,
    );
  }

  #record(): Promise<LoginBudgetRecord | null> {
    this.#known ??= this.#store.read();
    return this.#known;
  }

  #isRefused(credentials: string, mark: string): boolean {
    if (this.#compared?.credentials !== credentials || this.#compared.mark !== mark)
      this.#compared = { credentials, mark, same: isMarkOf(credentials, mark) };
    return this.#compared.same;
  }

  #wasAskedLately({ askedAt }: LoginBudgetRecord): boolean {
    const now = this.#clock.monotonic();
    if (this.#lastAskedAt !== null && now - this.#lastAskedAt < HOUR_MS) return true;
    if (askedAt === null) return false;
    const age = this.#clock.now() - askedAt;
    // A clock that stepped back tells nothing: an hour of this process does.
    return (age < 0 ? now - this.#openedAt : age) < HOUR_MS;
  }
}

const HASH_BYTES = 32;

function markOf(credentials: string, salt = randomBytes(16)): string {
  return `${salt.toString('base64url')}.${scryptSync(credentials, salt, HASH_BYTES).toString('base64url')}`;
}

function isMarkOf(credentials: string, mark: string): boolean {
  const salt = Buffer.from(mark.split('.')[0] ?? '', 'base64url');
  const given = Buffer.from(markOf(credentials, salt));
  const kept = Buffer.from(mark);
  return given.length === kept.length && timingSafeEqual(given, kept);
}
