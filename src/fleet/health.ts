// Health and metrics of one process of a fleet over HTTP.
import { metricLines, renderMetrics } from '../accounts/metrics.ts';
import { openTo } from '../config/listenAddress.ts';
import type { Link } from '../mqtt/link.ts';
import { serveHealth } from '../web/server.ts';
import type { Membership } from './membership.ts';
import type { RunParts } from './run.ts';
import type { Worker } from './worker.ts';

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
