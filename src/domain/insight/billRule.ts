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
import { SHIFTS, type Shift } from './billDays.ts';

/** The terms of a bill: the cost of its days in units of the currency, how many they are, and the bill itself; or a rate for each. */
export type Terms = readonly number[];
const SUM: Terms = [1, 0, 0];
const DAYS: Terms = [0, 1, 0];
const BILLS: Terms = [0, 0, 1];

/** Which days a bill is about: those that are printed on it, or as they lie beside these. */
export type Placing = 'printed' | Shift;

/** A bill, in units of the currency. */
export interface Observation {
  /** The cost of its days by each placing; `null` where that is not known. */
  readonly sums: Readonly<Record<Placing, number | null>>;
  readonly days: number;
  /** How many bills it is. */
  readonly bills: number;
  readonly total: number;
}

interface PlacedBill {
  readonly terms: Terms;
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
/** More have to agree where the days are not those printed: there are four times as many lines to choose from. */
const FEWEST_SHIFTED = 5;
const SHIFTED_TO_SPARE = 2;
/** If some bills are left out, more than so many others beyond those of the terms have to agree. */
const BILLS_TO_SPARE = 2;
/** Bills further off than so many scatters are outliers (Rousseeuw and Leroy, 1987). */
export const OUTLIER = 2.5;
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
/** Below this share of what its days cost a bill does not depend on them. */
const LEAST_SHARE = 0.1;

/** `scatter`: the standard deviation of bills about it; `inverse`: the covariance of what is fitted for a scatter of 1. */
export interface Rule {
  readonly placing: Placing;
  readonly rates: Terms;
  readonly fitted: readonly Terms[];
  readonly inverse: readonly Terms[];
  readonly scatter: number;
  readonly freedom: number;
  /** How many bills it was learnt by: the others are outliers. */
  readonly bills: number;
  /** The standard deviation by rounding, which all limits are measured in. */
  readonly rounding: number;
}

/** The largest limit of a rule that may acquit. */
export const sureLimit = ({ rounding }: Pick<Rule, 'rounding'>): number => SURE * rounding;

/** Instalments: the same amount whatever was used. */
export const isOfInstalments = ({ rates }: Rule): boolean => Math.abs(rates[0] ?? 0) < LEAST_SHARE;

function termsOf(placing: Placing, { sums, days, bills }: Omit<Observation, 'total'>): Terms | null {
  const sum = sums[placing];
  return sum === null ? null : [sum, days, bills];
}

/**
 * The rule's expectation of the days, and Student's prediction limit: how far off a correct bill may be. `null`: the days that it is about
 * are not known.
 */
export function predict(rule: Rule, days: Omit<Observation, 'total'>) {
  const { placing, rates, fitted, inverse, scatter, freedom } = rule;
  const terms = termsOf(placing, days);
  if (terms === null) return null;
  const row = fitted.map((one) => dot(one, terms));
  const variance = 1 + quadratic(row, inverse);
  return { expected: dot(rates, terms), limit: student(LIMIT, freedom) * scatter * Math.sqrt(variance) };
}

/** Whether the rule is sure of the bill, and the bill is within its limit. */
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
  const printed = rulesOf('printed', FORMS, bills, rounding);
  const isExact = printed.some(
    ({ rule }) => rule.scatter <= EXACT * rounding && rule.bills >= SHARE_EXACT * bills.length,
  );
  const shifted = isExact ? [] : SHIFTS.flatMap((shift) => rulesOf(shift, FORMS, bills, rounding));
  const rules = [...printed, ...shifted];
  const least = Math.min(...rules.map(({ criterion }) => criterion));
  return rules
    .filter(({ criterion }) => criterion <= least + OCCAMS_WINDOW)
    .sort((a, b) => parametersOf(a.rule) - parametersOf(b.rule) || a.criterion - b.criterion)
    .map(({ rule }) => rule);
}

const parametersOf = ({ fitted, placing }: Pick<Rule, 'fitted' | 'placing'>): number =>
  fitted.length + Number(placing !== 'printed');

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
  const share = rates.map((rate) => rate / (rates[0] as number));
  const changes = [SUM, DAYS, BILLS, share].map((terms): Form => ({ start: rates, fitted: [terms] }));
  const changed = rulesOf(placing, changes, newest, rounding)
    .sort((a, b) => a.criterion - b.criterion)
    .map(({ rule }) => rule);
  const rules = [...changed, ...findRules(differing, rounding)];
  return rules.find((rule) => newest.every((bill) => isKept(rule, bill))) ?? null;
}

/** A rule and Schwarz's criterion of it: the less the likelier. */
interface LikelyRule {
  readonly rule: Rule;
  readonly criterion: number;
}

function rulesOf(
  placing: Placing,
  forms: readonly Form[],
  bills: readonly Observation[],
  rounding: number,
): LikelyRule[] {
  const placed = bills.flatMap((bill): PlacedBill[] => {
    const terms = termsOf(placing, bill);
    return terms === null ? [] : [{ terms, total: bill.total }];
  });
  const robust = (form: Form): LikelyRule | null => {
    if (placed.length < fewestBills(placing, form)) return null;
    const learnt = (from: readonly PlacedBill[]) => ruleOf(placing, form, from, bills.length, rounding);
    return robustRule(form, placed, rounding, learnt);
  };
  return forms.flatMap((form) => robust(form) ?? []);
}

