// The table of a meter: its state, discovery and documentation derive from it.
import { inFull, knownUnits, toMicro, toTenths, toUnits } from '../../domain/amount.ts';
import { DIRECTIONS, EXPECTED_BY, type Expectation, UNUSUAL_REASONS } from '../../domain/insight/alarm.ts';
import { type Part, WEATHER_SILENCES } from '../../domain/insight/weather.ts';
import { addDays, type DaySpan } from '../../domain/period.ts';
import { dayClosedBy } from '../../domain/readingCloses.ts';
import { standingPart } from '../../domain/tariff/tariff.ts';
import type { Telegram } from '../../domain/witness.ts';
import type { MeterView } from '../views.ts';
import {
  type AttributeRow,
  band,
  type EntityRow,
  fieldsOf,
  LOWER_END,
  UPPER_END,
  withAll,
} from './entityRow.ts';

type MeterRow = EntityRow<MeterView>;
type Attribute = AttributeRow<MeterView>;

// The icon of the device class is a lightning bolt.
const energy = {
  deviceClass: 'energy',
  unit: 'kWh',
  precision: 1,
  icon: 'mdi:radiator',
} as const;
const money = { deviceClass: 'monetary', unit: '{currency}', precision: 2 } as const;
const inKwh = { unit: 'kWh' };
const asDate = { deviceClass: 'date' };
const asInstant = { deviceClass: 'timestamp' };

const problem = { platform: 'binary_sensor', deviceClass: 'problem' } as const;

const instant = (view: MeterView, at: number | null): string | null =>
  at === null ? null : view.zone.iso(at);
const MOST_DIFFERING = 62;

/** Two rows over the same days. No state class: Home Assistant would book them on the day they arrive. */
function pair(
  span: 'day' | 'week' | 'month' | 'year' | 'lastMonth' | 'monthLastYear',
  suffix: string,
  when: string,
): MeterRow[] {
  return [
    {
      ...energy,
      key: `energy_${suffix}`,
      help: `Heat used ${when}.`,
      read: ({ totals }) => knownUnits(totals[span].energy),
    },
    {
      ...money,
      key: `cost_${suffix}`,
      help: `The provider's cost of the heat used ${when}, standing charge included.`,
      read: ({ totals }) => knownUnits(totals[span].cost),
    },
  ];
}

/** The forecast of the running month. */
const forecast = (kind: 'energy' | 'cost', what: string, shape: typeof energy | typeof money): MeterRow => ({
  ...shape,
  key: `${kind}_month_forecast`,
  help: `${what} in the whole of this month: what is known of it, and what the other days are expected to be.`,
  read: ({ monthForecast }) => knownUnits(monthForecast[kind]?.amount),
  attributes: band(
    shape.unit,
    `${LOWER_END} Null with fewer than 30 days of readings.`,
    ({ monthForecast }, end) => knownUnits(monthForecast[kind]?.[end]),
  ),
});

/** Fitted from the days. */
const TARIFF_ROWS: readonly MeterRow[] = [
  {
    key: 'unit_rate',
    help: 'Price of heat, fitted from the days; null until it explains them.',
    unit: '{currency}/kWh',
    precision: 3,
    icon: 'mdi:tag-outline',
    read: ({ tariff }) => tariff?.unitRate ?? null,
    attributes: [
      {
        key: 'tariff',
        help: 'First and last day that unit rate and standing charge explain, and how many of the days seen since the first; null like them.',
        read: ({ tariff }) =>
          tariff && {
            from: tariff.from,
            to: tariff.to,
            days_explained: tariff.daysExplained,
            days_seen: tariff.daysSeen,
          },
      },
      {
        as: 'margin',
        help: 'The true price lies this much above or below it in at least 95 of 100 cases; null like it.',
        unit: '{currency}/kWh',
        read: ({ tariff }) => tariff?.unitRateMargin ?? null,
      },
    ],
  },
  {
    key: 'standing_charge',
    help: 'Price of a day, fitted together with the unit rate.',
    unit: '{currency}/d',
    precision: 3,
    icon: 'mdi:calendar-today-outline',
    read: ({ tariff }) => tariff && inFull(tariff.standingCharge),
    attributes: [
      {
        as: 'margin',
        help: 'The same, of the price of a day.',
        unit: '{currency}/d',
        read: ({ tariff }) => tariff && inFull(tariff.standingChargeMargin),
      },
    ],
  },
  {
    ...money,
    key: 'cost_day_consumption',
    help: 'The part of cost_day that heat made; null while the tariff does not explain the day.',
    enabled: false,
    read: (view) => costParts(view).consumption,
  },
  {
    ...money,
    key: 'cost_day_standing',
    help: 'The other part of cost_day: the standing charge of the days that its reading carries.',
    enabled: false,
    read: (view) => costParts(view).standing,
  },
];

