// How often a login may be tried. Kept on disk, so that neither a restart nor another process allows another attempt.
//
//   the password step has refused it          after 15 minutes, 1 hour, 6 hours; then when a user asks
//   for another reason, which may pass        after 15 minutes, 1 hour, 6 hours; then every six hours
//   the program ended before the answer came  after 1 minute, then as if it had been refused
//   the client was refused                    after 6 hours, at a start of the bridge, or when a user asks
//   only the owner can do something about it  when a user asks
//   it was granted, and of no use             at most one an hour and four a day
//
// Other credentials are tried at once. An outage says nothing about them, and changes nothing.
import { randomBytes, scryptSync } from 'node:crypto';
import type { AuthState } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import type { LoginBudgetRecord } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import { GrantUnusable } from './oidc.ts';
import { LoginRefused, REFUSALS } from './refusals.ts';
import type { Grant } from './tokens.ts';

/** Why no login may be tried now. `about` is that of a refusal, or `tokens`: those of the last logins were of no use. */
export interface Suspension
  extends Pick<LoginBudgetRecord, 'message' | 'refusals' | 'nextAttemptAt' | 'askedAt'> {
  readonly about: LoginRefused['about'] | 'tokens';
  readonly state: AuthState;
  readonly code: string;
  /** Absent where the code says it. */
  readonly hint?: string;
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
const MOST_USELESS = [
  { count: 1, withinMs: HOUR_MS },
  { count: 4, withinMs: DAY_MS },
];

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

/** The lock of the account may count these. */
const COUNTED: ReadonlySet<Suspension['about']> = new Set(['password', 'otherwise']);

/** What is not about the password leaves one more wait to a password that is refused afterwards, which may be by the lock. */
function refusalsAfter(before: number, about: LoginRefused['about']): number {
  if (about === 'otherwise') return Math.max(before, Math.min(before + 1, WAITS_MS.length - 1));
  return before + (about === 'password' ? 1 : 0);
}

/** `null`: until a user asks. */
function waitAfter(before: number, about: LoginRefused['about']): number | null {
  if (about === 'person') return null;
  if (about === 'client') return LONGEST_WAIT_MS;
  return WAITS_MS[before] ?? (about === 'otherwise' ? LONGEST_WAIT_MS : null);
}

export type LoginBudget = ReturnType<typeof openLoginBudget>;

export function openLoginBudget({
  store,
  clock,
  isOpenedForEachRun = false,
  scryptCost = SCRYPT_COST,
}: {
  readonly store: Document<LoginBudgetRecord>;
  readonly clock: Clock;
  /** Opening it is no start of the bridge, after which a refused client is tried again. */
  readonly isOpenedForEachRun?: boolean;
  /** A power of two. Only tests have a reason to lower it. */
  readonly scryptCost?: number;
}) {
  const openedAt = clock.monotonic();
  const instants = openInstants(clock);
  const marks = openMarks(scryptCost);
  /** What could not be written to disk; it counts all the same. */
  let unsaved: LoginBudgetRecord | null = null;
  let isAskedFor = false;

  /** Read from the disk each time: another process may have tried. */
  async function read(): Promise<LoginBudgetRecord> {
    const record = unsaved ?? (await store.read()) ?? EMPTY;
    const { useless, askedAt } = record;
    if (Math.max(useless.at(-1)?.at ?? 0, askedAt ?? 0) <= clock.now()) return record;
    // The wall clock has stepped back, and the age of these is not known any more: they count as of now.
    const kept = {
      ...record,
      useless: useless.map((one) => ({ ...one, at: instants.notAhead(one.at) })),
      askedAt: askedAt && instants.notAhead(askedAt),
    };
    await write(kept);
    return kept;
  }

  /** What cannot be written counts in memory. */
  async function write(record: LoginBudgetRecord): Promise<boolean> {
    const useless = record.useless.filter(({ at }) => instants.ageOf(at) < DAY_MS);
    const next = { ...record, useless };
    const isEmpty = next.state === null && useless.length === 0 && next.unprovenAt === null;
    // In memory first: it counts even if the disk cannot be written.
    unsaved = next;
    const isSaved = await (isEmpty ? store.remove() : store.write(next));
    if (isSaved) unsaved = null;
    return isSaved;
  }

  function isWaiting({ state, nextAttemptAt }: LoginBudgetRecord): boolean {
    if (state === null || nextAttemptAt === null) return state !== null;
    const wait = nextAttemptAt - clock.now();
    // A clock that stepped back must not stretch the wait.
    return wait > 0 && wait <= LONGEST_WAIT_MS;
  }

  /** A start of the bridge may follow a correction at the issuer. */
  function isFreeAfterStart({ about, nextAttemptAt }: Suspension): boolean {
    if (about !== 'client' || isOpenedForEachRun) return false;
    const age = LONGEST_WAIT_MS - ((nextAttemptAt ?? 0) - clock.now());
    return age > clock.monotonic() - openedAt;
  }

  function uselessOf({ useless, refusals, askedAt }: LoginBudgetRecord): Suspension | null {
    const newest = useless.at(-1);
    const waits = MOST_USELESS.map(({ count, withinMs }) => {
      const first = useless.at(-count);
      return first === undefined ? 0 : withinMs - instants.ageOf(first.at);
    });
    const wait = Math.max(...waits);
    if (newest === undefined || wait <= 0) return null;
    const { code, message, hint } = newest;
    const nextAttemptAt = clock.now() + wait;
    return { about: 'tokens', state: 'backoff', code, message, hint, refusals, nextAttemptAt, askedAt };
  }

  function withRefusal(
    before: LoginBudgetRecord,
    { state, code, about, message }: LoginRefused,
    credentials: string,
  ): LoginBudgetRecord {
    const secretMark = before.secretMark ?? marks.of(credentials);
    const refusals = refusalsAfter(before.refusals, about);
    const wait = waitAfter(before.refusals, about);
    const nextAttemptAt = wait === null ? null : clock.now() + wait;
    const kept = about === 'password' ? null : message;
    return { ...before, refusals, state, code, message: kept, nextAttemptAt, secretMark };
  }

  function withUseless(
    record: LoginBudgetRecord,
    { code, message, hint = '' }: Failure,
    credentials: string | null,
  ): LoginBudgetRecord {
    const secretMark = record.secretMark ?? (credentials === null ? null : marks.of(credentials));
    const useless = [...record.useless, { at: instants.now(), code, message, hint }];
    return { ...record, secretMark, useless, unprovenAt: null };
  }

  return {
    /**
     * What keeps these credentials from a login now, or `null` when one may be tried.
     * Credentials of `null` cannot be read at present, and count as unchanged.
     */
    async inForce(credentials: string | null): Promise<Suspension | null> {
      const record = await read();
      if (credentials !== null && !marks.areSame(credentials, record.secretMark)) return null;
      const refused = isWaiting(record) && !isAskedFor ? refusalOf(record) : null;
      return refused !== null && !isFreeAfterStart(refused) ? refused : uselessOf(record);
    },

    /**
     * Runs a login, and notes what came of it. Noted beforehand: a crash until the answer comes counts as an attempt.
     * Rejects as the step does.
     */
    async attempt(credentials: string, step: () => Promise<Grant>): Promise<Grant> {
      const found = await read();
      // An extra try counts from when it is used.
      const askedAt = found.askedAt !== null && isAskedFor ? instants.now() : found.askedAt;
      const before = marks.areSame(credentials, found.secretMark) ? { ...found, askedAt } : EMPTY;
      const wait = WAITS_AFTER_A_CRASH_MS[before.refusals] ?? LONGEST_WAIT_MS;
      isAskedFor = false;
      await write({
        ...before,
        refusals: before.refusals + 1,
        nextAttemptAt: clock.now() + wait,
        state: 'backoff',
        code: 'login_unfinished',
        message: null,
        unprovenAt: null,
      });
      const { useless, secretMark } = before;
      const granted = () => ({ ...EMPTY, useless, secretMark, unprovenAt: clock.now() });
      try {
        const grant = await step();
        await write(granted());
        return grant;
      } catch (err) {
        // Anything else says nothing about the credentials.
        if (err instanceof GrantUnusable) await write(withUseless(granted(), err, credentials));
        else if (err instanceof LoginRefused) await write(withRefusal(before, err, credentials));
        else await write(found);
        throw err;
      }
    },

    isUnproven: async (): Promise<boolean> => (await read()).unprovenAt !== null,

    /** The API has accepted the tokens of the newest login. */
    async useful(): Promise<void> {
      const record = await read();
      if (record.unprovenAt !== null) await write({ ...record, unprovenAt: null });
    },

    /** The tokens of the newest login are of no use. Changes nothing where the API has accepted them before. */
    async useless(fault: Failure, credentials: string | null): Promise<void> {
      const record = await read();
      if (record.unprovenAt !== null) await write(withUseless(record, fault, credentials));
    },

    /**
     * A user asks for one more attempt while a refusal is in force. After one that the lock may count it is granted once an
     * hour, and only if that can be written to disk: it may get the account locked. Any other is tried again whenever
     * a user asks. Logins of no use are not: each leaves a session at the issuer.
     */
    async ask(): Promise<void> {
      const record = await read();
      if (!isWaiting(record)) return;
      const refused = refusalOf(record);
      if (refused === null || !COUNTED.has(refused.about)) {
        isAskedFor = true;
        return;
      }
      if (record.askedAt !== null && instants.ageOf(record.askedAt) < EXTRA_TRY_AFTER_MS) return;
      isAskedFor = await write({ ...record, askedAt: instants.now() });
    },

    /** A person has signed in: no refusal counts any more. */
    async forget(): Promise<void> {
      const { useless, secretMark } = await read();
      await write({ ...EMPTY, useless, secretMark });
    },
  };
}

/** The refusal that a record tells of; `null`: none. */
function refusalOf({ state, code, ...record }: LoginBudgetRecord): Suspension | null {
  if (state === null) return null;
  const { message, refusals, nextAttemptAt, askedAt } = record;
  const about = aboutOf(state, code, nextAttemptAt);
  return { about, state, code: code ?? state, message, refusals, nextAttemptAt, askedAt };
}

const OTHERWISE: readonly (string | null)[] = [REFUSALS.sessionLimit.code, REFUSALS.refusedOtherwise.code];

function aboutOf(state: AuthState, code: string | null, nextAttemptAt: number | null): LoginRefused['about'] {
  if (OTHERWISE.includes(code)) return 'otherwise';
  // A login that was not finished may have been one with a wrong password.
  if (state === 'backoff' || state === REFUSALS.badCredentials.state) return 'password';
  // What only a person can cure has no time.
  return nextAttemptAt === null ? 'person' : 'client';
}

const MOST_KNOWN = 16;

/** Instants that go to the disk, and their ages as both clocks agree: the wall clock may step ahead. */
function openInstants(clock: Clock) {
  /** Those that this process has noted, with the monotonic time. */
  const known = new Map<number, number>();
  function now(): number {
    const at = clock.now();
    known.set(at, clock.monotonic());
    const [oldest = at] = known.keys();
    if (known.size > MOST_KNOWN) known.delete(oldest);
    return at;
  }
  return {
    now,
    notAhead: (at: number): number => (at <= clock.now() ? at : now()),
    /** Milliseconds. */
    ageOf(at: number): number {
      const monotonicAt = known.get(at) ?? Number.NEGATIVE_INFINITY;
      return Math.min(clock.now() - at, clock.monotonic() - monotonicAt);
    },
  };
}

const HASH_BYTES = 32;
// Node's default. Records of earlier versions were hashed with it.
const SCRYPT_COST = 16_384;

/** Salted hashes of credentials, to notice a change without keeping them. */
function openMarks(cost: number) {
  /** The last comparison: the hash is slow on purpose, and a suspended login is asked about every few seconds. */
  let last: { credentials: string; mark: string; same: boolean } | null = null;

  function of(credentials: string, salt = randomBytes(16)): string {
    const hash = scryptSync(credentials, salt, HASH_BYTES, { cost });
    return `${salt.toString('base64url')}.${hash.toString('base64url')}`;
  }

  return {
    of,
    /** Without a mark they count as the same. */
    areSame(credentials: string, mark: string | null): boolean {
      if (mark === null) return true;
      if (last?.credentials !== credentials || last.mark !== mark) {
        const salt = Buffer.from(mark.split('.')[0] ?? '', 'base64url');
        last = { credentials, mark, same: of(credentials, salt) === mark };
      }
      return last.same;
    },
  };
}
