// The Energy dashboard of a pretend Home Assistant, and its registry of entities: answers by Home Assistant's rules.
import type { Fields } from './pretendRecorder.ts';

const GAS = [
  'type',
  'stat_energy_from',
  'stat_cost',
  'entity_energy_price',
  'number_energy_price',
  'stat_rate',
];

/** `switches`: who asks, and which version answers. */
export function openPretendEnergy(switches: () => { readonly isAdmin: boolean; readonly version: string }) {
  const kept = {
    /** `null`: nobody has set the dashboard up. */
    preferences: null as Fields | null,
    registry: [] as Fields[],
    isLoaded: true,
  };

  function save({ type: _, ...update }: Fields): unknown {
    if (!switches().isAdmin) throw { code: 'unauthorized' };
    const { energy_sources: sources } = update;
    if (!Array.isArray(sources) || Object.keys(update).length > 1) throw { code: 'invalid_format' };
    const [year = 0, month = 0] = switches().version.split('.').map(Number);
    const keys = year * 12 + month >= 2026 * 12 + 6 ? [...GAS, 'name'] : GAS;
    for (const source of sources as Fields[])
      if (source.type === 'gas' && Object.keys(source).some((key) => !keys.includes(key)))
        throw { code: 'invalid_format' };
    kept.preferences = {
      device_consumption: [],
      device_consumption_water: [],
      ...kept.preferences,
      energy_sources: sources,
    };
    return kept.preferences;
  }

  return {
    kept,
    knows: (type: unknown) => type === 'config/entity_registry/list' || String(type).startsWith('energy/'),
    answer(question: Fields): unknown {
      if (question.type === 'config/entity_registry/list') return kept.registry;
      if (kept.isLoaded && question.type === 'energy/save_prefs') return save(question);
      if (!kept.isLoaded || question.type !== 'energy/get_prefs') throw { code: 'unknown_command' };
      if (kept.preferences === null) throw { code: 'not_found' };
      return kept.preferences;
    },
  };
}
