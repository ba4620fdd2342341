// The rule of an account's bills, a linear regression on what their days are made of: a tax, a fee, or a charge by the month.
import {
  addTo,
  dot,
  leastSquares,
  median,
  NORMAL_PER_DEVIATION,
  quadratic,
  residualsOf,
  student,
} from './leastSquares.ts';

/** What a bill may charge: the cost of its days, the part of it that is energy, each day, and the bill itself; or a rate for each. */
export type Terms = readonly number[];
const SUM: Terms = [1, 0, 0, 0];
const ENERGY: Terms = [0, 1, 0, 0];
const DAYS: Terms = [0, 0, 1, 0];
const BILLS: Terms = [0, 0, 0, 1];

interface Observation {
  /** Units of the currency, days, and bills. */
  readonly terms: Terms;
  /** What is billed, in units of the currency. */
  readonly total: number;
}

/** The rates that are charged in any case, and those that are fitted a multiple of. */
interface Form {
  readonly start: Terms;
  readonly fitted: readonly Terms[];
}

/** What providers are known to do: the first is nothing, the last two charge by the month in place of the day. */
const FORMS: readonly Form[] = [
  { start: SUM, fitted: [] },
  { start: SUM, fitted: [SUM] },
  { start: SUM, fitted: [ENERGY] },
  { start: SUM, fitted: [DAYS] },
  { start: SUM, fitted: [BILLS] },
  { start: SUM, fitted: [SUM, BILLS] },
  { start: SUM, fitted: [ENERGY, BILLS] },
  { start: SUM, fitted: [ENERGY, DAYS] },
  { start: SUM, fitted: [ENERGY, DAYS, BILLS] },
  { start: ENERGY, fitted: [BILLS] },
  { start: ENERGY, fitted: [ENERGY, BILLS] },
];
/** Fewer bills than these beyond those of the terms fit any rule. Of three bills one has to do, or no rule of two terms is asked. */
const BILLS_TO_SPARE = 2;
/** Standard deviation by rounding to cents, of the bill and of its days. It is believed as if six bills had told it. */
const ROUNDING = 0.025;
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
export const LARGEST_LIMIT = 0.5;
/** People set tenths of a percent and cents, or finer rates where bills tell so. */
const DECIMALS = { fewest: 3, most: 4 };

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

/** Rules in Occam's window by Schwarz's criterion, the likeliest first. Empty: there is none, or there are too few bills. */
export function findRules(bills: readonly Observation[], forms = FORMS): Rule[] {
  const found = forms.flatMap((form) => fitForm(form, bills)).sort((a, b) => a.criterion - b.criterion);
  const most = (found[0]?.criterion ?? 0) + OCCAMS_WINDOW;
  return found.filter(({ criterion }) => criterion <= most).map(({ rule }) => rule);
}

/**
 * A rule that all the newest bills keep to: the one of before but for one of its terms or a share of all, or one that most
 * of all these bills have. `null`: there is none.
 */
export function changedRule({ rates }: Rule, newest: readonly Observation[], all: readonly Observation[]) {
  const changes = [SUM, ENERGY, DAYS, BILLS, rates].map((one) => ({ start: rates, fitted: [one] }));
  const rules = [...findRules(newest, changes), ...findRules(all)];
  return rules.find((rule) => newest.every((bill) => isKept(rule, bill))) ?? null;
}

/** One bill: what is fitted of it, and what the rates that are charged in any case leave of its total. */
interface Line {
  readonly row: Terms;
  readonly value: number;
}

const columnsOf = (lines: readonly Line[]): number[][] =>
  (lines[0]?.row ?? []).map((_, term) => lines.map(({ row }) => row[term] as number));
const valuesOf = (lines: readonly Line[]): number[] => lines.map(({ value }) => value);

/** Over all bills, and over those that least median of squares does not call outliers: a summer's bills may be a line of their own. */
function fitForm({ start, fitted }: Form, bills: readonly Observation[]) {
  const lines = bills.map(({ terms, total }) => ({
    row: fitted.map((one) => dot(one, terms)),
    value: total - dot(start, terms),
  }));
  const spare = Math.min(BILLS_TO_SPARE, lines.length - BILLS_TO_SPARE);
  if (spare < 1 || lines.length < fitted.length + spare) return [];
  const kept = leastMedianOfSquares(lines);
  // One more has to keep to it where a bill does not.
  const isRobust = kept.length < lines.length && kept.length > fitted.length + BILLS_TO_SPARE;
  return (isRobust ? [lines, kept] : [lines]).flatMap((some) => {
    return ruleOf({ start, fitted }, some, lines.length) ?? [];
  });
}

/**
 * The bills that keep to the line through as many of them as it has terms of which the median of squares is the least: nearly half of them
 * may be wrong. Huber's line scatters so much by two wrong ones of the first ten that it takes them for right ones.
 */
