// Wires the daemon together, starts it and stops it.
import type { AccountContext } from '../accounts/context.ts';
import { Counters } from '../accounts/metrics.ts';
import { strayNamesWarning } from '../accounts/names.ts';
import { openAccounts } from '../accounts/openAccounts.ts';
import { Constituencies } from '../constituencies/onDemand.ts';
import type { Reason } from '../domain/health.ts';
import { zone as zoneOf } from '../domain/period.ts';
import type { NextTick } from '../engine/schedule.ts';
import { concurrencyLimit, Paced } from '../foundation/limits.ts';
import type { LogTail } from '../foundation/log.ts';
import { shutDown } from '../foundation/shutdown.ts';
import { brokerAddress, startEmbedded } from '../mqtt/broker.ts';
import { Link } from '../mqtt/link.ts';
import type { Incoming } from '../mqtt/message.ts';
import { Requests } from '../mqtt/requests.ts';
import { stateMessage } from '../publication/messages.ts';
import { transaction } from '../publication/payloads/requests.ts';
import {
  homeAssistantStatus,
  householdSubscriptions,
  witnessSubscriptions,
} from '../publication/subscriptions.ts';
import { Topics } from '../publication/topics.ts';
import { directoryNotices } from '../store/directoryNotices.ts';
import { openInstallation } from '../store/documents.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import type { Ingress } from '../web/server.ts';
import { type Context, Signals } from './context.ts';
import { openOutdoorTemperatures } from './homeAssistant/outdoorTemperatures.ts';
import { openStatistics, type Statistics } from './homeAssistant/statistics.ts';
import { isHealthy, startMonitor } from './monitor/monitor.ts';
import type { PageParts } from './monitor/page.ts';
import { beatsOf } from './polling/beats.ts';
import { Household } from './polling/household.ts';
import { watchBaseTopic } from './publishing/baseTopic.ts';
import { BridgeStatus } from './publishing/bridgeStatus.ts';
import { HistoryOnBroker } from './publishing/historyOnBroker.ts';
import { Publisher } from './publishing/publisher.ts';
import { requestHandlers, tellingSkipped } from './requests/handlers.ts';
import { openWitnesses, type Witnesses } from './witnesses.ts';

const LONGEST_STATUS_WAIT_MS = 2_000;
const ANNOUNCEMENT_REST_MS = 10_000;
/** Home Assistant's word when it has started. */
const BIRTH = Buffer.from('online');

type Options = Pick<
  Context,
  'config' | 'clock' | 'log' | 'scrubber' | 'random' | 'openProvider' | 'scryptCost'
>;

interface DaemonOptions extends Options {
  readonly nextTick: NextTick;
  /** The newest lines of `log`. */
  readonly logTail: LogTail;
  /** The text of `heat2mqtt report`. */
  readonly report: PageParts['report'];
  /** Troubles from the start on, which the log has told. */
  readonly notices?: readonly Reason[];
  /** The daemon runs in an app of Home Assistant. */
  readonly ingress: Ingress | null;
}

export interface Daemon {
  /** The address of HTTP; `null` when it is off or its port is taken. */
  readonly httpPort: number | null;
  /** The address of the broker in use. */
  readonly brokerUrl: string;
  /** The same as /healthz says, also while HTTP is off. */
  isHealthy(): boolean;
  /** Publishes `offline` and ends everything, within 8 seconds. */
  stop(): Promise<void>;
}

export async function startDaemon(given: DaemonOptions): Promise<Daemon> {
  const { nextTick, logTail, report, notices = [], ingress, ...options } = given;
  const opened = await openAll(options);
  const { context, installation, witnesses, history, outdoor, embedded, brokerUrl } = opened;
  const { config, clock, log, link, accounts, signals, state, topics } = context;
  const jitterMs = installation.jitterFraction * config.usage.jitter_seconds * 1000;
  const household = new Household(nextTick, jitterMs, context);
  const statistics = openStatistics(outdoor, context);
  const tellSkipped = tellingSkipped(context);
  const voice = await openVoice({ household, statistics, witnesses, tellSkipped }, context);
  const { publisher, bridgeStatus, constituencies, baseTopic } = voice;
  bridgeStatus.ownReasons.push(...notices, ...opened.unsafe);

  const parts = { household, bridgeStatus, constituencies };
  const handlers = requestHandlers({ ...parts, statistics, tellSkipped }, context);
  const { mqtt } = config;
  const requests = new Requests({ ...context, mqtt, branches: topics.branches, handlers, transaction });
  const announcement = openAnnouncement(publisher, statistics, context);
  // A broker of our own has nothing retained yet.
  if (!embedded) history.open(link, ({ account }) => void household.pollSoon(account, true));
  link.start({
    announcement: () => publisher.everything(),
    onMessage(incoming) {
      witnesses.hear(incoming);
      if (!announcement.hear(incoming) && !baseTopic.hear(incoming)) requests.onMessage(incoming);
    },
    onDelivered: (message) => publisher.delivered(message),
    onRefusals: () => void signals.emit('bridgeChanged'),
    onPassing: (message) => void signals.emit('passing', message),
    onStatus: () => void signals.emit('brokerChanged'),
    ...(embedded ? {} : { restore: (read) => history.atConnection(accounts, read) }),
  });
  const monitor = await startMonitor({ ...parts, requests, logTail, report, ingress }, context);
  statistics?.wake();
  household.start(beatsOf(household, context));

  async function stopSessions(): Promise<void> {
    await constituencies?.stop();
    await Promise.all(accounts.map((account) => account.settled()));
  }
  async function saveState(): Promise<void> {
    await Promise.all([publisher.saved(), witnesses.stop()]).finally(() => state.unlock());
  }
  const steps = [
    { name: 'poll', deadlineMs: 2_700, run: () => household.stop() },
    { name: 'session', deadlineMs: 1_000, run: stopSessions },
    { name: 'http', deadlineMs: 300, run: () => monitor?.stop() },
    { name: 'home assistant', deadlineMs: 400, run: () => statistics?.stop() },
    { name: 'mqtt', deadlineMs: 2_500, run: () => link.stop([stateMessage(topics, 'offline')], 2_000) },
    { name: 'state', deadlineMs: 500, run: saveState },
    { name: 'broker', deadlineMs: 300, run: () => embedded?.stop() },
  ];
  return {
    httpPort: monitor?.port ?? null,
    brokerUrl,
    isHealthy: () => isHealthy(household, context),
    stop() {
      baseTopic.stop();
      return shutDown(steps, clock, log);
    },
  };
}

