// Heat against outdoor temperature: a line through degree days whose base temperature is the house's own (PRISM, Fels 1986). It tells
// what of a month is heating, and what was saved beside the weather.
import { inFull } from '../amount.ts';
import { BAND, dot, leastSquares, meanOf, quadratic, sumBy } from '../leastSquares.ts';
import type { Ledger } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, daysOf } from '../period.ts';
import {
  FEWEST_DAYS,
  LONGEST_SPAN_DAYS,
  readingsIn,
  SEASON_DAYS,
  TWO_WEEKS_DAYS,
  YEAR_DAYS,
} from './readings.ts';

/** Mean outdoor temperature of local days, °C. */
export type Temperatures = ReadonlyMap<Day, number>;

/** The weather where the meters are. */
export interface Weather {
  readonly temperatures: Temperatures;
  /** °C above which nothing is heated; `null`: to be found for the house. */
  readonly base: number | null;
}

/** The reasons why the weather tells nothing. */
export const WEATHER_SILENCES = ['days_missing', 'not_heated', 'not_sure'] as const;

/** Custom in Ireland and Britain, for a house that does not tell its own. */
const USUAL_BASE = 15.5;
/** °C from which houses are heated, from well insulated to old ones. */
const BASES = [8, 9, 10, 11, 12, 13, 14, USUAL_BASE, 17, 18, 19, 20, 21, 22];
/** Walls keep a third of yesterday's cold: the middle of what houses of stone and of timber do. */
const OF_YESTERDAY = 1 / 3;
/** The standard deviation of a month's hot water as a share of it: guests, habits, and what of it the line cannot tell from heating. */
const WATER_STRAYS = 0.31;
/**
 * Critical values of Kiefer and Vogelsang (2005, table 1, Bartlett's kernel), polynomials in the share of lags: two-sided 80 %, and 95 % for
 * headlines. They are quantiles of W(1) / sqrt(2 / b (∫ B² - ∫ B(r) B(r + b))), with a Wiener process W and its bridge B: of
 * 60,000 simulated ones of 400 steps 2.71 and 3.48 for shares b of 0.25 and 0.5, where this makes 2.72 and 3.48; for 80 % 1.63 and 2.01.
 */
const BAND_BY_LAGS = [BAND, 1.304] as const;
const SURE_BY_LAGS = [1.96, 2.9694, 0.416, -0.5324] as const;
/** The standard deviation of a month's slope as a share of that of the year, and of the hot water of two months as a share of it. */
const SLOPE_STRAYS = 0.1;
const WATER_DIFFERS = 0.08;
/** A slope of fewer standard deviations may be none: one case in forty. */
const SURE_SLOPE = 2;
/** Share of the days that has to be known, in both years: the others are as these then. */
const SHARE_KNOWN = 2 / 3;
/** Half of the band, as a share: a wider one tells nothing of what households save. */
const LEAST_SURE = 0.25;
/** A house with a smaller share of heating than this has no weather to take out. */
const LEAST_HEATED = 0.15;

/** K·d of a day: how far its mean lies below the base. */
const degreesBelow = (base: number, mean: number): number => Math.max(0, base - mean);

/** The temperature of each day as a house feels it, °C; not a number where that of the day is not known. */
export function feltOver(temperatures: Temperatures, span: DaySpan): number[] {
  return daysOf(span).map((day) => {
    const mean = temperatures.get(day) ?? Number.NaN;
    const before = temperatures.get(addDays(day, -1)) ?? mean;
    return mean + OF_YESTERDAY * (before - mean);
  });
}

interface HeatDay {
  readonly kwh: number;
  readonly felt: number;
}

/** The days of which heat and felt temperature are known, oldest first. Those of one reading have the mean of them. */
type HeatDays = ReadonlyMap<Day, HeatDay>;

function heatDaysOf(days: Ledger['days'], temperatures: Temperatures): HeatDays {
  const measured = [...temperatures.keys()].sort();
  // The span is one day without heat if there are no temperatures.
  const from = measured[0] ?? '1970-01-01';
  const span = { from, to: addDays(measured.at(-1) ?? from, 1) };
  const felt = feltOver(temperatures, span);
  const heat = new Map<Day, HeatDay>();
  // The days in the first one are not known.
  for (const { day, at, amount, missed } of readingsIn('energy', days, span).slice(1)) {
    const feltThen = meanOf(felt.slice(at - missed, at + 1), (temperature) => temperature);
    if (missed >= LONGEST_SPAN_DAYS || Number.isNaN(feltThen)) continue;
    const mean = { kwh: inFull(amount) / (missed + 1), felt: feltThen };
    for (const ofReading of daysOf({ from: addDays(day, -missed), to: addDays(day, 1) }))
      heat.set(ofReading, mean);
  }
  return heat;
}

