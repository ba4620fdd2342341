// The rule of an account's bills: the cost of the days, with a tax, a fee or a charge, found by robust regression.
import { dot, leastSquares, quadratic, solved, student } from './leastSquares.ts';

/** What a bill is made of: the cost of its days, the part of it that is energy, its days, and one for the bill itself. */
export const TERMS = ['sum', 'energy', 'days', 'bills'] as const;
export type Term = (typeof TERMS)[number];
/** Units of the currency, days, and 1. */
export type Terms = Readonly<Record<Term, number>>;

export interface Observation extends Terms {
  /** What is billed, in units of the currency. */
  readonly total: number;
}

export interface Rule {
  /** What is billed besides the sum of the days, for one unit of each term; 0 for those that the rule has not. */
  readonly markup: Terms;
  readonly terms: readonly Term[];
  /** Standard deviation of bills about the rule, and its degrees of freedom. */
  readonly scatter: number;
  readonly freedom: number;
  /** Covariance of the terms' coefficients, for a scatter of 1. */
  readonly inverse: readonly (readonly number[])[];
}

/** From the simplest to the most that a provider is known to do. The sum is its energy and its days already. */
const FORMS: readonly (readonly Term[])[] = [
  [],
  ['sum'],
  ['bills'],
  ['energy'],
  ['days'],
  ['sum', 'bills'],
  ['energy', 'bills'],
  ['energy', 'days'],
  ['days', 'bills'],
  ['energy', 'days', 'bills'],
];
const NO_MARKUP: Terms = { sum: 0, energy: 0, days: 0, bills: 0 };
/** Bills beyond those of the terms themselves, without which any bills would do. */
const BILLS_TO_SPARE = 2;
/** A rule that fewer of the bills keep to is none: every estimated bill spoils the next one too. */
const QUORUM = 0.6;
/** Standard deviation that rounding leaves: the bill to the cent, and each of its days. Counts as much as four bills. */
const ROUNDING = 0.025;
const ROUNDING_BILLS = 4;
/** Least median of squares: bills further off than so many scatters are outliers (Rousseeuw and Leroy). */
const OUTLIER = 2.5;
/** An outlier may be anywhere within so much, in units of the currency: what it costs a rule to call a bill one. */
const OUTLIER_RANGE = 100;
/** A difference of the criterion that is very strong evidence (Kass and Raftery). */
const MUCH_LESS_LIKELY = 10;
const ENOUGH_BILLS = 8;
/** Two-sided 99.9 %: of a thousand correct bills one is accused. */
const LIMIT = 3.29;

const markupOf = (bill: Observation): number => bill.total - bill.sum;
const pick = (terms: readonly Term[], bill: Terms): number[] => terms.map((term) => bill[term]);

/** What the rule makes of the terms, and how far off a correct bill may be. */
export function predict(rule: Rule, bill: Terms): { readonly expected: number; readonly limit: number } {
  const expected = bill.sum + TERMS.reduce((all, term) => all + rule.markup[term] * bill[term], 0);
  const variance = 1 + quadratic(pick(rule.terms, bill), rule.inverse);
  return { expected, limit: student(LIMIT, rule.freedom) * rule.scatter * Math.sqrt(variance) };
}

/**
 * The rules that most of the bills keep to, the likeliest by Schwarz's criterion first, and those that are not much less
 * likely. Empty: there is none, or there are too few bills.
 */
export function findRules(bills: readonly Observation[], quorum = QUORUM): Rule[] {
  const found: Fitted[] = [];
  for (const terms of FORMS) {
    if (bills.length < terms.length + BILLS_TO_SPARE) continue;
    // Enough bills that one term explains to the cent need no second one.
    if (terms.length > 1 && bills.length >= ENOUGH_BILLS && found.some(({ isExact }) => isExact)) break;
    const fitted = fitForm(terms, bills, quorum);
    if (fitted) found.push(fitted);
  }
  found.sort((a, b) => a.criterion - b.criterion);
  const most = (found[0]?.criterion ?? 0) + MUCH_LESS_LIKELY;
  return found.filter(({ criterion }) => criterion <= most).map(({ rule }) => rule);
}

interface Fitted {
  readonly rule: Rule;
  readonly criterion: number;
  readonly isExact: boolean;
}

/** The rule of before with one term more or less of something, which all these bills keep to. */
export function changedRule(before: Rule, bills: readonly Observation[]): Rule | null {
  const off = bills.map((bill) => bill.total - predict(before, bill).expected);
  // A tax on everything is a share of what the rule of before makes of a bill.
  const changes: readonly Terms[] = [
    { ...before.markup, sum: 1 + before.markup.sum },
    ...TERMS.map((term) => ({ ...NO_MARKUP, [term]: 1 })),
  ];
  let best: { readonly rule: Rule; readonly squares: number } | null = null;
  for (const change of changes) {
    const x = bills.map((bill) => TERMS.reduce((all, term) => all + change[term] * bill[term], 0));
    const xx = dot(x, x);
    const size = dot(x, off) / xx;
    const squares = off.reduce((all, one, at) => all + (one - size * (x[at] ?? 0)) ** 2, 0);
    const markup = Object.fromEntries(TERMS.map((term) => [term, before.markup[term] + size * change[term]]));
    const rule = {
      ...before,
      markup: markup as Record<Term, number>,
      ...scatterOf(squares, bills.length - 1),
    };
    const keeps = bills.every((bill) => isWithin(rule, bill));
    if (keeps && squares < (best?.squares ?? Number.POSITIVE_INFINITY)) best = { rule, squares };
  }
  return best?.rule ?? null;
}

