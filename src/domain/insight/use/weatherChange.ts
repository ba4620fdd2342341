// Did the household save, or was it mild? The newest days against the same days a year before, at this year's weather.
import type { Ledger } from '../../ledger.ts';
import { addDays, type Day } from '../../period.ts';
import { fitWeather, type HeatSpan, heatSpans, newestDay, type Weather } from './weather.ts';

export interface WeatherChange {
  /** How much more was used than the year before, at this year's weather; percent. */
  readonly percent: number;
  /** Its 80 % band, percent. */
  readonly low: number;
  readonly high: number;
  /** First and last day of the comparison. */
  readonly from: Day;
  readonly to: Day;
  /** How many of its days are compared. */
  readonly days: number;
  /** What these days used, and would have as the year before; kWh. */
  readonly used: number;
  readonly expected: number;
}

const PERIOD_DAYS = 90;
const YEAR_DAYS = 365;
const FEWEST_DAYS = 60;
/** Days off the line are followed by others for about so long: a holiday. */
const MEMORY_SPANS = 14;
/** 80 % of Student's distribution with about 25 degrees of freedom. */
const BAND = 1.32;
/** Half of the band, as a share: what is less sure than this tells nothing. */
const LEAST_SURE = 0.5;

interface Sum {
  readonly days: number;
  readonly energy: number;
  readonly degreeDays: number;
}

/**
 * Of the newest 90 days with reading and temperature. Expected is what the same days a year before used, and for the
 * difference in degree days the slope of the year before. `null`: fewer than 60 of the days are known in one of the
 * two years, the temperatures explain too little of the use, or the band is wider than 50 points on either side.
 */
export function weatherChange(days: Ledger['days'], weather: Weather): WeatherChange | null {
  const newest = newestDay(days, weather);
  if (newest === null) return null;
  const to = addDays(newest, 1);
  const from = addDays(to, -PERIOD_DAYS);
  const yearBefore = { from: addDays(from, -YEAR_DAYS), to: addDays(to, -YEAR_DAYS) };
  const [spans, spansBefore] = [heatSpans(days, weather, { from, to }), heatSpans(days, weather, yearBefore)];
  const [now, before] = [sumOf(spans), sumOf(spansBefore)];
  if (now.days < FEWEST_DAYS || before.days < FEWEST_DAYS) return null;
  const fit = fitWeather(days, weather.temperatures, weather.base, from);
  if (fit === null) return null;

  // By the line alone a change in the middle of the year before would be taken for one of this year.
  const level = (before.energy - fit.slope * before.degreeDays) / before.days;
  const expectedOf = (span: Sum) => span.days * level + fit.slope * span.degreeDays;
  const expected = expectedOf(now);
  if (expected <= 0) return null;
  const ratio = now.energy / expected;
  const [own, others] = [
    noiseOf(spans.map((span) => span.energy - ratio * expectedOf(span))),
    noiseOf(spansBefore.map((span) => span.energy - expectedOf(span))),
  ];
  const share = now.days / before.days;
  const persistence = Math.max(1, (own.ofSum + others.ofSum) / (own.ofEach + others.ofEach || 1));
  const ofSlope = persistence * (fit.slopeError * (now.degreeDays - share * before.degreeDays)) ** 2;
  const band = (BAND * Math.sqrt(own.ofSum + ratio ** 2 * (share ** 2 * others.ofSum + ofSlope))) / expected;
  if (!(band <= LEAST_SURE)) return null;
  return {
    percent: 100 * (ratio - 1),
    low: 100 * Math.max(-1, ratio - 1 - band),
    high: 100 * (ratio - 1 + band),
    from,
    to: newest,
    days: now.days,
    used: now.energy,
    expected,
  };
}

const sumOf = (spans: readonly HeatSpan[]): Sum =>
  spans.reduce<Sum>(
    (sum, span) => ({
      days: sum.days + span.days,
      energy: sum.energy + span.energy,
      degreeDays: sum.degreeDays + span.degreeDays,
    }),
    { days: 0, energy: 0, degreeDays: 0 },
  );

/** Variance of the sum, with what one day has in common with those after it (Newey and West), and as if it had nothing. */
function noiseOf(residuals: readonly number[]): { readonly ofSum: number; readonly ofEach: number } {
  const count = residuals.length;
  const common = (lag: number) =>
    residuals.reduce((sum, residual, at) => sum + residual * (residuals[at + lag] ?? 0), 0);
  const ofEach = common(0);
  let ofSum = ofEach;
  for (let lag = 1; lag <= MEMORY_SPANS; lag++) ofSum += 2 * (1 - lag / (MEMORY_SPANS + 1)) * common(lag);
  // Residuals about their own mean look smaller than they are.
  const correction = count / Math.max(1, count - MEMORY_SPANS);
  return { ofSum: Math.max(0, ofSum) * correction, ofEach: ofEach * correction };
}
