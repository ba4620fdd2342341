// The use of days to come: by the seasons of the years before, or by the weather where it is known.
import { inFull } from '../../amount.ts';
import { addDays, type Day, daysOf } from '../../period.ts';
import { meanOf } from '../statistics.ts';
import { degreeDays, expectedHeat, type FittedWeather, type WeatherFit } from '../use/weather.ts';
import { type Link, type Point, type Prior, Projection } from './projection.ts';
import type { Offset, Reading } from './readings.ts';

/** In kWh or units of the currency. `variance`: `null` = too little is known. */
export interface Outlook {
  readonly mean: number;
  readonly variance: number | null;
}

/** Of fewer days no season is learnt: the mean of the newest readings goes on. */
const FEWEST_DAYS = 60;
const RECENT_READINGS = 14;
/** With less than a year of it the climate is not known. */
const FEWEST_TEMPERATURES = 330;
const TEMPERATURES_OF_DAYS = 2 * 366;
/** How far off the fit may be, as a share. */
const FIT_ERROR = 0.06;

/**
 * Square roots of daily use scatter alike in winter and summer. Shares of the mean root: how far level and seasons may
 * go, and the level in a year; variances as shares of its square.
 */
const USE = { level: 0.3, season: 0.35, drift: 0.05, persistence: 0.8, scatter: [0.012, 0.02] } as const;
/** The same once the weather is taken out. */
const HABIT = { level: 0.1, season: 0, drift: 0.05, persistence: 0.5, scatter: [0.01, 0.012] } as const;
/** °C. */
const CLIMATE = {
  around: 10,
  level: 3,
  season: 6,
  drift: 0.3,
  persistence: 0.75,
  scatter: [1.5, 5],
} as const;

/** The sum over the days that are left. */
export function outlook(
  readings: readonly Reading[],
  left: readonly Offset[],
  today: Day,
  weather: FittedWeather | null,
): Outlook {
  if (left.length === 0) return { mean: 0, variance: 0 };
  const past = readings.filter(({ at }) => at <= 0);
  // A reading after a gap that carries an unknown number of days tells nothing of a day.
  const plain = past.filter(({ missed, carries }) => carries === missed + 1);
  const days = plain.reduce((sum, { carries }) => sum + carries, 0);
  if (days < FEWEST_DAYS) return { mean: recentMean(past) * left.length, variance: null };
  const points = plain.map(({ at, amount, carries }) => ({
    at,
    value: Math.sqrt(Math.max(0, inFull(amount)) / carries),
    days: carries,
  }));
  return (weather && byWeather(points, left, today, weather)) ?? bySeason(points, left);
}

function recentMean(past: readonly Reading[]): number {
  const newest = past.slice(-RECENT_READINGS);
  const sum = newest.reduce((all, { amount }) => all + amount, 0);
  return inFull(sum) / newest.reduce((days, { carries }) => days + carries, 0);
}

function bySeason(points: readonly Point[], left: readonly Offset[]): Outlook {
  const root = meanRoot(points);
  return new Projection(points, sharesOf(USE, root, root), squared, left.length).sum(left);
}

/**
 * The weather to come makes heat by the fit; what the newest days used more or less than that goes on. `null`: too few
 * temperatures.
 */
function byWeather(
  points: readonly Point[],
  left: readonly Offset[],
  today: Day,
  { temperatures, fit }: FittedWeather,
): Outlook | null {
  const known: Point[] = [];
  const roots = new Map<Offset, number>();
  const span = { from: addDays(today, -TEMPERATURES_OF_DAYS), to: addDays(today, 1) };
  for (const [index, day] of daysOf(span).entries()) {
    const value = temperatures.get(day);
    if (value === undefined) continue;
    const at = index - TEMPERATURES_OF_DAYS;
    known.push({ at, value, days: 1 });
    roots.set(at, Math.sqrt(expectedHeat(fit, degreeDays(value, fit.base))));
  }
  const habits = points.flatMap((point) => {
    const root = rootOver(point, roots);
    return root === null ? [] : [{ ...point, value: point.value - root }];
  });
  if (known.length < FEWEST_TEMPERATURES || habits.length < FEWEST_DAYS) return null;
  const climate = new Projection(known, CLIMATE, heatBy(fit), left.length);
  const unknown = left.filter((at) => !roots.has(at));
  const heat = climate.sum(unknown);
  for (const [index, at] of unknown.entries()) roots.set(at, Math.sqrt(heat.means[index] ?? 0));
  const shares = sharesOf(HABIT, 0, meanRoot(points));
  const over: Link = (value, variance, at) => squared(value + (roots.get(at) ?? 0), variance);
  const habit = new Projection(habits, shares, over, left.length).sum(left);
  const ofFit = (FIT_ERROR * habit.mean) ** 2;
  return { mean: habit.mean, variance: habit.variance + heat.variance + ofFit };
}

/** The root of a mean day of the point by the weather; `null`: the temperature of a day is missing. */
function rootOver({ at, days }: Point, roots: ReadonlyMap<Offset, number>): number | null {
  if (days === 1) return roots.get(at) ?? null;
  let squares = 0;
  for (let day = at - days + 1; day <= at; day += 1) squares += (roots.get(day) ?? Number.NaN) ** 2;
  return Number.isNaN(squares) ? null : Math.sqrt(squares / days);
}

/** Use from its root. */
function squared(value: number, variance: number): ReturnType<Link> {
  const root = Math.max(0, value);
  return { mean: root ** 2 + variance, slope: 2 * root };
}

/** Heat from a temperature that is known up to a variance: a mild forecast has cold days too. */
const heatBy =
  (fit: WeatherFit): Link =>
  (value, variance) => {
    const deviation = Math.sqrt(variance) + 1e-9;
    const distance = (fit.base - value) / deviation;
    // The normal distribution, to a thousandth.
    const share = 1 / (1 + Math.exp(-distance * (1.5976 + 0.07056 * distance ** 2)));
    const density = Math.exp(-(distance ** 2) / 2) / Math.sqrt(2 * Math.PI);
    const degrees = deviation * density + (fit.base - value) * share;
    return { mean: expectedHeat(fit, degrees), slope: -fit.slope * share };
  };

const meanRoot = (points: readonly Point[]): number => meanOf(points, ({ value }) => value);

const sharesOf = (shares: typeof USE | typeof HABIT, around: number, root: number): Prior => ({
  around,
  level: shares.level * root,
  season: shares.season * root,
  drift: shares.drift * root,
  persistence: shares.persistence,
  scatter: [shares.scatter[0] * root ** 2, shares.scatter[1] * root ** 2],
});
