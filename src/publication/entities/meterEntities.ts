// The table of a meter: its state, discovery and documentation derive from it.
import { inFull, knownUnits, toMicro, toUnits } from '../../domain/amount.ts';
import { addDays, type DaySpan } from '../../domain/period.ts';
import { dayClosedBy } from '../../domain/readingCloses.ts';
import { standingPart } from '../../domain/tariff/tariff.ts';
import type { MeterView } from '../views.ts';
import type { EntityRow } from './entityRow.ts';
import { REGISTER_ROWS } from './registerEntities.ts';
import { USE_ROWS } from './useEntities.ts';
import { WEATHER_ROWS } from './weatherEntities.ts';

const instant = (view: MeterView, at: number | null): string | null =>
  at === null ? null : view.zone.iso(at);

type Row = EntityRow<MeterView>;
type Shape = Pick<Row, 'platform' | 'deviceClass' | 'unit' | 'precision' | 'stateClass' | 'icon'>;
// The icon of the device class is a lightning bolt.
const energy: Shape = {
  platform: 'sensor',
  deviceClass: 'energy',
  unit: 'kWh',
  precision: 1,
  icon: 'mdi:radiator',
};
const money: Shape = { platform: 'sensor', deviceClass: 'monetary', unit: '{currency}', precision: 2 };

/** A pair of rows over the same days. No state class: Home Assistant would book them on the day they arrive. */
function pair(
  span: 'day' | 'week' | 'month' | 'year' | 'lastMonth' | 'monthLastYear',
  suffix: string,
  words: string,
  when = words,
  more: Pick<Row, 'enabled'> = {},
): Row[] {
  return [
    {
      ...energy,
      ...more,
      key: `energy_${suffix}`,
      name: `Energy ${words}`,
      help: `Heat used ${when}.`,
      read: ({ totals }) => knownUnits(totals[span].energy),
    },
    {
      ...money,
      ...more,
      key: `cost_${suffix}`,
      name: `Cost ${words}`,
      help: `The provider's cost of the heat used ${when}, standing charge included.`,
      read: ({ totals }) => knownUnits(totals[span].cost),
    },
  ];
}

/** The running month at its end, with its band. */
function forecastRows(kind: 'energy' | 'cost', what: string, shape: Shape): Row[] {
  const key = `${kind}_month_forecast`;
  const name = kind === 'energy' ? 'Energy forecast' : 'Cost forecast';
  const { unit } = shape;
  const end = (as: 'low' | 'high', words: string, help: string): Row => ({
    key: `${key}_${as}`,
    as,
    name: `${name} ${words}`,
    help,
    platform: 'attribute',
    of: key,
    ...(unit === undefined ? {} : { unit }),
    read: ({ monthForecast }) => knownUnits(monthForecast[kind]?.[as]),
  });
  return [
    {
      ...shape,
      key,
      name,
      help: `${what} in the whole of this month: what is known of it, and what the other days are expected to be.`,
      read: ({ monthForecast }) => knownUnits(monthForecast[kind]?.amount),
    },
    end(
      'low',
      'at least',
      'In 80 of 100 months it is between this and the next; null with fewer than 30 days of readings.',
    ),
    end('high', 'at most', 'The other end.'),
  ];
}

/** Derived from the days. */
const TARIFF_ROWS: readonly Row[] = [
  {
    key: 'unit_rate',
    name: 'Unit rate',
    help: 'Price of heat, fitted from the days; null until it explains them.',
    platform: 'sensor',
    unit: '{currency}/kWh',
    precision: 4,
    icon: 'mdi:tag-outline',
    derived: true,
    read: ({ tariff }) => tariff?.unitRate ?? null,
  },
  {
    key: 'standing_charge',
    name: 'Standing charge',
    help: 'Price of a day, fitted together with the unit rate.',
    platform: 'sensor',
    unit: '{currency}/d',
    precision: 4,
    icon: 'mdi:calendar-today-outline',
    derived: true,
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
    name: 'Heat cost latest day',
    help: 'The part of cost_day that heat made; null while the tariff does not explain the day.',
    derived: true,
    enabled: false,
    read: (view) => parts(view).consumption,
  },
  {
    ...money,
    key: 'cost_day_standing',
    name: 'Fixed cost latest day',
    help: 'The other part of cost_day: the standing charge of the days that its reading carries.',
    derived: true,
    enabled: false,
    read: (view) => parts(view).standing,
  },
];

