// The living house: what is wired to what, what starts when, and what stops when.
import { KeepAlive } from '../auth/keepAlive.ts';
import type { Config } from '../config/schema.ts';
import type { Reason } from '../domain/health.ts';
import { zone as zoneOf } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Log, Scrubber } from '../foundation/log.ts';
import { Link } from '../mqtt/link.ts';
import { requestListener } from '../mqtt/requests.ts';
import { stateMessage } from '../publication/bridge.ts';
import { transaction } from '../publication/payloads/requests.ts';
import { Topics } from '../publication/topics.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { openHousehold } from './accounts/accounts.ts';
import { openTally, tallyPoll } from './monitor/counters.ts';
import { startWatch } from './monitor/watch.ts';
import { startHeartbeat } from './polling/heartbeat.ts';
import { openPoller } from './polling/poll.ts';
import { isFresh, type StartTicker, startSchedule } from './polling/schedule.ts';
import { openTurns } from './polling/turns.ts';
import { openAnnouncer } from './publishing/announce.ts';
import { brokerAddress, protocolVersions, startEmbedded } from './publishing/broker.ts';
import { openEvents } from './publishing/events.ts';
import { birthOf } from './publishing/homeAssistantStatus.ts';
import { openInstallation } from './publishing/installation.ts';
import { openNews } from './publishing/publisher.ts';
import { openRecollection, type Recollection } from './publishing/restore.ts';
import { openTruth } from './publishing/snapshot.ts';
import { statisticsFor } from './publishing/statistics.ts';
import { Constituencies } from './requests/constituencies.ts';
import { requestHandlers } from './requests/handlers.ts';
import { shutDown } from './shutdown.ts';

export interface DaemonParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly scrubber: Scrubber;
  /** Draws from [0, 1). */
  readonly random: () => number;
  readonly startTicker: StartTicker;
}

export interface Daemon {
  /** Where HTTP is served; `null` when it is off or its port is taken. */
  readonly httpPort: number | null;
  /** The address of the broker in use. */
  readonly brokerUrl: string;
  /** Says `offline` and leaves, within 8 seconds. */
  stop(): Promise<void>;
}