/** The two parts, rounded so that they add up to the rounded cost. */
function costParts({ tariff, ledger, totals: { day, newestDay } }: MeterView): {
  consumption: number | null;
  standing: number | null;
} {
  const part = tariff && newestDay !== null ? standingPart(tariff, ledger.days, newestDay) : null;
  if (part === null || day.cost === null) return { consumption: null, standing: null };
  const standing = toUnits(part);
  return { consumption: toUnits(toMicro(toUnits(day.cost)) - toMicro(standing)), standing };
}

/** A missing value has a word beside it that tells why. */
const unlessSilent = <T extends object>(answer: T | string | null): T | null =>
  typeof answer === 'string' ? null : answer;

const silence = (read: (view: MeterView) => object | string | null): Attribute => ({
  as: 'reason',
  help: 'Why it is null: `days_missing` (readings or temperatures), `not_heated` (the weather explains too little), `not_sure`.',
  options: WEATHER_SILENCES,
  read(view) {
    const answer = read(view);
    return typeof answer === 'string' ? answer : null;
  },
});

function change({ weatherChange }: MeterView) {
  const compared = unlessSilent(weatherChange);
  if (compared === null) return null;
  const { percent, low, high, used, expected } = compared;
  return {
    ...compared,
    percent: toTenths(percent),
    low: toTenths(low),
    high: toTenths(high),
    used: toTenths(used),
    expected: toTenths(expected),
  };
}

const ofChange = fieldsOf(change);

/** Heating or hot water of the running month. */
function heatPart(
  part: 'heating' | 'hotWater',
  key: string,
  words: 'Heating' | 'Hot water',
  icon: string,
): MeterRow {
  const amountOf = ({ heatParts }: MeterView, field: keyof Part): number | null => {
    const parts = unlessSilent(heatParts);
    return parts && toTenths(parts[part][field]);
  };
  return {
    ...energy,
    key,
    help: `Estimated: the part of energy_month that is ${words.toLowerCase()}, by the outdoor temperatures of its days; null with the reason in an attribute.`,
    icon,
    derived: true,
    read: (view) => amountOf(view, 'energy'),
    attributes: [...band('kWh', LOWER_END, amountOf), silence(({ heatParts }) => heatParts)],
  };
}

const ofDegreeDays = fieldsOf(({ degreeDaysMonth }: MeterView) => degreeDaysMonth);

