// How the fleet is, as the database counts it: for bridge/health, the metrics and the commands.
import type { FleetStatus, HealthRecord, Reason } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import type { Database } from '../store/database/database.ts';

interface Counted {
  readonly accounts: number;
  readonly paused: number;
  readonly failing: number;
  readonly failures: number;
  readonly overdue: number;
  readonly told_to_wait: number;
  readonly oldest_due_at: number | null;
  readonly last_poll_at: number | null;
  readonly last_success_at: number | null;
  readonly next_poll_at: number | null;
  readonly requests: number;
  readonly logins: number;
  readonly codes: readonly { readonly code: string; readonly accounts: number }[] | null;
  readonly processes:
    | readonly { readonly number: number; readonly version: string; readonly started: number }[]
    | null;
  readonly poll_now_at: number | null;
  readonly paused_until: number | null;
  readonly now: number;
}

export interface FleetHealth extends HealthRecord {
  readonly fleet: FleetStatus;
  /** Accounts whom the provider has told to wait. */
  readonly toldToWait: number;
  /** Epoch milliseconds; `null`: the provider has not asked all to wait. */
  readonly pausedUntil: number | null;
  /** Epoch milliseconds, by the database. */
  readonly now: number;
}

const COOLDOWN = `interval '5 minutes'`;

const COUNT = `
SELECT count(*) AS accounts, count(*) FILTER (WHERE paused) AS paused, count(*) FILTER (WHERE fails) AS failing,
  coalesce(max(failures) FILTER (WHERE NOT paused), 0) AS failures,
  count(*) FILTER (WHERE overdue) AS overdue, min(due_at) FILTER (WHERE overdue) AS oldest_due_at,
  count(*) FILTER (WHERE retry_after > now()) AS told_to_wait,
  max(last_poll_at) AS last_poll_at, max(last_success_at) AS last_success_at,
  min(poll_at) FILTER (WHERE NOT paused) AS next_poll_at,
  coalesce(sum(requests_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS requests,
  coalesce(sum(logins_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS logins,
  (SELECT json_agg(c) FROM (SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account
    WHERE failures > 0 AND NOT paused GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) c) AS codes,
  (SELECT json_agg(p) FROM (SELECT number, version, (extract(epoch FROM started_at) * 1000)::bigint AS started
    FROM heat2mqtt.process WHERE seen_at > now() - make_interval(secs => $1) ORDER BY number) p) AS processes,
  (SELECT nullif(greatest(asked_at + ${COOLDOWN}, now()), now()) FROM heat2mqtt.fleet) AS poll_now_at,
  (SELECT nullif(greatest(paused_until, now()), now()) FROM heat2mqtt.fleet) AS paused_until, now() AS now
FROM (SELECT *, failures > 0 AND NOT paused AS fails,
  NOT paused AND due_at < now() - make_interval(secs => $1) AND retry_after <= now() AS overdue FROM heat2mqtt.account) a`;

/** Rejects with DatabaseTrouble. */
export async function readHealth(database: Database, claimSeconds: number, zone: Zone): Promise<FleetHealth> {
  const [counted] = await database.query<Counted>(COUNT, [claimSeconds, zone.name]);
  if (counted === undefined) throw new TypeError('a count without a row');
  const { accounts, paused, failing, overdue, paused_until: pausedUntil } = counted;
  return {
    isSomeAccountWell: accounts - paused > failing || accounts === 0,
    auth: {},
    reasons: reasonsOf(counted, zone),
    progress: [],
    statistics: null,
    lastPollAt: counted.last_poll_at,
    lastSuccessAt: counted.last_success_at,
    nextPollAt: counted.next_poll_at,
    pollNowAt: counted.poll_now_at,
    failuresInARow: counted.failures,
    requestsToday: counted.requests,
    loginsToday: counted.logins,
    fleet: {
      processes: (counted.processes ?? []).map(({ started, ...one }) => ({ ...one, startedAt: started })),
      accounts,
      paused,
      failing,
      overdue,
      oldestDueAt: counted.oldest_due_at,
    },
    toldToWait: counted.told_to_wait,
    pausedUntil,
    now: counted.now,
  };
}

function reasonsOf(
  { codes, overdue, told_to_wait: waiting, paused_until: until }: Counted,
  zone: Zone,
): Reason[] {
  const hint = '`heat2mqtt accounts list --failing` tells which, and what to do.';
  return [
    ...(until === null
      ? []
      : [
          {
            code: 'provider_pause',
            message: `The provider has asked for a pause of all accounts, until ${zone.iso(until)}.`,
          },
        ]),
    ...(waiting === 0
      ? []
      : [
          {
            code: 'accounts_told_to_wait',
            message: `The provider has told ${countWords(waiting, 'account')} to wait.`,
          },
        ]),
    ...(codes ?? []).map(({ code, accounts }) => ({
      code,
      message: `${countWords(accounts, 'account')}: the last poll failed (${code}).`,
      hint,
    })),
    ...(overdue === 0
      ? []
      : [
          {
            code: 'overdue',
            message: `${countWords(overdue, 'account')} waited for longer than a claim lasts.`,
            hint: 'Poll less often, allow more requests, or start one more process of the fleet.',
          },
        ]),
  ];
}

/** `1 account`, `2 accounts`. */
export const countWords = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
