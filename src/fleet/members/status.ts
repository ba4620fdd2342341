// How the fleet is, as the database counts it: for bridge/health and the metrics.
import type { HealthRecord, Reason } from '../../domain/health.ts';
import type { Zone } from '../../domain/period.ts';
import type { Database } from '../../store/database/database.ts';

interface Counted {
  readonly accounts: number;
  readonly paused: number;
  readonly failing: number;
  readonly failures: number;
  readonly overdue: number;
  readonly oldest_due_at: number | null;
  readonly last_poll_at: number | null;
  readonly last_success_at: number | null;
  readonly next_poll_at: number | null;
  readonly requests: number;
  readonly logins: number;
}

export type FleetHealth = HealthRecord & Required<Pick<HealthRecord, 'fleet'>>;

/** `pollNowAt`: as `HealthRecord` has it. Rejects with DatabaseTrouble. */
export async function readHealth(
  database: Database,
  { claimSeconds, zone, now }: { readonly claimSeconds: number; readonly zone: Zone; readonly now: number },
): Promise<FleetHealth> {
  const [counted] = await database.query<Counted>(
    `SELECT count(*) AS accounts, count(*) FILTER (WHERE paused) AS paused,
      count(*) FILTER (WHERE failures > 0 AND NOT paused) AS failing,
      coalesce(max(failures) FILTER (WHERE NOT paused), 0) AS failures,
      count(*) FILTER (WHERE overdue) AS overdue, min(due_at) FILTER (WHERE overdue) AS oldest_due_at,
      max(last_poll_at) AS last_poll_at, max(last_success_at) AS last_success_at,
      min(poll_at) FILTER (WHERE NOT paused) AS next_poll_at,
      coalesce(sum(requests_today) FILTER (WHERE counted_on = $2), 0) AS requests,
      coalesce(sum(logins_today) FILTER (WHERE counted_on = $2), 0) AS logins
    FROM (SELECT *, NOT paused AND due_at < now() - make_interval(secs => $1) AS overdue FROM heat2mqtt.account) a`,
    [claimSeconds, zone.dayAt(now)],
  );
  const failed = await database.query<{ code: string; accounts: number }>(
    `SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account WHERE failures > 0 AND NOT paused
    GROUP BY last_error ORDER BY count(*) DESC LIMIT 10`,
  );
  const processes = await database.query<{ number: number; version: string; startedAt: number }>(
    `SELECT number, version, started_at AS "startedAt" FROM heat2mqtt.process
    WHERE seen_at > now() - make_interval(secs => $1) ORDER BY number`,
    [claimSeconds],
  );
  const { accounts = 0, paused = 0, failing = 0, overdue = 0, ...more } = counted ?? ({} as Partial<Counted>);
  const [asked] = await database.query<{ again_at: number; is_free: boolean }>(
    `SELECT asked_at + interval '5 minutes' AS again_at, asked_at + interval '5 minutes' <= now() AS is_free
    FROM heat2mqtt.fleet`,
  );
  return {
    isSomeAccountWell: failing + paused < accounts,
    auth: {},
    reasons: failed.map(
      ({ code, accounts: n }): Reason => ({
        code,
        message: `${n} of ${accounts} accounts could not be read.`,
      }),
    ),
    progress: [],
    statistics: null,
    lastPollAt: more.last_poll_at ?? null,
    lastSuccessAt: more.last_success_at ?? null,
    nextPollAt: more.next_poll_at ?? null,
    pollNowAt: asked === undefined || asked.is_free ? null : asked.again_at,
    failuresInARow: more.failures ?? 0,
    requestsToday: Number(more.requests ?? 0),
    loginsToday: Number(more.logins ?? 0),
    fleet: { processes, accounts, paused, failing, overdue, oldestDueAt: more.oldest_due_at ?? null },
  };
}