/** Shown where an outdoor temperature is known. */
const WEATHER_ROWS: readonly MeterRow[] = [
  {
    key: 'weather_adjusted_change',
    help: 'How much more heat the newest 90 days used than the same days a year before would have at the temperatures of this year; negative: saved. null with the reason in an attribute.',
    unit: '%',
    precision: 1,
    icon: 'mdi:home-thermometer-outline',
    derived: true,
    read: (view) => change(view)?.percent ?? null,
    attributes: [
      ofChange('low', LOWER_END, { unit: '%' }),
      ofChange('high', UPPER_END, { unit: '%' }),
      ofChange('from', 'First day that is compared with the one a year before.', asDate),
      ofChange('to', 'The last one.', asDate),
      ofChange('days', 'How many of these days have reading and temperature.'),
      ofChange('used', 'Heat that these days used.', inKwh),
      ofChange('expected', 'Heat that they would have used as the year before.', inKwh),
      silence(({ weatherChange }) => weatherChange),
    ],
  },
  heatPart('heating', 'energy_month_heating', 'Heating', 'mdi:radiator'),
  heatPart('hotWater', 'energy_month_hot_water', 'Hot water', 'mdi:water-thermometer'),
  {
    key: 'degree_days_month',
    help: 'How far the mean outdoor temperatures of the days of this month lie below the base temperature, added up: home_assistant.degree_day_base, else that of the house.',
    unit: 'K·d',
    precision: 0,
    icon: 'mdi:thermometer-low',
    read: ({ degreeDaysMonth }) => degreeDaysMonth && toTenths(degreeDaysMonth.sum),
    attributes: [ofDegreeDays('days', 'How many days of this month have a temperature.')],
  },
];

/** `null`: the latest day cannot be judged, such as one whose reading carries others. */
const expectation = ({ use, totals: { newestDay } }: MeterView): Expectation | null =>
  use?.newest.day === newestDay ? use.newest : null;

const ofUnusual = fieldsOf(({ use }: MeterView) => use?.unusual);

/** The expectation of the latest day, and whether the heat used is unusual. */
const USE_ROWS: readonly MeterRow[] = [
  {
    ...energy,
    key: 'energy_day_expected',
    help: 'Heat that the days before let expect of the latest day: by a line through those most like it in temperature where that is known, else through the newest ones; null for fewer than 30 usable days, a day that is not over, a reading that carries several days, and estimates.',
    derived: true,
    read: (view) => knownUnits(expectation(view)?.expected),
    attributes: [
      ...band<MeterView>('kWh', 'The lower end of the band that holds 95 of 100 usual days.', (view, end) =>
        knownUnits(expectation(view)?.[end]),
      ),
      fieldsOf(expectation)('by', 'What the expectation is made of: `weather` or `season`.', {
        options: EXPECTED_BY,
      }),
    ],
  },
  {
    ...problem,
    key: 'unusual_use',
    help: 'The latest day is far above what was expected, or, where the weather is known, the latest three are so together (`high`); or most of the heat that was due is missing on two days (`low`). It stays until the mean of three days is usual again.',
    read: ({ use }) => use && use.unusual !== null,
    attributes: [
      ofUnusual('since', 'The day by which it was noticed; null while all is as usual.', asDate),
      ofUnusual('direction', 'More heat than usual (`high`), or less (`low`).', { options: DIRECTIONS }),
      ofUnusual('reason', 'One day far off (`day`), or two or three days together (`drift`).', {
        options: UNUSUAL_REASONS,
      }),
    ],
  },
];

const ofCheck = (find: (view: MeterView) => MeterView['registerCheck'] | undefined) =>
  fieldsOf((view: MeterView) => {
    const check = find(view);
    return check && { ...check, days_missing: check.daysMissing, register_growth: knownUnits(check.growth) };
  });

const ofRegister = ofCheck(({ registerCheck }) => registerCheck);

/** The newest reading, unless it is of a meter that was there before. */
const registerNow = ({ register, identifiers }: MeterView) =>
  register?.meter === undefined || identifiers.includes(register.meter) ? register : null;

