// heat2mqtt uninstall: clears every retained topic and every device that this installation has left on the broker.

import { EXIT, failure } from '../foundation/failure.ts';
import { announcedCodec } from '../store/documents.ts';
import { clientIdOf } from '../store/installation.ts';
import { isDaemonRunning } from '../store/locks.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { type Command, type Io, isAgreed, mustBeAnswerable } from './command.ts';
import { findRetained, type RetainedMessages } from './retainedMessages.ts';
import { loadSettings, openSilentLog, type Settings } from './settings.ts';

/** Another heat2mqtt would bring everything back. */
const stillRunning = (where: string) =>
  failure('still_running', `heat2mqtt is running: it answers on ${where}, and would bring everything back.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'Stop it first, then try again.',
  });

const MOST_NAMED = 20;

export const uninstall: Command = async (given, io) => {
  mustBeAnswerable('uninstall', given, io);
  const settings = await loadSettings(given, io);
  const { mqtt, state_dir, fleet } = settings.config;
  if (mqtt.embedded !== false) {
    io.out('The broker is part of heat2mqtt and keeps nothing when it stops: there is nothing to clear.\n');
    io.out(whatIsLeft(settings));
    return EXIT.fine;
  }
  if (!fleet && (await isDaemonRunning(state_dir))) throw stillRunning(state_dir);
  const state = new StateDirectory(state_dir, await openSilentLog(settings.scrubber, io));
  const announced = state.document('announced', announcedCodec);
  const remembered = (await announced.read())?.topics ?? [];
  const retained = await findRetained(mqtt, await clientIdOf(state), remembered, io.clock);
  try {
    if (await retained.isInUse()) throw stillRunning(mqtt.base_topic);
    if (retained.topics.length === 0) {
      io.out(`Nothing of ${mqtt.base_topic} is retained at ${mqtt.url}.\n`);
    } else {
      tell(retained, mqtt.url, io);
      if (!(await isAgreed('Clear them all? Home Assistant then removes the devices.', given, io))) {
        io.out('Nothing was changed.\n');
        return EXIT.fine;
      }
      await retained.clear();
      io.out(`All ${retained.topics.length} are cleared.\n`);
    }
    await announced.remove();
  } finally {
    await retained.close();
  }
  io.out(whatIsLeft(settings));
  return EXIT.fine;
};

function tell({ topics, devices }: RetainedMessages, url: string, io: Io): void {
  const more = topics.length - MOST_NAMED;
  io.out(`At ${url}, topics: ${topics.length}, of them devices in Home Assistant: ${devices}\n`);
  for (const topic of topics.slice(0, MOST_NAMED)) io.out(`  ${topic}\n`);
  if (more > 0) io.out(`  and ${more} more\n`);
}

function whatIsLeft({ config, path }: Settings): string {
  const { accounts, home_assistant, fleet } = config;
  const rows = fleet
    ? [IN_DATABASE, ...at(path)]
    : [
        ...(accounts.length === 0 ? [] : ['the session at the provider: heat2mqtt logout ends it']),
        ...(home_assistant ? ["what is in Home Assistant's statistics: Developer tools, Statistics"] : []),
        `tokens and readings: the folder ${config.state_dir}`,
        ...at(path),
      ];
  return `What is left, and does nothing by itself:\n${rows.map((row) => `  ${row}\n`).join('')}`;
}

const at = (path: string | undefined): string[] => (path === undefined ? [] : [`the configuration: ${path}`]);
const IN_DATABASE = 'accounts, sessions and readings: the database of fleet.database_url';
