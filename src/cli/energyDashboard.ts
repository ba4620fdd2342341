// heat2mqtt energy-dashboard: shows, adds or removes the meters' gas sources in Home Assistant's Energy dashboard.
import { knownMeters } from '../accounts/names.ts';
import { energyDashboard as dashboardOf } from '../daemon/homeAssistant/energyDashboard.ts';
import { EXIT } from '../foundation/failure.ts';
import { isAgreed, mustBeAnswerable } from './agreement.ts';
import { type Io, refusal, wrongUsage } from './command.ts';
import type { Command, Given } from './commands.ts';
import { printLines, tableLines } from './printing.ts';
import { loadSettings, refuseInFleet } from './settings.ts';

const HOW_TO_GET_ONE = 'It needs url and token_file there: docs/home-assistant.md tells how to get a token.';

const COLUMNS = { Name: 'name', Energy: 'energy', Cost: 'cost', Meter: 'meter', By: 'way' } as const;

export const energyDashboard: Command<'energy-dashboard'> = async (given, io) => {
  const change = changeFrom(given, io);
  const { config, state } = await loadSettings(given, io);
  refuseInFleet(config.fleet, 'energy-dashboard', 'Home Assistant belongs to one household');
  if (!config.home_assistant) {
    const message = 'The configuration has no home_assistant.';
    throw refusal('no_home_assistant', message, HOW_TO_GET_ONE, EXIT.config);
  }
  const meters = (await knownMeters(state, config)).filter(({ isOwn }) => isOwn);
  const say = (...lines: readonly string[]) => printLines(lines, io);
  if (meters.length === 0) {
    io.err(`No meter is known in ${config.state_dir} yet: they are found by the first poll.\n`);
    if (change !== null) return EXIT.usage;
  }
  const deps = { section: config.home_assistant, baseTopic: config.mqtt.base_topic, clock: io.clock };
  const { gas, changed, refusals, cautions, digest } = await dashboardOf(deps, change ?? 'add', meters);
  if (change === null) {
    if (gas.length === 0) say('The Energy dashboard has no gas source.');
    else say("The Energy dashboard's gas sources:", ...tableLines(COLUMNS, gas));
    say(...refusals, ...changed.map(({ meter }) => `${meter} is not there: --add adds it.`));
    return EXIT.fine;
  }
  for (const refusal of refusals) io.err(`${refusal}\n`);
  if (changed.length === 0) {
    if (refusals.length > 0) return EXIT.usage;
    say(`Nothing to ${change}.`);
    return EXIT.fine;
  }
  say(`The Energy dashboard's gas sources to ${change}:`, ...tableLines(COLUMNS, changed));
  if (change === 'add') say(...cautions);
  if (!(await isAgreed(change === 'add' ? 'Add them?' : 'Remove them?', given, io))) return EXIT.fine;
  await dashboardOf(deps, change, meters, digest);
  say('Done. Everything else there is as it was.');
  return EXIT.fine;
};

function changeFrom(given: Given<'energy-dashboard'>, io: Io): 'add' | 'remove' | null {
  const { add, remove } = given.options;
  if (add && remove) throw wrongUsage('energy-dashboard takes --add or --remove, not both.');
  if (!add && !remove) return null;
  mustBeAnswerable('energy-dashboard', given, io);
  return add ? 'add' : 'remove';
}

export { energyDashboard as 'energy-dashboard' };