const REGISTER_ROWS: readonly MeterRow[] = [
  {
    ...energy,
    key: 'meter_reading',
    help: "The meter's own register, where the provider gives it; null with several meters, and after an exchange until the new one is read. Not for the Energy dashboard: beside energy_total it would count twice.",
    icon: 'mdi:counter',
    read: (view) => knownUnits(registerNow(view)?.energy),
  },
  {
    ...energy,
    key: 'register_difference',
    help: 'What the register has grown by between two of its readings, less the sum of the days between; null without two readings of the meter of now.',
    icon: 'mdi:scale-balance',
    read: ({ registerCheck }) => knownUnits(registerCheck?.difference),
    attributes: [
      ofRegister('from', 'First day between the two readings.', asDate),
      ofRegister('to', 'Last day, at whose end the second reading was taken.', asDate),
      ofRegister('days_missing', 'Days between the two readings that are not in the sum.', { unit: 'd' }),
      ofRegister('register_growth', 'What the register has grown by.', inKwh),
    ],
  },
];

const ofWitness = ofCheck(({ witness }) => witness?.compared.check);

/** It is shown once it has come; `null` while the meter is silent. */
const beside = (
  field: keyof Telegram['surroundings'],
  row: Omit<MeterRow, 'read' | 'given' | 'platform'>,
): MeterRow => ({
  ...row,
  given: ({ witness }) => witness?.[field] !== undefined,
  read: ({ witness }) => witness?.[field] ?? null,
});
const celsius = { unit: '°C', deviceClass: 'temperature', precision: 1 } as const;

/** The meter's own register, where the configuration names a topic for it. */
const WITNESS_ROWS: readonly MeterRow[] = [
  {
    ...energy,
    key: 'witness_register',
    help: "The meter's own register, as the topic of meters.<meter>.witness has it; null when nothing was heard for two days. Not for the Energy dashboard: beside energy_total it would count twice.",
    icon: 'mdi:counter',
    read: ({ witness }) => knownUnits(witness?.energy),
  },
  {
    key: 'witness_at',
    help: 'When it was heard; null too where a retained number does not tell.',
    deviceClass: 'timestamp',
    category: 'diagnostic',
    read: (view) => instant(view, view.witness?.at ?? null),
  },
  {
    ...energy,
    key: 'witness_today',
    help: 'Heat used since local midnight, by the meter itself: what the provider tells tomorrow. null while the register at midnight is not known.',
    read: ({ witness }) => knownUnits(witness?.today),
  },
  {
    ...energy,
    key: 'witness_day',
    help: 'Heat of the latest day of the provider, by the meter itself.',
    read: ({ witness, totals: { newestDay } }) => knownUnits(witness?.compared.days.get(newestDay ?? '')),
  },
  {
    ...energy,
    key: 'witness_difference',
    help: "What the meter's own register has grown by, less the sum of the provider's days, over the longest span that both have.",
    icon: 'mdi:scale-balance',
    read: ({ witness }) => knownUnits(witness?.compared.check?.difference),
    attributes: [
      ofWitness('from', 'First day of the span.', asDate),
      ofWitness('to', 'Last day of the span.', asDate),
      ofWitness('days_missing', 'Days of the span that the provider lacks.', { unit: 'd' }),
      ofWitness('register_growth', 'What the register has grown by.', inKwh),
      {
        key: 'witness_differing_days',
        help: 'Days of the newest 62 on which the two differ by more than 1 kWh and a quarter, oldest first.',
        read: ({ witness }) => witness?.compared.differing.slice(-MOST_DIFFERING) ?? [],
      },
    ],
  },
  beside('flowTemperature', {
    ...celsius,
    key: 'flow_temperature',
    help: 'Temperature of the water that comes, by the meter itself.',
  }),
  beside('returnTemperature', {
    ...celsius,
    key: 'return_temperature',
    help: 'Temperature of the water that goes back, by the meter itself.',
  }),
  beside('volume', {
    key: 'volume_total',
    help: 'Water that has passed the meter, by the meter itself.',
    unit: 'm³',
    deviceClass: 'volume',
    precision: 1,
    icon: 'mdi:water-outline',
  }),
];

