// The rule of an account's bills, a linear regression on what their days are made of: a tax, a fee, or a charge by the month.
import type { Micro } from '../amount.ts';
import {
  addTo,
  dot,
  leastSquares,
  median,
  NORMAL_PER_DEVIATION,
  quadratic,
  student,
} from '../leastSquares.ts';
import { PLACINGS, type Placing } from './billDays.ts';

/** The terms of a bill: the cost of its days, how many they are, and the bill itself; or a rate for each. */
type Terms = readonly number[];
const SUM: Terms = [1, 0, 0];
const DAYS: Terms = [0, 1, 0];
const BILLS: Terms = [0, 0, 1];

/** The days of a bill, or of several that are one. */
interface BilledDays {
  /** Their cost by each placing; `null` where that is not known. */
  readonly sums: Readonly<Record<Placing, Micro | null>>;
  readonly days: number;
  readonly bills: number;
}

export interface Observation extends BilledDays {
  readonly total: Micro;
}

/** A regression: the rates that are charged in any case, and those that are fitted a multiple of. */
interface Form {
  readonly placing: Placing;
  readonly start: Terms;
  readonly fitted: readonly Terms[];
}

const SHIFTED = PLACINGS.filter((placing) => placing !== 'printed');
/** Two may agree by chance; and at least one more than the terms, which fit any others. */
const FEWEST_BILLS = 3;
/** More have to agree where the days are not those printed: there are four times as many lines to choose from. */
const FEWEST_SHIFTED = 5;
/** If some bills are left out, more than so many others beyond those of the terms have to agree. */
const BILLS_TO_SPARE = 2;
/** Bills further off than so many scatters are outliers (Rousseeuw and Leroy, 1987). */
export const OUTLIER = 2.5;
/** One in four of the lines through three of twelve bills is tried: some of those are through right bills only. */
const MOST_SAMPLES = 70;
/** Rounding is believed as if so many bills had told it. */
const ROUNDING_BILLS = 6;
/** An outlier may be anywhere within so many scatters of rounding, 100 EUR of bills in cents: that is its likelihood. */
const OUTLIER_RANGE = 100 / 0.035;
/** Occam's window (Madigan and Raftery): rules that are twenty times less likely than the best are dropped. */
const OCCAMS_WINDOW = 2 * Math.log(20);
/** Two-sided 99.9 %: of a thousand correct bills one is accused. */
const LIMIT = 3.29;
/** A rule that is not surer than so many scatters of rounding, 0.75 EUR of bills in cents, acquits nothing. */
const SURE = 0.75 / 0.035;
/** If the printed days leave no more scatter than so many of rounding, and few outliers, no other placing is tried. */
const EXACT = 2;
const SHARE_EXACT = 0.75;
/** A bill of a smaller share of what its days cost does not depend on them. */
const LEAST_SHARE = 0.1;

export type Rule = Readonly<Omit<NonNullable<ReturnType<typeof leastSquaresRule>>, 'residuals'>>;

/** The part of a rule that foretells bills. */
export type Prediction = Pick<Rule, 'placing' | 'rates' | 'fitted' | 'inverse' | 'scatter' | 'freedom'>;

/** The largest limit of a rule that may acquit. */
export const sureLimit = ({ rounding }: Rule): number => SURE * rounding;

/** Instalments: the same amount whatever was used. */
export const isOfInstalments = ({ rates }: Rule): boolean => Math.abs(rates[0] ?? 0) < LEAST_SHARE;

/**
 * The rule's expectation of the days, and Student's prediction limit: how far off a correct bill may be. `null`: the days that it is about
 * are not known.
 */
export function predict({ placing, rates, fitted, inverse, scatter, freedom }: Prediction, days: BilledDays) {
  const terms = termsOf(placing, days);
  if (terms === null) return null;
  const row = fitted.map((term) => dot(term, terms));
  const variance = 1 + quadratic(row, inverse);
  return { expected: dot(rates, terms), limit: student(LIMIT, freedom) * scatter * Math.sqrt(variance) };
}

function termsOf(placing: Placing, { sums, days, bills }: BilledDays): Terms | null {
  const sum = sums[placing];
  return sum === null ? null : [sum, days, bills];
}

/** The rule is sure of the bill, and the bill is within its limit. */
export function isKept(rule: Rule, bill: Observation): boolean {
  const prediction = predict(rule, bill);
  if (prediction === null) return false;
  const { expected, limit } = prediction;
  return limit <= sureLimit(rule) && Math.abs(bill.total - expected) <= limit;
}

/**
 * The rules in Occam's window by Schwarz's criterion, the simplest first. Empty: there is none, or there are too few bills.
 * `rounding`: the standard deviation of a bill by that of itself and of its days.
 */
export function findRules(bills: readonly Observation[], rounding: number): Rule[] {
  const rulesBy = (placing: Placing) =>
    [0, 1, 2, 3]
      .flatMap((count) => choices([SUM, DAYS, BILLS], count))
      .flatMap((fitted) => robustRule({ placing, start: SUM, fitted }, bills, rounding) ?? []);
  const printed = rulesBy('printed');
  const isExact = printed.some(
    (rule) => rule.scatter <= EXACT * rounding && rule.bills >= SHARE_EXACT * bills.length,
  );
  const rules = isExact ? printed : [...printed, ...SHIFTED.flatMap(rulesBy)];
  const least = Math.min(...rules.map(({ criterion }) => criterion));
  return rules
    .filter(({ criterion }) => criterion <= least + OCCAMS_WINDOW)
    .sort((a, b) => parametersOf(a) - parametersOf(b) || a.criterion - b.criterion);
}

