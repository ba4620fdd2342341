// The rounding of bills and of the costs of their days, in steps of the currency: some have no cents.
import { type Micro, toMicro } from '../amount.ts';
import { median } from '../leastSquares.ts';
import type { Bill } from './billDays.ts';

/** The rounding steps of totals, in units of the currency. */
const STEPS = [10, 5, 1, 0.5, 0.1, 0.05].map(toMicro);
const CENT = toMicro(0.01);
/** Three may be round by chance. */
const FEWEST_BILLS = 4;
/** A wrong or a corrected bill may be less round. */
const SHARE_ROUND = 0.8;
/** Amounts of fewer steps may be round because they are simple: 1.90 a day is no currency without cents. */
const LEAST_STEPS = { ofDays: 100, ofTotals: 200 };
/** Standard deviation by rounding, in steps of the days: of the bill and of its days, as like days are rounded alike. */
const OF_DAYS = 3.5;
/** That of a number rounded to a step. */
const OF_STEP = 1 / Math.sqrt(12);

/** The standard deviation of a bill by rounding. */
export function roundingOf(bills: readonly Pick<Bill, 'total' | 'sum' | 'days' | 'step'>[]): Micro {
  const usualDay = median(bills.map(({ sum, days }) => sum / days));
  const stepOfDays = median(bills.map(({ step }) => step));
  const isCoarse = stepOfDays > CENT && usualDay >= LEAST_STEPS.ofDays * stepOfDays;
  const ofDays = OF_DAYS * (isCoarse ? stepOfDays : CENT);
  const step = stepOfTotals(bills);
  return step === null ? ofDays : Math.hypot(ofDays, OF_STEP * step);
}

/** `null`: a cent, or less. */
function stepOfTotals(bills: readonly Pick<Bill, 'total'>[]): Micro | null {
  if (bills.length < FEWEST_BILLS) return null;
  const isOf = (step: Micro) =>
    bills.filter(({ total }) => total % step === 0).length >= SHARE_ROUND * bills.length;
  const usual = median(bills.map(({ total }) => Math.abs(total)));
  return STEPS.find((step) => usual >= LEAST_STEPS.ofTotals * step && isOf(step)) ?? null;
}
