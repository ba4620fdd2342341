// How often a refused login may be tried again: kept on disk, so that a restart does not allow another attempt.
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../foundation/clock.ts';
import type { LoginRefused } from './refusals.ts';
import type { TokenStore } from './tokens.ts';

/** As kept on disk; times in epoch milliseconds. */
export interface LoginBudgetRecord {
  readonly refusals: number;
  /** `null` = stopped until the secret changes or somebody asks. */
  readonly nextAttemptAt: number | null;
  readonly state: LoginRefused['state'] | null;
  readonly code: string | null;
  /** Salted hash of the refused credentials, to notice when they change. */
  readonly secretMark: string | null;
  /** When somebody last asked for one more attempt, and got it. */
  readonly askedAt: number | null;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const WAITS_MS = [15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS];
const LONGEST_WAIT_MS = 6 * HOUR_MS;
const HASH_BYTES = 32;
// Node's default. Records of earlier versions were hashed with it.
const SCRYPT_COST = 16_384;

export class LoginBudget {
  readonly #store: TokenStore<LoginBudgetRecord>;
  readonly #clock: Clock;
  readonly #scryptCost: number;
  readonly #openedAt: number;
  #record: Promise<LoginBudgetRecord | null> | null = null;
  #askedFor = false;
  #lastAskedAt: number | null = null;
  /** The last comparison: the hash is slow on purpose, and a suspended login is asked about every few seconds. */
  #compared: { credentials: string; mark: string; same: boolean } | null = null;

  /** `scryptCost`: a power of two. Only tests have a reason to lower it. */
  constructor(store: TokenStore<LoginBudgetRecord>, clock: Clock, scryptCost = SCRYPT_COST) {
    this.#store = store;
    this.#clock = clock;
    this.#scryptCost = scryptCost;
    this.#openedAt = clock.monotonic();
  }

  /**
   * The refusal that is in force for these credentials, or `null` when a login may be tried now.
   * Credentials of `null` cannot be read at present, and count as unchanged.
   */
  async inForce(credentials: string | null): Promise<LoginBudgetRecord | null> {
    const record = await this.#read();
    if (record === null || record.state === null) return null;
    if (credentials !== null && record.secretMark !== null && !this.#isMarkOf(credentials, record.secretMark))
      return null;
    if (record.nextAttemptAt === null) return this.#askedFor ? null : record;
    const wait = record.nextAttemptAt - this.#clock.now();
    // A clock that stepped back must not stretch the wait.
    return wait > 0 && wait <= LONGEST_WAIT_MS ? record : null;
  }

  async refused(refusal: LoginRefused, credentials: string): Promise<void> {
    const before = await this.#read();
    const sameSecret = before?.secretMark != null && this.#isMarkOf(credentials, before.secretMark);
    const refusals = (sameSecret ? before.refusals : 0) + 1;
    const wait = refusal.about === 'password' ? WAITS_MS[refusals - 1] : undefined;
    this.#askedFor = false;
    await this.#write({
      refusals,
      nextAttemptAt: wait === undefined ? null : this.#clock.now() + wait,
      state: refusal.state,
      code: refusal.code,
      secretMark: sameSecret ? before.secretMark : this.#markOf(credentials),
      askedAt: before?.askedAt ?? null,
    });
  }

  async accepted(): Promise<void> {
    this.#askedFor = false;
    if ((await this.#read()) === null) return;
    this.#record = Promise.resolve(null);
    await this.#store.remove();
  }

  /**
   * Somebody asks for one more attempt. It is granted only after the budget has stopped, at most once an hour, and only
   * if that can be written to disk.
   */
  async ask(): Promise<void> {
    const record = await this.#read();
    if (record === null || record.nextAttemptAt !== null || this.#wasAskedLately(record)) return;
    this.#lastAskedAt = this.#clock.monotonic();
    this.#askedFor = await this.#write({ ...record, askedAt: this.#clock.now() }).then(
      () => true,
      () => false,
    );
  }

  #read(): Promise<LoginBudgetRecord | null> {
    this.#record ??= this.#store.read();
    return this.#record;
  }

  #write(record: LoginBudgetRecord): Promise<void> {
    // In memory first: it counts even if the disk cannot be written.
    this.#record = Promise.resolve(record);
    return this.#store.write(record);
  }

  #wasAskedLately({ askedAt }: LoginBudgetRecord): boolean {
    const now = this.#clock.monotonic();
    if (this.#lastAskedAt !== null && now - this.#lastAskedAt < HOUR_MS) return true;
    if (askedAt === null) return false;
    const age = this.#clock.now() - askedAt;
    // After the wall clock stepped back its difference means nothing: wait until this process is an hour old.
    return (age < 0 ? now - this.#openedAt : age) < HOUR_MS;
  }

  #isMarkOf(credentials: string, mark: string): boolean {
    if (this.#compared?.credentials !== credentials || this.#compared.mark !== mark) {
      const salt = Buffer.from(mark.split('.')[0] ?? '', 'base64url');
      const given = Buffer.from(this.#markOf(credentials, salt));
      const kept = Buffer.from(mark);
      const same = given.length === kept.length && timingSafeEqual(given, kept);
      this.#compared = { credentials, mark, same };
    }
    return this.#compared.same;
  }

  #markOf(credentials: string, salt = randomBytes(16)): string {
    const hash = scryptSync(credentials, salt, HASH_BYTES, { cost: this.#scryptCost });
    return `${salt.toString('base64url')}.${hash.toString('base64url')}`;
  }
}
