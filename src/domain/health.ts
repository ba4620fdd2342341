// How the bridge is, judged from what happened lately: pure record in, verdict with reasons out.

export type AuthState =
  | 'ok'
  | 'refreshing'
  | 'backoff'
  | 'bad_credentials_or_locked'
  | 'needs_user_action'
  | 'method_disabled'
  /** A person has to sign in, by `heat2mqtt login`. */
  | 'login_needed'
  | 'provider_down';

export interface AuthStatus {
  readonly state: AuthState;
  /** Epoch milliseconds; `null` = not planned, or not known. */
  readonly nextAttemptAt: number | null;
  readonly accessExpiresAt: number | null;
  readonly refreshExpiresAt: number | null;
}

/** Something that is wrong now, in words safe for any topic. */
export interface Reason {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly account?: string;
  readonly meter?: string;
}

/** How far the first reading of an account's history has come, as it is published. */
export interface Progress {
  readonly account: string;
  readonly meter: string;
  readonly days_read: number;
  readonly days_total: number;
}

/** How Home Assistant's long-term statistics stand, as it is published. */
export interface StatisticsStatus {
  readonly state: 'waiting' | 'importing' | 'ok' | 'failing';
  /** While importing: the series, and how many of its rows have been stored and read back. */
  readonly series: string | null;
  readonly rows_stored: number | null;
  readonly rows_total: number | null;
  /** ISO 8601. */
  readonly last_success_at: string | null;
  readonly next_attempt_at: string | null;
}

/** The processes of a fleet and their accounts; times in epoch milliseconds. */
export interface FleetStatus {
  readonly processes: readonly {
    readonly number: number;
    readonly version: string;
    readonly startedAt: number;
  }[];
  readonly accounts: number;
  readonly paused: number;
  readonly failing: number;
  readonly overdue: number;
  readonly oldestDueAt: number | null;
}

export interface HealthRecord {
  /** At least one account can be read. */
  readonly isSomeAccountWell: boolean;
  readonly auth: Readonly<Record<string, AuthStatus>>;
  readonly reasons: readonly Reason[];
  readonly progress: readonly Progress[];
  /** `null`: Home Assistant is not configured. */
  readonly statistics: StatisticsStatus | null;
  readonly lastPollAt: number | null;
  readonly lastSuccessAt: number | null;
  readonly nextPollAt: number | null;
  /** A requested poll is skipped before this time; `null`: it is done at once. */
  readonly pollNowAt: number | null;
  readonly failuresInARow: number;
  readonly requestsToday: number;
  readonly loginsToday: number;
  /** Only of a fleet. */
  readonly fleet?: FleetStatus;
}

export type Verdict = 'ok' | 'degraded' | 'failing';

const FAILURES_UNTIL_FAILING = 3;
const NEEDS_A_PERSON: ReadonlySet<AuthState> = new Set([
  'bad_credentials_or_locked',
  'needs_user_action',
  'method_disabled',
  'login_needed',
]);

/** Waiting alone will not bring this account back. */
export const needsAPerson = (state: AuthState): boolean => NEEDS_A_PERSON.has(state);

/** `failing`: no account can be read, and waiting will not help, or has not helped for a while. */
export function verdict(record: HealthRecord): Verdict {
  const stuck = Object.values(record.auth).some(({ state }) => needsAPerson(state));
  // What they failed of may be over already, although no poll has come to its end since.
  const isLasting = record.failuresInARow >= FAILURES_UNTIL_FAILING && record.reasons.length > 0;
  if ((stuck || isLasting) && !record.isSomeAccountWell) return 'failing';
  return stuck || record.reasons.length > 0 || record.failuresInARow > 0 ? 'degraded' : 'ok';
}
