// Home Assistant's Energy preferences: how they are read and saved, which gas sources are meters of this installation, and what adding
// or removing them changes.
import type { Command, HomeAssistant } from './connection.ts';
import { HomeAssistantTrouble } from './trouble.ts';

export type Source = Readonly<Record<string, unknown>>;

/** Home Assistant's own shape. */
export interface Preferences {
  readonly energy_sources: readonly Source[];
  readonly [key: string]: unknown;
}

type Way = 'statistics' | 'entity';

/** What Home Assistant has of a meter. */
export interface HeatMeter {
  readonly meter: string;
  readonly friendlyName: string | null;
  /** The id of its running energy, by each way of giving it; the entity is `null` while there is none. */
  readonly totals: Readonly<Record<Way, string | null>>;
  /** All ids that count its heat. */
  readonly ids: readonly string[];
  /** What is to be added; `null`: nothing of it is known yet. */
  readonly pair: { readonly energy: string; readonly cost: string | null } | null;
}

/** A gas source; `meter` and `way` are `null` where it is not one of this installation. */
export interface GasSource {
  readonly name: string | null;
  readonly energy: string | null;
  readonly cost: string | null;
  readonly meter: string | null;
  readonly way: Way | null;
}

export type Change = 'add' | 'remove';

export interface Plan {
  /** To be added or removed. */
  readonly changed: readonly GasSource[];
  /** All sources afterwards; those that are not changed are the very objects that were read. */
  readonly after: readonly Source[];
  /** A sentence for each meter that cannot be added. */
  readonly refusals: readonly string[];
}

export const gasSourcesOf = (sources: readonly Source[], meters: readonly HeatMeter[]): GasSource[] =>
  sources.filter(({ type }) => type === 'gas').map((source) => describe(source, meters));

/** `takesNames`: this Home Assistant knows names of gas sources. */
export function plan(
  change: Change,
  preferences: Preferences,
  meters: readonly HeatMeter[],
  takesNames: boolean,
): Plan {
  const { energy_sources: before } = preferences;
  if (change === 'remove') {
    const isOwn = (source: Source) => source.type === 'gas' && describe(source, meters).meter !== null;
    const own = before.filter(isOwn);
    return {
      changed: gasSourcesOf(own, meters),
      after: before.filter((source) => !own.includes(source)),
      refusals: [],
    };
  }
  const added: Source[] = [];
  const refusals: string[] = [];
  for (const meter of meters) {
    const { pair } = meter;
    const places = placesOf(preferences, meter.ids);
    const elsewhere = places.find(({ isGas, id }) => !isGas || id !== pair?.energy);
    if (elsewhere !== undefined) {
      refusals.push(
        `${meter.meter} is there already: ${elsewhere.id} is ${elsewhere.where}, and its heat would count twice.`,
      );
    } else if (pair === null) {
      refusals.push(`Home Assistant does not know ${meter.meter} yet: neither statistics nor entities.`);
    } else if (places.length === 0) {
      const name = meters.length === 1 ? 'Heat' : `Heat ${meter.friendlyName ?? meter.meter}`;
      added.push({
        type: 'gas',
        stat_energy_from: pair.energy,
        stat_cost: pair.cost,
        entity_energy_price: null,
        number_energy_price: null,
        ...(takesNames ? { name } : {}),
      });
    }
  }
  return { changed: gasSourcesOf(added, meters), after: [...before, ...added], refusals };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function describe(source: Source, meters: readonly HeatMeter[]): GasSource {
  const energy = textOf(source.stat_energy_from);
  const by = (way: Way) => meters.find(({ totals }) => energy !== null && totals[way] === energy);
  const way = by('statistics') ? 'statistics' : by('entity') ? 'entity' : null;
  return {
    name: textOf(source.name),
    energy,
    cost: textOf(source.stat_cost),
    meter: way && (by(way)?.meter ?? null),
    way,
  };
}

interface Place {
  readonly id: string;
  readonly isGas: boolean;
  readonly where: string;
}

/** Where one of the ids is counted. */
function placesOf({ energy_sources: sources, ...lists }: Preferences, ids: readonly string[]): Place[] {
  const among = (value: unknown, where: string, isGas = false): Place[] =>
    countedIn(value)
      .filter((id) => ids.includes(id))
      .map((id) => ({ id, isGas, where }));
  return [
    ...sources.flatMap((source) => among(source, `a ${source.type} source`, source.type === 'gas')),
    ...Object.values(lists).flatMap((list) => among(list, 'an individual device')),
  ];
}

// Grid sources were nested up to 2026.
function countedIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === 'string' ? (/^stat_(energy|consumption)/.test(key) ? [inner] : []) : countedIn(inner),
  );
}

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
