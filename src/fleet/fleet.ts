// One process of a fleet: wires it together, starts it and stops it.

import { Counters } from '../accounts/metrics.ts';
import type { IssuerMemory } from '../auth/oidc.ts';
import type { Fleet } from '../config/schema.ts';
import { Constituencies } from '../constituencies/onDemand.ts';
import { type Context, Signals } from '../daemon/context.ts';
import type { Daemon, DaemonOptions } from '../daemon/daemon.ts';
import { OutdoorTemperatures } from '../daemon/homeAssistant/outdoorTemperatures.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { concurrencyLimit, SingleFlight } from '../foundation/limits.ts';
import { shutDown } from '../foundation/shutdown.ts';
import { brokerAddress, protocolVersions } from '../mqtt/broker.ts';
import { Link } from '../mqtt/link.ts';
import { Requests } from '../mqtt/requests.ts';
import { processMessage, stateMessage } from '../publication/bridge.ts';
import { transaction } from '../publication/payloads/requests.ts';
import { Topics } from '../publication/topics.ts';
import { Claims } from '../store/database/claims.ts';
import { SharedClock } from '../store/database/database.ts';
import { SharedState } from '../store/database/sharedState.ts';
import { Keeper } from './members/keeper.ts';
import { join, Membership } from './members/membership.ts';
import { readHealth } from './members/status.ts';
import { openFleet } from './open.ts';
import { startFleetMonitor } from './page/monitor.ts';
import { fleetHandlers } from './requests.ts';
import { Budget } from './work/budget.ts';
import { untilNextPoll } from './work/spread.ts';
import { Worker } from './work/worker.ts';

export interface FleetOptions extends Omit<DaemonOptions, 'ingress'> {
  readonly fleet: Fleet;
  /** As `process.versions.node`. */
  readonly nodeVersion: string;
}

const BEAT_MS = 2_000;

/** Rejects with a Failure when the database cannot be used. */
export async function startFleet(options: FleetOptions): Promise<Daemon> {
  const { config, log, random, scrubber, fleet, nodeVersion, startTicker, logTail, report } = options;
  const { mqtt, usage } = config;
  const { claim_seconds: claimSeconds, requests_per_second: perSecond } = fleet;
  const clock = new SharedClock(options.clock);
  const opened = await openFleet(fleet, nodeVersion, true, { clock, log });
  const { database, seal, jobs, installation } = opened;
  const membership = new Membership(await join(database), database, clock);
  await membership.beat();
  const { id, number } = membership.member;
  const counters = new Counters();
  const zone = zoneOf(usage.timezone);
  const topics = new Topics(mqtt.base_topic);
  const state = new SharedState(database);
  const context: Context = {
    config,
    clock,
    log,
    scrubber,
    random,
    zone,
    topics,
    counters,
    state,
    outdoor: await OutdoorTemperatures.open({ config, clock, log, state, zone }),
    signals: new Signals(),
    limit: concurrencyLimit(usage.concurrency),
  };
  const ticker = startTicker(usage.schedule, usage.timezone, () => undefined, log);
  const budget = new Budget(database, perSecond, clock);
  const claims = new Claims(database, id, claimSeconds, clock);
  const issuerMemory: IssuerMemory = { metadata: null };
  const health = () => readHealth(database, { claimSeconds, zone, now: clock.now() });
  const link = new Link({
    address: () => brokerAddress(mqtt, mqtt.url, `${installation}_${number}`),
    versions: protocolVersions(mqtt),
    will: processMessage(topics, number, 'offline'),
    // Of all processes one gets each request.
    subscriptions: [
      `$share/${topics.base.replaceAll('/', '_')}/${topics.requests}`,
      topics.of('bridge/state'),
    ],
    retainAsPublished: [],
    clock,
    log,
    random,
  });
  const constituencies: Constituencies | null =
    config.constituencies === undefined
      ? null
      : await Constituencies.open(config.constituencies, {
          ...context,
          publishNow: () => link.publish(constituencies?.messages() ?? []),
          onPostponed: () => undefined,
        });
  const onFault = (err: unknown) => log.warn({ err }, 'accounts could not be woken');
  const requests = new Requests({
    clock,
    log,
    baseTopic: mqtt.base_topic,
    protectedTopics: mqtt.discovery_prefix === false ? [] : [mqtt.discovery_prefix],
    handlers: fleetHandlers({ database, jobs }, health, constituencies, zone, onFault),
    transaction,
    publish: (messages) => link.publish(messages),
  });
  const stopping = new AbortController();
  link.start({
    announcement: () => [processMessage(topics, number, 'online')],
    onMessage: (incoming) => {
      if (incoming.topic !== topics.of('bridge/state')) void requests.onMessage(incoming);
      // The will of a keeper that died, on a broker that does not let it wait: others live.
      else if (incoming.payload.toString('utf8') === 'offline' && !stopping.signal.aborted)
        link.publish([stateMessage(topics, 'online')]);
    },
    onDelivered: () => undefined,
  });
  const worker = new Worker({
    context,
    database,
    seal,
    claims,
    budget,
    issuerMemory,
    jobs,
    link,
    claimSeconds,
    untilNextPoll: (account) =>
      untilNextPoll(account, clock.now(), ticker.next() ?? clock.now(), ticker.step()),
  });
  const keeper = new Keeper({ membership, health, jobs, database, link, installation }, context);
  const looking = new SingleFlight<void>();
  let lastBeatAt = clock.monotonic();
  const beating = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, stopping.signal);
      lastBeatAt = clock.monotonic();
      if (stopping.signal.aborted) return;
      await membership.beat().catch((err) => log.debug({ err }, 'the database does not hear this process'));
      // A broker that does not answer must not stop the beat.
      void looking.run(() => keeper.look());
    }
  })();
  const ageMs = () => clock.monotonic() - lastBeatAt;
  const monitor = await startFleetMonitor(
    { link, worker, number, ageMs, database, requests, logTail, report },
    context,
  );
  log.info({ process: number, claimSeconds }, 'works for the fleet');

  async function leave(): Promise<void> {
    await looking.current;
    const othersLive = await membership.leave().catch(() => true);
    await keeper.stop(othersLive);
  }
  return {
    httpPort: monitor?.port ?? null,
    brokerUrl: mqtt.url,
    stop: () => {
      stopping.abort();
      ticker.stop();
      return shutDown(
        [
          { name: 'runs', deadlineMs: 4_500, run: () => worker.stop(3_500) },
          { name: 'membership', deadlineMs: 1_000, run: () => leave() },
          { name: 'http', deadlineMs: 300, run: () => monitor?.stop() },
          { name: 'constituencies', deadlineMs: 200, run: () => constituencies?.stop() },
          {
            name: 'mqtt',
            deadlineMs: 1_000,
            run: () => link.stop([processMessage(topics, number, 'offline')], 800),
          },
          { name: 'beat', deadlineMs: 200, run: () => beating },
          { name: 'database', deadlineMs: 500, run: () => opened.close() },
        ],
        clock,
        log,
      );
    },
  };
}
