// Wires the daemon together, starts it and stops it.
import { type Account, openAccounts } from '../accounts/account.ts';
import { eventsOfRefresh, isIncomplete } from '../accounts/composition.ts';
import type { AccountContext } from '../accounts/context.ts';
import { Counters } from '../accounts/metrics.ts';
import { strayNamesWarning } from '../accounts/names.ts';
import { keepAlive } from '../auth/keepAlive.ts';
import { openConstituencies } from '../constituencies/onDemand.ts';
import type { Reason } from '../domain/health.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import type { LogTail } from '../foundation/log.ts';
import { shutDown } from '../foundation/shutdown.ts';
import { brokerAddress, startEmbedded } from '../mqtt/broker.ts';
import { openLink } from '../mqtt/link.ts';
import type { Incoming } from '../mqtt/message.ts';
import { openRequests } from '../mqtt/requests.ts';
import { stateMessage } from '../publication/messages.ts';
import { transaction } from '../publication/payloads/requests.ts';
import { Topics } from '../publication/topics.ts';
import { openInstallation } from '../store/documents.ts';
import { directoryNotices, StateDirectory } from '../store/stateDirectory.ts';
import type { Ingress } from '../web/server.ts';
import { type Context, Signals } from './context.ts';
import { openOutdoorTemperatures } from './homeAssistant/outdoorTemperatures.ts';
import { openStatistics } from './homeAssistant/statistics.ts';
import { isHealthy, startMonitor } from './monitor/monitor.ts';
import { openPoller } from './polling/poller.ts';
import { type StartTicker, startHeartbeat, startSchedule } from './polling/schedule.ts';
import { openBridgeStatus } from './publishing/bridgeStatus.ts';
import { historyOnBroker, openPublisher } from './publishing/publisher.ts';
import { requestHandlers, tellingSkipped } from './requests/handlers.ts';

const LONGEST_STATUS_WAIT_MS = 2_000;

export interface DaemonOptions
  extends Pick<Context, 'config' | 'clock' | 'log' | 'scrubber' | 'random' | 'openProvider' | 'scryptCost'> {
  readonly startTicker: StartTicker;
  /** The newest lines of `log`. */
  readonly logTail: LogTail;
  /** What `heat2mqtt report` prints. */
  readonly report: () => Promise<string>;
  /** What is wrong from the start, and was said in the log. */
  readonly notices?: readonly Reason[];
  /** Within an app of Home Assistant. */
  readonly ingress: Ingress | null;
}

export interface Daemon {
  /** Where HTTP is served; `null` when it is off or its port is taken. */
  readonly httpPort: number | null;
  /** The address of the broker in use. */
  readonly brokerUrl: string;
  /** The same as /healthz says, also while HTTP is off. */
  isHealthy(): boolean;
  /** Publishes `offline` and ends everything, within 8 seconds. */
  stop(): Promise<void>;
}

