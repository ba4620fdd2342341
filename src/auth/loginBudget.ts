// How often a refused login may be tried again: kept on disk, so that a restart does not allow another attempt.
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../foundation/clock.ts';
import { type LoginRefused, REFUSALS } from './refusals.ts';
import type { TokenStore } from './tokens.ts';

/** As kept on disk; times in epoch milliseconds. */
export interface LoginBudgetRecord {
  /** Attempts that were refused, or that no answer is known of. */
  readonly refusals: number;
  /** `null` = stopped until the secret changes or somebody asks. */
  readonly nextAttemptAt: number | null;
  /** `backoff`: the program ended in the middle of a login. */
  readonly state: LoginRefused['state'] | 'backoff' | null;
  readonly code: string | null;
  /** Salted hash of the refused credentials, to notice when they change; `null`: not known. */
  readonly secretMark: string | null;
  /** When somebody last asked for one more attempt after this refusal, and got it. */
  readonly askedAt: number | null;
}

/** A login that is under way, and noted on disk. Exactly one of these is called. */
export interface Attempt {
  accepted(): Promise<void>;
  refused(refusal: LoginRefused): Promise<void>;
  /** Nothing was learned about the credentials: everything is as before the attempt. */
  unanswered(): Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Between two tries that somebody asked for. */
export const EXTRA_TRY_AFTER_MS = HOUR_MS;
const WAITS_MS = [15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS];
const LONGEST_WAIT_MS = 6 * HOUR_MS;
// Whoever is killed in the middle of a login may have been a power cut once; again and again it is as good as refused.
const WAITS_AFTER_A_CRASH_MS = [MINUTE_MS, ...WAITS_MS];
const HASH_BYTES = 32;
// Node's default. Records of earlier versions were hashed with it.
const SCRYPT_COST = 16_384;

export class LoginBudget {
  readonly #store: TokenStore<LoginBudgetRecord>;
  readonly #clock: Clock;
  readonly #scryptCost: number;
  readonly #openedAt: number;
  /** What could not be written to disk; it counts all the same. */
  #unsaved: LoginBudgetRecord | null | undefined;
  /** A refusal of the client: the lock does not count it, so that a restart may try again. */
  #client: { record: LoginBudgetRecord; credentials: string; at: number } | null = null;
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
    const ofClient = this.#clientRefusal(credentials);
    if (ofClient !== null) return ofClient;
    const record = await this.#read();
    if (record === null || this.#askedFor || !this.#isWaiting(record)) return null;
    return credentials === null || this.#mayBeMarkOf(credentials, record) ? record : null;
  }

  /** To be called before the credentials are sent: a crash until the answer comes counts as an attempt. */
  async begin(credentials: string): Promise<Attempt> {
    const found = await this.#read();
    const before = found !== null && this.#mayBeMarkOf(credentials, found) ? found : null;
    const refusals = before?.refusals ?? 0;
    const wait = WAITS_AFTER_A_CRASH_MS[refusals] ?? LONGEST_WAIT_MS;
    this.#askedFor = false;
    this.#client = null;
    await this.#write({
      refusals: refusals + 1,
      nextAttemptAt: this.#clock.now() + wait,
      state: 'backoff',
      code: 'login_unfinished',
      secretMark: before?.secretMark ?? null,
      askedAt: before?.askedAt ?? null,
    }).catch(() => undefined);
    return {
      accepted: () => this.forget(),
      unanswered: () => this.#write(found),
      refused: (refusal) => this.#refused(refusal, credentials, { found, before }),
    };
  }

  /**
   * Somebody asks for one more attempt while a refusal is in force. It is granted once an hour for the same refusal of
   * the same credentials, and only if that can be written to disk.
   */
  async ask(): Promise<void> {
    this.#client = null;
    const record = await this.#read();
    if (record === null || !this.#isWaiting(record) || this.#wasAskedLately(record)) return;
    this.#lastAskedAt = this.#clock.monotonic();
    this.#askedFor = await this.#write({ ...record, askedAt: this.#clock.now() }).then(
      () => true,
      () => false,
    );
  }

  /** Somebody has signed in: no refusal counts any more. */
  async forget(): Promise<void> {
    this.#client = null;
    await this.#write(null);
  }

  async #refused(
    refusal: LoginRefused,
    credentials: string,
    { found, before }: Record<'found' | 'before', LoginBudgetRecord | null>,
  ): Promise<void> {
    const { state, code, about } = refusal;
    const refusals = (before?.refusals ?? 0) + 1;
    const now = this.#clock.now();
    // The password is right now, and something else is in the way: whoever removes that need not wait an hour.
    const isNextStep = before?.state === REFUSALS.badCredentials.state && about !== 'password';
    if (isNextStep) this.#lastAskedAt = null;
    const record = { refusals, state, code, askedAt: isNextStep ? null : (before?.askedAt ?? null) };
    if (about === 'client') {
      const held = { ...record, nextAttemptAt: now + LONGEST_WAIT_MS, secretMark: null };
      this.#client = { record: held, credentials, at: this.#clock.monotonic() };
      await this.#write(found);
      return;
    }
    const wait = about === 'password' ? WAITS_MS[refusals - 1] : undefined;
    await this.#write({
      ...record,
      nextAttemptAt: wait === undefined ? null : now + wait,
      secretMark: before?.secretMark ?? this.#markOf(credentials),
    });
  }

  #clientRefusal(credentials: string | null): LoginBudgetRecord | null {
    if (this.#client === null) return null;
    const { record, at, credentials: refused } = this.#client;
    const isOver = this.#clock.monotonic() - at >= LONGEST_WAIT_MS;
    return isOver || (credentials !== null && credentials !== refused) ? null : record;
  }

  // Each time from the disk: another process may have tried.
  async #read(): Promise<LoginBudgetRecord | null> {
    return this.#unsaved === undefined ? this.#store.read() : this.#unsaved;
  }

  async #write(record: LoginBudgetRecord | null): Promise<void> {
    // In memory first: it counts even if the disk cannot be written.
    this.#unsaved = record;
    await (record === null ? this.#store.remove() : this.#store.write(record));
    this.#unsaved = undefined;
  }

  #isWaiting({ state, nextAttemptAt }: LoginBudgetRecord): boolean {
    if (state === null || nextAttemptAt === null) return state !== null;
    const wait = nextAttemptAt - this.#clock.now();
    // A clock that stepped back must not stretch the wait.
    return wait > 0 && wait <= LONGEST_WAIT_MS;
  }

  #wasAskedLately({ askedAt }: LoginBudgetRecord): boolean {
    if (askedAt === null) return false;
    const now = this.#clock.monotonic();
    if (this.#lastAskedAt !== null && now - this.#lastAskedAt < EXTRA_TRY_AFTER_MS) return true;
    const age = this.#clock.now() - askedAt;
    // After the wall clock stepped back its difference means nothing: wait until this process is an hour old.
    return (age < 0 ? now - this.#openedAt : age) < EXTRA_TRY_AFTER_MS;
  }

  /** Without a mark nobody can tell, and they count as the same. */
  #mayBeMarkOf(credentials: string, { secretMark }: LoginBudgetRecord): boolean {
    return secretMark === null || this.#isMarkOf(credentials, secretMark);
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