export async function startDaemon(parts: DaemonParts): Promise<Daemon> {
  const { config, clock, log, random } = parts;
  const { mqtt, usage } = config;
  const startedAt = clock.now();
  const zone = zoneOf(usage.timezone);
  const topics = new Topics(mqtt.base_topic);
  const state = await StateDirectory.open(config.state_dir, log);
  const installation = await openInstallation(state, random, log);
  const embedded = await startEmbedded(mqtt);
  const brokerUrl = embedded?.url ?? mqtt.url;
  const tally = openTally();
  const ownReasons: Reason[] = [];
  const accountIds = config.accounts.map(({ id }) => id);
  const news = openNews({ accountIds, voices: () => ({ announcer, events, link }), clock });
  const keepAlives = new Map<string, KeepAlive>();
  let recollection: Recollection | null = null;

  const turns = openTurns(usage.concurrency);
  const accounts = await openHousehold({
    ...parts,
    state,
    zone,
    turns,
    tally,
    onOpened: async (meter) => recollection?.settle(meter),
    onChange(account) {
      keepAlives.get(account)?.wake();
      news.publish(account);
    },
    onBills: (account, bills) => link.publish(events.ofBills(account, bills)),
  });
  const poller = openPoller({
    accounts,
    turns,
    clock,
    log,
    random,
    onPolled(outcome, before) {
      tallyPoll(tally, outcome);
      link.publish(events.ofPoll(outcome, before));
      news.publish(outcome.account);
    },
    onOutcome() {
      statistics?.wake();
      news.publishBridge();
    },
  });
  const schedule = startSchedule({
    ...parts,
    expression: accounts.length > 0 ? usage.schedule : null,
    timezone: usage.timezone,
    jitterMs: installation.jitterFraction * usage.jitter_seconds * 1000,
    poller,
  });
  const truth = openTruth({
    config,
    accounts,
    zone,
    clock,
    startedAt,
    ownReasons: () => [...ownReasons, ...(state.fault === null ? [] : [safeWords(state.fault)])],
    troubles: () => poller.troubles,
    nextPollAt: schedule.nextPollAt,
    statistics: () => statistics,
  });
  const { publish: publishNews, sayBridge: publishNow } = news;
  const statistics = statisticsFor({ ...parts, accounts, meters: truth.meters, zone, publishNews });
  recollection = openRecollection({
    accounts,
    topics,
    // A poll under way may have passed the meter already.
    onReopened: () => void poller.poll('all').then((done) => (truth.isWhole() ? done : poller.poll('all'))),
    log,
  });
  const events = openEvents({ accounts, truth, topics, zone, clock });
  const constituencies = await Constituencies.open({ ...parts, topics, zone, state, publishNow });
  const announcer = await openAnnouncer({ config, topics, truth, constituencies, state, clock, log });

  const birth = birthOf(mqtt.discovery_prefix, {
    clock,
    random,
    onBirth() {
      link.publish(news.everything());
      statistics?.wake();
    },
  });
  const link = new Link({
    address: () => brokerAddress(mqtt, brokerUrl, installation.clientId),
    versions: protocolVersions(mqtt),
    will: stateMessage(topics, 'offline'),
    subscriptions: [topics.requests, ...birth.subscriptions],
    clock,
    log,
    random,
  });
  const answer = requestListener({
    ...parts,
    baseTopic: mqtt.base_topic,
    transaction,
    guarded: mqtt.discovery_prefix === false ? [] : [mqtt.discovery_prefix],
    handlers: requestHandlers({
      accounts,
      poller,
      truth,
      constituencies,
      statistics,
      zone,
      clock,
      publishNews,
    }),
    publish: (messages) => link.publish(messages),
  });
  link.start({
    announcement: news.everything,
    onMessage: (incoming) => void (birth.concerns(incoming) ? birth.hear(incoming) : answer(incoming)),
    onDelivered(message) {
      announcer.delivered(message);
      news.resume();
    },
    // The embedded broker starts empty.
    ...(embedded ? {} : { restore: recollection }),
  });
  news.open();

  const heartbeat = startHeartbeat({ accounts, poller, state, clock, log, publishNews });
  const watch = await startWatch({ config, accounts, truth, link, heartbeat, tally, startedAt, clock });
  if (watch.fault !== null) {
    log.error({ err: watch.fault }, 'no HTTP: health and metrics cannot be asked for');
    ownReasons.push(safeWords(watch.fault));
  }
  for (const { id, upstream } of config.provider?.keep_alive ? accounts : []) {
    const { session } = upstream;
    keepAlives.set(id, new KeepAlive(session, turns.take, clock, random, log.child({ account: id })));
  }
  statistics?.wake();
  if (!isFresh(accounts, schedule.step(), clock.now())) void poller.poll('all');
  else if (accounts.length > 0) log.info('the last poll is fresh: none at start');

  async function rest(): Promise<void> {
    await Promise.all([constituencies, ...keepAlives.values()].map((alive) => alive?.stop()));
    await Promise.all(accounts.map((account) => account.settled()));
  }
  return {
    httpPort: watch.port,
    brokerUrl,
    stop: () =>
      shutDown(
        [
          { name: 'schedule', deadlineMs: 200, run: schedule.stop },
          { name: 'poll', deadlineMs: 2_000, run: poller.stop },
          { name: 'heartbeat', deadlineMs: 500, run: heartbeat.stop },
          { name: 'session', deadlineMs: 1_000, run: rest },
          { name: 'http', deadlineMs: 300, run: watch.stop },
          { name: 'home assistant', deadlineMs: 400, run: () => statistics?.stop() },
          { name: 'mqtt', deadlineMs: 2_500, run: () => link.stop([stateMessage(topics, 'offline')], 2_000) },
          { name: 'state', deadlineMs: 500, run: announcer.saved },
          { name: 'broker', deadlineMs: 300, run: () => embedded?.stop() },
        ],
        clock,
        log,
      ),
  };
}
