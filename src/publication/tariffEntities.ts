// The part of a meter's table that is derived from its days: the tariff, what it makes of a day, and the month to come.
import { inFull, toMicro, toUnits } from '../domain/amount.ts';
import { standingPart } from '../domain/tariff/tariff.ts';
import type { EntityRow } from './entityRow.ts';
import type { MeterView } from './views.ts';

type Row = EntityRow<MeterView>;
const money = {
  platform: 'sensor',
  deviceClass: 'monetary',
  unit: '{currency}',
  precision: 2,
} satisfies Partial<Row>;

export const TARIFF_ROWS: readonly Row[] = [
  {
    key: 'unit_rate',
    name: 'Unit rate (derived)',
    help: 'Price of heat, fitted from the days; null until it explains them.',
    platform: 'sensor',
    unit: '{currency}/kWh',
    precision: 4,
    icon: 'mdi:tag-outline',
    read: ({ tariff }) => tariff?.unitRate ?? null,
  },
  {
    key: 'standing_charge',
    name: 'Standing charge (derived)',
    help: 'Price of a day, fitted together with the unit rate.',
    platform: 'sensor',
    unit: '{currency}/d',
    precision: 4,
    icon: 'mdi:calendar-today-outline',
    read: ({ tariff }) => tariff && inFull(tariff.standingCharge),
  },
  {
    key: 'tariff',
    name: 'Tariff',
    help: 'First and last day that unit rate and standing charge explain, and how many of the days seen since the first; null like them.',
    platform: 'attribute',
    of: 'unit_rate',
    read: ({ tariff }) =>
      tariff && {
        from: tariff.from,
        to: tariff.to,
        days_explained: tariff.daysExplained,
        days_seen: tariff.daysSeen,
      },
  },
  {
    ...money,
    key: 'cost_day_consumption',
    name: 'Cost latest day, consumption (derived)',
    help: 'The part of cost_day that heat made; null while the tariff does not explain the day.',
    read: (view) => parts(view).consumption,
  },
  {
    ...money,
    key: 'cost_day_standing',
    name: 'Cost latest day, standing charge (derived)',
    help: 'The other part of cost_day: the standing charge of the days that its reading carries.',
    read: (view) => parts(view).standing,
  },
  {
    ...money,
    key: 'cost_month_forecast',
    name: 'Cost forecast this month',
    help: 'Cost of this month so far, and the mean of the newest fourteen days with a cost for each of its other days.',
    read: ({ monthForecast }) => (monthForecast === null ? null : toUnits(monthForecast)),
  },
];

/** The two parts as they are told: they add up to the cost as it is told. */
function parts({ tariff, ledger, totals: { day, newestDay } }: MeterView): {
  consumption: number | null;
  standing: number | null;
} {
  const part = tariff && newestDay !== null ? standingPart(tariff, ledger.days, newestDay) : null;
  if (part === null || day.cost === null) return { consumption: null, standing: null };
  const standing = toUnits(part);
  return { consumption: toUnits(toMicro(toUnits(day.cost)) - toMicro(standing)), standing };
}
