// What machines that watch are told: health, readiness and metrics, put together from the daemon's parts.
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Link } from '../../mqtt/link.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import type { Heartbeat } from '../polling/heartbeat.ts';
import type { Truth } from '../publishing/snapshot.ts';
import type { Tally } from './counters.ts';
import { renderMetrics } from './metrics.ts';
import { startMonitor } from './server.ts';

export interface WatchParts {
  readonly config: Config;
  readonly accounts: readonly AccountRuntime[];
  readonly truth: Truth;
  readonly link: Link;
  readonly heartbeat: Heartbeat;
  readonly tally: Tally;
  readonly startedAt: number;
  readonly clock: Clock;
}

export interface Watch {
  readonly port: number | null;
  /** Why there is no HTTP although the configuration asks for it. */
  readonly fault: unknown;
  stop(): Promise<void>;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;

export async function startWatch(parts: WatchParts): Promise<Watch> {
  const { config, link, heartbeat, startedAt, clock } = parts;
  const answers = {
    healthy() {
      const now = clock.now();
      const { lastConnectedAt } = link.status();
      const brokerAge = now - (lastConnectedAt ?? startedAt);
      return brokerAge < BROKER_GRACE_MS && now - heartbeat.lastBeatAt < LOOP_GRACE_MS;
    },
    ready: () => link.status().drained,
    metrics: async () => renderMetrics(source(parts)),
  };
  if (config.http === false) return { port: null, fault: null, stop: async () => undefined };
  try {
    const monitor = await startMonitor(config.http.listen, answers);
    return { port: monitor.port, fault: null, stop: monitor.stop };
  } catch (fault) {
    return { port: null, fault, stop: async () => undefined };
  }
}

function source({ accounts, truth, link, tally, startedAt, clock }: WatchParts) {
  const { published, waiting, connected } = link.status();
  const expiries = accounts.map(({ id, upstream }) => [id, upstream.session.status().accessExpiresAt]);
  return {
    ...tally,
    startedAt,
    accessExpiresAt: Object.fromEntries(expiries),
    published,
    waiting,
    connected,
    meters: truth.meters().map(({ meter, ledger, readingAt }) => ({
      meter,
      days: ledger.days.size,
      revisions: [...ledger.days.values()].reduce((sum, { revision }) => sum + revision, 0),
      readingAt,
    })),
    now: clock.now(),
  };
}
