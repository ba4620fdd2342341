// Health and metrics of one process of a fleet over HTTP. The page belongs to a household.

import { splitHostAndPort } from '../config/sections/values.ts';
import type { Context } from '../daemon/context.ts';
import type { Listening } from '../daemon/monitor/listening.ts';
import { metricLines, renderMetrics } from '../daemon/monitor/metrics.ts';
import { serve } from '../daemon/monitor/monitor.ts';
import { isLoopback } from '../daemon/monitor/pageAddress.ts';
import type { Link } from '../mqtt/link.ts';
import type { Worker } from './worker.ts';

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;

/** Resolves to `null` when HTTP is off, or its port is taken. */
export async function startFleetMonitor(
  parts: {
    readonly link: Pick<Link, 'status'>;
    readonly worker: Worker;
    readonly number: number;
    /** Milliseconds since the last beat: proof that the event loop is alive. */
    readonly ageMs: () => number;
  },
  { config, clock, counters, log }: Context,
): Promise<Listening | null> {
  if (config.http === false) return null;
  const { listen, metrics } = config.http;
  const { link, worker, number, ageMs } = parts;
  const startedAt = clock.now();
  const isOpen = metrics === 'open' || isLoopback(splitHostAndPort(listen)?.host ?? '');
  return serve(listen, {
    healthy: () => link.status().offlineMs < BROKER_GRACE_MS && ageMs() < LOOP_GRACE_MS,
    ready: () => link.status().connected,
    metrics() {
      const now = clock.now();
      const own = renderMetrics({
        ...counters,
        ...link.status(),
        startedAt,
        accessExpiresAt: {},
        meters: [],
        now,
      });
      return { ...own, text: own.text + metricsOf(worker, number) };
    },
    mayReadMetrics: () => isOpen,
    metricsRefused: () => undefined,
    page: null,
  }).catch((err) => {
    log.error({ err }, 'no HTTP: health and metrics are not served');
    return null;
  });
}

function metricsOf({ counters, underWay }: Worker, number: number): string {
  const { runs, fencesLost, paused } = counters;
  return [
    metricLines('gauge', 'fleet_process', 'Its number in the fleet.', [[{}, number]]),
    metricLines('gauge', 'fleet_runs_under_way', 'Accounts that this process works on.', [[{}, underWay]]),
    metricLines('counter', 'fleet_runs', 'Runs of an account that came to their end.', [[{}, runs]]),
    metricLines('counter', 'fleet_fences_lost', 'Runs dropped: another process had the account.', [
      [{}, fencesLost],
    ]),
    metricLines('counter', 'fleet_runs_paused', 'Runs dropped: the provider asked for a pause.', [
      [{}, paused],
    ]),
  ]
    .flat()
    .map((line) => `${line}\n`)
    .join('');
}
