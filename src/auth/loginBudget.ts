// The login budget limits how often a login is tried. It is on disk, so that neither a restart nor another process gets
// another attempt. Other credentials are tried at once. An outage says nothing about them, and changes nothing.
import { randomBytes, scryptSync } from 'node:crypto';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, type Failure, failure } from '../foundation/failure.ts';
import type { LoginBudgetRecord } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import { GrantUnusable } from './issuerTrouble.ts';
import * as rule from './loginRule.ts';
import { LoginRefused } from './refusals.ts';
import type { Grant } from './tokens.ts';

interface LoginBudgetOptions {
  readonly store: Document<LoginBudgetRecord>;
  readonly clock: Clock;
  /** Opening it is no start of the bridge, after which a refused client is tried again. */
  readonly isOpenedForEachRun?: boolean;
  /** A power of two. Only tests have a reason to lower it. */
  readonly scryptCost?: number | undefined;
}

export class LoginBudget {
  readonly #store: Document<LoginBudgetRecord>;
  readonly #clock: Clock;
  readonly #instants: Instants;
  readonly #marks: Marks;
  /** A moment on the monotonic clock. */
  readonly #startedAt: number;
  /** An attempt that could not be written to disk; it counts all the same. */
  #unsaved: LoginBudgetRecord | null = null;
  #isAskedFor = false;

  constructor({ store, clock, isOpenedForEachRun = false, scryptCost = SCRYPT_COST }: LoginBudgetOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#instants = new Instants(clock);
    this.#marks = new Marks(scryptCost);
    this.#startedAt = isOpenedForEachRun ? Number.NEGATIVE_INFINITY : clock.monotonic();
  }

