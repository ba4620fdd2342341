// heat2mqtt uninstall: clears every retained topic and every device that this installation has left on the broker, and tells
// what else is left.
import { existsSync } from 'node:fs';
import type { Mqtt } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import { openBroker } from '../mqtt/broker.ts';
import type { Incoming, Message } from '../mqtt/message.ts';
import { untilSilent } from '../mqtt/silence.ts';
import { clear, filtersOf, isDiscovery, isOurs, Topics } from '../publication/topics.ts';
import { announcedCodec } from '../store/documents.ts';
import { isDaemonRunning, mayBeRunning } from '../store/locks.ts';
import { canListenIn } from '../store/socket.ts';
import { isAgreed, mustBeAnswerable } from './agreement.ts';
import { refusal } from './command.ts';
import type { Command } from './commands.ts';
import { type Lines, printLines } from './printing.ts';
import { loadSettings, type Settings, secretsOf } from './settings.ts';

const stillRunning = (where: string) =>
  refusal(
    'still_running',
    `heat2mqtt is running: it answers on ${where}, and would bring everything back.`,
    'Stop it first, then try again.',
  );

const notCleared = (what: string, cause?: unknown) =>
  failure('not_cleared', what, {
    exit: EXIT.broker,
    retry: 'later',
    hint: 'Check that the broker lets mqtt.username write there. What was cleared stays cleared.',
    cause,
  });

const MOST_NAMED = 20;

export const uninstall: Command<'uninstall'> = async (given, io) => {
  mustBeAnswerable('uninstall', given, io);
  const settings = await loadSettings(given, io);
  const { mqtt, state_dir, fleet } = settings.config;
  if (mqtt.embedded !== false) {
    io.out('The broker is part of heat2mqtt and keeps nothing when it stops: there is nothing to clear.\n');
    printLines(whatIsLeft(settings), io);
    return EXIT.fine;
  }
  if (!fleet) await refuseDaemon(state_dir, given.options.force ?? false);
  const announced = settings.state.document('announced', announcedCodec);
  const broker = await openRetained(mqtt, io.clock);
  try {
    const shown = await broker.read();
    if (await broker.isInUse()) throw stillRunning(mqtt.base_topic);
    // A broker that does not let us read still lets the announced devices be cleared. That they cannot be read is told at the end.
    const stored = await announced.read().catch(() => null);
    const topics = [...new Set([...(shown ?? []), ...(stored?.topics ?? [])])].sort();
    if (topics.length === 0) {
      io.out(`Nothing of ${mqtt.base_topic} is retained at ${mqtt.url}.\n`);
    } else {
      const [devices, more] = [topics.filter(isDiscovery).length, topics.length - MOST_NAMED];
      io.out(`At ${mqtt.url}, topics: ${topics.length}, of them devices in Home Assistant: ${devices}\n`);
      for (const topic of topics.slice(0, MOST_NAMED)) io.out(`  ${topic}\n`);
      if (more > 0) io.out(`  and ${more} more\n`);
      if (!(await isAgreed('Clear them all? Home Assistant then removes the devices.', given, io)))
        return EXIT.fine;
      await broker.clear(topics);
      const left = shown && (await broker.read());
      if (shown && left === null) throw notCleared('The broker did not take it.');
      if (left?.length) throw notCleared(`The broker still keeps ${left.length}, such as ${left[0]}.`);
      io.out(`All ${topics.length} are cleared.\n`);
    }
    if (!(await announced.remove()) && settings.state.fault) throw settings.state.fault;
  } finally {
    await broker.close();
  }
  printLines(whatIsLeft(settings), io);
  return EXIT.fine;
};

/** A state directory that is not there is nobody's. */
async function refuseDaemon(stateDir: string, isForced: boolean): Promise<void> {
  if (await isDaemonRunning(stateDir)) throw stillRunning(stateDir);
  if (!isForced && existsSync(stateDir) && !(await canListenIn(stateDir))) throw mayBeRunning(stateDir);
}

function whatIsLeft({ config, path }: Settings): Lines {
  const { accounts, fleet, state_dir, home_assistant } = config;
  return [
    'What is left, and does nothing by itself:',
    !fleet &&
      accounts.length > 0 &&
      '  the session at the provider, unless you have signed out: heat2mqtt logout ends it, before the state directory is deleted',
    ...(home_assistant ? LEFT_IN_HOME_ASSISTANT : []),
    fleet
      ? '  accounts, sessions and readings: the database of fleet.database_url'
      : `  tokens and readings: the folder ${state_dir}`,
    path && `  the configuration: ${path}`,
    ...secretsOf(config).map(([name, secret]) => secret.path && `  ${name}: ${secret.path}`),
    '  the backups that you have made',
  ];
}

const LEFT_IN_HOME_ASSISTANT = [
  "  the meters in Home Assistant's Energy dashboard: heat2mqtt energy-dashboard --remove takes them out",
  "  what is in Home Assistant's statistics: Developer tools (since 2026.2 below Settings), Statistics",
  '  the access token in Home Assistant: your profile there, Security, deletes it',
];

const AT_ONCE = 32;
const LONGEST_ANSWER_MS = 2_000;

/** The retained topics of this installation. Rejects as `openBroker` does. */
async function openRetained(mqtt: Mqtt, clock: Clock) {
  const topics = new Topics(mqtt.base_topic);
  const filters = filtersOf(topics, mqtt.discovery_prefix);
  const retainedTopics = new Set<string>();
  let state = '';
  const answered = new AbortController();
  const onMessage = (incoming: Incoming): void => {
    const { topic, payload, retained } = incoming;
    if (topic === topics.of('bridge/state')) state = payload.toString('utf8');
    if (topic === topics.of('bridge/response/health') && !retained) answered.abort();
    if (retained && payload.length > 0 && isOurs(topics, incoming)) retainedTopics.add(topic);
  };
  const connection = await openBroker(mqtt, 'uninstall', clock, { onMessage });
  async function publish(message: Message): Promise<void> {
    const refusal = await connection.publish(message).catch((err: unknown) => err);
    if (refusal) throw notCleared('The broker did not take it.', refusal);
  }
  return {
    /** `null`: the broker does not let us read. Rejects when the connection ends while it is read. */
    async read(): Promise<readonly string[] | null> {
      retainedTopics.clear();
      try {
        // A second subscription to the same filter is a new one only after the end of the first.
        for (const filter of filters) connection.unsubscribe(filter);
        const refusals = await connection.subscribe(filters.map((filter) => ({ filter })));
        if (refusals.length > 0) return null;
      } catch {
        return null;
      }
      await untilSilent(connection, clock);
      return [...retainedTopics];
    },
    /** A daemon answers. One that was killed together with its broker has left `online` behind, and does not. */
    async isInUse(): Promise<boolean> {
      if (state !== 'online') return false;
      await publish({ topic: topics.of('bridge/request/health'), payload: '', retain: false });
      await clock.sleep(LONGEST_ANSWER_MS, answered.signal);
      return answered.signal.aborted;
    },
    /** Rejects with not_cleared. */
    async clear(topics: readonly string[]): Promise<void> {
      // Devices first: without them the states are not missed.
      const sorted = [...topics].sort((a, b) => Number(isDiscovery(b)) - Number(isDiscovery(a)));
      const limit = concurrencyLimit(AT_ONCE);
      await Promise.all(sorted.map((topic) => limit(() => publish(clear(topic)))));
    },
    close: () => connection.close(500),
  };
}
