// How the fleet is, as the database counts it: for bridge/health, the metrics and the commands.
import type { FleetStatus, HealthRecord, Reason } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import type { Database } from '../store/database/database.ts';

export interface FleetHealth extends HealthRecord {
  readonly fleet: FleetStatus;
  /** Accounts whom the provider has told to wait. */
  readonly toldToWait: number;
  /** Epoch milliseconds; `null`: the provider has not asked all to wait. */
  readonly pausedUntil: number | null;
  /** Epoch milliseconds, by the database. */
  readonly now: number;
}

type Counted = Omit<
  FleetHealth,
  'fleet' | 'auth' | 'reasons' | 'progress' | 'statistics' | 'isSomeAccountWell'
> &
  Omit<FleetStatus, 'processes'> & {
    readonly codes: readonly { readonly code: string; readonly accounts: number }[] | null;
    readonly processes: FleetStatus['processes'] | null;
  };

const COUNT = `
SELECT count(*) AS accounts, count(*) FILTER (WHERE paused) AS paused, count(*) FILTER (WHERE fails) AS failing,
  coalesce(max(failures) FILTER (WHERE NOT paused), 0) AS "failuresInARow",
  count(*) FILTER (WHERE late) AS overdue, min(due_at) FILTER (WHERE late) AS "oldestDueAt",
  count(*) FILTER (WHERE retry_after > now()) AS "toldToWait",
  max(last_poll_at) AS "lastPollAt", max(last_success_at) AS "lastSuccessAt",
  min(poll_at) FILTER (WHERE NOT paused) AS "nextPollAt",
  coalesce(sum(requests_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS "requestsToday",
  coalesce(sum(logins_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS "loginsToday",
  (SELECT json_agg(c) FROM (SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account
    WHERE failures > 0 AND NOT paused GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) c) AS codes,
  (SELECT json_agg(p) FROM (SELECT number, version, (extract(epoch FROM started_at) * 1000)::bigint AS "startedAt"
    FROM heat2mqtt.process WHERE seen_at > now() - make_interval(secs => $1) ORDER BY number) p) AS processes,
  (SELECT nullif(greatest(asked_at + interval '5 minutes', now()), now()) FROM heat2mqtt.fleet) AS "pollNowAt",
  (SELECT nullif(greatest(paused_until, now()), now()) FROM heat2mqtt.fleet) AS "pausedUntil", now() AS now
FROM (SELECT *, failures > 0 AND NOT paused AS fails,
  NOT paused AND due_at < now() - make_interval(secs => $1) AND retry_after <= now() AS late FROM heat2mqtt.account) a`;

/** Rejects with DatabaseTrouble. */
export async function readHealth(database: Database, claimSeconds: number, zone: Zone): Promise<FleetHealth> {
  const [counted] = await database.query<Counted>(COUNT, [claimSeconds, zone.name]);
  if (counted === undefined) throw new TypeError('a count without a row');
  const { accounts, paused, failing, overdue, oldestDueAt, processes, codes: _, ...rest } = counted;
  return {
    ...rest,
    isSomeAccountWell: accounts - paused > failing || accounts === 0,
    auth: {},
    reasons: reasonsOf(counted, zone),
    progress: [],
    statistics: null,
    fleet: { processes: processes ?? [], accounts, paused, failing, overdue, oldestDueAt },
  };
}

function reasonsOf({ codes, overdue, toldToWait, pausedUntil }: Counted, zone: Zone): Reason[] {
  const reasons: Reason[] = [];
  const tell = (code: string, message: string, hint?: string) =>
    reasons.push({ code, message, ...(hint === undefined ? {} : { hint }) });
  if (pausedUntil !== null)
    tell(
      'provider_pause',
      `The provider has asked for a pause of all accounts, until ${zone.iso(pausedUntil)}.`,
    );
  if (toldToWait > 0)
    tell('accounts_told_to_wait', `The provider has told ${countWords(toldToWait, 'account')} to wait.`);
  for (const { code, accounts } of codes ?? [])
    tell(
      code,
      `${countWords(accounts, 'account')}: the last poll failed (${code}).`,
      '`heat2mqtt accounts list --failing` tells which, and what to do.',
    );
  if (overdue > 0)
    tell(
      'overdue',
      `${countWords(overdue, 'account')} waited for longer than a claim lasts.`,
      'Poll less often, allow more requests, or start one more process of the fleet.',
    );
  return reasons;
}

/** `1 account`, `2 accounts`. */
export const countWords = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
