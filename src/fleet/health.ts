// How the fleet is, as the database counts it: for bridge/health and the commands, and with metrics over HTTP.
import { metricLines, renderMetrics } from '../accounts/metrics.ts';
import { openTo } from '../config/listenAddress.ts';
import type { FleetStatus, HealthRecord, Reason } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import type { Link } from '../mqtt/link.ts';
import type { Database } from '../store/database/database.ts';
import { serveHealth } from '../web/server.ts';
import type { Membership } from './membership.ts';
import { countWords } from './roster.ts';
import type { RunParts } from './run.ts';
import type { Worker } from './worker.ts';

/** Times in epoch milliseconds, by the database. */
type Counted = FleetStatus &
  Omit<HealthRecord, 'auth' | 'reasons' | 'progress' | 'statistics' | 'isSomeAccountWell' | 'fleet'> & {
    /** Accounts whom the provider has told to wait. */
    readonly toldToWait: number;
    /** `null`: the provider has not asked all to wait. */
    readonly pausedUntil: number | null;
    readonly now: number;
    readonly codes: readonly { readonly code: string; readonly accounts: number }[];
  };

export type FleetHealth = HealthRecord & { readonly fleet: Counted };

const COUNT = `
SELECT count(*) AS accounts, count(*) FILTER (WHERE paused) AS paused, count(*) FILTER (WHERE fails) AS failing,
  coalesce(max(failures) FILTER (WHERE NOT paused), 0) AS "failuresInARow",
  count(*) FILTER (WHERE late) AS overdue, min(due_at) FILTER (WHERE late) AS "oldestDueAt",
  count(*) FILTER (WHERE retry_after > now()) AS "toldToWait",
  max(last_poll_at) AS "lastPollAt", max(last_success_at) AS "lastSuccessAt",
  min(poll_at) FILTER (WHERE NOT paused) AS "nextPollAt",
  coalesce(sum(requests_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS "requestsToday",
  coalesce(sum(logins_today) FILTER (WHERE counted_on = (now() AT TIME ZONE $2)::date), 0) AS "loginsToday",
  (SELECT coalesce(json_agg(c), '[]') FROM (SELECT last_error AS code, count(*) AS accounts FROM heat2mqtt.account
    WHERE failures > 0 AND NOT paused GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) c) AS codes,
  (SELECT coalesce(json_agg(p), '[]') FROM (SELECT number, version, (extract(epoch FROM started_at) * 1000)::bigint AS "startedAt"
    FROM heat2mqtt.process WHERE seen_at > now() - make_interval(secs => $1) ORDER BY number) p) AS processes,
  (SELECT nullif(greatest(asked_at + interval '5 minutes', now()), now()) FROM heat2mqtt.fleet) AS "pollNowAt",
  (SELECT nullif(greatest(paused_until, now()), now()) FROM heat2mqtt.fleet) AS "pausedUntil", now() AS now
FROM (SELECT *, failures > 0 AND NOT paused AS fails,
  NOT paused AND due_at < now() - make_interval(secs => $1) AND retry_after <= now() AS late FROM heat2mqtt.account) a`;

/** Rejects with DatabaseTrouble. */
export async function readHealth(database: Database, claimSeconds: number, zone: Zone): Promise<FleetHealth> {
  const [counted] = await database.query<Counted>(COUNT, [claimSeconds, zone.name]);
  if (counted === undefined) throw new TypeError('a count without a row');
  const { accounts, paused, failing } = counted;
  return {
    ...counted,
    isSomeAccountWell: accounts - paused > failing || accounts === 0,
    auth: {},
    reasons: reasonsOf(counted, zone),
    progress: [],
    statistics: null,
    fleet: counted,
  };
}