const heatOver = (heat: HeatDays, span: DaySpan): HeatDay[] =>
  daysOf(span).flatMap((day) => heat.get(day) ?? []);

export type House = ReturnType<typeof openHouse>;
export type HeatLine = ReturnType<typeof lineThrough>;
type Line = Exclude<HeatLine, string>;
export type Part = Exclude<ReturnType<House['split']>, string>['heating'];

/** The facts about a house from its days and the weather. Each line costs a year of days: several questions may share one. */
export function openHouse(days: Ledger['days'], { temperatures, base }: Weather) {
  const heatDays = heatDaysOf(days, temperatures);

  /** The line through the days of up to a year before `before`, or why there is none. */
  const lineBefore = (before: Day): HeatLine =>
    lineThrough(heatOver(heatDays, { from: addDays(before, -YEAR_DAYS), to: before }), base);

  /**
   * Use beyond that of the year before, at this year's weather, with the 80 % band; percent. Expected is what the same days a
   * year before used, and for other degree days the slope of the line, as a rule that of the year before the span; kWh. `days`:
   * those of the span that are compared.
   */
  function changeOver(span: DaySpan, line = lineBefore(span.from)) {
    const { from, to } = span;
    const now = heatOver(heatDays, span);
    const before = heatOver(heatDays, { from: addDays(from, -YEAR_DAYS), to: addDays(to, -YEAR_DAYS) });
    if (Math.min(now.length, before.length) < SHARE_KNOWN * daysBetween(from, to))
      return 'days_missing' as const;
    if (typeof line === 'string') return line;
    const change = changeBetween(now, before, line);
    if (typeof change === 'string') return change;
    return { ...change, from, to: addDays(to, -1), days: now.length };
  }

  return {
    temperatures,
    lineBefore,
    changeOver,
    /** Compares the newest 90 days with reading and temperature. */
    newestChange() {
      const newest = [...heatDays.keys()].at(-1);
      if (newest === undefined) return 'days_missing';
      return changeOver({ from: addDays(newest, 1 - SEASON_DAYS), to: addDays(newest, 1) });
    },
    /** K·d of the days of the span whose temperature is known, and how many these are; `null`: none. */
    degreeDays(span: DaySpan, line = lineBefore(span.to)) {
      const ofLine = typeof line === 'string' ? (base ?? USUAL_BASE) : line.base;
      const means = daysOf(span).flatMap((day) => temperatures.get(day) ?? []);
      const sum = sumBy(means, (mean) => degreesBelow(ofLine, mean));
      return means.length === 0 ? null : { sum, days: means.length };
    },
    /** The heat of the span's days apart, kWh with an 80 % band. */
    split(span: DaySpan, line = lineBefore(span.to)) {
      if (typeof line === 'string') return line;
      const readings = readingsIn('energy', days, span);
      const heat = heatOver(heatDays, span);
      const daysRead = sumBy(readings, ({ missed }) => missed + 1);
      if (daysRead === 0 || heat.length < SHARE_KNOWN * daysRead) return 'days_missing' as const;
      return splitBy(line, heat, inFull(sumBy(readings, ({ amount }) => amount)));
    },
  };
}

/**
 * kWh of a day are `hotWater` and, for each K·d below the base (°C), `slope`. The covariance of the two is that of days correlated as
 * they are. `given`: the base that is configured.
 */
function lineThrough(days: readonly HeatDay[], given: number | null) {
  // Two months have days of different temperatures.
  if (days.length < 2 * FEWEST_DAYS) return 'days_missing' as const;
  const base = given ?? fittedBase(days);
  const line = leastSquares(...columnsOf(days, base));
  if (line === null) return 'not_heated' as const;
  const { coefficients, residuals, inverse } = line;
  // Wider by what days have in common with those after them.
  const variance = Math.max(dot(residuals, residuals), longRun(residuals)) / days.length;
  const covariance = inverse.map((row) => row.map((entry) => entry * variance));
  const [hotWater = 0, slope = 0] = coefficients;
  const isSure = slope > SURE_SLOPE * Math.sqrt(covariance[1]?.[1] ?? 0);
  return isSure ? { base, hotWater: Math.max(0, hotWater), slope, covariance } : ('not_heated' as const);
}

