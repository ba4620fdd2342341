// The Energy dashboard and the entity registry of a pretend Home Assistant.
import type { Fields } from './fields.ts';
import { type Answers, refuse } from './pretendRecorder.ts';

export function openPretendEnergy(switches: { readonly isAdmin: boolean }) {
  const kept = {
    /** `null`: nobody has set the dashboard up. */
    preferences: null as Fields | null,
    registry: [] as Fields[],
    isLoaded: true,
  };
  const answers: Answers = {
    'config/entity_registry/list_for_display': () => {
      const enabled = kept.registry.filter(({ disabled_by }) => disabled_by === null);
      return {
        entity_categories: {},
        entities: enabled.map((one) => ({ ei: one.entity_id, pl: one.platform })),
      };
    },
    'config/entity_registry/get_entries': ({ entity_ids }) =>
      Object.fromEntries(
        (entity_ids as string[]).map((id) => [id, kept.registry.find((one) => one.entity_id === id) ?? null]),
      ),
    'energy/get_prefs'() {
      if (!kept.isLoaded) refuse('unknown_command');
      return kept.preferences ?? refuse('not_found');
    },
    'energy/save_prefs'({ type: _, ...update }) {
      if (!kept.isLoaded) refuse('unknown_command');
      if (!switches.isAdmin) refuse('unauthorized');
      const { energy_sources, ...others } = update;
      if (!Array.isArray(energy_sources) || Object.keys(others).length > 0) refuse('invalid_format');
      const usual = { device_consumption: [], device_consumption_water: [] };
      kept.preferences = { ...usual, ...kept.preferences, energy_sources };
      return kept.preferences;
    },
  };
  return { kept, answers };
}
