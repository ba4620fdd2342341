// The register against the days, on simulated households: it agrees where nothing is wrong, and tells by how much where it is not.
import { expect, test } from 'vitest';
import { checkRegister, withReadings } from '../../src/domain/insight/registerCheck.ts';
import { addDays, type Day, daysBetween } from '../../src/domain/period.ts';
import type { Register, RegisterHistory } from '../../src/domain/reading.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { DUBLIN, Household, type HouseholdOptions } from '../support/household.ts';
import { seeds } from './figures.ts';

const KWH = 1_000_000;
const START: Day = '2024-07-01';
const DAYS = 240;
type Options = Omit<HouseholdOptions, 'seed' | 'from' | 'days'>;

/** Day by day, as the program reads the register. `jump`: so much more on the register from the day on. */
function checked(seed: number, options: Options, jump?: { readonly from: Day; readonly by: number }) {
  const household = new Household({ seed, from: START, days: DAYS, ...options });
  const closes = seed % 2 ? 'same_day' : 'previous_day';
  const readAt = (day: Day) => DUBLIN.startOf(addDays(day, 1)) + (seed % 2 ? -300_000 : 300_000);
  const shown = new Map<Day, number>();
  let history: RegisterHistory | null = null;
  for (const { day, register } of household.readings) {
    const energy = register + (jump && day >= jump.from ? jump.by : 0);
    shown.set(day, energy);
    const newest: Register = { energy, readAt: readAt(day) };
    history = withReadings(history, [newest], DUBLIN);
  }
  const readTimes = new Map([...household.days.keys()].slice(-28).map((day) => [day, readAt(day)]));
  const ledger = { origin: START, days: household.days, readTimes };
  return { household, shown, check: history && checkRegister(history, ledger, closes, DUBLIN) };
}

/** What it says is so: growth of the register, sum of the days, and how many are missing. */
function expectTrue({ household, shown, check }: ReturnType<typeof checked>) {
  if (!check) throw new Error('nothing is said');
  const { from, to, growth, difference, daysMissing } = check;
  expect(growth).toBe((shown.get(to) ?? Number.NaN) - (shown.get(addDays(from, -1)) ?? Number.NaN));
  const told = [...household.days].filter(([day]) => day >= from && day <= to);
  expect(difference).toBe(growth - told.reduce((sum, [, { energy }]) => sum + (energy ?? 0), 0));
  expect(daysMissing).toBe(daysBetween(from, to) + 1 - told.length);
  return check;
}

test.each<[string, Options]>([
  ['each day', {}],
  ['every second day', { readEvery: 2 }],
  ['missed readings', { missed: 0.1 }],
])('the register agrees: %s', (_name, options) => {
  for (const seed of seeds(50)) expect(expectTrue(checked(seed, options)).difference, `seed ${seed}`).toBe(0);
});

test('a day of which the register knows more is found, with the amount', () => {
  for (const seed of seeds(50)) {
    const draw = drawFor(seed, 0, 'jump');
    const jump = {
      from: addDays(START, 20 + Math.floor(draw() * 200)),
      by: Math.round(draw() * 40 * KWH) - 20 * KWH,
    };
    const told = checked(seed, {}, jump);
    const { difference, from, to } = expectTrue(told);
    expect(difference, `seed ${seed}, ${jump.from}`).toBe(from <= jump.from && jump.from <= to ? jump.by : 0);
  }
});

test('lost days: what is missing is told beside the difference, or left out of the span', () => {
  for (const seed of seeds(50)) {
    const { difference, daysMissing } = expectTrue(checked(seed, { lost: 0.02 }));
    expect(daysMissing === 0 ? difference : 0).toBe(0);
    expect(difference).toBeGreaterThanOrEqual(0);
  }
});
