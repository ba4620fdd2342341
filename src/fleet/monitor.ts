// Health and metrics of one process of a fleet over HTTP. A fleet has no page.
import { metricLines, renderMetrics } from '../accounts/metrics.ts';
import { isLoopback, splitHostAndPort } from '../config/listenAddress.ts';
import type { Link } from '../mqtt/link.ts';
import { serveHealth } from '../web/health.ts';
import type { Membership } from './membership.ts';
import type { Pace } from './pace.ts';
import type { RunParts } from './run.ts';
import type { FleetHealth } from './status.ts';
import type { Worker } from './worker.ts';

interface Parts {
  readonly link: Pick<Link, 'status'>;
  readonly worker: Worker;
  readonly membership: Membership;
  readonly pace: Pace;
  readonly health: () => FleetHealth | null;
  /** Milliseconds since the last beat: proof that the event loop is alive. */
  readonly ageMs: () => number;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;

/** Resolves to `null` when HTTP is off, or its port is taken. */
export async function startFleetMonitor(parts: Parts, context: RunParts['context']) {
  const { config, clock, counters, log } = context;
  const { link, membership, ageMs } = parts;
  if (config.http === false) return null;
  const { listen, metrics: metricsFor } = config.http;
  const startedAt = clock.now();
  const isPrivate = isLoopback(splitHostAndPort(listen)?.host ?? '');
  try {
    return await serveHealth(
      listen,
      {
        healthy: () =>
          link.status().offlineMs < BROKER_GRACE_MS && ageMs() < LOOP_GRACE_MS && !membership.isDatabaseGone,
        ready: () => link.status().connected && !membership.isDatabaseGone,
        metrics: () => {
          const more = { startedAt, accessExpiresAt: {}, meters: [], now: clock.now() };
          const { contentType, text } = renderMetrics({ ...counters, ...link.status(), ...more });
          return { contentType, text: text + metricsOf(parts) };
        },
        metricsFor: metricsFor === 'open' ? 'everyone' : isPrivate ? 'this machine' : 'no one',
        metricsRefused: () => log.debug('metrics were asked for and refused'),
        page: null,
      },
      { clock },
    );
  } catch (err) {
    log.error({ err }, 'no HTTP: health and metrics are not served');
    return null;
  }
}

type Metric = readonly [kind: 'gauge' | 'counter', name: string, help: string, value: number];

/** What the database counts is the same in each process, and some seconds old. */
function metricsOf({ worker, membership, pace, health }: Parts): string {
  const { runs, fencesLost, paused } = worker.counters;
  const found = health();
  const metrics: Metric[] = [
    ['gauge', 'process', 'Its number in the fleet.', membership.number],
    ['gauge', 'database_up', '1 while the database answers.', membership.isDatabaseGone ? 0 : 1],
    ['gauge', 'runs_under_way', 'Accounts that this process works on.', worker.underWay],
    ['counter', 'runs', 'Runs of an account that came to their end.', runs],
    ['counter', 'fences_lost', 'Runs dropped: another process had the account.', fencesLost],
    ['counter', 'runs_paused', 'Runs dropped: the provider asked for a pause.', paused],
    [
      'gauge',
      'pause_seconds_left',
      'For how long the provider wants no request of any account.',
      pace.pausedMs() / 1000,
    ],
    ...(found === null ? [] : countsOf(found)),
  ];
  const lines = metrics.flatMap(([kind, name, help, value]) =>
    metricLines(kind, `fleet_${name}`, help, [[{}, value]]),
  );
  return lines.map((line) => `${line}\n`).join('');
}

function countsOf({ fleet, toldToWait, now }: FleetHealth): Metric[] {
  const { accounts, paused, failing, overdue, oldestDueAt, processes } = fleet;
  const age = oldestDueAt === null ? 0 : (now - oldestDueAt) / 1000;
  return [
    ['gauge', 'processes', 'Processes that live.', processes.length],
    ['gauge', 'accounts', 'Accounts.', accounts],
    ['gauge', 'accounts_paused', 'Accounts that are paused.', paused],
    ['gauge', 'accounts_failing', 'Accounts whose last poll failed.', failing],
    ['gauge', 'accounts_overdue', 'Accounts that are due for longer than a claim lasts.', overdue],
    ['gauge', 'accounts_told_to_wait', 'Accounts that the provider has told to wait.', toldToWait],
    ['gauge', 'oldest_due_seconds', 'For how long the oldest of them is due.', age],
  ];
}
