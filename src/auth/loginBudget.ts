// How often a login may be tried: after refusals, and after logins that were granted and of no use. Kept on disk, so that
// neither a restart nor another process allows another attempt.
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { AuthState } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { LoginBudgetRecord } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import { LoginRefused, REFUSALS } from './refusals.ts';
import type { Grant } from './tokens.ts';
import { GrantUnusable } from './unreachable.ts';

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

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Between two tries that a user asked for. */
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
  readonly #store: Document<LoginBudgetRecord>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #scryptCost: number;
  readonly #isOpenedForEachRun: boolean;
  readonly #openedAt: number;
  /** What could not be written to disk; it counts all the same. */
  #unsaved: LoginBudgetRecord | undefined;
  #askedFor = false;
  #lastAskedAt: number | null = null;
  /** Logins that this process has made: the time in the record, and the monotonic time. */
  readonly #grantedAt = new Map<number, number>();
  /** The last comparison: the hash is slow on purpose, and a suspended login is asked about every few seconds. */
  #compared: { credentials: string; mark: string; same: boolean } | null = null;

  /**
   * `isOpenedForEachRun`: opening it is no start of the bridge, after which a refused client is tried again.
   * `scryptCost`: a power of two. Only tests have a reason to lower it.
   */
  constructor(
    store: Document<LoginBudgetRecord>,
    clock: Clock,
    log: Log,
    { isOpenedForEachRun = false, scryptCost = SCRYPT_COST } = {},
  ) {
    this.#isOpenedForEachRun = isOpenedForEachRun;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#scryptCost = scryptCost;
    this.#openedAt = clock.monotonic();
  }

  /**
   * What keeps these credentials from a login now, or `null` when one may be tried.
   * Credentials of `null` cannot be read at present, and count as unchanged.
   */
  async inForce(credentials: string | null): Promise<Suspension | null> {
    const record = await this.#read();
    if (credentials !== null && !this.#mayBeMarkOf(credentials, record)) return null;
    const refused = this.#isWaiting(record) && !this.#askedFor ? refusalOf(record) : null;
    return refused !== null && !this.#isFreeAfterStart(refused) ? refused : this.#uselessOf(record);
  }

  /**
   * Runs a login, and notes what came of it. Noted beforehand: a crash until the answer comes counts as an attempt.
   * Rejects as the step does.
   */
  async attempt(credentials: string, step: () => Promise<Grant>): Promise<Grant> {
    const found = await this.#read();
    const before = this.#mayBeMarkOf(credentials, found) ? found : EMPTY;
    const wait = WAITS_AFTER_A_CRASH_MS[before.refusals] ?? LONGEST_WAIT_MS;
    this.#askedFor = false;
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
    const granted = () => ({ ...EMPTY, useless, secretMark, unprovenAt: this.#noteGrant() });
    try {
      const grant = await step();
      await this.#save(granted());
      return grant;
    } catch (err) {
      // Anything else says nothing about the credentials.
      if (err instanceof GrantUnusable) await this.#save(this.#withUseless(granted(), err, credentials));
      else if (err instanceof LoginRefused) await this.#save(this.#withRefusal(before, err, credentials));
      else await this.#save(found);
      throw err;
    }
  }

  async isUnproven(): Promise<boolean> {
    return (await this.#read()).unprovenAt !== null;
  }

  /** The API has accepted the tokens of the newest login. */
  async useful(): Promise<void> {
    const record = await this.#read();
    if (record.unprovenAt !== null) await this.#save({ ...record, unprovenAt: null });
  }

  /** The tokens of the newest login are of no use. Changes nothing where the API has accepted them before. */
  async useless(fault: Failure, credentials: string | null): Promise<void> {
    const record = await this.#read();
    if (record.unprovenAt !== null) await this.#save(this.#withUseless(record, fault, credentials));
  }

  /**
   * A user asks for one more attempt while a refusal is in force. After one of the password step it is granted once an
   * hour, and only if that can be written to disk: it may get the account locked. Any other is tried again whenever
   * a user asks. Logins of no use are not: each leaves a session at the issuer.
   */
  async ask(): Promise<void> {
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

  /** A person has signed in: no refusal counts any more. */
  async forget(): Promise<void> {
    const { useless, secretMark } = await this.#read();
    await this.#write({ ...EMPTY, useless, secretMark });
  }

  #withRefusal(
    before: LoginBudgetRecord,
    { state, code, about, message }: LoginRefused,
    credentials: string,
  ): LoginBudgetRecord {
    const secretMark = before.secretMark ?? this.#markOf(credentials);
    // The lock of the account counts nothing but the password.
    const refusals = before.refusals + (about === 'password' ? 1 : 0);
    const wait = { password: WAITS_MS[refusals - 1], client: LONGEST_WAIT_MS, person: undefined }[about];
    const nextAttemptAt = wait === undefined ? null : this.#clock.now() + wait;
    const kept = about === 'password' ? null : message;
    return { ...before, refusals, state, code, message: kept, nextAttemptAt, secretMark };
  }

  #withUseless(
    record: LoginBudgetRecord,
    { code, message, hint = '' }: Failure,
    credentials: string | null,
  ): LoginBudgetRecord {
    const secretMark = record.secretMark ?? (credentials === null ? null : this.#markOf(credentials));
    const at = record.unprovenAt ?? this.#clock.now();
    const useless = [...record.useless, { at, code, message, hint }];
    return { ...record, secretMark, useless, unprovenAt: null };
  }

  /** A start of the bridge may follow a correction at the issuer. */
  #isFreeAfterStart({ about, nextAttemptAt }: Suspension): boolean {
    if (about !== 'client' || this.#isOpenedForEachRun) return false;
    const age = LONGEST_WAIT_MS - ((nextAttemptAt ?? 0) - this.#clock.now());
    return age > this.#clock.monotonic() - this.#openedAt;
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
    await this.#save(kept);
    return kept;
  }

  #notAhead(at: number): number {
    return at <= this.#clock.now() ? at : this.#noteGrant();
  }

  /** What cannot be written counts in memory. */
  #save(record: LoginBudgetRecord): Promise<void> {
    return this.#write(record).catch((err) => this.#log.error({ err }, 'login budget could not be saved'));
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
  const isOfPassword = state === 'backoff' || state === REFUSALS.badCredentials.state;
  // What only a person can cure has no time.
  const about = isOfPassword ? 'password' : nextAttemptAt === null ? 'person' : 'client';
  return { about, state, code: code ?? state, message, refusals, nextAttemptAt, askedAt };
}
