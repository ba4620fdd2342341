// The rows of a meter that compare its heat with the weather; shown where an outdoor temperature is known.
import type { Part } from '../../domain/insight/degreeDays.ts';
import type { WeatherChange } from '../../domain/insight/weatherChange.ts';
import type { MeterView } from '../views.ts';
import type { EntityRow } from './entityRow.ts';

type Row = EntityRow<MeterView>;

const given = ({ weather }: MeterView): boolean => weather !== null;
const toTenths = (value: number): number => Math.round(value * 10) / 10 || 0;

const ofChange = (
  as: string,
  name: string,
  help: string,
  read: (change: WeatherChange) => number | string,
  unit?: string,
): Row => ({
  ...(unit === undefined ? {} : { unit }),
  key: `weather_adjusted_change_${as}`,
  as,
  name: `Weather-adjusted change ${name}`,
  help,
  platform: 'attribute',
  of: 'weather_adjusted_change',
  read: ({ weatherChange }) =>
    weatherChange === null || typeof weatherChange === 'string' ? null : read(weatherChange),
});

export const WEATHER_ROWS: readonly Row[] = [
  {
    key: 'weather_adjusted_change',
    name: 'Weather-adjusted change',
    help: 'How much more heat the newest 90 days used than the same days a year before would have at the temperatures of this year; negative: saved. null with the reason in an attribute.',
    platform: 'sensor',
    unit: '%',
    precision: 1,
    icon: 'mdi:home-thermometer-outline',
    derived: true,
    given,
    read: ({ weatherChange }) =>
      weatherChange === null || typeof weatherChange === 'string' ? null : toTenths(weatherChange.percent),
  },
  ofChange(
    'low',
    'at least',
    'In 80 of 100 cases it lies between this one and the next.',
    ({ low }) => toTenths(low),
    '%',
  ),
  ofChange('high', 'at most', 'The other end.', ({ high }) => toTenths(high), '%'),
  ofChange('from', 'from', 'First day that is compared with the one a year before.', ({ from }) => from),
  ofChange('to', 'to', 'The last one.', ({ to }) => to),
  ofChange('days', 'days', 'How many of these days have reading and temperature.', ({ days }) => days),
  ofChange('used', 'used', 'Heat that these days used.', ({ used }) => toTenths(used), 'kWh'),
  ofChange(
    'expected',
    'expected',
    'Heat that they would have used as the year before.',
    ({ expected }) => toTenths(expected),
    'kWh',
  ),
  silence('weather_adjusted_change', 'Weather-adjusted change', ({ weatherChange }) => weatherChange),
  ...heatPart('heating', 'Heating', 'mdi:radiator'),
  ...heatPart('hotWater', 'Hot water', 'mdi:water-thermometer'),
  {
    key: 'degree_days_month',
    name: 'Degree days this month',
    help: 'How far the mean outdoor temperatures of the days of this month lie below the base temperature, added up: home_assistant.degree_day_base, else that of the house.',
    platform: 'sensor',
    unit: 'K·d',
    precision: 0,
    icon: 'mdi:thermometer-low',
    given,
    read: ({ degreeDaysMonth }) => degreeDaysMonth && toTenths(degreeDaysMonth.sum),
  },
  {
    key: 'degree_days_month_days',
    as: 'days',
    name: 'Degree days this month, days',
    help: 'How many days of this month have a temperature.',
    platform: 'attribute',
    of: 'degree_days_month',
    read: ({ degreeDaysMonth }) => degreeDaysMonth?.days ?? null,
  },
];

/** Why there is no value. */
function silence(of: string, words: string, read: (view: MeterView) => object | string | null): Row {
  return {
    key: `${of}_reason`,
    as: 'reason',
    name: `${words} unknown because`,
    help: 'Why it is null: `days_missing` (readings or temperatures), `not_heated` (the weather explains too little), `not_sure`.',
    platform: 'attribute',
    of,
    read: (view) => {
      const found = read(view);
      return typeof found === 'string' ? found : null;
    },
  };
}

/** Heating or hot water of the running month, with its band. */
function heatPart(part: 'heating' | 'hotWater', words: string, icon: string): Row[] {
  const key = part === 'heating' ? 'energy_month_heating' : 'energy_month_hot_water';
  const of = ({ heatParts }: MeterView, field: keyof Part): number | null =>
    heatParts === null || typeof heatParts === 'string' ? null : toTenths(heatParts[part][field]);
  const end = (as: 'low' | 'high', name: string, help: string): Row => ({
    key: `${key}_${as}`,
    as,
    name: `${words} this month ${name}`,
    help,
    platform: 'attribute',
    of: key,
    unit: 'kWh',
    read: (view) => of(view, as),
  });
  return [
    {
      key,
      name: `${words} this month`,
      help: `Estimated: the part of energy_month that is ${words.toLowerCase()}, by the outdoor temperatures of its days; null with the reason in an attribute.`,
      platform: 'sensor',
      deviceClass: 'energy',
      unit: 'kWh',
      precision: 1,
      icon,
      derived: true,
      given,
      read: (view) => of(view, 'energy'),
    },
    end('low', 'at least', 'In 80 of 100 cases it is between this and the next.'),
    end('high', 'at most', 'The other end.'),
    silence(key, `${words} this month`, ({ heatParts }) => heatParts),
  ];
}