/** The line makes something of each part; they are scaled so that they add up to what was used. */
function splitBy({ base, hotWater, slope, covariance }: Line, days: readonly HeatDay[], energy: number) {
  const degrees = sumBy(days, ({ felt }) => degreesBelow(base, felt));
  const total = hotWater * days.length + slope * degrees || 1;
  const share = (slope * degrees) / total;
  // The derivatives of the share by each coefficient.
  const gradient = [(-share * days.length) / total, ((1 - share) * degrees) / total];
  const ofWater = (WATER_STRAYS * (1 - share)) ** 2;
  const half = BAND * energy * Math.sqrt(quadratic(gradient, covariance) + ofWater);
  const part = (amount: number) => ({
    energy: amount,
    low: Math.max(0, amount - half),
    high: Math.min(energy, amount + half),
  });
  return { heating: part(share * energy), hotWater: part((1 - share) * energy) };
}

/** The days of now against those of the year before, at the weather of now. */
function changeBetween(now: readonly HeatDay[], before: readonly HeatDay[], line: Line) {
  const degreesOf = ({ felt }: HeatDay) => degreesBelow(line.base, felt);
  const degrees = meanOf(now, degreesOf);
  const degreesBefore = meanOf(before, degreesOf);
  const usedBefore = meanOf(before, ({ kwh }) => kwh);
  if (line.slope * Math.max(degrees, degreesBefore) < LEAST_HEATED * usedBefore) return 'not_heated' as const;

  // The line alone would take a change in the middle of the year before for one of this year.
  const level = usedBefore - line.slope * degreesBefore;
  const expectedOf = (day: HeatDay) => level + line.slope * degreesOf(day);
  const expected = level + line.slope * degrees;
  const used = meanOf(now, ({ kwh }) => kwh);
  // Credits may outweigh what was used.
  if (expected <= 0 || used < 0) return 'not_sure' as const;
  const ratio = used / expected;
  const moreDegrees = degrees - degreesBefore;
  const ofNow = meanVariance(now.map((day) => day.kwh - ratio * expectedOf(day)));
  const ofBefore = meanVariance(before.map((day) => day.kwh - expectedOf(day)));
  const ofSlope = (line.covariance[1]?.[1] ?? 0) * moreDegrees ** 2;
  const error = Math.sqrt(ofNow + ratio ** 2 * (ofBefore + ofSlope)) / expected;
  const band = quantile(BAND_BY_LAGS, now.length) * error;
  if (band > LEAST_SURE) return 'not_sure' as const;
  // A month has a slope of its own, as sun and wind have seasons, and people bathe as they do.
  const ofSeason = (SLOPE_STRAYS * line.slope * moreDegrees) / expected;
  const ofWater = (WATER_DIFFERS * line.hotWater) / expected;
  const sureBand = quantile(SURE_BY_LAGS, now.length) * Math.hypot(error, ratio * ofSeason, ratio * ofWater);
  return {
    /** Its 95 % band holds no change of nothing. */
    isSure: Math.abs(ratio - 1) > sureBand,
    percent: 100 * (ratio - 1),
    low: 100 * Math.max(-1, ratio - 1 - band),
    high: 100 * (ratio - 1 + band),
    used: used * now.length,
    expected: expected * now.length,
  };
}

/** The terms of the line, and the heat of each day, kWh. */
const columnsOf = (days: readonly HeatDay[], base: number): [columns: number[][], kwh: number[]] => [
  [days.map(() => 1), days.map(({ felt }) => degreesBelow(base, felt))],
  days.map(({ kwh }) => kwh),
];

/** °C: the one with the least squares, where it tells more than the usual one does. */
function fittedBase(days: readonly HeatDay[]): number {
  const squares = BASES.map((base) => {
    const { residuals } = leastSquares(...columnsOf(days, base)) ?? {};
    return residuals ? dot(residuals, residuals) : Number.POSITIVE_INFINITY;
  });
  const least = Math.min(...squares);
  // Schwarz's criterion: a base of its own is one parameter more.
  const gain = days.length * Math.log((squares[BASES.indexOf(USUAL_BASE)] as number) / least);
  return gain > Math.log(days.length) ? (BASES[squares.indexOf(least)] as number) : USUAL_BASE;
}

/** Variance of the sum of residuals, with what one day has in common with those of two weeks after it (Newey and West). */
function longRun(residuals: readonly number[]): number {
  const common = (lag: number) => dot(residuals.slice(lag), residuals);
  let variance = common(0);
  for (let lag = 1; lag <= TWO_WEEKS_DAYS; lag += 1)
    variance += 2 * (1 - lag / (TWO_WEEKS_DAYS + 1)) * common(lag);
  return Math.max(0, variance);
}

/** The variance of the mean of residuals. */
const meanVariance = (residuals: readonly number[]): number => longRun(residuals) / residuals.length ** 2;

/**
 * `longRun` is too small for so many lags of so few days: the critical value of a sum makes up for it, in standard deviations.
 */
const quantile = (byLags: readonly number[], days: number): number =>
  byLags.reduce((sum, one, power) => sum + one * ((TWO_WEEKS_DAYS + 1) / days) ** power, 0);
