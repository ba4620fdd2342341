// How often a login may be tried: after refusals, and after logins that were granted and of no use. Kept on disk, so that
// neither a restart nor another process allows another attempt.
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { AuthState } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import { type LoginRefused, REFUSALS } from './refusals.ts';
import type { TokenStore } from './tokens.ts';

/** A login that was granted, and whose tokens could not be used: when, and why in words of our own. */
export interface UselessLogin {
  readonly at: number;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** As kept on disk; times in epoch milliseconds. */
export interface LoginBudgetRecord {
  /** Attempts that the password step has refused, or that no answer is known of. */
  readonly refusals: number;
  /** `null` = stopped until the secret changes or somebody asks. */
  readonly nextAttemptAt: number | null;
  /** `null`: the last login was not refused. `backoff`: the program ended in the middle of a login. */
  readonly state: LoginRefused['state'] | 'backoff' | null;
  readonly code: string | null;
  /** What has to be done elsewhere, in the words of the refusal; `null`: its code says all. */
  readonly message: string | null;
  /** Salted hash of the credentials, to notice when they change; `null`: not known. */
  readonly secretMark: string | null;
  /** When somebody last asked for one more attempt after a refusal of the password step, and got it. */
  readonly askedAt: number | null;
  /** Those of the last day, oldest first. */
  readonly useless: readonly UselessLogin[];
  /** The newest login that was granted, until the API has accepted or refused its tokens. */
  readonly unprovenAt: number | null;
}

/** Why no login may be tried now. `about` as of a refusal, or `tokens`: those of the last logins were of no use. */
export interface Suspension {
  readonly about: LoginRefused['about'] | 'tokens';
  readonly state: AuthState;
  readonly code: string;
  readonly message: string | null;
  /** Absent where the code says it. */
  readonly hint?: string;
  readonly refusals: number;
  readonly nextAttemptAt: number | null;
  readonly askedAt: number | null;
}

/** A login that is under way, and noted on disk. Exactly one of these is called. */
export interface Attempt {
  /** Its tokens are to be proved: `useful()` or `useless()` of the budget follows. */
  granted(): Promise<void>;
  /** Granted, and the tokens cannot be used. */
  useless(fault: Failure): Promise<void>;
  refused(refusal: LoginRefused): Promise<void>;
  /** Nothing was learned about the credentials: everything is as before the attempt. */
  unanswered(): Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Between two tries that somebody asked for. */
export const EXTRA_TRY_AFTER_MS = HOUR_MS;
const WAITS_MS = [15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS];
const LONGEST_WAIT_MS = 6 * HOUR_MS;
// Being killed in the middle of a login may be a power cut once; again and again it is as good as a refusal.
const WAITS_AFTER_A_CRASH_MS = [MINUTE_MS, ...WAITS_MS];
const USELESS_IN_AN_HOUR = 1;
const USELESS_IN_A_DAY = 4;
const MOST_GRANTS_KNOWN = 16;
const HASH_BYTES = 32;
// Node's default. Records of earlier versions were hashed with it.
const SCRYPT_COST = 16_384;

const EMPTY: LoginBudgetRecord = {
  refusals: 0,
  nextAttemptAt: null,
  state: null,
  code: null,
  message: null,
  secretMark: null,
  askedAt: null,
  useless: [],
  unprovenAt: null,
};

export class LoginBudget {
  readonly #store: TokenStore<LoginBudgetRecord>;
  readonly #clock: Clock;
  readonly #scryptCost: number;
  readonly #openedAt: number;
  /** What could not be written to disk; it counts all the same. */
  #unsaved: LoginBudgetRecord | undefined;
  /** A refusal of the client: the lock does not count it, so that a restart may try again. */
  #client: { suspension: Suspension; credentials: string; at: number } | null = null;
  #askedFor = false;
  #lastAskedAt: number | null = null;
  /** By the time in the record, the monotonic time of logins that this process has made. */
  readonly #grantedAt = new Map<number, number>();
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
   * What keeps these credentials from a login now, or `null` when one may be tried.
   * Credentials of `null` cannot be read at present, and count as unchanged.
   */
  async inForce(credentials: string | null): Promise<Suspension | null> {
    const ofClient = this.#clientRefusal(credentials);
    if (ofClient !== null) return ofClient;
    const record = await this.#read();
    if (credentials !== null && !this.#mayBeMarkOf(credentials, record)) return null;
    const refused = this.#isWaiting(record) && !this.#askedFor ? refusalOf(record) : null;
    return refused ?? this.#uselessOf(record);
  }

  /** To be called before the credentials are sent: a crash until the answer comes counts as an attempt. */
  async begin(credentials: string): Promise<Attempt> {
    const found = await this.#read();
    const before = this.#mayBeMarkOf(credentials, found) ? found : EMPTY;
    const wait = WAITS_AFTER_A_CRASH_MS[before.refusals] ?? LONGEST_WAIT_MS;
    this.#askedFor = false;
    this.#client = null;
    await this.#write({
      ...before,
      refusals: before.refusals + 1,
      nextAttemptAt: this.#clock.now() + wait,
      state: 'backoff',
      code: 'login_unfinished',
      message: null,
      unprovenAt: null,
    }).catch(() => undefined);
    const { useless, secretMark } = before;
    return {
      granted: () => this.#write({ ...EMPTY, useless, secretMark, unprovenAt: this.#noteGrant() }),
      useless: (fault) =>
        this.#writeUseless({ ...EMPTY, useless, secretMark }, this.#noteGrant(), fault, credentials),
      unanswered: () => this.#write(found),
      refused: (refusal) => this.#refused(refusal, credentials, { found, before }),
    };
  }

