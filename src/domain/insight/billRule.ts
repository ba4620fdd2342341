// The rule of an account's bills, a linear regression on what their days are made of: a tax, a fee, or a charge by the month.
import { type Line, leastSquares, median, quadratic, residual, student } from './leastSquares.ts';

/** What a bill may charge: the cost of its days, the part of it that is energy, each day, and the bill itself. */
const TERMS = ['sum', 'energy', 'days', 'bills'] as const;
type Term = (typeof TERMS)[number];
/** Units of the currency, days, and bills; or what a rule takes for one of each. */
export type Terms = Readonly<Record<Term, number>>;

export interface Observation extends Terms {
  /** What is billed, in units of the currency. */
  readonly total: number;
}

/** What is billed in any case, and what is fitted beside it: rates of some terms, or a share of all that is billed. */
interface Form {
  readonly start: Terms;
  readonly fitted: readonly (Term | 'all')[];
}

export interface Rule extends Form {
  readonly rates: Terms;
  /** Standard deviation of bills about the rule, and its degrees of freedom. */
  readonly scatter: number;
  readonly freedom: number;
  /** Covariance of what is fitted, for a scatter of 1. */
  readonly inverse: readonly (readonly number[])[];
}

const SUM: Terms = { sum: 1, energy: 0, days: 0, bills: 0 };
const ENERGY: Terms = { ...SUM, sum: 0, energy: 1 };
/** What providers are known to do: the first is nothing, the last two charge by the month in place of the day. */
const FORMS: readonly Form[] = [
  { start: SUM, fitted: [] },
  { start: SUM, fitted: ['sum'] },
  { start: SUM, fitted: ['energy'] },
  { start: SUM, fitted: ['days'] },
  { start: SUM, fitted: ['bills'] },
  { start: SUM, fitted: ['sum', 'bills'] },
  { start: SUM, fitted: ['energy', 'bills'] },
  { start: SUM, fitted: ['energy', 'days'] },
  { start: SUM, fitted: ['energy', 'days', 'bills'] },
  { start: ENERGY, fitted: ['bills'] },
  { start: ENERGY, fitted: ['energy', 'bills'] },
];
/** Fewer bills than these beyond those of the terms fit any rule. */
const BILLS_TO_SPARE = 2;
/** An estimated bill spoils the next one too: one in five leaves 60 % that keep to the rule. */
const QUORUM = 0.6;
/** Standard deviation by rounding to cents, of the bill and of its days. It is believed as if four bills had told it. */
const ROUNDING = 0.025;
const ROUNDING_BILLS = 4;
/** Bills further off than so many scatters are outliers (Rousseeuw and Leroy). */
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

const billedAt = (rates: Terms, bill: Terms): number =>
  TERMS.reduce((sum, term) => sum + rates[term] * bill[term], 0);

const rowOf = ({ start, fitted }: Form, bill: Terms): number[] =>
  fitted.map((term) => (term === 'all' ? billedAt(start, bill) : bill[term]));

/** What the rule makes of the terms, and Student's prediction limit: how far off a correct bill may be. */
export function predict(rule: Rule, bill: Terms): { readonly expected: number; readonly limit: number } {
  const variance = 1 + quadratic(rowOf(rule, bill), rule.inverse);
  const limit = student(LIMIT, rule.freedom) * rule.scatter * Math.sqrt(variance);
  return { expected: billedAt(rule.rates, bill), limit };
}