function isWithin(rule: Rule, bill: Observation): boolean {
  const { expected, limit } = predict(rule, bill);
  return Math.abs(bill.total - expected) <= limit;
}

function scatterOf(squares: number, freedom: number): Pick<Rule, 'scatter' | 'freedom'> {
  const all = ROUNDING_BILLS + freedom;
  return { scatter: Math.sqrt((ROUNDING_BILLS * ROUNDING ** 2 + squares) / all), freedom: all };
}

function fitForm(terms: readonly Term[], bills: readonly Observation[], quorum: number): Fitted | null {
  const rows = bills.map((bill) => pick(terms, bill));
  const markups = bills.map(markupOf);
  const rough = leastMedianOfSquares(rows, markups, terms.length);
  if (rough === null) return null;
  const kept = bills.map(
    (_, at) => Math.abs(residual(rough.coefficients, rows, markups, at)) <= OUTLIER * rough.scale,
  );
  const count = kept.filter(Boolean).length;
  // One more has to keep to it where a bill does not.
  const fewest = terms.length + BILLS_TO_SPARE + (count < bills.length ? 1 : 0);
  if (count < Math.max(fewest, quorum * bills.length)) return null;
  const fit = leastSquares(rows, markups, kept.map(Number));
  if (fit === null) return null;
  const squares = kept.reduce(
    (all, isKept, at) => all + (isKept ? residual(fit.coefficients, rows, markups, at) ** 2 : 0),
    0,
  );
  const { scatter, freedom } = scatterOf(squares, count - terms.length);
  const criterion =
    2 * count * Math.log(scatter) +
    squares / scatter ** 2 +
    2 * (bills.length - count) * Math.log(OUTLIER_RANGE) +
    terms.length * Math.log(bills.length);
  const coefficients = rounded(terms, fit, scatter);
  const markup = Object.fromEntries(TERMS.map((term) => [term, coefficients[terms.indexOf(term)] ?? 0]));
  const rule: Rule = {
    markup: markup as Record<Term, number>,
    terms,
    scatter,
    freedom,
    inverse: fit.inverse,
  };
  return { rule, criterion, isExact: count === bills.length && scatter <= ROUNDING };
}

const residual = (
  coefficients: readonly number[],
  rows: readonly (readonly number[])[],
  values: readonly number[],
  at: number,
): number => (values[at] ?? 0) - dot(coefficients, rows[at] ?? []);

/** The rule through as many bills as there are terms whose median of squares is the least. */
function leastMedianOfSquares(
  rows: readonly (readonly number[])[],
  values: readonly number[],
  terms: number,
) {
  let best: { readonly coefficients: readonly number[]; readonly median: number } | null = null;
  const squares = new Float64Array(rows.length);
  for (const sample of samples(rows.length, terms)) {
    const exact = solved(
      sample.map((at) => rows[at] ?? []),
      sample.map((at) => [values[at] ?? 0]),
    );
    if (exact === null) continue;
    const coefficients = exact.flat();
    for (let at = 0; at < rows.length; at += 1) squares[at] = residual(coefficients, rows, values, at) ** 2;
    const middle = squares.sort()[rows.length >> 1] ?? 0;
    if (best === null || middle < best.median) best = { coefficients, median: middle };
  }
  if (best === null) return null;
  // Consistent for normal noise, with the correction for few bills; rounding is always there.
  const scale = 1.4826 * (1 + 5 / (rows.length - terms)) * Math.sqrt(best.median);
  return { coefficients: best.coefficients, scale: Math.max(scale, ROUNDING) };
}

function* samples(count: number, size: number, from = 0): Generator<number[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let at = from; at <= count - size; at += 1)
    for (const rest of samples(count, size - 1, at + 1)) yield [at, ...rest];
}

/** People set taxes and fees: the shortest number within two standard errors. The others move along. */
function rounded(
  terms: readonly Term[],
  { coefficients, inverse }: { readonly coefficients: readonly number[]; readonly inverse: Rule['inverse'] },
  scatter: number,
): number[] {
  const found = [...coefficients];
  terms.forEach((term, at) => {
    const value = found[at] ?? 0;
    const variance = inverse[at]?.[at] ?? 0;
    const steps = STEPS[term];
    const near = steps.map((step) => Math.round(value / step) * step);
    const short = near.find((one) => Math.abs(one - value) <= 2 * scatter * Math.sqrt(variance)) ?? value;
    for (let other = at; other < terms.length; other += 1)
      found[other] = (found[other] ?? 0) + ((inverse[other]?.[at] ?? 0) / variance) * (short - value);
  });
  return found;
}

/** Whole and half percent are commoner than tenths; the charge of a day is often told with more decimals than a fee. */
const SHARES = [0.005, 0.001, 0.0001];
const STEPS = { sum: SHARES, energy: SHARES, days: [0.001, 0.0001], bills: [0.01, 0.0001] };
