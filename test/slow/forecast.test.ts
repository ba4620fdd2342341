// Forecasts of the month on simulated households: how often the band holds, how wide it is, and how far off the forecast.
import { expect, test } from 'vitest';
import { forecastMonth, type Known } from '../../src/domain/insight/forecast/forecast.ts';
import { fittedWeather } from '../../src/domain/insight/use/weather.ts';
import { addDays, addMonths, type Day, daysBetween } from '../../src/domain/period.ts';
import { fitTariff, type Tariff } from '../../src/domain/tariff/tariff.ts';
import { Household, type HouseholdOptions } from '../support/household.ts';

const SEED = Number(process.env.HEAT2MQTT_SEED ?? 1);
const HOUSES = 42;
const MONTHS = 12;
const FIRST_MONTH = '2025-01-01';
const DAYS_OF_MONTH = [5, 10, 15, 20, 25];
const RATE = 0.124;
const STANDING = 0.686;
const EUR = 1_000_000;

interface Score {
  months: number;
  readonly held: Map<number, number>;
  heldCost: number;
  readonly halves: number[];
  squares: number;
  squaresOfMean: number;
}

/** What was known of the household in the evening before the day, of the years before the month. */
function knownOn(
  house: Household,
  month: Day,
  today: Day,
  years: number,
  tariff: Tariff | null,
  byWeather: boolean,
): Known {
  const isKnown = ([day]: readonly [Day, unknown]) => day >= addDays(month, -366 * years) && day < today;
  const days = new Map([...house.days].filter(isKnown));
  const temperatures = new Map([...house.temperatures].filter(isKnown));
  const weather = byWeather ? fittedWeather(days, { temperatures, base: 15.5 }, today) : null;
  return { days, today, tariff, weather };
}

/** The rule of before: what the month has, and the mean of the newest fourteen days for the others. kWh. */
function meanRule({ days }: Known, month: Day, end: Day): number {
  const newest = [...days.values()].slice(-14);
  const sum = (all: readonly { energy: number | null }[]) =>
    all.reduce((kwh, { energy }) => kwh + (energy ?? 0) / 1e6, 0);
  const ofMonth = [...days].filter(([day]) => day >= month).map(([, record]) => record);
  return sum(ofMonth) + (sum(newest) / newest.length) * (daysBetween(month, end) - ofMonth.length);
}

function scoreOf(years: number, byWeather: boolean, options: Partial<HouseholdOptions>): Score {
  const score: Score = { months: 0, held: new Map(), heldCost: 0, halves: [], squares: 0, squaresOfMean: 0 };
  for (let at = 0; at < HOUSES; at += 1) {
    const house = new Household({ seed: SEED * 1_000 + at, from: '2023-01-01', days: 3 * 366, ...options });
    const tariff = fitTariff(house.until('2024-12-31'));
    for (let further = 0; further < MONTHS; further += 1) {
      const month = addMonths(FIRST_MONTH, further);
      const end = addMonths(month, 1);
      const used = house.used({ from: month, to: end });
      score.months += 1;
      for (const dayOfMonth of DAYS_OF_MONTH) {
        const known = knownOn(house, month, addDays(month, dayOfMonth - 1), years, tariff, byWeather);
        const { energy, cost } = forecastMonth(known);
        if (energy?.low == null || energy.high === null || cost?.low == null || cost.high === null) continue;
        if (used * 1e6 >= energy.low && used * 1e6 <= energy.high)
          score.held.set(dayOfMonth, (score.held.get(dayOfMonth) ?? 0) + 1);
        if (dayOfMonth !== 15) continue;
        const paid = (used * RATE + daysBetween(month, end) * STANDING) * EUR;
        if (paid >= cost.low && paid <= cost.high) score.heldCost += 1;
        score.halves.push((energy.high - energy.low) / 2e6);
        score.squares += (energy.amount / 1e6 - used) ** 2;
        score.squaresOfMean += (meanRule(known, month, end) - used) ** 2;
      }
    }
  }
  return score;
}

const KINDS: readonly [string, Partial<HouseholdOptions>][] = [
  ['usual', {}],
  ['at home all year', { holidays: 0, climate: { persistence: 0.8 } }],
  ['away on weekdays', { setback: 0.7 }],
];
const cases = KINDS.flatMap(([kind, options], at) =>
  (
    [
      [1, 'by season'],
      [1, 'by weather'],
      [2, 'by season'],
      [2, 'by weather'],
    ] as const
  )
    // Of the other kinds half of them: it takes long.
    .filter((_, which) => at === 0 || which === 1 || which === 2)
    .map(([years, by]) => [kind, years, by, options] as const),
);

test.each(cases)('%s, %i years, %s: the bands hold', { timeout: 300_000 }, (_kind, years, by, options) => {
  const { months, held, heldCost, halves, squares, squaresOfMean } = scoreOf(
    years,
    by === 'by weather',
    options,
  );
  const share = (count: number) => (100 * count) / months;
  const half = halves.sort((a, b) => a - b)[Math.floor(halves.length / 2)] ?? Number.NaN;
  const error = Math.sqrt(squares / months);
  const errorOfMean = Math.sqrt(squaresOfMean / months);
  const pooled = [...held.values()].reduce((sum, count) => sum + share(count), 0) / DAYS_OF_MONTH.length;
  const figures = { pooled, midMonth: share(held.get(15) ?? 0), cost: share(heldCost) };
  expect(months).toBeGreaterThan(500);
  for (const [figure, percent] of Object.entries(figures)) {
    expect(percent, figure).toBeGreaterThan(75);
    expect(percent, figure).toBeLessThan(85);
  }
  expect(half).toBeLessThanOrEqual(errorOfMean);
  expect(error).toBeLessThan(0.85 * errorOfMean);
});