function reasonsOf({ codes, overdue, toldToWait, pausedUntil }: Counted, zone: Zone): Reason[] {
  const pause = pausedUntil && {
    code: 'provider_pause',
    message: `The provider has asked for a pause of all accounts, until ${zone.iso(pausedUntil)}.`,
  };
  const waiting = toldToWait > 0 && {
    code: 'accounts_told_to_wait',
    message: `The provider has told ${countWords(toldToWait, 'account')} to wait.`,
  };
  const late = overdue > 0 && {
    code: 'overdue',
    message: `${countWords(overdue, 'account')} waited for longer than a claim lasts.`,
    hint: 'Poll less often, allow more requests, or start one more process of the fleet.',
  };
  const failing = codes.map(({ code, accounts }) => ({
    code,
    message: `${countWords(accounts, 'account')}: the last poll failed (${code}).`,
    hint: '`heat2mqtt accounts list --failing` tells which, and what to do.',
  }));
  return [pause, waiting, ...failing, late].flatMap((reason) => reason || []);
}

interface Served {
  readonly link: Link;
  readonly worker: Worker;
  readonly membership: Membership;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;

/** Resolves to `null` when HTTP is off, or its port is taken. */
export async function serveFleetHealth(
  served: Served,
  { config, clock, counters, log }: RunParts['context'],
) {
  const { link, membership } = served;
  if (config.http === false) return null;
  const startedAt = clock.now();
  const answers = {
    healthy: () =>
      link.status().offlineMs < BROKER_GRACE_MS &&
      membership.ageMs() < LOOP_GRACE_MS &&
      !membership.isDatabaseGone(),
    ready: () => link.status().connected && !membership.isDatabaseGone(),
    metrics() {
      const more = { startedAt, accessExpiresAt: {}, meters: [], now: clock.now() };
      const { contentType, text } = renderMetrics({ ...counters, ...link.status(), ...more });
      return { contentType, text: text + metricsOf(served) };
    },
    metricsFor: openTo(config).metricsFor,
    metricsRefused: () => log.debug('metrics were asked for and refused'),
    page: null,
  };
  return serveHealth(config.http.listen, answers, { clock }).catch((err) => {
    log.error({ err }, 'no HTTP: health and metrics are not served');
    return null;
  });
}

/** What the database counts is the same in each process, and some seconds old. */
function metricsOf({ worker, membership }: Served): string {
  const { runs, fencesLost, paused } = worker.counters;
  const found = membership.health()?.fleet;
  const age = found?.oldestDueAt ? (found.now - found.oldestDueAt) / 1000 : 0;
  const metrics: readonly (readonly [string, string, number | undefined, 'counter'?])[] = [
    ['process', 'Its number in the fleet.', membership.number],
    ['database_up', '1 while the database answers.', membership.isDatabaseGone() ? 0 : 1],
    ['runs_under_way', 'Accounts that this process works on.', worker.underWay()],
    ['runs', 'Runs of an account that came to their end.', runs, 'counter'],
    ['fences_lost', 'Runs dropped: another process had the account.', fencesLost, 'counter'],
    ['runs_paused', 'Runs dropped: the provider asked for a pause.', paused, 'counter'],
    [
      'pause_seconds_left',
      'For how long the provider wants no request of any account.',
      membership.pausedMs() / 1000,
    ],
    ['processes', 'Processes that live.', found?.processes.length],
    ['accounts', 'Accounts.', found?.accounts],
    ['accounts_paused', 'Accounts that are paused.', found?.paused],
    ['accounts_failing', 'Accounts whose last poll failed.', found?.failing],
    ['accounts_overdue', 'Accounts that are due for longer than a claim lasts.', found?.overdue],
    ['accounts_told_to_wait', 'Accounts that the provider has told to wait.', found?.toldToWait],
    ['oldest_due_seconds', 'For how long the oldest of them is due.', found && age],
  ];
  const lines = metrics.flatMap(([name, help, value, kind]) =>
    value === undefined ? [] : metricLines(kind ?? 'gauge', `fleet_${name}`, help, [[{}, value]]),
  );
  return lines.map((line) => `${line}\n`).join('');
}
