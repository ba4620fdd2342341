// The rounding of bills and of the costs of their days, in steps of the currency: some have no cents.
import { type Micro, toMicro } from '../amount.ts';
import { median } from '../leastSquares.ts';
import { stepOf } from '../tariff/tariffLine.ts';
import type { Bill } from './billDays.ts';

const CENT = toMicro(0.01);
/** Three may be round by chance. */
const FEWEST_BILLS = 4;
/** Amounts of fewer steps may be round because they are simple: 1.90 a day is no currency without cents. */
const LEAST_STEPS = 100;
/** Standard deviation by rounding, in steps of the days: of the bill and of its days, as like days are rounded alike. */
const OF_DAYS = 3.5;
/** Standard deviation of a number that is rounded to a step. */
const OF_STEP = 1 / Math.sqrt(12);

/** The standard deviation of a bill by rounding. */
export function roundingOf(bills: readonly Bill[]): Micro {
  const totals = bills.map(({ total }) => Math.abs(total));
  const ofTotals = bills.length < FEWEST_BILLS ? CENT : coarse(stepOf(totals), median(totals));
  const usualDay = median(bills.map(({ sum, days }) => sum / days));
  const ofDays = coarse(median(bills.map(({ step }) => step)), usualDay);
  return Math.hypot(OF_DAYS * ofDays, OF_STEP * ofTotals);
}

/** A cent where the step is finer, or seems to be coarser. */
const coarse = (step: Micro, usual: Micro): Micro =>
  usual >= LEAST_STEPS * step ? Math.max(CENT, step) : CENT;
