// Rows of a meter's table: what was expected of the latest day, and whether the heat used is unusual.
import { knownUnits } from '../../domain/amount.ts';
import type { Expectation } from '../../domain/insight/alarm.ts';
import type { MeterView } from '../views.ts';
import type { EntityRow } from './entityRow.ts';

type Row = EntityRow<MeterView>;

/** `null`: the latest day cannot be judged, such as one whose reading carries others. */
const ofLatestDay = ({ use, totals: { newestDay } }: MeterView): Expectation | null =>
  use?.newest.day === newestDay ? use.newest : null;

export const USE_ROWS: readonly Row[] = [
  {
    key: 'energy_day_expected',
    name: 'Expected latest day',
    help: 'Heat that the days before let expect of the latest day: the middle of those most like it, by the weather where that is known, else of the newest ones; null for fewer than 30 usable days, a day that is not over, a reading that carries several days, and estimates.',
    platform: 'sensor',
    deviceClass: 'energy',
    unit: 'kWh',
    precision: 1,
    icon: 'mdi:radiator',
    derived: true,
    read: (view) => knownUnits(ofLatestDay(view)?.expected),
  },
  bound('low', 'Expected at least'),
  bound('high', 'Expected at most'),
  {
    key: 'energy_day_expected_by',
    as: 'by',
    name: 'Expected by',
    help: 'What the expectation is made of: `weather` or `season`.',
    platform: 'attribute',
    of: 'energy_day_expected',
    read: (view) => ofLatestDay(view)?.by ?? null,
  },
  {
    key: 'unusual_use',
    name: 'Unusual use',
    help: 'The latest day is far above what was expected, or the latest three are so together (`high`); or most of the heat that was due is missing on two days (`low`). It stays until three days are usual again.',
    platform: 'binary_sensor',
    deviceClass: 'problem',
    read: ({ use }) => use && use.unusual !== null,
  },
  unusual('since', 'Unusual since', 'The day by which it was noticed; null while all is as usual.'),
  unusual('direction', 'Unusual direction', 'More heat than usual (`high`), or less (`low`).'),
  unusual('reason', 'Unusual by', 'One day far off (`day`), or two or three days together (`drift`).'),
];

function bound(as: 'low' | 'high', name: string): Row {
  return {
    key: `energy_day_expected_${as}`,
    as,
    name,
    help: 'End of the band that holds 99 of 100 usual days.',
    platform: 'attribute',
    of: 'energy_day_expected',
    unit: 'kWh',
    read: (view) => knownUnits(ofLatestDay(view)?.[as]),
  };
}

function unusual(as: 'since' | 'direction' | 'reason', name: string, help: string): Row {
  return {
    key: `unusual_use_${as}`,
    as,
    name,
    help,
    platform: 'attribute',
    of: 'unusual_use',
    read: ({ use }) => use?.unusual?.[as] ?? null,
  };
}
