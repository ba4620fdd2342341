// One rule says when the next login may be tried, from what is kept of the attempts before.
import type { AuthState } from '../domain/health.ts';
import type { Failure } from '../foundation/failure.ts';
import type { LoginBudgetRecord } from '../store/documents.ts';
import { type LoginRefused, type RefusedFor, rowOf } from './refusals.ts';

/**
 * The reason why no login may be tried now. `about` is that of a refusal, or `tokens`: those of the last logins were of no use.
 */
export interface Suspension
  extends Pick<LoginBudgetRecord, 'message' | 'refusals' | 'nextAttemptAt' | 'askedAt'> {
  readonly about: RefusedFor | 'tokens';
  readonly state: AuthState;
  readonly code: string;
  /** Absent where the code says it. */
  readonly hint?: string;
}

/** The moment at which a login is wanted. */
export interface Wanted {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Milliseconds since an instant that was noted, by both clocks. */
  readonly ageOf: (at: number) => number;
  /** A user has asked for it, and may. */
  readonly isAskedFor: boolean;
  /** The time since the bridge was started; infinite if that is no reason to try again. */
  readonly sinceStartMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A user may ask for one more try so often. */
export const EXTRA_TRY_AFTER_MS = HOUR_MS;
export const LONGEST_WAIT_MS = 6 * HOUR_MS;
const FIRST_WAIT_MS = 15 * MINUTE_MS;
const GROWING = [FIRST_WAIT_MS, HOUR_MS, LONGEST_WAIT_MS];

/**
 * The next login waits the first time after one refusal, the second after two, and so on; then always the last. `null`: until a
 * user asks.
 */
const WAITS: Readonly<Record<RefusedFor | 'unfinished', readonly (number | null)[]>> = {
  password: [...GROWING, null],
  otherwise: [...GROWING, LONGEST_WAIT_MS],
  // The program ended before the answer came. That may be a power cut once; again and again it is as good as a refusal.
  unfinished: [MINUTE_MS, ...GROWING, LONGEST_WAIT_MS],
  // It is also tried at a start of the bridge, which may follow a correction at the issuer.
  client: [LONGEST_WAIT_MS],
  person: [null],
};

/** Logins that are granted and of no use: so many at most within that time. */
const MOST_USELESS = [
  { count: 1, withinMs: HOUR_MS },
  { count: 4, withinMs: DAY_MS },
];

export const NO_ATTEMPTS: LoginBudgetRecord = {
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

/** A login that cannot be kept is forgotten by a restart: so none is tried until the first wait of a refusal has passed. */
export const isTooSoonUnkept = ({ sinceStartMs }: Wanted): boolean => sinceStartMs < FIRST_WAIT_MS;

/** The reason against a login now; `null`: one may be tried. */
export function nextLogin(record: LoginBudgetRecord, wanted: Wanted): Suspension | null {
  const refusal = wanted.isAskedFor ? null : refusalInForce(record, wanted.now);
  if (refusal !== null && !isOfEarlierStart(refusal, wanted)) return refusal;
  return uselessInForce(record, wanted);
}

/** The refusal for which a login waits. */
function refusalInForce(record: LoginBudgetRecord, now: number): Suspension | null {
  const { state, code, nextAttemptAt, message, refusals, askedAt } = record;
  if (state === null) return null;
  if (nextAttemptAt !== null && nextAttemptAt <= now) return null;
  // A login that was not finished may have been one with a wrong password.
  const about = rowOf(code, state)?.about ?? 'password';
  return { about, state, code: code ?? state, message, refusals, nextAttemptAt, askedAt };
}

function isOfEarlierStart({ about, nextAttemptAt }: Suspension, { now, sinceStartMs }: Wanted): boolean {
  const refusedMsAgo = LONGEST_WAIT_MS - ((nextAttemptAt ?? 0) - now);
  return about === 'client' && refusedMsAgo > sinceStartMs;
}

function uselessInForce(
  { useless, refusals, askedAt }: LoginBudgetRecord,
  { now, ageOf }: Wanted,
): Suspension | null {
  const waits = MOST_USELESS.map(({ count, withinMs }) => {
    const first = useless.at(-count);
    return first === undefined ? 0 : withinMs - ageOf(first.at);
  });
  const waitMs = Math.max(...waits);
  const newest = useless.at(-1);
  if (newest === undefined || waitMs <= 0) return null;
  const { code, message, hint } = newest;
  return {
    about: 'tokens',
    state: 'backoff',
    code,
    message,
    hint,
    refusals,
    nextAttemptAt: now + waitMs,
    askedAt,
  };
}

/**
 * A user asks while a refusal is in force. `at once`: it says nothing about the password, and is tried again whenever a user asks. One
 * that the lock may count is tried at most once an hour. Logins of no use are not: each leaves a session at the issuer.
 */
export function extraTry(record: LoginBudgetRecord, { now, ageOf }: Wanted): 'at once' | 'hourly' | null {
  const refusal = refusalInForce(record, now);
  if (refusal === null) return null;
  if (refusal.about !== 'password' && refusal.about !== 'otherwise') return 'at once';
  const { askedAt } = record;
  return askedAt !== null && ageOf(askedAt) < EXTRA_TRY_AFTER_MS ? null : 'hourly';
}

/** An attempt begins. Kept beforehand: a crash until the answer comes counts as a refusal. */
export function begun(before: LoginBudgetRecord, now: number): LoginBudgetRecord {
  return {
    ...before,
    refusals: before.refusals + 1,
    nextAttemptAt: after('unfinished', before.refusals, now),
    state: 'backoff',
    code: 'login_unfinished',
    message: null,
    unprovenAt: null,
  };
}

export function refused(before: LoginBudgetRecord, refusal: LoginRefused, now: number): LoginBudgetRecord {
  const { state, code, about, message } = refusal;
  return {
    ...before,
    refusals: refusalsAfter(about, before.refusals),
    nextAttemptAt: after(about, before.refusals, now),
    state,
    code,
    message: about === 'password' ? null : message,
  };
}

/** A refusal for another reason leaves one more wait to a password that is refused afterwards, which may be by the lock. */
function refusalsAfter(about: RefusedFor, before: number): number {
  if (about === 'otherwise') return Math.max(before, Math.min(before + 1, GROWING.length - 1));
  return about === 'password' ? before + 1 : before;
}

function after(outcome: keyof typeof WAITS, refusals: number, now: number): number | null {
  const waits = WAITS[outcome];
  const waitMs = waits[Math.min(refusals, waits.length - 1)] ?? null;
  return waitMs === null ? null : now + waitMs;
}

/** No refusal counts any more. `unprovenAt`: when its tokens came, which the API has not seen yet; `null`: nothing is to be proved. */
export function granted(
  { useless, secretMark }: LoginBudgetRecord,
  unprovenAt: number | null = null,
): LoginBudgetRecord {
  return { ...NO_ATTEMPTS, useless, secretMark, unprovenAt };
}

export function ofNoUse(
  record: LoginBudgetRecord,
  { code, message, hint = '' }: Failure,
  at: number,
): LoginBudgetRecord {
  return { ...record, useless: [...record.useless, { at, code, message, hint }], unprovenAt: null };
}

/** Logins whose uselessness limits nothing any more are left out. */
export function withoutOld(record: LoginBudgetRecord, ageOf: Wanted['ageOf']): LoginBudgetRecord {
  return { ...record, useless: record.useless.filter(({ at }) => ageOf(at) < DAY_MS) };
}

/** Nothing is to be kept of it. */
export function limitsNothing({ state, useless, unprovenAt }: LoginBudgetRecord): boolean {
  return state === null && useless.length === 0 && unprovenAt === null;
}