const parametersOf = ({ fitted, placing }: Form): number => fitted.length + Number(placing !== 'printed');

/**
 * A rule that all the newest bills keep to: the one of before but for one of its terms or a share of all, or one that most of the bills
 * that differ have. `null`: there is none.
 */
export function changedRule(
  { rates, placing, rounding }: Rule,
  newest: readonly Observation[],
  differing: readonly Observation[],
): Rule | null {
  // A tax is set in percent, and what it does to a fee follows from that.
  const changed = [SUM, DAYS, BILLS, rates]
    .flatMap((term) => robustRule({ placing, start: rates, fitted: [term] }, newest, rounding) ?? [])
    .sort((a, b) => a.criterion - b.criterion);
  const rules = [...changed, ...findRules(differing, rounding)];
  return rules.find((rule) => newest.every((bill) => isKept(rule, bill))) ?? null;
}

/** A bill as the regression sees it: the values of what is fitted, and the rest for them to explain. */
interface Point {
  readonly row: Terms;
  readonly rest: number;
}

/** Reweighted least squares (Rousseeuw and Leroy): by all bills, or by those that are no outliers where that is likelier. */
function robustRule(form: Form, bills: readonly Observation[], rounding: number): Rule | null {
  const { placing, start, fitted } = form;
  const points = bills.flatMap((bill): Point[] => {
    const terms = termsOf(placing, bill);
    return terms === null
      ? []
      : [{ row: fitted.map((term) => dot(term, terms)), rest: bill.total - dot(start, terms) }];
  });
  const fewest =
    placing === 'printed'
      ? Math.max(FEWEST_BILLS, fitted.length + 1)
      : Math.max(FEWEST_SHIFTED, fitted.length + BILLS_TO_SPARE);
  if (points.length < fewest) return null;
  const byAll = leastSquaresRule(form, points, bills.length, rounding);
  if (byAll === null || byAll.residuals.every((off) => Math.abs(off) <= OUTLIER * rounding)) return byAll;
  const near = nearLine(form, points, rounding);
  if (near.length <= fitted.length + BILLS_TO_SPARE) return byAll;
  const byNear = leastSquaresRule(form, near, bills.length, rounding);
  return byNear !== null && byNear.criterion < byAll.criterion ? byNear : byAll;
}

/**
 * The bills that keep to the line through as many of them as it has terms of which the median of squares is the least: nearly half of them
 * may be wrong. Huber's line scatters so much by two wrong ones of the first ten that it takes them for right ones.
 */
function nearLine(form: Form, points: readonly Point[], rounding: number): readonly Point[] {
  const terms = form.fitted.length;
  let least = Number.POSITIVE_INFINITY;
  let nearest: readonly number[] = [];
  const samples = choices(points, terms);
  const step = Math.ceil(samples.length / MOST_SAMPLES);
  for (let at = 0; at < samples.length; at += step) {
    const line = lineThrough(form, samples[at] as Point[]);
    if (line === null) continue;
    const off = points.map(({ row, rest }) => Math.abs(rest - dot(line.coefficients, row)));
    // Few of hundreds of lines are nearer, and have to be sorted.
    if (off.filter((distance) => distance < least).length <= points.length >> 1) continue;
    least = median(off);
    nearest = off;
  }
  // The scale of normal noise, corrected for few bills (Rousseeuw and Leroy); rounding is always there.
  const few = 1 + 5 / (points.length - terms);
  const far = OUTLIER * Math.max(rounding, NORMAL_PER_DEVIATION * few * least);
  return points.filter((_, at) => (nearest[at] ?? Number.POSITIVE_INFINITY) <= far);
}

const lineThrough = ({ fitted }: Form, points: readonly Point[]) =>
  leastSquares(
    fitted.map((_, term) => points.map(({ row }) => row[term] as number)),
    points.map(({ rest }) => rest),
  );

/** All choices of so many of them. */
function choices<T>(from: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return from.flatMap((first, at) =>
    choices(from.slice(at + 1), count - 1).map((others) => [first, ...others]),
  );
}

/**
 * The rule by these bills, and how likely it is; the others of `count` are outliers. `rounding`: the standard deviation by it, which all
 * limits are measured in.
 */
function leastSquaresRule(form: Form, points: readonly Point[], count: number, rounding: number) {
  const line = lineThrough(form, points);
  if (line === null) return null;
  const { coefficients, inverse, residuals } = line;
  const squares = dot(residuals, residuals);
  // Few bills cannot tell how much they scatter; but that it is more than rounding.
  const spare = points.length - form.fitted.length;
  const isNoisy = squares > spare * (EXACT * rounding) ** 2;
  const freedom = isNoisy ? spare : ROUNDING_BILLS + spare;
  const scatter = Math.sqrt((isNoisy ? squares : ROUNDING_BILLS * rounding ** 2 + squares) / freedom);
  const criterion =
    points.length * Math.log(2 * Math.PI * scatter ** 2) +
    squares / scatter ** 2 +
    2 * (count - points.length) * Math.log(OUTLIER_RANGE * rounding) +
    parametersOf(form) * Math.log(count);
  const rates = [...form.start];
  for (const [at, terms] of form.fitted.entries()) addTo(rates, coefficients[at] as number, terms);
  return {
    ...form,
    rates: rates as Terms,
    /** The covariance of what is fitted, for a scatter of 1. */
    inverse,
    residuals,
    /** The standard deviation of bills about it. */
    scatter,
    freedom,
    /** It was learnt by so many bills. */
    bills: points.length,
    rounding,
    /** Schwarz's: the less the likelier. */
    criterion,
  };
}
