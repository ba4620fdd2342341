// Wires the daemon together, starts it and stops it.

import { isIncomplete } from '../accounts/composition.ts';
import { eventsOfInvoices, eventsOfPoll, eventsOfRefresh } from '../accounts/events.ts';
import { strayNamesWarning } from '../accounts/friendlyNames.ts';
import { Counters } from '../accounts/metrics.ts';
import { openAccounts } from '../accounts/openAccounts.ts';
import { type KeepAlive, keepAlive } from '../auth/keepAlive.ts';
import { openConstituencies } from '../constituencies/onDemand.ts';
import type { Reason } from '../domain/health.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import type { LogTail } from '../foundation/log.ts';
import { shutDown } from '../foundation/shutdown.ts';
import { brokerAddress, startEmbedded } from '../mqtt/broker.ts';
import { Link } from '../mqtt/link.ts';
import type { Incoming } from '../mqtt/message.ts';
import { openRequests } from '../mqtt/requests.ts';
import { stateMessage } from '../publication/bridgeMessages.ts';
import { transaction } from '../publication/payloads/requests.ts';
import { Topics } from '../publication/topics.ts';
import { openInstallation } from '../store/documents.ts';
import { directoryNotices, StateDirectory } from '../store/stateDirectory.ts';
import type { Ingress } from '../web/server.ts';
import { type Context, Signals } from './context.ts';
import { openOutdoorTemperatures } from './homeAssistant/outdoorTemperatures.ts';
import { openStatistics } from './homeAssistant/statistics.ts';
import { startMonitor } from './monitor/monitor.ts';
import { startHeartbeat } from './polling/heartbeat.ts';
import { openPoller } from './polling/poller.ts';
import { type StartTicker, startSchedule } from './polling/schedule.ts';
import { openBridgeStatus } from './publishing/bridgeStatus.ts';
import { historyOnBroker } from './publishing/historyOnBroker.ts';
import { openPublisher } from './publishing/publisher.ts';
import { requestHandlers, skippedRequests } from './requests/handlers.ts';

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
  const state = await StateDirectory.open(config.state_dir, log);
  const installation = await openInstallation(state, random, log);
  const signals = new Signals();
  const counters = new Counters();
  const zone = zoneOf(usage.timezone);
  const outdoor = await openOutdoorTemperatures({ ...options, state, zone });
  const context: Context = {
    ...options,
    state,
    zone,
    outdoor,
    topics: new Topics(mqtt.base_topic),
    counters,
    signals,
    limit: concurrencyLimit(usage.concurrency),
  };
  const { topics } = context;

  const restore = historyOnBroker(topics, log);
  const accounts = await openAccounts(context, restore);
  // The first bridge/health tells how long each session lives, although no poll has used it yet.
  await Promise.all(accounts.map(({ upstream }) => upstream.session.current().catch(() => null)));
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const poller = openPoller(accounts, context);
  const jitterMs = installation.jitterFraction * usage.jitter_seconds * 1000;
  const schedule = startSchedule(accounts, poller, jitterMs, startTicker, context);
  const statistics = openStatistics(accounts, outdoor, context);
  const bridgeStatus = openBridgeStatus({ accounts, poller, schedule, statistics }, context);
  const unsafe = await directoryNotices(config.state_dir, process.getuid?.());
  for (const { message, ...notice } of unsafe) log.warn(notice, message);
  bridgeStatus.ownReasons.push(...notices, ...unsafe);

  const embedded = await startEmbedded(mqtt);
  const brokerUrl = embedded?.url ?? mqtt.url;
  const statusTopic = mqtt.discovery_prefix === false ? null : `${mqtt.discovery_prefix}/status`;
  const link = new Link({
    address: () => brokerAddress(mqtt, brokerUrl, installation.clientId),
    will: stateMessage(topics, 'offline'),
    subscriptions: [topics.requests, ...(statusTopic === null ? [] : [statusTopic])],
    // A retained request would be asked again at each connection.
    retainAsPublished: [topics.requests],
    clock,
    log,
    random,
  });
  const constituencies =
    config.constituencies === undefined
      ? null
      : await openConstituencies(config.constituencies, {
          ...context,
          publishNow() {
            publisher.publishBridgeNow();
            signals.emit('bridgeChanged');
          },
          onPostponed: (postponed) => void signals.emit('requestSkipped', postponed),
        });
  const publisher = await openPublisher({ accounts, bridgeStatus, constituencies, link }, context);
  signals.on('polled', (outcome, before) => {
    counters.countPoll(outcome.fault);
    const account = byId.get(outcome.account);
    if (account) link.publish(eventsOfPoll(account, outcome, before !== undefined, context));
    signals.emit('accountChanged', outcome.account);
  });
  const eventsOfSkipped = skippedRequests(context);
  const warnOfStrayNames = strayNamesWarning(accounts, context);
  warnOfStrayNames();
  signals.on('pollEnded', warnOfStrayNames);
  signals.on('pollEnded', () => {
    statistics?.wake();
    signals.emit('bridgeChanged');
  });
  signals.on('requestSkipped', (skipped) => link.publish(eventsOfSkipped(skipped)));
  signals.on('newInvoices', (id, invoices) => {
    const account = byId.get(id);
    if (account) link.publish(eventsOfInvoices(account, invoices, context));
  });

  const requests = openRequests({
    clock,
    log,
    baseTopic: mqtt.base_topic,
    protectedTopics: mqtt.discovery_prefix === false ? [] : [mqtt.discovery_prefix],
    handlers: requestHandlers({ accounts, poller, bridgeStatus, constituencies, statistics }, context),
    transaction,
    publish: (messages) => link.publish(messages),
  });
  link.start({
    announcement: () => publisher.everything(),
    onMessage: (incoming) =>
      void (incoming.topic === statusTopic ? onHomeAssistantStatus(incoming) : requests.onMessage(incoming)),
    onDelivered: (message) => publisher.delivered(message),
    onPassing: (message) => void signals.emit('passing', message),
    onStatus: () => void signals.emit('brokerChanged'),
    // A broker of our own has nothing retained yet.
    ...(embedded ? {} : { restore: restore.reader(accounts, () => void pollUntilComplete()) }),
  });
  const heartbeat = startHeartbeat(accounts, poller, context);
  const keepAlives = new Map<string, KeepAlive>();
  for (const account of config.provider?.keep_alive ? accounts : []) {
    const { id } = account;
    const ownLog = log.child({ account: id });
    const { session } = account.upstream;
    const onFault = (err: unknown) => {
      const told = eventsOfRefresh(account, err, context);
      link.publish(told);
      if (told.length > 0) statistics?.wake();
      const { state, accessExpiresAt } = session.status();
      // Nothing is left to be kept alive: the retries of the poll go on.
      if (state === 'provider_down' && accessExpiresAt === null) poller.retryNow(id, true);
    };
    const onRecovery = () => poller.retryNow(id);
    const { limit } = context;
    keepAlives.set(id, keepAlive({ session, limit, clock, random, log: ownLog, onFault, onRecovery }));
  }
  signals.on('accountChanged', (account) => keepAlives.get(account)?.wake());
  const served = {
    accounts,
    poller,
    bridgeStatus,
    constituencies,
    link,
    requests,
    logTail,
    report,
    heartbeat,
    ingress,
  };
  const monitor = await startMonitor(served, context);
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
    const inTrouble = (id: string) => poller.troubles.some(({ account }) => account === id);
    const mayRead = () => accounts.some((account) => isIncomplete(account) && !inTrouble(account.id));
    for (let polls = 0; polls < 2 && mayRead(); polls += 1) await poller.poll();
  }
  async function stopSessions(): Promise<void> {
    await Promise.all([constituencies, ...keepAlives.values()].map((running) => running?.stop()));
    await Promise.all(accounts.map((account) => account.settled()));
  }
  return {
    httpPort: monitor?.port ?? null,
    brokerUrl,
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
