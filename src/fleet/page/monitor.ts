// Health, metrics and page of one process of a fleet over HTTP.
import type { RequestListener } from 'node:http';
import { metricLines, renderMetrics } from '../../accounts/metrics.ts';
import { isLoopback } from '../../config/pageAddress.ts';
import { splitHostAndPort } from '../../config/sections/values.ts';
import type { Context } from '../../daemon/context.ts';
import type { Link } from '../../mqtt/link.ts';
import { OWN_NAME, serve } from '../../web/health.ts';
import type { Worker } from '../work/worker.ts';
import type { FleetPageParts } from './page.ts';

interface Parts extends FleetPageParts {
  readonly link: Pick<Link, 'status'>;
  readonly worker: Worker;
  /** Milliseconds since the last beat: proof that the event loop is alive. */
  readonly ageMs: () => number;
}

interface Page {
  readonly listener: RequestListener;
  stop(): void;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;

/** Resolves to `null` when HTTP is off, or its port is taken. */
export async function startFleetMonitor(
  { worker, ageMs, ...parts }: Parts,
  context: Context,
): Promise<{ readonly port: number; stop(): Promise<void> } | null> {
  const { config, clock, counters, log } = context;
  const { link, number } = parts;
  if (config.http === false) return null;
  const { listen, metrics: metricsFor } = config.http;
  const startedAt = clock.now();
  const isPrivate = isLoopback(splitHostAndPort(listen)?.host ?? '');
  const needsPassword = config.web !== false && config.web.password !== undefined;
  const isOpen = config.web !== false && (isPrivate || needsPassword);
  const isFree = isPrivate && !needsPassword;
  const metrics = () => {
    const more = { startedAt, accessExpiresAt: {}, meters: [], now: clock.now() };
    const own = renderMetrics({ ...counters, ...link.status(), ...more });
    return { ...own, text: own.text + metricsOf(worker, number) };
  };
  const metricsRefused = () => log.debug('metrics were asked for and refused');
  let page: Promise<Page> | undefined;
  const onPage: RequestListener = async (request, response) => {
    try {
      page ??= import('./page.ts').then(({ openFleetPage }) =>
        openFleetPage(parts, { metrics, metricsRefused }, context),
      );
      (await page).listener(request, response);
    } catch (err) {
      page = undefined;
      log.error({ err }, 'the page cannot be loaded');
      response.destroy();
    }
  };
  try {
    const listening = await serve(
      listen,
      {
        healthy: () => link.status().offlineMs < BROKER_GRACE_MS && ageMs() < LOOP_GRACE_MS,
        ready: () => link.status().connected,
        metrics,
        mayReadMetrics: ({ headers }) =>
          metricsFor === 'open' ||
          (isFree && OWN_NAME.test(headers.host ?? '') && headers['x-forwarded-for'] === undefined),
        metricsRefused,
        page: isOpen ? onPage : null,
      },
      { clock },
    );
    return {
      port: listening.port,
      async stop() {
        void page?.then((loaded) => loaded.stop()).catch(() => undefined);
        await listening.stop();
      },
    };
  } catch (err) {
    log.error({ err }, 'no HTTP: page, health and metrics are not served');
    return null;
  }
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