/** Attributes of the total. */
const ABOUT_THE_METER: readonly Attribute[] = [
  { key: 'currency', help: 'Of all amounts of money.', read: ({ currency }) => currency },
  { key: 'origin', help: 'First day of the totals. Never moves.', read: ({ ledger }) => ledger.origin },
  {
    key: 'history_since',
    help: 'First day that is compared, forecast and shown: accounts[].history_since, else the origin.',
    read: ({ tenancy }) => tenancy.origin,
  },
  {
    key: 'meter_identifiers',
    help: 'All heat meters of the property.',
    read: ({ identifiers }) => identifiers,
  },
  {
    ...asInstant,
    key: 'meter_reading_at',
    help: 'When the register was read.',
    read: (view) => instant(view, registerNow(view)?.readAt ?? null),
  },
  {
    ...asDate,
    key: 'meter_reading_day',
    help: 'The day at whose end the register stood there.',
    read(view) {
      const register = registerNow(view);
      return register && dayClosedBy(register.readAt, view.readingCloses, view.zone);
    },
  },
  {
    ...asInstant,
    key: 'updated_at',
    help: 'When the provider last answered.',
    read: (view) => instant(view, view.updatedAt),
  },
];

export const METER_ROWS: readonly MeterRow[] = [
  {
    ...energy,
    key: 'energy_total',
    help: 'Sum of all days since the origin. For the Energy dashboard, together with the cost total.',
    stateClass: 'total',
    read: ({ totals }) => knownUnits(totals.total.energy),
    attributes: ABOUT_THE_METER,
  },
  {
    ...money,
    key: 'cost_total',
    help: "Sum of the provider's cost of all days since the origin.",
    stateClass: 'total',
    read: ({ totals }) => knownUnits(totals.total.cost),
  },
  {
    key: 'day',
    help: 'The newest day that has a reading.',
    deviceClass: 'date',
    read: ({ totals }) => totals.newestDay,
  },
  ...pair('day', 'day', 'on the latest day'),
  ...withAll({ enabled: false }, pair('week', 'week', 'this week')),
  ...pair('month', 'month', 'this month'),
  ...pair('year', 'year', 'this year'),
  ...pair('lastMonth', 'last_month', 'last month'),
  ...pair('monthLastYear', 'month_last_year', 'in the whole of this month a year ago'),
  {
    key: 'reading_at',
    help: 'When the newest reading was taken, where the provider tells it, else the end of its day.',
    deviceClass: 'timestamp',
    category: 'diagnostic',
    read: (view) => instant(view, view.readingAt),
  },
  ...withAll({ derived: true }, TARIFF_ROWS),
  forecast('energy', 'Heat used', energy),
  forecast('cost', 'Cost of the heat used', money),
  ...withAll({ given: ({ house }) => house !== null }, WEATHER_ROWS),
  ...USE_ROWS,
  ...withAll({ given: ({ register }) => register !== null }, REGISTER_ROWS),
  ...withAll({ optional: true, given: ({ witness }) => witness !== undefined }, WITNESS_ROWS),
  {
    ...problem,
    key: 'data_late',
    help: 'The newest reading is older than usage.late_after_hours.',
    category: 'diagnostic',
    read: ({ late }) => late,
  },
  {
    key: 'statement_month',
    help: 'The newest complete month, of which there is a statement, `2026-10`.',
    icon: 'mdi:file-document-outline',
    read: ({ statementMonth }) => statementMonth,
  },
  {
    key: 'missing_days',
    help: 'Days without a reading between the origin and the newest reading.',
    category: 'diagnostic',
    icon: 'mdi:calendar-question',
    read: ({ totals }) => totals.missingDays,
    attributes: [
      {
        key: 'missing_day_list',
        help: 'Which days these are, the newest first: `2026-03-08`, or `2026-03-01..2026-03-04` for days in a row. At most 100 entries.',
        read: ({ totals }) => totals.gaps.map(inWords),
      },
    ],
  },
];

function inWords({ from, to }: DaySpan): string {
  const last = addDays(to, -1);
  return last === from ? from : `${from}..${last}`;
}
