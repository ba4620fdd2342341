// The answers of a fleet's process over HTTP: whether it is healthy and ready, and its metrics.
import { metricLines, renderMetrics } from '../accounts/metrics.ts';
import { openTo } from '../config/pageAddress.ts';
import { serveHealth } from '../web/server.ts';
import { Servers } from '../web/servers.ts';
import type { Member } from './member.ts';

const BROKER_GRACE_MS = 5 * 60_000;

export const isHealthy = ({ parts: { link, membership } }: Member): boolean =>
  link.status().offlineMs < BROKER_GRACE_MS && !membership.isDatabaseGone();

/** `present`: its number may change. Resolves to `null` when HTTP is off. */
export async function serveFleetHealth(present: () => Member) {
  const { config, clock, counters, log } = present().parts.context;
  if (config.http === false) return null;
  const startedAt = clock.now();
  const brokerNow = () => present().parts.link.status();
  const isDatabaseGone = () => present().parts.membership.isDatabaseGone();
  const answers = {
    healthy: () => isHealthy(present()),
    ready: () => brokerNow().connected && !isDatabaseGone(),
    metrics() {
      const more = { startedAt, accessExpiresAt: {}, meters: [], now: clock.now() };
      const { contentType, text } = renderMetrics({ ...counters, ...brokerNow(), ...more });
      return { contentType, text: text + metricsOf(present()) };
    },
    metricsFor: openTo(config).metricsFor,
    metricsRefused: () => log.debug('metrics were asked for and refused'),
    page: null,
  };
  const { listen } = config.http;
  const servers = new Servers([], { clock, log });
  await servers.open('health and metrics are not served', () => serveHealth(listen, answers, { clock }));
  return servers;
}

/** The database's counts are the same in each process, and some seconds old. */
function metricsOf({ worker, parts }: Member): string {
  const { membership, pace, counts } = parts;
  const { health, toldToWait, oldestDueMs = 0 } = counts.last ?? {};
  const fleet = health?.fleet;
  const metrics: readonly (readonly [string, string, number | undefined])[] = [
    ['process', 'Its number in the fleet.', membership.number],
    ['database_up', '1 while the database answers.', membership.isDatabaseGone() ? 0 : 1],
    ['runs_under_way', 'Accounts that this process works on.', worker.underWay()],
    ['pause_seconds_left', 'For how long the provider wants no request.', pace.pausedMs() / 1000],
    ['processes', 'Processes that live.', fleet?.processes.length],
    ['accounts', 'Accounts.', fleet?.accounts],
    ['accounts_paused', 'Accounts that are paused.', fleet?.paused],
    ['accounts_failing', 'Accounts whose last poll failed.', fleet?.failing],
    ['accounts_overdue', 'Accounts that are due for longer than a claim lasts.', fleet?.overdue],
    ['accounts_told_to_wait', 'Accounts that the provider has told to wait.', toldToWait],
    ['oldest_due_seconds', 'For how long the oldest of them is due.', fleet && oldestDueMs / 1000],
  ];
  const lines = metrics.flatMap(([name, help, value]) =>
    value === undefined ? [] : metricLines('gauge', `fleet_${name}`, help, [[{}, value]]),
  );
  return lines.map((line) => `${line}\n`).join('');
}
