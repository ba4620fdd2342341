// The fields that the configuration declares: area, heat source, carbon dioxide, the average user, contacts.
import { toTenths } from '../../domain/amount.ts';
import type { StatementConfig } from '../views.ts';
import { type Field, type MeterFacts, unknown, valued } from './fields.ts';

/** `energy`: of the month; `ofYear`: of the twelve months that end with it; both in kWh. */
export function declaredFields(
  config: StatementConfig,
  meter: MeterFacts,
  energy: number | null,
  ofYear: number | null,
) {
  const { co2_g_per_kwh: co2, average_kwh_m2_year: average } = config;
  const area = meter.area ?? config.area_m2;
  const areaKey = meter.area === undefined ? 'statement.area_m2' : `meters.${meter.meter}.area_m2`;
  const perArea = (kwh: number | null) => (kwh === null || area === undefined ? null : toTenths(kwh / area));
  return {
    energy_per_m2: declared(areaKey, area, () => perArea(energy)),
    heat_source: declared('statement.heat_source', config.heat_source),
    co2: declared(
      'statement.co2_g_per_kwh',
      co2,
      ({ value, year }) =>
        energy === null ? null : { g_per_kwh: value, kg: toTenths((energy * value) / 1_000), year },
      co2?.source,
    ),
    average_user: declared(
      'statement.average_kwh_m2_year',
      average,
      ({ value }) => ({ kwh_m2_year: value, own_kwh_m2_year: perArea(ofYear) }),
      average?.source,
    ),
    contacts: declared('statement.contacts', config.contacts),
  };
}

/** `of`: what a statement tells of the value; `null`: that needs what is not recorded. */
function declared<C, T = C>(
  key: string,
  configured: C | undefined,
  of = (value: C): T | null => value as unknown as T,
  source: string | null = null,
): Field<T> {
  if (configured === undefined) return unknown('not_configured');
  const value = of(configured);
  return value === null
    ? unknown('not_recorded')
    : valued(value, { kind: 'configuration', keys: [key], source });
}