const fewestBills = (placing: Placing, { fitted }: Form): number =>
  placing === 'printed'
    ? Math.max(FEWEST_BILLS, fitted.length + 1)
    : Math.max(FEWEST_SHIFTED, fitted.length + SHIFTED_TO_SPARE);

/** Reweighted least squares: learnt by the bills that are no outliers, where enough are left. */
function robustRule(
  form: Form,
  bills: readonly PlacedBill[],
  rounding: number,
  learnt: (from: readonly PlacedBill[]) => LikelyRule | null,
): LikelyRule | null {
  const byAll = learnt(bills);
  if (byAll === null) return null;
  const isNear = (bill: PlacedBill) => Math.abs(offBy(byAll.rule.rates, bill)) <= OUTLIER * rounding;
  if (bills.every(isNear)) return byAll;
  const near = leastMedianOfSquares(form, bills, rounding);
  if (near.length <= form.fitted.length + BILLS_TO_SPARE) return byAll;
  const byNear = learnt(near);
  // If even the bills nearest to the line scatter by more than rounding does, the others are no outliers of it.
  const isNoisy = byNear !== null && byNear.rule.scatter > EXACT * rounding;
  return isNoisy ? byAll : byNear;
}

const offBy = (rates: Terms, { terms, total }: PlacedBill): number => total - dot(rates, terms);

/** The fitted values, bill by bill, and the rest for them to explain. */
function regressionOf({ start, fitted }: Form, bills: readonly PlacedBill[]) {
  return {
    columns: fitted.map((one) => bills.map(({ terms }) => dot(one, terms))),
    values: bills.map((bill) => offBy(start, bill)),
  };
}

function ratesOf({ start, fitted }: Form, coefficients: readonly number[]): Terms {
  const rates = [...start];
  for (const [at, one] of fitted.entries()) addTo(rates, coefficients[at] as number, one);
  return rates;
}

/**
 * The bills that keep to the line through as many of them as it has terms of which the median of squares is the least: nearly half of them
 * may be wrong. Huber's line scatters so much by two wrong ones of the first ten that it takes them for right ones.
 */
function leastMedianOfSquares(
  form: Form,
  bills: readonly PlacedBill[],
  rounding: number,
): readonly PlacedBill[] {
  const { columns, values } = regressionOf(form, bills);
  const terms = bills.map((_, at) => columns.map((column) => column[at] as number));
  let best: { readonly median: number; readonly off: readonly number[] } = {
    median: Number.POSITIVE_INFINITY,
    off: [],
  };
  for (const sample of samplesOf(bills.length, form.fitted.length)) {
    const ofSample = (column: readonly number[]) => sample.map((at) => column[at] as number);
    const line = leastSquares(columns.map(ofSample), ofSample(values));
    if (line === null) continue;
    let nearer = 0;
    const off = bills.map((_, at) => {
      const distance = Math.abs((values[at] as number) - dot(line.coefficients, terms[at] as Terms));
      if (distance < best.median) nearer += 1;
      return distance;
    });
    // Few of hundreds of samples are better, and have to be sorted.
    if (nearer > bills.length >> 1) best = { median: median(off), off };
  }
  // The scale of normal noise, corrected for few bills (Rousseeuw and Leroy); rounding is always there.
  const few = 1 + 5 / (bills.length - form.fitted.length);
  const far = OUTLIER * Math.max(rounding, NORMAL_PER_DEVIATION * few * best.median);
  return bills.filter((_, at) => (best.off[at] ?? Number.POSITIVE_INFINITY) <= far);
}

/** Each is asked for again and again. */
const samples = new Map<string, readonly number[][]>();

/** All choices of so many places among `count`. */
function samplesOf(count: number, size: number): readonly number[][] {
  const key = `${count} ${size}`;
  const places = Array.from({ length: count }, (_, at) => at);
  const chosen = samples.get(key) ?? choices(places, size);
  samples.set(key, chosen);
  return chosen;
}

/** All choices of so many of them. */
function choices<T>(from: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return from.flatMap((first, at) =>
    choices(from.slice(at + 1), count - 1).map((others) => [first, ...others]),
  );
}

/** The rule by these bills, and how likely it is; the others of `count` are outliers. */
function ruleOf(
  placing: Placing,
  form: Form,
  bills: readonly PlacedBill[],
  count: number,
  rounding: number,
): LikelyRule | null {
  const { columns, values } = regressionOf(form, bills);
  const regression = leastSquares(columns, values);
  if (regression === null) return null;
  const { coefficients, inverse, residuals } = regression;
  const { fitted } = form;
  const squares = dot(residuals, residuals);
  // Few bills cannot tell how much they scatter; but that it is more than rounding.
  const spare = bills.length - fitted.length;
  const isNoisy = squares > spare * (EXACT * rounding) ** 2;
  const freedom = isNoisy ? spare : ROUNDING_BILLS + spare;
  const scatter = Math.sqrt((isNoisy ? squares : ROUNDING_BILLS * rounding ** 2 + squares) / freedom);
  const criterion =
    bills.length * Math.log(2 * Math.PI * scatter ** 2) +
    squares / scatter ** 2 +
    2 * (count - bills.length) * Math.log(OUTLIER_RANGE * rounding) +
    parametersOf({ fitted, placing }) * Math.log(count);
  const rule: Rule = {
    placing,
    rates: ratesOf(form, coefficients),
    fitted,
    inverse,
    scatter,
    freedom,
    bills: bills.length,
    rounding,
  };
  return { rule, criterion };
}
