// The health of a fleet: the database's counts, and faults that follow from them. All accounts are looked at for that,
// so one process counts for all, and the others take what it has counted.
import type { Fleet } from '../config/schema.ts';
import type { Reason } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import { DUPLICATE_METER } from '../domain/sharedMeter.ts';
import type { Clock } from '../foundation/clock.ts';
import { SingleFlight } from '../foundation/limits.ts';
import { type Health, healthOf } from '../publication/messages.ts';
import type { Database } from '../store/database/database.ts';
import { countWords } from './roster.ts';
import { type Transactions, TransactionWatch } from './transactions.ts';

type FleetPart = NonNullable<Health['fleet']>;

/** The database counts; times in it are text. */
interface CountRow {
  readonly health: Omit<
    Health,
    'state' | 'reasons' | 'auth' | 'progress' | 'statistics' | 'last_error' | 'fleet'
  >;
  readonly fleet: FleetPart;
  /** Accounts that the provider has told to wait. */
  readonly toldToWait: number;
  /** `null`: the provider has not asked all to wait. */
  readonly pausedUntil: string | null;
  /** The oldest account that is overdue has been due so long; 0: none is. */
  readonly oldestDueMs: number;
  readonly codes: readonly { readonly code: string; readonly accounts: number }[];
  readonly transactions: Transactions;
}

export interface Counted extends Pick<CountRow, 'toldToWait' | 'oldestDueMs'> {
  readonly health: Health & { readonly fleet: FleetPart };
}

/** The values are for how long a claim lasts, and the time zone. What does not change from row to row is computed once. */
const COUNT = `
SELECT json_build_object('last_poll_at', max(last_poll_at), 'last_success_at', max(last_success_at),
    'next_poll_at', min(poll_at) FILTER (WHERE NOT paused),
    'poll_now_at', (SELECT nullif(greatest(asked_at + interval '5 minutes', now()), now()) FROM heat2mqtt.fleet),
    'failures_in_a_row', coalesce(max(failures) FILTER (WHERE NOT paused), 0),
    'requests_today', coalesce(sum(requests_today) FILTER (WHERE counted_on = (SELECT today FROM bounds)), 0),
    'logins_today', coalesce(sum(logins_today) FILTER (WHERE counted_on = (SELECT today FROM bounds)), 0)) AS health,
  json_build_object('processes', (SELECT coalesce(json_agg(p), '[]') FROM (SELECT number, version, started_at
      FROM heat2mqtt.process WHERE seen_at > (SELECT late FROM bounds) ORDER BY number) p),
    'accounts', count(*), 'paused', count(*) FILTER (WHERE paused), 'failing', count(*) FILTER (WHERE fails),
    'overdue', count(*) FILTER (WHERE late), 'oldest_due_at', min(due_at) FILTER (WHERE late)) AS fleet,
  count(*) FILTER (WHERE retry_after > now()) AS "toldToWait",
  (SELECT nullif(greatest(paused_until, now()), now()) FROM heat2mqtt.fleet) AS "pausedUntil",
  coalesce(extract(epoch FROM now() - min(due_at) FILTER (WHERE late)) * 1000, 0)::float8 AS "oldestDueMs",
  (SELECT coalesce(json_agg(c), '[]') FROM (SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account
    WHERE last_error IS NOT NULL AND NOT paused GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) c) AS codes,
  (${TransactionWatch.QUESTION}) AS transactions
FROM (SELECT *, failures > 0 AND NOT paused AS fails,
  NOT paused AND due_at < (SELECT late FROM bounds) AND retry_after <= now() AS late FROM heat2mqtt.account) a`;
const BOUNDS = `WITH bounds AS MATERIALIZED
  (SELECT now() - make_interval(secs => $1) AS late, (now() AT TIME ZONE $2)::date AS today)`;
const COUNT_ONCE = `${BOUNDS} SELECT row_to_json(c) AS counted FROM (${COUNT}) c`;
const COUNT_FOR_ALL = `${BOUNDS}
UPDATE heat2mqtt.fleet SET counted = (SELECT row_to_json(c) FROM (${COUNT}) c), counted_at = clock_timestamp()
RETURNING counted, 0 AS "ageMs"`;
const COUNTED_FOR_ALL = `SELECT counted, (extract(epoch FROM clock_timestamp() - counted_at) * 1000)::float8 AS "ageMs"
  FROM heat2mqtt.fleet WHERE counted IS NOT NULL`;

/** The keeper counts each ten seconds. A process of before, which keeps, does not count for others. */
const STALE_MS = 25_000;
/** One count answers all who ask within it. */
const SAME_MOMENT_MS = 2_000;