export async function startDaemon({
  startTicker,
  logTail,
  report,
  notices = [],
  ingress,
  ...options
}: DaemonOptions): Promise<Daemon> {
  const { config, clock, log, random } = options;
  const { mqtt, usage } = config;
  const { discovery_prefix: prefix } = mqtt;
  const state = await StateDirectory.open(config.state_dir, log);
  const installation = await openInstallation(state, random);
  const signals = new Signals();
  const zone = zoneOf(usage.timezone);
  const topics = new Topics(mqtt.base_topic);
  const outdoor = await openOutdoorTemperatures({ ...options, state, zone });
  const forAccounts: AccountContext = {
    ...options,
    state,
    zone,
    outdoor,
    topics,
    counters: new Counters(),
    changed: (account) => void signals.emit('accountChanged', account),
    limit: concurrencyLimit(usage.concurrency),
  };
  const history = historyOnBroker(topics, log);
  const accounts = await openAccounts(forAccounts, history.restore);
  // The first bridge/health tells how long each session lives, although no poll has used it yet.
  await Promise.all(accounts.map(({ upstream }) => upstream.session.current().catch(() => null)));
  const unsafe = await directoryNotices(config.state_dir, process.getuid?.());
  for (const { message, ...notice } of unsafe) log.warn(notice, message);

  const embedded = await startEmbedded(mqtt);
  const brokerUrl = embedded?.url ?? mqtt.url;
  const statusTopic = prefix === false ? null : `${prefix}/status`;
  const link = openLink({
    address: () => brokerAddress(mqtt, brokerUrl, installation.clientId),
    will: stateMessage(topics, 'offline'),
    subscriptions: [topics.requests, ...(statusTopic === null ? [] : [statusTopic])],
    // A retained request would be asked again at each connection.
    retainAsPublished: [topics.requests],
    clock,
    log,
    random,
  });
  const context: Context = { ...forAccounts, state, accounts, link, signals };
  const poller = openPoller(context);
  const jitterMs = installation.jitterFraction * usage.jitter_seconds * 1000;
  const schedule = startSchedule(poller, jitterMs, startTicker, context);
  const statistics = openStatistics(outdoor, context);
  const bridgeStatus = openBridgeStatus({ poller, schedule, statistics }, context);
  bridgeStatus.ownReasons.push(...notices, ...unsafe);
  const tellSkipped = tellingSkipped(context);
  const constituencies =
    config.constituencies === undefined
      ? null
      : await openConstituencies(config.constituencies, {
          ...context,
          publishNow() {
            publisher.publishBridgeNow();
            signals.emit('bridgeChanged');
          },
          onPostponed: tellSkipped,
        });
  const publisher = await openPublisher(bridgeStatus, constituencies, context);
  const warnOfStrayNames = strayNamesWarning(accounts, config.meters, log);
  warnOfStrayNames();
  signals.on('pollEnded', warnOfStrayNames);
  signals.on('pollEnded', () => signals.emit('bridgeChanged'));

  const parts = { poller, bridgeStatus, constituencies };
  const requests = openRequests({
    clock,
    log,
    baseTopic: mqtt.base_topic,
    protectedTopics: prefix === false ? [] : [prefix],
    handlers: requestHandlers({ ...parts, statistics, tellSkipped }, context),
    transaction,
    publish: (messages) => link.publish(messages),
  });
  link.start({
    announcement: () => publisher.everything(),
    onMessage: (incoming) =>
      void (incoming.topic === statusTopic ? onHomeAssistantStatus(incoming) : requests.onMessage(incoming)),
    onDelivered: (message) => publisher.delivered(message),
    onRefusals: () => void signals.emit('bridgeChanged'),
    onPassing: (message) => void signals.emit('passing', message),
    onStatus: () => void signals.emit('brokerChanged'),
    // A broker of our own has nothing retained yet.
    ...(embedded ? {} : { restore: history.reader(accounts, () => void pollUntilComplete()) }),
  });
  const heartbeat = startHeartbeat(poller, context);
  const openKeepAlive = (account: Account) => {
    const { id, upstream } = account;
    const { session } = upstream;
    return keepAlive({
      session,
      limit: context.limit,
      clock,
      random,
      log: log.child({ account: id }),
      onFault(err) {
        const told = eventsOfRefresh(account, err, context);
        link.publish(told);
        if (told.length > 0) statistics?.wake();
        const { state, accessExpiresAt } = session.status();
        // Nothing is left to be kept alive: the retries of the poll go on.
        if (state === 'provider_down' && accessExpiresAt === null) poller.retryNow(id, true);
      },
      onRecovery: () => poller.retryNow(id),
    });
  };
  const keptAlive = config.provider?.keep_alive ? accounts : [];
  const keepAlives = new Map(keptAlive.map((account) => [account.id, openKeepAlive(account)]));
  signals.on('accountChanged', (id) => keepAlives.get(id)?.wake());
  const monitor = await startMonitor({ ...parts, requests, logTail, report, heartbeat, ingress }, context);
  statistics?.wake();
  if (accounts.length === 0) log.info('no account is configured: nothing to poll');
  else if (schedule.isRecent()) log.info('skipping the poll at start: the last one is recent');
  else void poller.poll();

  /** When Home Assistant has started, it wants to be told what its entities read. */
  async function onHomeAssistantStatus({ retained, payload }: Incoming): Promise<void> {
    if (retained || payload.toString('utf8') !== 'online') return;
    // All its bridges tell it everything at this moment: not all at once.
    await clock.sleep(random() * LONGEST_STATUS_WAIT_MS);
    link.publish(publisher.forHomeAssistant());
    statistics?.wakeAnew();
  }
  /** A poll under way may have passed the meter whose history has to be read again. One that failed has its retry. */
  async function pollUntilComplete(): Promise<void> {
    const hasFailed = (id: string) => (poller.troubles.get(id)?.failuresInARow ?? 0) > 0;
    const mayRead = () => accounts.some((one) => isIncomplete(one) && !hasFailed(one.id));
    for (let polls = 0; polls < 2 && mayRead(); polls += 1) await poller.poll();
  }
  async function stopSessions(): Promise<void> {
    await Promise.all([constituencies, ...keepAlives.values()].map((running) => running?.stop()));
    await Promise.all(accounts.map((account) => account.settled()));
  }
  return {
    httpPort: monitor?.port ?? null,
    brokerUrl,
    isHealthy: () => isHealthy(heartbeat, context),
    stop: () =>
      shutDown(
        [
          { name: 'schedule', deadlineMs: 200, run: () => schedule.stop() },
          { name: 'poll', deadlineMs: 2_000, run: () => poller.stop() },
          { name: 'heartbeat', deadlineMs: 500, run: () => heartbeat.stop() },
          { name: 'session', deadlineMs: 1_000, run: stopSessions },
          { name: 'http', deadlineMs: 300, run: () => monitor?.stop() },
          { name: 'home assistant', deadlineMs: 400, run: () => statistics?.stop() },
          { name: 'mqtt', deadlineMs: 2_500, run: () => link.stop([stateMessage(topics, 'offline')], 2_000) },
          { name: 'state', deadlineMs: 500, run: () => publisher.saved().finally(() => state.unlock()) },
          { name: 'broker', deadlineMs: 300, run: () => embedded?.stop() },
        ],
        clock,
        log,
      ),
  };
}
