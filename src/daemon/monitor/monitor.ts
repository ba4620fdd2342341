// Health, readiness and metrics of the running daemon, put together from its parts.
import { safeWords } from '../../foundation/failure.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';
import type { Heartbeat } from '../polling/heartbeat.ts';
import type { Snapshot } from '../publishing/snapshot.ts';
import { renderMetrics } from './metrics.ts';
import { MonitorServer } from './server.ts';

interface Watched {
  readonly accounts: readonly Account[];
  readonly snapshot: Snapshot;
  readonly link: Link;
  readonly heartbeat: Heartbeat;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;

/** Resolves to `null` when HTTP is off, or cannot be served: that is a reason on bridge/health, and nothing stops. */
export async function startMonitor(watched: Watched, context: Context): Promise<MonitorServer | null> {
  const { config, log } = context;
  const { snapshot, link, heartbeat } = watched;
  if (config.http === false) return null;
  const startedAt = context.clock.now();
  try {
    return await MonitorServer.start(config.http.listen, {
      healthy: () => link.status().offlineMs < BROKER_GRACE_MS && heartbeat.ageMs < LOOP_GRACE_MS,
      ready: () => link.status().drained,
      metrics: () => renderMetrics(source(watched, startedAt, context)),
    });
  } catch (err) {
    log.error({ err }, 'no HTTP: health and metrics are not served');
    snapshot.ownReasons.push(safeWords(err));
    return null;
  }
}

function source({ accounts, snapshot, link }: Watched, startedAt: number, { counters, clock }: Context) {
  const { published, waiting, connected } = link.status();
  const expiries = accounts.map(({ id, upstream }) => [id, upstream.session.status().accessExpiresAt]);
  return {
    ...counters,
    startedAt,
    accessExpiresAt: Object.fromEntries(expiries),
    published,
    waiting,
    connected,
    meters: snapshot.meters().map(({ meter, ledger, readingAt }) => ({
      meter,
      days: ledger.days.size,
      revisions: [...ledger.days.values()].reduce((sum, { revision }) => sum + revision, 0),
      readingAt,
    })),
    now: clock.now(),
  };
}