  /**
   * The reason against a login with these credentials now, or `null` when one may be tried.
   * Credentials of `null` cannot be read at present, and count as unchanged.
   */
  async inForce(credentials: string | null): Promise<rule.Suspension | null> {
    const record = await this.#read();
    if (credentials !== null && !this.#marks.areSame(credentials, record.secretMark)) return null;
    return rule.nextLogin(record, this.#wanted);
  }

  /** Runs a login, and notes what came of it. Rejects as the step does. */
  async attempt(credentials: string, step: () => Promise<Grant>): Promise<Grant> {
    const stored = await this.#read();
    // An extra try counts from when it is used.
    const askedAt = stored.askedAt !== null && this.#isAskedFor ? this.#instants.now() : stored.askedAt;
    const isSame = this.#marks.areSame(credentials, stored.secretMark);
    const before = isSame ? { ...stored, askedAt } : rule.NO_ATTEMPTS;
    this.#isAskedFor = false;
    const isWritten = await this.#write(rule.begun(before, this.#clock.now()));
    if (!isWritten && rule.isTooSoonUnkept(this.#wanted)) {
      await this.#write(stored);
      throw cannotBeKept();
    }
    try {
      const grant = await step();
      await this.#write(rule.granted(before, this.#clock.now()));
      return grant;
    } catch (err) {
      if (err instanceof GrantUnusable) await this.#noteUseless(rule.granted(before), err, credentials);
      else if (err instanceof LoginRefused)
        await this.#write(rule.refused(this.#marked(before, credentials), err, this.#clock.now()));
      // Anything else says nothing about the credentials.
      else await this.#write(stored);
      throw err;
    }
  }

  async isUnproven(): Promise<boolean> {
    return (await this.#read()).unprovenAt !== null;
  }

  /** The API has accepted the tokens of the newest login. */
  async useful(): Promise<void> {
    await this.#write({ ...(await this.#read()), unprovenAt: null });
  }

  /** The tokens of the newest login are of no use. Changes nothing where the API has accepted them before. */
  async useless(fault: Failure, credentials: string | null): Promise<void> {
    const record = await this.#read();
    if (record.unprovenAt !== null) await this.#noteUseless(record, fault, credentials);
  }

  /** A user asks for one more attempt. One that the lock may count is granted only if that can be written to disk. */
  async ask(): Promise<void> {
    const record = await this.#read();
    const extra = rule.extraTry(record, this.#wanted);
    if (extra === 'at once') this.#isAskedFor = true;
    if (extra === 'hourly')
      this.#isAskedFor = await this.#write({ ...record, askedAt: this.#instants.now() });
  }

  /** A person has signed in. */
  async forget(): Promise<void> {
    await this.#write(rule.granted(await this.#read()));
  }

  get #wanted(): rule.Wanted {
    return {
      now: this.#clock.now(),
      ageOf: (at) => this.#instants.ageOf(at),
      isAskedFor: this.#isAskedFor,
      sinceStartMs: this.#clock.monotonic() - this.#startedAt,
    };
  }

  /** Read from the disk each time: another process may have tried. */
  async #read(): Promise<LoginBudgetRecord> {
    const record = this.#unsaved ?? (await this.#store.read()) ?? rule.NO_ATTEMPTS;
    const { useless, askedAt, nextAttemptAt } = record;
    const now = this.#clock.now();
    const latest = now + rule.LONGEST_WAIT_MS;
    if (Math.max(useless.at(-1)?.at ?? 0, askedAt ?? 0) <= now && (nextAttemptAt ?? 0) <= latest)
      return record;
    // The wall clock has stepped back, and the age of these is not known any more: they count as of now.
    const corrected = {
      ...record,
      nextAttemptAt: nextAttemptAt && Math.min(nextAttemptAt, latest),
      useless: useless.map((login) => ({ ...login, at: this.#instants.notAhead(login.at) })),
      askedAt: askedAt && this.#instants.notAhead(askedAt),
    };
    await this.#write(corrected);
    return corrected;
  }

  /** An attempt that cannot be written counts in memory. */
  async #write(record: LoginBudgetRecord): Promise<boolean> {
    const next = rule.withoutOld(record, (at) => this.#instants.ageOf(at));
    // It counts even if the disk cannot be written.
    this.#unsaved = next;
    const isSaved = await (rule.limitsNothing(next) ? this.#store.remove() : this.#store.write(next));
    if (isSaved) this.#unsaved = null;
    return isSaved;
  }

  async #noteUseless(record: LoginBudgetRecord, fault: Failure, credentials: string | null): Promise<void> {
    await this.#write(rule.ofNoUse(this.#marked(record, credentials), fault, this.#instants.now()));
  }

  /** A record that has no credentials yet gets these: its attempts were theirs. */
  #marked(record: LoginBudgetRecord, credentials: string | null): LoginBudgetRecord {
    return { ...record, secretMark: record.secretMark ?? (credentials && this.#marks.of(credentials)) };
  }
}

const cannotBeKept = () =>
  failure('state_unwritable', 'No login was made, since the state directory could not keep its outcome.', {
    exit: EXIT.unexpected,
    retry: 'soon',
    hint: 'See that the directory can be written and has room. A daemon signs in all the same a quarter of an hour after its start; each restart would try a refused password again.',
  });

const MOST_INSTANTS = 16;

/** Instants that go to the disk, and their ages as both clocks agree: the wall clock may step ahead. */
class Instants {
  readonly #clock: Clock;
  /** This process has noted these instants, each at its monotonic time. */
  readonly #noted = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    const at = this.#clock.now();
    this.#noted.set(at, this.#clock.monotonic());
    const [oldest = at] = this.#noted.keys();
    if (this.#noted.size > MOST_INSTANTS) this.#noted.delete(oldest);
    return at;
  }

  notAhead(at: number): number {
    return at <= this.#clock.now() ? at : this.now();
  }

  /** Milliseconds. */
  ageOf(at: number): number {
    const monotonicAt = this.#noted.get(at) ?? Number.NEGATIVE_INFINITY;
    return Math.min(this.#clock.now() - at, this.#clock.monotonic() - monotonicAt);
  }
}

const HASH_BYTES = 32;
// Node's default. Records of earlier versions were hashed with it.
const SCRYPT_COST = 16_384;

/** Salted hashes of credentials, to notice a change without keeping them. */
class Marks {
  readonly #cost: number;
  /** The last comparison: the hash is slow on purpose, and a suspended login is asked about every few seconds. */
  #last: { readonly credentials: string; readonly mark: string; readonly isSame: boolean } | null = null;

  constructor(cost: number) {
    this.#cost = cost;
  }

  of(credentials: string, salt = randomBytes(16)): string {
    const hash = scryptSync(credentials, salt, HASH_BYTES, { cost: this.#cost });
    return `${salt.toString('base64url')}.${hash.toString('base64url')}`;
  }

  /** Without a mark they count as the same. */
  areSame(credentials: string, mark: string | null): boolean {
    if (mark === null) return true;
    if (this.#last?.credentials !== credentials || this.#last.mark !== mark) {
      const salt = Buffer.from(mark.split('.')[0] ?? '', 'base64url');
      this.#last = { credentials, mark, isSame: this.of(credentials, salt) === mark };
    }
    return this.#last.isSame;
  }
}
