// The commands of Home Assistant's Energy dashboard, and what its registry calls our entities.
import type { Command, HomeAssistant } from './connection.ts';
import type { Preferences, Source } from './energySources.ts';
import { HomeAssistantTrouble } from './trouble.ts';

/** Without preferences yet there are no sources. Rejects with HomeAssistantTrouble, as everything here. */
export async function readPreferences(home: HomeAssistant): Promise<Preferences> {
  const reply = await ask(home, { type: 'energy/get_prefs' }).catch((err: unknown) => {
    if (err instanceof HomeAssistantTrouble && err.detail === 'not_found') return { energy_sources: [] };
    throw err;
  });
  const sources = listIn(Object(reply).energy_sources);
  return { ...Object(reply), energy_sources: sources };
}

/** What is not named stays as it is: the lists of devices. */
export const saveSources = (home: HomeAssistant, energy_sources: readonly Source[]): Promise<unknown> =>
  ask(home, { type: 'energy/save_prefs', energy_sources });

/** The entities of MQTT that are not disabled, by unique id: a person may have given them other ids. */
export async function mqttEntities(home: HomeAssistant): Promise<ReadonlyMap<string, string>> {
  const entries = listIn(await home.send({ type: 'config/entity_registry/list' }));
  const ours = entries.filter(({ platform, disabled_by: disabled }) => platform === 'mqtt' && !disabled);
  return new Map(ours.map(({ unique_id, entity_id }) => [String(unique_id), String(entity_id)]));
}

/** Gas sources have names since 2026.6; before, an unknown key was refused. */
export function takesNames({ version }: Pick<HomeAssistant, 'version'>): boolean {
  const [year = Number.NaN, month = 0] = version.split('.').map(Number);
  return Number.isNaN(year) || year > 2026 || (year === 2026 && month >= 6);
}

async function ask(home: HomeAssistant, command: Command): Promise<unknown> {
  try {
    return await home.send(command);
  } catch (err) {
    if (!(err instanceof HomeAssistantTrouble)) throw err;
    if (err.kind === 'no_recorder') throw new HomeAssistantTrouble('no_energy');
    if (err.kind === 'refused') throw new HomeAssistantTrouble('energy_refused', err.detail);
    throw err;
  }
}

function listIn(value: unknown): readonly Source[] {
  const isWell = Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null);
  if (!isWell) throw new HomeAssistantTrouble('strange', 'about the Energy dashboard');
  return value;
}
