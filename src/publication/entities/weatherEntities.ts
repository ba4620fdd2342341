// The rows of a meter that compare its heat with the weather; shown where an outdoor temperature is known.
import type { WeatherChange } from '../../domain/insight/use/weatherChange.ts';
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
  read: ({ weatherChange }) => weatherChange && read(weatherChange),
});

export const WEATHER_ROWS: readonly Row[] = [
  {
    key: 'weather_adjusted_change',
    name: 'Weather-adjusted change',
    help: 'How much more heat the newest 90 days used than the same days a year before would have at the temperatures of this year; negative: saved. null with fewer than 60 such days in either year, or when the temperatures explain too little.',
    platform: 'sensor',
    unit: '%',
    precision: 1,
    icon: 'mdi:home-thermometer-outline',
    derived: true,
    given,
    read: ({ weatherChange }) => weatherChange && toTenths(weatherChange.percent),
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
  {
    key: 'degree_days_month',
    name: 'Degree days this month',
    help: 'How far the mean outdoor temperatures of the days of this month lie below home_assistant.degree_day_base, added up.',
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
