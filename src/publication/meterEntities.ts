// THE table of a meter: state payload, discovery and reference derive from it.
import { type Micro, toUnits } from '../domain/amount.ts';
import type { EntityRow } from './entityRow.ts';
import { TARIFF_ROWS } from './tariffEntities.ts';
import type { MeterView } from './views.ts';

const units = (amount: Micro | null): number | null => (amount === null ? null : toUnits(amount));
const instant = (view: MeterView, at: number | null): string | null =>
  at === null ? null : view.zone.iso(at);

type Row = EntityRow<MeterView>;
type Shape = Pick<Row, 'platform' | 'deviceClass' | 'unit' | 'precision' | 'stateClass'>;
const energy: Shape = { platform: 'sensor', deviceClass: 'energy', unit: 'kWh', precision: 1 };
const money: Shape = { platform: 'sensor', deviceClass: 'monetary', unit: '{currency}', precision: 2 };

/** A pair of rows over the same days. No state class: Home Assistant would book them on the day they arrive. */
function pair(
  span: 'day' | 'week' | 'month' | 'year' | 'lastMonth',
  suffix: string,
  words: string,
  when = words,
): Row[] {
  return [
    {
      ...energy,
      key: `energy_${suffix}`,
      name: `Energy ${words}`,
      help: `Heat used ${when}.`,
      read: ({ totals }) => units(totals[span].energy),
    },
    {
      ...money,
      key: `cost_${suffix}`,
      name: `Cost ${words}`,
      help: `The provider's cost of the heat used ${when}, standing charge included.`,
      read: ({ totals }) => units(totals[span].cost),
    },
  ];
}

export const METER_ROWS: readonly Row[] = [
  {
    ...energy,
    key: 'energy_total',
    name: 'Energy total',
    help: 'Sum of all days since the origin. For the Energy dashboard, together with the cost total.',
    stateClass: 'total',
    read: ({ totals }) => units(totals.total.energy),
  },
  {
    ...money,
    key: 'cost_total',
    name: 'Cost total',
    help: "Sum of the provider's cost of all days since the origin.",
    stateClass: 'total',
    read: ({ totals }) => units(totals.total.cost),
  },
  {
    key: 'day',
    name: 'Latest day',
    help: 'The newest day that has a reading.',
    platform: 'sensor',
    deviceClass: 'date',
    read: ({ totals }) => totals.newestDay,
  },
  ...pair('day', 'day', 'latest day', 'on the latest day'),
  ...pair('week', 'week', 'this week'),
  ...pair('month', 'month', 'this month'),
  ...pair('year', 'year', 'this year'),
  ...pair('lastMonth', 'last_month', 'last month'),
  {
    key: 'reading_at',
    name: 'Reading until',
    help: 'End of the newest day with a reading.',
    platform: 'sensor',
    deviceClass: 'timestamp',
    read: (view) => instant(view, view.readingAt),
  },
  ...TARIFF_ROWS,
  {
    ...energy,
    key: 'meter_reading',
    name: 'Meter reading',
    help: "The meter's own register, where the provider gives it; null with several meters.",
    stateClass: 'total_increasing',
    given: ({ register }) => register !== null,
    read: ({ register }) => units(register?.energy ?? null),
  },
  {
    key: 'data_late',
    name: 'Data late',
    help: 'The newest reading is older than usage.late_after_hours.',
    platform: 'binary_sensor',
    deviceClass: 'problem',
    category: 'diagnostic',
    read: ({ late }) => late,
  },
  {
    key: 'missing_days',
    name: 'Missing days',
    help: 'Days without a reading between the origin and the newest reading.',
    platform: 'sensor',
    category: 'diagnostic',
    icon: 'mdi:calendar-question',
    read: ({ totals }) => totals.missingDays,
  },
  {
    key: 'origin',
    name: 'Origin',
    help: 'First day of the totals. Never moves.',
    platform: 'attribute',
    of: 'energy_total',
    read: ({ ledger }) => ledger.origin,
  },
  {
    key: 'meter_identifiers',
    name: 'Meter identifiers',
    help: 'All heat meters of the property.',
    platform: 'attribute',
    of: 'energy_total',
    read: ({ identifiers }) => identifiers,
  },
  {
    key: 'meter_reading_at',
    name: 'Meter reading taken',
    help: 'When the register was read.',
    platform: 'attribute',
    of: 'energy_total',
    read: (view) => instant(view, view.register?.readAt ?? null),
  },
  {
    key: 'updated_at',
    name: 'Updated',
    help: 'When the provider last answered.',
    platform: 'attribute',
    of: 'energy_total',
    read: (view) => instant(view, view.updatedAt),
  },
];
