// One process of a fleet: wires it together, starts it and stops it.
import type { AccountContext } from '../accounts/context.ts';
import { Counters } from '../accounts/metrics.ts';
import { openReplyShapes } from '../accounts/pollHistory.ts';
import type { Config, Fleet } from '../config/schema.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { concurrencyLimit, SingleFlight } from '../foundation/limits.ts';
import { shutDown } from '../foundation/shutdown.ts';
import { brokerAddress } from '../mqtt/broker.ts';
import { openLink } from '../mqtt/link.ts';
import { openRequests } from '../mqtt/requests.ts';
import { processMessage, stateMessage } from '../publication/messages.ts';
import { transaction } from '../publication/payloads/requests.ts';
import { Topics } from '../publication/topics.ts';
import { openClaims } from '../store/database/claims.ts';
import { sharedClock } from '../store/database/database.ts';
import { fleetHandlers, isHealthy, serveFleetHealth } from './answers.ts';
import { openKeeper } from './keeper.ts';
import { joinFleet } from './membership.ts';
import { openFleet } from './open.ts';
import { type CronTimes, openSchedule } from './schedule.ts';
import { startWorker } from './worker.ts';

interface FleetOptions extends Pick<AccountContext, 'config' | 'clock' | 'log' | 'scrubber' | 'random'> {
  readonly fleet: Fleet;
  /** Of `usage.schedule`. */
  readonly cron: CronTimes;
}

const BEAT_MS = 2_000;

export interface FleetProcess {
  /** Among the processes that live no other has it. */
  readonly number: number;
  /** The same as /healthz says, also while HTTP is off. */
  isHealthy(): boolean;
  stop(): Promise<void>;
}

/** Rejects with a Failure when the database cannot be used. */
export async function startFleet(options: FleetOptions): Promise<FleetProcess> {
  const { log, random, scrubber, fleet } = options;
  const config: Config = { ...options.config, web: false };
  const { mqtt, usage } = config;
  // Once the process has joined, it tells the database's time.
  const clock = sharedClock(options.clock);
  const zone = zoneOf(usage.timezone);
  const topics = new Topics(mqtt.base_topic);
  const context = {
    ...{ config, clock, log, scrubber, random, zone, topics },
    counters: new Counters(),
    outdoor: { weather: null },
    limit: concurrencyLimit(usage.concurrency),
  };
  const opened = await openFleet(fleet, log);
  const membership = await joinFleet(opened, fleet, { clock, zone, log });
  await membership.beat();
  const { number } = membership;
  const stateTopic = topics.of('bridge/state');
  const link = openLink({
    address: () => brokerAddress(mqtt, mqtt.url, `${opened.installation}_${number}`),
    will: processMessage(topics, number, 'offline'),
    // Of all processes one gets each request.
    subscriptions: [`$share/${topics.base.replaceAll('/', '_')}/${topics.requests}`, stateTopic],
    clock,
    log,
    random,
  });
  const parts = {
    ...{ context, opened, membership, link },
    claims: openClaims({ ...opened, clock }, membership.id, fleet.claim_seconds),
    schedule: openSchedule(options.cron, clock.now()),
    shared: { issuerMemory: { metadata: null }, onReply: await openReplyShapes(opened.replies, { clock }) },
  };
  const requests = openRequests({
    clock,
    log,
    baseTopic: mqtt.base_topic,
    protectedTopics: mqtt.discovery_prefix === false ? [] : [mqtt.discovery_prefix],
    handlers: fleetHandlers(parts),
    transaction,
    publish: (messages) => link.publish(messages),
  });
  const stopping = new AbortController();
  link.start({
    announcement: () => [processMessage(topics, number, 'online')],
    onMessage(incoming) {
      const isAtWork = !stopping.signal.aborted && !membership.isDatabaseGone();
      if (incoming.topic !== stateTopic) void requests.onMessage(incoming);
      // The will of a keeper that died, on a broker that does not let it wait: others live.
      else if (incoming.payload.toString('utf8') === 'offline' && isAtWork)
        link.publish([stateMessage(topics, 'online')]);
    },
  });
  const worker = startWorker(fleet.claim_seconds, parts);
  const keeper = openKeeper(parts);
  const looking = new SingleFlight<void>();
  const beating = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      await membership.beat();
      // A broker that does not answer must not stop the beat.
      void looking.run(() => keeper.look());
    }
  })();
  const http = await serveFleetHealth(worker, parts);
  log.info({ process: number, claimSeconds: fleet.claim_seconds }, 'works for the fleet');

  // The one that leaves last tells it, also before it has become the keeper. Where the database cannot say, the will does.
  const lastWords = [processMessage(topics, number, 'offline')];
  async function leave(): Promise<void> {
    await looking.current;
    const othersLive = await membership.leave().catch(() => true);
    if (!othersLive) lastWords.unshift(stateMessage(topics, 'offline'));
    await keeper.stop();
  }
  return {
    number,
    isHealthy: () => isHealthy(parts),
    stop: () => {
      stopping.abort();
      return shutDown(
        [
          { name: 'runs', deadlineMs: 4_500, run: () => worker.stop(3_500) },
          { name: 'membership', deadlineMs: 1_000, run: leave },
          { name: 'http', deadlineMs: 300, run: () => http?.stop() },
          { name: 'mqtt', deadlineMs: 1_000, run: () => link.stop(lastWords, 800) },
          { name: 'beat', deadlineMs: 200, run: () => beating },
          { name: 'database', deadlineMs: 500, run: () => opened.close() },
        ],
        clock,
        log,
      );
    },
  };
}
