// The gas sources of Home Assistant's Energy dashboard: those that are meters of this installation, and what adding or removing them changes.
import type { Preferences } from './commands.ts';

type Source = Preferences['energy_sources'][number];

type Way = 'statistics' | 'entity';

/** A meter's statistics at Home Assistant. */
export interface HeatMeter {
  readonly meter: string;
  readonly friendlyName: string | null;
  /** All ids that count its heat, each with the way in which it is given as its running energy, or `null`. */
  readonly ids: ReadonlyMap<string, Way | null>;
  /** The source to be added; `null`: its statistics do not exist yet. */
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
  /** They are to be added or removed. */
  readonly changed: readonly GasSource[];
  /** All sources afterwards; those that are not changed are the very objects that were read. */
  readonly after: readonly Source[];
  /** A sentence for each meter that cannot be added. */
  readonly refusals: readonly string[];
}

/** `takesNames`: this Home Assistant knows names of gas sources. */
export function plan(
  change: Change,
  preferences: Preferences,
  meters: readonly HeatMeter[],
  takesNames: boolean,
): Plan {
  const { energy_sources: before } = preferences;
  if (change === 'remove') {
    const isOfMeter = (source: Source) => gasSourcesOf([source], meters).some(({ meter }) => meter !== null);
    const removed = before.filter(isOfMeter);
    const after = before.filter((source) => !removed.includes(source));
    return { changed: gasSourcesOf(removed, meters), after, refusals: [] };
  }
  const added: Source[] = [];
  const refusals: string[] = [];
  for (const { meter, friendlyName, ids, pair } of meters) {
    const places = placesOf(preferences, ids);
    const elsewhere = places.find(({ isGas, id }) => !isGas || id !== pair?.energy);
    if (elsewhere !== undefined) {
      const { id, where } = elsewhere;
      refusals.push(`${meter} is there already: ${id} is ${where}, and its heat would count twice.`);
    } else if (pair === null) {
      refusals.push(`Home Assistant does not know ${meter} yet: neither statistics nor entities.`);
    } else if (places.length === 0) {
      const name = meters.length === 1 ? 'Heat' : `Heat ${friendlyName ?? meter}`;
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

export function gasSourcesOf(sources: readonly Source[], meters: readonly HeatMeter[]): GasSource[] {
  const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
  return sources
    .filter(({ type }) => type === 'gas')
    .map((source) => {
      const energy = textOf(source.stat_energy_from);
      const owner = meters.find(({ ids }) => energy !== null && ids.get(energy));
      const way = owner?.ids.get(energy ?? '') ?? null;
      return {
        name: textOf(source.name),
        energy,
        cost: textOf(source.stat_cost),
        meter: owner?.meter ?? null,
        way,
      };
    });
}

/** The sources that count one of the ids. */
function placesOf({ energy_sources: sources, ...lists }: Preferences, ids: HeatMeter['ids']) {
  const among = (value: unknown, where: string, isGas = false) =>
    countedIn(value)
      .filter((id) => ids.has(id))
      .map((id) => ({ id, isGas, where }));
  return [
    ...sources.flatMap((source) => among(source, `a ${source.type} source`, source.type === 'gas')),
    ...Object.values(lists).flatMap((list) => among(list, 'an individual device')),
  ];
}

// Grid sources were nested up to 2026.
function countedIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== 'string') return countedIn(inner);
    return /^stat_(energy|consumption)/.test(key) ? [inner] : [];
  });
}
