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

/** What a bill may charge: the cost of its days, each day, and the bill itself; or a rate for each. */
export type Terms = readonly number[];
const SUM: Terms = [1, 0, 0];
const DAYS: Terms = [0, 1, 0];
const BILLS: Terms = [0, 0, 1];

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

/** The sum of the days, with none to all of: a share of it, so much a day, so much a bill. */
const FORMS = [0, 1, 2, 3].flatMap((count) =>
  choices([SUM, DAYS, BILLS], count).map((fitted): Form => ({ start: SUM, fitted })),
);
/** Fewer bills than these beyond those of the terms fit any rule. Of three bills one has to do, or no rule of two terms is asked. */
const BILLS_TO_SPARE = 2;
/**
 * Standard deviation by rounding to cents, of the bill and of its days: like days are rounded alike. It is believed as if six
 * bills had told it.
 */
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
/** People set tenths of a percent and cents, or finer rates where bills tell so. */
const DECIMALS = { fewest: 3, most: 4 };
/** Amounts that are nearer, in units of the currency, are the same. */
export const CENT = 0.01;

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
  // A tax is set in percent, and what it does to a fee follows from that.
  const share = rates.map((rate) => rate / (rates[0] as number));
  const changes = [SUM, DAYS, BILLS, share].map((one) => ({ start: rates, fitted: [one] }));
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
  for (const sample of choices(lines, columns.length)) {
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
function choices<T>(all: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return all.flatMap((one, at) => choices(all.slice(at + 1), count - 1).map((others) => [one, ...others]));
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

/** The share of the sum in percent, and the amount of each bill, of a rule that charges no days; `null` of another. */
export function plainMarkup({ rates: [sum = 1, days, bills = 0] }: Rule) {
  return days === 0 ? { percent: inPercent(sum - 1), amount: Number(bills.toFixed(2)) } : null;
}

const inPercent = (share: number): number => Number((100 * share).toFixed(2)) || 0;

/** The words for more and for less. */
const ON_TOP = ['on top', 'off'] as const;
const ON_ENERGY = ['on the energy', 'off the energy'] as const;
const A_DAY = ['more a day', 'less a day'] as const;
const ON_BILLS = ['on each bill', 'off each bill'] as const;
export const NOTHING = 'nothing on top';

/**
 * `13.5 % and 3.50 on top`, `2 % off`, `13.5 % on the energy and 22.70 on each bill in place of the standing charges`. A rule that
 * charges less for each day by the tax on the `standing` charge taxes the energy only; by all of that charge, it has another one.
 */
export function ruleWords({ rates: [sum = 1, days = 0, bills = 0] }: Rule, standing: number): string {
  const isLessBy = (charge: number) => days !== 0 && Math.abs(days + charge) < CENT;
  const isReplaced = isLessBy(sum * standing);
  const isOnEnergy = isReplaced || isLessBy((sum - 1) * standing);
  const percent = inPercent(sum - 1);
  const parts = [
    { size: percent, amount: `${Math.abs(percent)} %`, words: isOnEnergy ? ON_ENERGY : ON_TOP },
    { size: isOnEnergy ? 0 : days, amount: Math.abs(days).toFixed(2), words: A_DAY },
    { size: bills, amount: Math.abs(bills).toFixed(2), words: days === 0 ? ON_TOP : ON_BILLS },
  ].flatMap(({ size, amount, words: [more, less] }) =>
    size === 0 ? [] : [{ amount, words: size > 0 ? more : less }],
  );
  const told = parts.map(({ amount, words }, at) =>
    parts[at + 1]?.words === words ? amount : `${amount} ${words}`,
  );
  return (told.join(' and ') || NOTHING) + (isReplaced ? ' in place of the standing charges' : '');
}