  async isUnproven(): Promise<boolean> {
    return (await this.#read()).unprovenAt !== null;
  }

  /** The API has accepted the tokens of the newest login. */
  async useful(): Promise<void> {
    const record = await this.#read();
    if (record.unprovenAt !== null) await this.#write({ ...record, unprovenAt: null });
  }

  /** The API has refused the tokens of the newest login. Changes nothing where it has accepted them before. */
  async useless(fault: Failure, credentials: string | null): Promise<void> {
    const record = await this.#read();
    if (record.unprovenAt !== null) await this.#writeUseless(record, record.unprovenAt, fault, credentials);
  }

  /**
   * Somebody asks for one more attempt while a refusal is in force. After one of the password step it is granted once an
   * hour, and only if that can be written to disk: it may get the account locked. Any other is tried again whenever
   * somebody asks. Logins of no use are not: each leaves a session at the issuer.
   */
  async ask(): Promise<void> {
    this.#client = null;
    const record = await this.#read();
    if (!this.#isWaiting(record)) return;
    if (refusalOf(record)?.about !== 'password') {
      this.#askedFor = true;
      return;
    }
    if (this.#wasAskedLately(record)) return;
    this.#lastAskedAt = this.#clock.monotonic();
    this.#askedFor = await this.#write({ ...record, askedAt: this.#clock.now() }).then(
      () => true,
      () => false,
    );
  }

  /** Somebody has signed in: no refusal counts any more. */
  async forget(): Promise<void> {
    this.#client = null;
    const { useless, secretMark } = await this.#read();
    await this.#write({ ...EMPTY, useless, secretMark });
  }

  async #refused(
    refusal: LoginRefused,
    credentials: string,
    { found, before }: Record<'found' | 'before', LoginBudgetRecord>,
  ): Promise<void> {
    const { state, code, about, message } = refusal;
    const now = this.#clock.now();
    if (about === 'client') {
      const { refusals, askedAt } = before;
      const nextAttemptAt = now + LONGEST_WAIT_MS;
      const suspension = { about, state, code, message, refusals, nextAttemptAt, askedAt };
      this.#client = { suspension, credentials, at: this.#clock.monotonic() };
      await this.#write(found);
      return;
    }
    const refusals = before.refusals + (about === 'password' ? 1 : 0);
    const wait = about === 'password' ? WAITS_MS[refusals - 1] : undefined;
    const nextAttemptAt = wait === undefined ? null : now + wait;
    const secretMark = before.secretMark ?? this.#markOf(credentials);
    const kept = about === 'password' ? null : message;
    await this.#write({ ...before, refusals, state, code, message: kept, nextAttemptAt, secretMark });
  }

  #clientRefusal(credentials: string | null): Suspension | null {
    if (this.#client === null) return null;
    const { suspension, at, credentials: refused } = this.#client;
    const isOver = this.#clock.monotonic() - at >= LONGEST_WAIT_MS;
    return isOver || (credentials !== null && credentials !== refused) ? null : suspension;
  }

  #uselessOf({ useless, refusals, askedAt }: LoginBudgetRecord): Suspension | null {
    const newest = useless.at(-1);
    if (newest === undefined) return null;
    const waits = [
      { count: USELESS_IN_AN_HOUR, ms: HOUR_MS },
      { count: USELESS_IN_A_DAY, ms: DAY_MS },
    ].map(({ count, ms }) => {
      const first = useless.at(-count);
      return first === undefined ? 0 : ms - this.#ageOf(first.at);
    });
    const wait = Math.max(...waits);
    if (wait <= 0) return null;
    const nextAttemptAt = this.#clock.now() + wait;
    const { code, message, hint } = newest;
    return { about: 'tokens', state: 'backoff', code, message, hint, refusals, nextAttemptAt, askedAt };
  }

