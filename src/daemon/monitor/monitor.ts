// The daemon's answers over HTTP: its health, its metrics, and the page, here and within Home Assistant.
import type { RequestListener } from 'node:http';
import { renderMetrics } from '../../accounts/metrics.ts';
import { localAddress } from '../../config/listenAddress.ts';
import { openTo, pageAddress, whyNoPage } from '../../config/pageAddress.ts';
import { ThrottledLog } from '../../foundation/limits.ts';
import { type Ingress, serveHealth, serveIngress } from '../../web/server.ts';
import { Servers } from '../../web/servers.ts';
import { within } from '../../web/visitor.ts';
import type { Context } from '../context.ts';
import type { Household } from '../polling/household.ts';
import type { openPage, PageParts } from './page.ts';

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;
const IN_HOME_ASSISTANT =
  'Open the page in Home Assistant, with Open web UI on the page of this app. On this port it needs web_password, among the options of the app.';
const METRICS_HINT =
  'Who may see the page may read them; http.metrics: open lets everyone read them who reaches http.listen.';

/** The event loop is alive, and the broker was connected lately. */
export const isHealthy = (household: Pick<Household, 'ageMs'>, { link }: Pick<Context, 'link'>): boolean =>
  link.status().offlineMs < BROKER_GRACE_MS && household.ageMs() < LOOP_GRACE_MS;

/** Resolves to `null` when HTTP is off. What cannot be served is a reason on bridge/health, and nothing stops. */
export async function startMonitor(
  { ingress, ...parts }: Omit<PageParts, 'metrics'> & { readonly ingress: Ingress | null },
  context: Context,
): Promise<{ readonly port: number | null; stop(): Promise<void> } | null> {
  const { config, clock, log, link, signals } = context;
  if (config.http === false) return null;
  const { listen } = config.http;
  const { hasPage, metricsFor } = openTo(config);
  const refused = whyNoPage(config);
  if (refused !== null && ingress === null)
    log.warn(
      { listen, hint: refused.hint },
      'no page: beyond this machine it is served with a password only',
    );
  const metrics = metricsOf(context);
  const page = lazyPage({ ...parts, metrics }, context);
  const { ownReasons } = parts.bridgeStatus;
  const servers = new Servers(ownReasons, { ...context, onChange: () => signals.emit('bridgeChanged') });
  const answers = {
    healthy: () => isHealthy(parts.household, context),
    ready: () => link.status().drained,
    metrics,
    metricsFor,
    metricsRefused: metricsRefusedLog(context),
    page: hasPage ? page.on('listener') : null,
    // Within Home Assistant there is one, so that no password is missing.
    whyNoPage: ingress === null ? refused && `${refused.message}\n${refused.hint}` : IN_HOME_ASSISTANT,
  };
  const isShared = within(config.web ? config.web.trusted_proxy : undefined);
  let port: number | null = null;
  const what = hasPage ? 'the page, health and metrics' : 'health and metrics';
  await servers.open(`${what} are not served`, async () => {
    const server = await serveHealth(listen, answers, { clock, isShared });
    port = server.port;
    const local = localAddress(listen).replace(/\d+$/, String(port));
    if (hasPage) log.info({ page: pageAddress(config) ?? `http://${local}/` }, 'the page is served');
    return server;
  });
  if (ingress !== null && config.web !== false)
    await servers.open('Home Assistant cannot show the page', () =>
      serveIngress(ingress, page.on('ingress'), clock),
    );
  return {
    port,
    async stop() {
      page.stop();
      await servers.stop();
    },
  };
}

/** The page, which is loaded with the first request. */
function lazyPage(parts: PageParts, context: Context) {
  let page: Promise<ReturnType<typeof openPage>> | undefined;
  return {
    on(which: 'listener' | 'ingress'): RequestListener {
      return async (request, response) => {
        try {
          page ??= import('./page.ts').then(({ openPage }) => openPage(parts, context));
          (await page)[which](request, response);
        } catch (err) {
          page = undefined;
          context.log.error({ err }, 'the page cannot be loaded');
          response.destroy();
        }
      };
    },
    stop: () => void page?.then((loaded) => loaded.stop()).catch(() => undefined),
  };
}

function metricsRefusedLog({ clock, log }: Context): () => void {
  const throttledLog = new ThrottledLog(clock, log);
  return () =>
    throttledLog.write('warn', 'metrics', { hint: METRICS_HINT }, 'metrics were asked for and refused');
}

function metricsOf({ accounts, clock, counters, link }: Context): PageParts['metrics'] {
  const startedAt = clock.now();
  return () =>
    renderMetrics({
      ...counters,
      ...link.status(),
      startedAt,
      accessExpiresAt: Object.fromEntries(
        accounts.map(({ id, upstream }) => [id, upstream.session.status().accessExpiresAt]),
      ),
      meters: accounts
        .flatMap((account) => account.meterViews())
        .map(({ meter, ledger, readingAt }) => ({
          meter,
          days: ledger.days.size,
          revisions: [...ledger.days.values()].reduce((sum, { revision }) => sum + revision, 0),
          readingAt,
        })),
      now: clock.now(),
    });
}