interface CountParts {
  readonly database: Database;
  readonly fleet: Pick<Fleet, 'claim_seconds'>;
  readonly zone: Zone;
  readonly clock: Clock;
}

/** A command counts once: its count does not stand for those of the processes. Rejects with DatabaseTrouble. */
export async function countOnce({ database, fleet, zone }: Omit<CountParts, 'clock'>): Promise<Counted> {
  const values = [fleet.claim_seconds, zone.name];
  const [row] = await database.query<{ counted: CountRow }>(COUNT_ONCE, values);
  if (row === undefined) throw new TypeError('a count without a row');
  return countedOf(row.counted, zone, null);
}

export class FleetCounts {
  readonly #parts: CountParts;
  readonly #watch: TransactionWatch;
  readonly #counting = new SingleFlight<Counted>();
  #last: Counted | null = null;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: CountParts) {
    this.#parts = parts;
    this.#watch = new TransactionWatch(parts.clock);
  }

  /** The last count; `null`: none yet. */
  get last(): Counted | null {
    return this.#last;
  }

  /**
   * The process looks every ten seconds. `isKeeper`: counts for all; the others count only if nobody has. Rejects with
   * DatabaseTrouble.
   */
  async look(isKeeper: boolean): Promise<void> {
    if (isKeeper || !(await this.#take(COUNTED_FOR_ALL, []))) await this.#count();
  }

  /** Somebody asks, and gets a fresh count. Rejects with DatabaseTrouble. */
  async now(): Promise<Counted> {
    const isFresh = this.#parts.clock.monotonic() - this.#countedAt < SAME_MOMENT_MS;
    return isFresh && this.#last !== null ? this.#last : this.#count();
  }

  #count(): Promise<Counted> {
    const { fleet, zone } = this.#parts;
    return this.#counting.run(async () => {
      const counted = await this.#take(COUNT_FOR_ALL, [fleet.claim_seconds, zone.name]);
      if (counted === null) throw new TypeError('a count without a row');
      return counted;
    });
  }

  /** `null`: nobody has counted lately. */
  async #take(question: string, values: readonly unknown[]): Promise<Counted | null> {
    const [row] = await this.#parts.database.query<{ counted: CountRow; ageMs: number }>(question, values);
    if (row === undefined || row.ageMs > STALE_MS) return null;
    const { counted, ageMs } = row;
    this.#countedAt = this.#parts.clock.monotonic() - ageMs;
    this.#last = countedOf(counted, this.#parts.zone, this.#watch.note(counted.transactions, ageMs));
    return this.#last;
  }
}

function countedOf(row: CountRow, zone: Zone, openForLong: Reason | null): Counted {
  const inZone = (key: string, value: unknown) =>
    key.endsWith('_at') && typeof value === 'string' ? zone.iso(Date.parse(value)) : value;
  const { health: counts, fleet }: Pick<CountRow, 'health' | 'fleet'> = JSON.parse(
    JSON.stringify({ health: row.health, fleet: row.fleet }),
    inZone,
  );
  const reasons = openForLong === null ? reasonsOf(row, zone) : [...reasonsOf(row, zone), openForLong];
  const { accounts, paused, failing } = fleet;
  const isAnyWell = accounts - paused > failing || accounts === 0;
  const health = healthOf({ reasons, auth: {}, progress: [], statistics: null, ...counts }, isAnyWell);
  const { toldToWait, oldestDueMs } = row;
  return { toldToWait, oldestDueMs, health: { ...health, fleet } };
}

/** The worst first. */
function reasonsOf({ codes, fleet: { overdue }, toldToWait, pausedUntil }: CountRow, zone: Zone): Reason[] {
  const reasons: Reason[] = [];
  if (pausedUntil !== null)
    reasons.push({
      code: 'provider_pause',
      message: `The provider has asked for a pause of all accounts, until ${zone.iso(Date.parse(pausedUntil))}.`,
    });
  if (toldToWait > 0)
    reasons.push({
      code: 'accounts_told_to_wait',
      message: `The provider has told ${countWords(toldToWait, 'account')} to wait.`,
    });
  for (const { code, accounts } of codes)
    reasons.push({
      code,
      message: `${countWords(accounts, 'account')}: ${code === DUPLICATE_METER ? 'another account has the same meter, and reads it' : `the last poll failed (${code})`}.`,
      hint: '`heat2mqtt accounts list --failing` tells which, and what to do.',
    });
  if (overdue > 0)
    reasons.push({
      code: 'overdue',
      message: `${countWords(overdue, 'account')} waited for longer than a claim lasts.`,
      hint: 'Poll less often, allow more requests, or start one more process of the fleet.',
    });
  return reasons;
}