  #noteGrant(): number {
    const now = this.#clock.now();
    this.#grantedAt.set(now, this.#clock.monotonic());
    const [oldest = now] = this.#grantedAt.keys();
    if (this.#grantedAt.size > MOST_GRANTS_KNOWN) this.#grantedAt.delete(oldest);
    return now;
  }

  async #writeUseless(
    record: LoginBudgetRecord,
    at: number,
    { code, message, hint = '' }: Failure,
    credentials: string | null,
  ): Promise<void> {
    const secretMark = record.secretMark ?? (credentials === null ? null : this.#markOf(credentials));
    const useless = [...record.useless, { at, code, message, hint }];
    await this.#write({ ...record, secretMark, useless, unprovenAt: null });
  }

  /** Milliseconds since a login, as both clocks agree: the wall clock may step ahead. */
  #ageOf(at: number): number {
    const grantedAt = this.#grantedAt.get(at);
    const age = this.#clock.now() - at;
    return grantedAt === undefined ? age : Math.min(age, this.#clock.monotonic() - grantedAt);
  }

  // Each time from the disk: another process may have tried.
  async #read(): Promise<LoginBudgetRecord> {
    const record = this.#unsaved ?? (await this.#store.read()) ?? EMPTY;
    const times = [...record.useless.map(({ at }) => at), record.unprovenAt ?? 0];
    if (Math.max(...times) <= this.#clock.now()) return record;
    // The wall clock has stepped back, and the age of these is not known any more: they count as of now.
    const kept = {
      ...record,
      useless: record.useless.map((one) => ({ ...one, at: this.#notAhead(one.at) })),
      unprovenAt: record.unprovenAt === null ? null : this.#notAhead(record.unprovenAt),
    };
    await this.#write(kept).catch(() => undefined);
    return kept;
  }

  #notAhead(at: number): number {
    return at <= this.#clock.now() ? at : this.#noteGrant();
  }

  async #write(record: LoginBudgetRecord): Promise<void> {
    const useless = record.useless.filter(({ at }) => this.#ageOf(at) < DAY_MS);
    const next = { ...record, useless };
    const isEmpty = next.state === null && useless.length === 0 && next.unprovenAt === null;
    // In memory first: it counts even if the disk cannot be written.
    this.#unsaved = next;
    await (isEmpty ? this.#store.remove() : this.#store.write(next));
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

  /** Without a mark they count as the same. */
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

/** The refusal that a record tells of; `null`: none. */
function refusalOf({ state, code, ...record }: LoginBudgetRecord): Suspension | null {
  if (state === null) return null;
  const { message, refusals, nextAttemptAt, askedAt } = record;
  const about = state === 'backoff' || state === REFUSALS.badCredentials.state ? 'password' : 'person';
  return { about, state, code: code ?? state, message, refusals, nextAttemptAt, askedAt };
}