/** Whether the rule is sure of the bill, and the bill is within its limit. */
export function isKept(rule: Rule, bill: Observation): boolean {
  const { expected, limit } = predict(rule, bill);
  return limit <= LARGEST_LIMIT && Math.abs(bill.total - expected) <= limit;
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
export function changedRule(before: Rule, newest: readonly Observation[], all: readonly Observation[]) {
  const changes = [...TERMS, 'all' as const].map((term) => ({ start: before.rates, fitted: [term] }));
  const rules = [...findRules(newest, changes), ...findRules(all)];
  return rules.find((rule) => newest.every((bill) => isKept(rule, bill))) ?? null;
}

/** Over all bills, and over those that least median of squares does not call outliers: a summer's bills may be a line of their own. */
function fitForm(form: Form, bills: readonly Observation[]) {
  const { start, fitted } = form;
  const lines = bills.map((bill) => ({ row: rowOf(form, bill), value: bill.total - billedAt(start, bill) }));
  if (lines.length < fitted.length + BILLS_TO_SPARE) return [];
  const kept = leastMedianOfSquares(lines);
  // One more has to keep to it where a bill does not.
  const isEnough = kept.length > fitted.length + BILLS_TO_SPARE && kept.length >= QUORUM * lines.length;
  const robust = kept.length < lines.length && isEnough ? fitLines(form, kept, lines.length) : null;
  return [fitLines(form, lines, lines.length), robust].filter((one) => one !== null);
}

/** Least squares over `kept`; the other ones of `all` bills are outliers. */
function fitLines(form: Form, kept: readonly Line[], all: number) {
  const fit = leastSquares(kept);
  if (fit === null) return null;
  // Few bills cannot tell how much they scatter.
  const freedom = ROUNDING_BILLS + kept.length - form.fitted.length;
  const scatter = Math.sqrt((ROUNDING_BILLS * ROUNDING ** 2 + fit.squares) / freedom);
  const criterion =
    2 * kept.length * Math.log(scatter) +
    fit.squares / scatter ** 2 +
    2 * (all - kept.length) * Math.log(OUTLIER_RANGE) +
    form.fitted.length * Math.log(all);
  const rates = ratesOf(form, roundedSizes(kept, scatter));
  return { rule: { ...form, rates, scatter, freedom, inverse: fit.inverse }, criterion };
}

/** The bills that keep to the line through as many of them as it has terms of which the median of squares is the least. */
function leastMedianOfSquares(lines: readonly Line[]): readonly Line[] {
  const terms = lines[0]?.row.length ?? 0;
  const fits = samples(lines, terms).flatMap((sample) => {
    const { coefficients } = leastSquares(sample) ?? {};
    if (coefficients === undefined) return [];
    const off = lines.map((line) => Math.abs(residual(line, coefficients)));
    return [{ off, median: median(off) }];
  });
  const [first, ...others] = fits;
  if (first === undefined) return [];
  const best = others.reduce((least, one) => (one.median < least.median ? one : least), first);
  // The scale of normal noise, corrected for few bills; rounding is always there.
  const scale = Math.max(ROUNDING, 1.4826 * (1 + 5 / (lines.length - terms)) * best.median);
  return lines.filter((_, at) => (best.off[at] as number) <= OUTLIER * scale);
}

/** All choices of so many of them. */
function samples<T>(all: readonly T[], size: number): T[][] {
  if (size === 0) return [[]];
  return all.flatMap((one, at) => samples(all.slice(at + 1), size - 1).map((others) => [one, ...others]));
}

/** With as few decimals as are within two standard errors; what one is rounded by, those after it make up for. */
function roundedSizes(lines: readonly Line[], scatter: number): number[] {
  const fit = leastSquares(lines);
  const [value, error] = [fit?.coefficients[0], 2 * scatter * Math.sqrt(fit?.inverse[0]?.[0] ?? 0)];
  if (value === undefined) return [];
  let decimals = DECIMALS.fewest;
  while (decimals < DECIMALS.most && Math.abs(Number(value.toFixed(decimals)) - value) > error) decimals += 1;
  const size = Number(value.toFixed(decimals));
  const left = lines.map(({ row: [first = 0, ...row], value }) => ({ row, value: value - size * first }));
  return [size, ...roundedSizes(left, scatter)];
}

function ratesOf({ start, fitted }: Form, sizes: readonly number[]): Terms {
  const of = (name: Term | 'all') => sizes[fitted.indexOf(name)] ?? 0;
  const rates = TERMS.map((term) => [term, start[term] * (1 + of('all')) + of(term)]);
  return Object.fromEntries(rates) as Terms;
}