/** Opens the state directory, the accounts and the way to the broker. */
async function openAll(options: Options) {
  const { config, clock, log, random } = options;
  const { mqtt, usage } = config;
  const state = await StateDirectory.open(config.state_dir, log);
  const installation = await openInstallation(state, random);
  const signals = new Signals();
  const zone = zoneOf(usage.timezone);
  const topics = new Topics(mqtt.base_topic);
  const outdoor = await openOutdoorTemperatures({ ...options, state, zone });
  const witnesses = await openWitnesses({ ...options, state, zone }, () => {
    signals.emit('bridgeChanged');
    for (const { id } of config.accounts) signals.emit('accountChanged', id);
  });
  const forAccounts: AccountContext = {
    ...options,
    state,
    zone,
    outdoor,
    witnessOf: witnesses.of,
    topics,
    counters: new Counters(),
    changed: (account) => void signals.emit('accountChanged', account),
    limit: concurrencyLimit(usage.concurrency),
  };
  const history = new HistoryOnBroker(topics, log);
  const accounts = await openAccounts(forAccounts, (meter) => history.restore(meter));
  // The first bridge/health tells how long each session lives, although no poll has used it yet.
  await Promise.all(accounts.map(({ upstream }) => upstream.session.current().catch(() => null)));
  const unsafe = await directoryNotices(config.state_dir, process.getuid?.());
  for (const { message, ...notice } of unsafe) log.warn(notice, message);

  const embedded = await startEmbedded(mqtt, options);
  const brokerUrl = embedded?.url ?? mqtt.url;
  const link = new Link({
    address: () => brokerAddress(mqtt, brokerUrl, installation.clientId),
    will: stateMessage(topics, 'offline'),
    subscriptions: householdSubscriptions(topics, mqtt.discovery_prefix, witnessSubscriptions(config.meters)),
    clock,
    log,
    random,
  });
  const context: Context = { ...forAccounts, state, accounts, link, signals };
  return { context, installation, witnesses, history, outdoor, unsafe, embedded, brokerUrl };
}

interface VoiceParts {
  readonly household: Household;
  readonly statistics: Statistics | null;
  readonly witnesses: Witnesses;
  readonly tellSkipped: ReturnType<typeof tellingSkipped>;
}

/** The bridge's own topics, and the parts that speak there. */
async function openVoice({ household, statistics, witnesses, tellSkipped }: VoiceParts, context: Context) {
  const { accounts, config, log, signals } = context;
  const baseTopic = watchBaseTopic(
    { everything: () => publisher.everything(), bridge: () => bridgeStatus.bridge() },
    context,
  );
  const bridgeStatus = new BridgeStatus({ household, statistics, baseTopic, witnesses }, context);
  const publishNow = () => {
    publisher.publishBridgeNow();
    signals.emit('bridgeChanged');
  };
  const constituencies =
    config.constituencies === undefined
      ? null
      : await Constituencies.open(config.constituencies, {
          ...context,
          publishNow,
          onPostponed: tellSkipped,
        });
  const publisher: Publisher = await Publisher.open(bridgeStatus, constituencies, context);
  const warnOfStrayNames = strayNamesWarning(accounts, config.meters, log);
  warnOfStrayNames();
  signals.on('pollEnded', warnOfStrayNames);
  signals.on('pollEnded', () => signals.emit('bridgeChanged'));
  signals.on('personNeeded', () => statistics?.wake());
  return { publisher, bridgeStatus, constituencies, baseTopic };
}

/** Home Assistant that has just started wants to be told what its entities read. */
function openAnnouncement(publisher: Publisher, statistics: Statistics | null, context: Context) {
  const { clock, link, random, config } = context;
  const { discovery_prefix: prefix } = config.mqtt;
  const statusTopic = prefix === false ? null : homeAssistantStatus(prefix);
  // It may be told to have started a thousand times, by a broken automation or a hostile client.
  const announcement = new Paced(clock, ANNOUNCEMENT_REST_MS, () => {
    link.publish(publisher.forHomeAssistant());
    statistics?.wakeAnew();
  });
  return {
    /** Tells whether the message is for it. */
    hear({ topic, retained, payload }: Incoming): boolean {
      if (topic !== statusTopic) return false;
      // All its bridges tell it everything at this moment: not all at once.
      if (!retained && payload.equals(BIRTH)) announcement.ask(random() * LONGEST_STATUS_WAIT_MS);
      return true;
    },
  };
}
