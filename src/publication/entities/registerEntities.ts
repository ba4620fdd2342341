// The part of a meter's table about its register against the sum of its days.
import { knownUnits, toUnits } from '../../domain/amount.ts';
import type { RegisterCheck } from '../../domain/insight/registerCheck.ts';
import type { MeterView } from '../views.ts';
import type { EntityRow } from './entityRow.ts';

type Row = EntityRow<MeterView>;

/** An attribute of the difference. */
const ofRegister = (
  as: string,
  name: string,
  help: string,
  read: (check: RegisterCheck) => string | number,
  shape: Pick<Row, 'unit' | 'deviceClass'>,
): Row => ({
  ...shape,
  key: `register_difference_${as}`,
  as,
  name,
  help,
  platform: 'attribute',
  of: 'register_difference',
  read: ({ registerCheck }) => registerCheck && read(registerCheck),
});

export const REGISTER_ROWS: readonly Row[] = [
  {
    platform: 'sensor',
    deviceClass: 'energy',
    unit: 'kWh',
    precision: 1,
    key: 'register_difference',
    name: 'Register difference',
    help: 'What the register has grown by between two of its readings, less the sum of the days between; null without two readings.',
    icon: 'mdi:scale-balance',
    given: ({ register }) => register !== null,
    read: ({ registerCheck }) => knownUnits(registerCheck?.difference),
  },
  ofRegister('from', 'First day', 'First day between the two readings.', ({ from }) => from, {
    deviceClass: 'date',
  }),
  ofRegister('to', 'Last day', 'Last day, at whose end the second reading was taken.', ({ to }) => to, {
    deviceClass: 'date',
  }),
  ofRegister(
    'days_missing',
    'Days without a reading',
    'Days between the two readings that are not in the sum.',
    ({ daysMissing }) => daysMissing,
    { unit: 'd' },
  ),
  ofRegister(
    'register_growth',
    'Register growth',
    'What the register has grown by.',
    ({ growth }) => toUnits(growth),
    { unit: 'kWh' },
  ),
];