function leastMedianOfSquares(lines: readonly Line[]): readonly Line[] {
  const [columns, values] = [columnsOf(lines), valuesOf(lines)];
  let best = { median: Number.POSITIVE_INFINITY, off: [] as readonly number[] };
  for (const sample of samples(lines, columns.length)) {
    const fit = leastSquares(columnsOf(sample), valuesOf(sample));
    if (fit === null) continue;
    const off = residualsOf(columns, values, fit.coefficients).map(Math.abs);
    const middle = median(off);
    if (middle < best.median) best = { median: middle, off };
  }
  // The scale of normal noise, corrected for few bills (Rousseeuw and Leroy); rounding is always there.
  const few = 1 + 5 / (lines.length - columns.length);
  const far = OUTLIER * Math.max(ROUNDING, NORMAL_PER_DEVIATION * few * best.median);
  return lines.filter((_, at) => (best.off[at] ?? Number.POSITIVE_INFINITY) <= far);
}

/** All choices of so many of them. */
function samples<T>(all: readonly T[], size: number): T[][] {
  if (size === 0) return [[]];
  return all.flatMap((one, at) => samples(all.slice(at + 1), size - 1).map((others) => [one, ...others]));
}

export type Rule = NonNullable<ReturnType<typeof ruleOf>>['rule'];

/**
 * Least squares over `kept`; the other ones of `all` bills are outliers. The scatter of a rule is the standard deviation of bills about it,
 * and its inverse the covariance of what is fitted for a scatter of 1.
 */
function ruleOf({ start, fitted }: Form, kept: readonly Line[], all: number) {
  const fit = leastSquares(columnsOf(kept), valuesOf(kept));
  if (fit === null) return null;
  // Few bills cannot tell how much they scatter.
  const freedom = ROUNDING_BILLS + kept.length - fitted.length;
  const scatter = Math.sqrt((ROUNDING_BILLS * ROUNDING ** 2 + fit.squares) / freedom);
  const criterion =
    2 * kept.length * Math.log(scatter) +
    fit.squares / scatter ** 2 +
    2 * (all - kept.length) * Math.log(OUTLIER_RANGE) +
    fitted.length * Math.log(all);
  const rates = [...start];
  for (const [at, size] of roundedSizes(columnsOf(kept), valuesOf(kept), scatter).entries())
    addTo(rates, size, fitted[at] as Terms);
  return { rule: { rates, fitted, scatter, freedom, inverse: fit.inverse }, criterion };
}

/** With as few decimals as are within two standard errors; what one is rounded by, those after it make up for. */
function roundedSizes(columns: readonly Terms[], values: readonly number[], scatter: number): number[] {
  const [first, ...others] = columns;
  const { coefficients: [value] = [], inverse } = leastSquares(columns, values) ?? {};
  if (first === undefined || value === undefined) return [];
  const error = 2 * scatter * Math.sqrt(inverse?.[0]?.[0] ?? 0);
  let decimals = DECIMALS.fewest;
  while (decimals < DECIMALS.most && Math.abs(Number(value.toFixed(decimals)) - value) > error) decimals += 1;
  const size = Number(value.toFixed(decimals));
  return [size, ...roundedSizes(others, residualsOf([first], values, [size]), scatter)];
}

/** What a rule charges beside the cost of the days, or of their energy; shares in percent. */
export function markupOf({ rates: [sum = 0, energy = 0, days = 0, bills = 0] }: Rule) {
  const isOnEnergy = sum === 0;
  const sizes = [
    isOnEnergy ? 0 : inPercent(sum - 1),
    inPercent(isOnEnergy ? energy - 1 : energy),
    days,
    bills,
  ];
  return { sizes, isOnEnergy, isPlain: !isOnEnergy && sizes[1] === 0 && days === 0 };
}

const inPercent = (share: number): number => Number((100 * share).toFixed(2)) || 0;

/** The words for more and for less of each term. */
const WORDS = [
  ['on top', 'off'],
  ['on the energy', 'off the energy'],
  ['more a day', 'less a day'],
  ['on each bill', 'off each bill'],
] as const;
export const NOTHING = 'nothing on top';

/** `13.5 % and 3.50 on top`, `2 % off`, `13.5 % on the energy and 22.70 on each bill in place of the standing charges`. */
export function ruleWords(rule: Rule): string {
  const { sizes, isPlain, isOnEnergy } = markupOf(rule);
  const parts = sizes.flatMap((size, term) => {
    const [more, less] = WORDS[isPlain ? 0 : term] ?? WORDS[0];
    const amount = term < 2 ? `${Math.abs(size)} %` : Math.abs(size).toFixed(2);
    return size === 0 ? [] : [{ amount, words: size > 0 ? more : less }];
  });
  const told = parts.map(({ amount, words }, at) =>
    parts[at + 1]?.words === words ? amount : `${amount} ${words}`,
  );
  return (told.join(' and ') || NOTHING) + (isOnEnergy ? ' in place of the standing charges' : '');
}