export const METER_ROWS: readonly Row[] = [
  {
    ...energy,
    key: 'energy_total',
    name: 'Energy total',
    help: 'Sum of all days since the origin. For the Energy dashboard, together with the cost total.',
    stateClass: 'total',
    read: ({ totals }) => knownUnits(totals.total.energy),
  },
  {
    ...money,
    key: 'cost_total',
    name: 'Cost total',
    help: "Sum of the provider's cost of all days since the origin.",
    stateClass: 'total',
    read: ({ totals }) => knownUnits(totals.total.cost),
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
  ...pair('week', 'week', 'this week', 'this week', { enabled: false }),
  ...pair('month', 'month', 'this month'),
  ...pair('year', 'year', 'this year'),
  ...pair('lastMonth', 'last_month', 'last month'),
  ...pair('monthLastYear', 'month_last_year', 'month last year', 'in the whole of this month a year ago'),
  {
    key: 'reading_at',
    name: 'Latest reading',
    help: 'When the newest reading was taken, where the provider tells it, else the end of its day.',
    platform: 'sensor',
    deviceClass: 'timestamp',
    category: 'diagnostic',
    read: (view) => instant(view, view.readingAt),
  },
  ...TARIFF_ROWS,
  ...forecastRows('energy', 'Heat used', energy),
  ...forecastRows('cost', 'Cost of the heat used', money),
  ...WEATHER_ROWS,
  ...USE_ROWS,
  {
    ...energy,
    key: 'meter_reading',
    name: 'Meter reading',
    help: "The meter's own register, where the provider gives it; null with several meters. Not for the Energy dashboard: beside energy_total it would count twice.",
    icon: 'mdi:counter',
    given: ({ register }) => register !== null,
    read: ({ register }) => knownUnits(register?.energy),
  },
  ...REGISTER_ROWS,
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
    key: 'missing_day_list',
    name: 'Missing day list',
    help: 'Which days these are, the newest first: `2026-03-08`, or `2026-03-01..2026-03-04` for days in a row. At most 100 entries.',
    platform: 'attribute',
    of: 'missing_days',
    read: ({ totals }) => totals.gaps.map(inWords),
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
    key: 'history_since',
    name: 'History since',
    help: 'First day that is compared, forecast and shown: accounts[].history_since, else the origin.',
    platform: 'attribute',
    of: 'energy_total',
    read: ({ tenancy }) => tenancy.origin,
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
    key: 'meter_reading_day',
    name: 'Meter reading day',
    help: 'The day at whose end the register stood there.',
    platform: 'attribute',
    of: 'energy_total',
    read: ({ register, readingCloses, zone }) =>
      register && dayClosedBy(register.readAt, readingCloses, zone),
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

function inWords({ from, to }: DaySpan): string {
  const last = addDays(to, -1);
  return last === from ? from : `${from}..${last}`;
}

/** The two parts, rounded so that they add up to the rounded cost. */
function parts({ tariff, ledger, totals: { day, newestDay } }: MeterView): {
  consumption: number | null;
  standing: number | null;
} {
  const part = tariff && newestDay !== null ? standingPart(tariff, ledger.days, newestDay) : null;
  if (part === null || day.cost === null) return { consumption: null, standing: null };
  const standing = toUnits(part);
  return { consumption: toUnits(toMicro(toUnits(day.cost)) - toMicro(standing)), standing };
}
