// The rule of an account's bills, a linear regression on what their days are made of: a tax, a fee, or a charge by the month.
import {
  addTo,
  dot,
  leastSquares,
  median,
  NORMAL_PER_DEVIATION,
  quadratic,
  student,
} from '../leastSquares.ts';

/** What a bill is made of: the cost of its days in units of the currency, how many they are, and the bill itself; or a rate for each. */
export type Terms = readonly number[];
const SUM: Terms = [1, 0, 0];
const DAYS: Terms = [0, 1, 0];
const BILLS: Terms = [0, 0, 1];

interface Observation {
  readonly terms: Terms;
  /** What is billed, in units of the currency. */
  readonly total: number;
}

/** The rates that are charged in any case, and those that are fitted a multiple of. */
interface Form {
  readonly start: Terms;
  readonly fitted: readonly Terms[];
}

/** The sum of the days, with none to all of: a share of it, so much a day, so much a bill. */
const FORMS = [0, 1, 2, 3].flatMap((count) =>
  choices([SUM, DAYS, BILLS], count).map((fitted): Form => ({ start: SUM, fitted })),
);
/** Two may agree by chance; and at least one more than the terms, which fit any others. */
const FEWEST_BILLS = 3;
/** Where some bills are left out, more than so many others beyond those of the terms have to agree. */
const BILLS_TO_SPARE = 2;
/** Standard deviation by rounding to cents, of the bill and of its days: like days are rounded alike. Believed as if six bills had told it. */
const ROUNDING = 0.035;
const ROUNDING_BILLS = 6;
/** Bills further off than so many scatters are outliers (Rousseeuw and Leroy, 1987). */
const OUTLIER = 2.5;
/** An outlier may be anywhere within so much, in units of the currency: that is its likelihood. */
const OUTLIER_RANGE = 100;
/** Occam's window (Madigan and Raftery): rules that are twenty times less likely than the best are dropped. */
const OCCAMS_WINDOW = 2 * Math.log(20);
/** Two-sided 99.9 %: of a thousand correct bills one is accused. */
const LIMIT = 3.29;
/** A rule that is not surer than this, in units of the currency, acquits nothing. */
export const LARGEST_LIMIT = 0.75;

/** `scatter`: the standard deviation of bills about it; `inverse`: the covariance of what is fitted for a scatter of 1. */
export interface Rule {
  readonly rates: Terms;
  readonly fitted: readonly Terms[];
  readonly inverse: readonly Terms[];
  readonly scatter: number;
  readonly freedom: number;
}

/** What the rule makes of the terms, and Student's prediction limit: how far off a correct bill may be. */
export function predict({ rates, fitted, inverse, scatter, freedom }: Rule, terms: Terms) {
  const row = fitted.map((one) => dot(one, terms));
  const variance = 1 + quadratic(row, inverse);
  return { expected: dot(rates, terms), limit: student(LIMIT, freedom) * scatter * Math.sqrt(variance) };
}

/** Whether the rule is sure of the bill, and the bill is within its limit. */
export function isKept(rule: Rule, { terms, total }: Observation): boolean {
  const { expected, limit } = predict(rule, terms);
  return limit <= LARGEST_LIMIT && Math.abs(total - expected) <= limit;
}

/** The rules in Occam's window by Schwarz's criterion, the simplest first. Empty: there is none, or there are too few bills. */
export function findRules(bills: readonly Observation[], forms = FORMS): Rule[] {
  const found = forms.flatMap((form) => rulesOf(form, bills)).sort((a, b) => a.criterion - b.criterion);
  const most = (found[0]?.criterion ?? 0) + OCCAMS_WINDOW;
  const likely = found.filter(({ criterion }) => criterion <= most).map(({ rule }) => rule);
  return likely.sort((a, b) => a.fitted.length - b.fitted.length);
}

/**
 * A rule that all the newest bills keep to: the one of before but for one of its terms or a share of all, or one that most
 * of all these bills have. `null`: there is none.
 */
export function changedRule({ rates }: Rule, newest: readonly Observation[], all: readonly Observation[]) {
  // A tax is set in percent, and what it does to a fee follows from that.
  const share = rates.map((rate) => rate / (rates[0] as number));
  const changes = [SUM, DAYS, BILLS, share].map((one) => ({ start: rates, fitted: [one] }));
  const rules = [...findRules(newest, changes), ...findRules(all)];
  return rules.find((rule) => newest.every((bill) => isKept(rule, bill))) ?? null;
}

/** By the bills that are no outliers, where enough are left. */
function rulesOf(form: Form, bills: readonly Observation[]) {
  if (bills.length < Math.max(FEWEST_BILLS, form.fitted.length + 1)) return [];
  const kept = leastMedianOfSquares(form, bills);
  return ruleOf(form, kept.length > form.fitted.length + BILLS_TO_SPARE ? kept : bills, bills.length) ?? [];
}

const offBy = (rates: Terms, { terms, total }: Observation): number => total - dot(rates, terms);

/** Least squares. `null`: these bills cannot tell the terms apart. */
function regress({ start, fitted }: Form, bills: readonly Observation[]) {
  const columns = fitted.map((one) => bills.map(({ terms }) => dot(one, terms)));
  const values = bills.map((bill) => offBy(start, bill));
  const found = leastSquares(columns, values);
  if (found === null) return null;
  const rates = [...start];
  for (const [at, one] of fitted.entries()) addTo(rates, found.coefficients[at] as number, one);
  return { ...found, rates };
}

/**
 * The bills that keep to the line through as many of them as it has terms of which the median of squares is the least: nearly half of them
 * may be wrong. Huber's line scatters so much by two wrong ones of the first ten that it takes them for right ones.
 */
function leastMedianOfSquares(form: Form, bills: readonly Observation[]): readonly Observation[] {
  let best = { median: Number.POSITIVE_INFINITY, off: [] as readonly number[] };
  for (const sample of choices(bills, form.fitted.length)) {
    const found = regress(form, sample);
    if (found === null) continue;
    const off = bills.map((bill) => Math.abs(offBy(found.rates, bill)));
    const middle = median(off);
    if (middle < best.median) best = { median: middle, off };
  }
  // The scale of normal noise, corrected for few bills (Rousseeuw and Leroy); rounding is always there.
  const few = 1 + 5 / (bills.length - form.fitted.length);
  const far = OUTLIER * Math.max(ROUNDING, NORMAL_PER_DEVIATION * few * best.median);
  return bills.filter((_, at) => (best.off[at] ?? Number.POSITIVE_INFINITY) <= far);
}

/** All choices of so many of them. */
function choices<T>(all: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return all.flatMap((one, at) => choices(all.slice(at + 1), count - 1).map((others) => [one, ...others]));
}

/** The rule by the bills that are kept, and how likely it is; the others of `all` are outliers. */
function ruleOf(form: Form, kept: readonly Observation[], all: number) {
  const found = regress(form, kept);
  if (found === null) return null;
  const { rates, inverse, residuals } = found;
  const { fitted } = form;
  const squares = dot(residuals, residuals);
  // Few bills cannot tell how much they scatter.
  const freedom = ROUNDING_BILLS + kept.length - fitted.length;
  const scatter = Math.sqrt((ROUNDING_BILLS * ROUNDING ** 2 + squares) / freedom);
  const criterion =
    2 * kept.length * Math.log(scatter) +
    squares / scatter ** 2 +
    2 * (all - kept.length) * Math.log(OUTLIER_RANGE) +
    fitted.length * Math.log(all);
  return { criterion, rule: { rates, fitted, inverse, scatter, freedom } satisfies Rule };
}
