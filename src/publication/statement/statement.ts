// The facts of one complete month: use, charges and comparisons, and what is not known and why.
import { sumKnown, toUnits } from '../../domain/amount.ts';
import { gapJudge } from '../../domain/insight/gaps.ts';
import type { HeatLine } from '../../domain/insight/weather.ts';
import type { Ledger } from '../../domain/ledger.ts';
import { addDays, addMonths, type Day, daysOf, monthStart } from '../../domain/period.ts';
import { isRead } from '../../domain/totals.ts';
import type { MeterView } from '../views.ts';
import { billsOf, pricesIn, unsettled, untold } from './charges.ts';
import { declaredFields } from './declared.ts';
import { type Bill, monthBefore, type Statement, type StatementFacts, spanOf, valued } from './fields.ts';
import { identifiersAt, registerFields } from './register.ts';
import {
  comparedIn,
  endGapsOf,
  heatParts,
  type MeterUse,
  marksOf,
  recordsIn,
  usedIn,
  weatherAdjusted,
} from './use.ts';

const HOUR_MS = 3_600_000;
const MONTHS_SHOWN = 13;

/** Months of which a statement can be had, newest first: whole, since the ledger's origin, and complete. */
export function* completeMonths(
  { origin, days }: Pick<Ledger, 'origin' | 'days'>,
  at: { readonly zone: MeterView['zone']; readonly now: number; readonly lateAfterHours: number },
): Generator<string, undefined> {
  const { zone, now, lateAfterHours } = at;
  for (let to = monthStart(zone.dayAt(now)); addMonths(to, -1) >= origin; to = addMonths(to, -1)) {
    const from = addMonths(to, -1);
    const isLate = now >= zone.startOf(to) + lateAfterHours * HOUR_MS;
    if (isLate || daysOf({ from, to }).every((day) => isRead(days, day))) yield from.slice(0, 7);
  }
}

/** `month`: one of `completeMonths`. */
export function statementOf(month: string, { meter, account }: StatementFacts): Statement {
  const { days } = meter.tenancy;
  const span = spanOf(month);
  const judgeGap = gapJudge();
  const use: MeterUse = {
    days,
    heldBy: ({ day, missed }) => judgeGap(days, day, missed).heldBy,
    house: meter.house,
  };
  const { energy, cost } = usedIn(days, month);
  // One line serves all months: each costs a year of days.
  const line = meter.house?.lineBefore(span.from);
  const { change, isSure } = weatherAdjusted(use, month, line);
  const months = chartOf(use, month, line);
  const bills = billsOf(account, span);
  const marks = marksOf(use, span);
  const shownDays = { from: spanOf(monthBefore(month, MONTHS_SHOWN - 1)).from, to: span.to };
  const ofYear = months.slice(1).map(({ energy_kwh }) => energy_kwh);
  const balance = account.balance?.amount;
  return {
    month,
    from: span.from,
    to: addDays(span.to, -1),
    timezone: meter.zone.name,
    currency: meter.currency,
    account: account.account,
    meter: meter.meter,
    meter_name: meter.friendlyName,
    meter_identifiers: identifiersAt(meter, span.to),
    revision: recordsIn(days, shownDays).reduce((sum, { revision }) => sum + revision, 0),
    conclusion: conclusionOf(
      marks.missing.length,
      endGapsOf(use, span),
      unsettled(bills.value ?? [], account.checks),
      change.value,
      isSure,
    ),
    energy,
    cost,
    month_before: comparedIn(use, monthBefore(month, 1)),
    year_before: comparedIn(use, monthBefore(month, 12)),
    weather_adjusted: change,
    months,
    prices: pricesIn(days, span),
    ...heatParts(use, month),
    ...registerFields(meter, account, span, energy.value),
    days: marks,
    bills,
    due: balance == null ? untold(account, 'balance') : valued(toUnits(balance), { kind: 'provider' }),
    ...declaredFields(
      account.statement,
      meter,
      energy.value,
      ofYear.includes(null) ? null : sumKnown(ofYear),
    ),
  };
}

/** The month and those before it, oldest first. */
function chartOf(use: MeterUse, month: string, line: HeatLine | undefined): Statement['months'] {
  return Array.from({ length: MONTHS_SHOWN }, (_, at) => {
    const shown = monthBefore(month, MONTHS_SHOWN - 1 - at);
    const { energy, cost } = usedIn(use.days, shown);
    return {
      month: shown,
      energy_kwh: energy.value,
      cost: cost.value,
      year_before_adjusted_kwh: weatherAdjusted(use, shown, line).change.value?.kwh ?? null,
    };
  });
}

/** First what makes the figures incomplete, then the bill, then the use. */
function conclusionOf(
  missing: number,
  gaps: ReturnType<typeof endGapsOf>,
  bills: readonly Bill[],
  change: Statement['weather_adjusted']['value'],
  isSure: boolean,
): Statement['conclusion'] {
  const conclude = (
    code: Statement['conclusion']['code'],
    amount: number | null = null,
    day: Day | null = null,
  ) => ({ code, amount, day });
  if (missing > 0) return conclude('days_missing', missing);
  if (gaps.atEnd) return conclude('gap_at_end', gaps.atEnd.days, gaps.atEnd.reading);
  if (gaps.atStart) return conclude('gap_at_start', gaps.atStart.days, gaps.atStart.reading);
  const wrong = bills.find(({ verdict }) => verdict === 'differs');
  if (wrong) return conclude('bill_differs', wrong.unexplained);
  if (bills.some(({ verdict }) => verdict === 'rule_changed')) return conclude('rule_changed');
  if (change === null) return conclude('not_compared');
  if (change.low <= 0 && change.high >= 0) return conclude('as_usual');
  const way = change.percent > 0 ? 'more' : 'less';
  return conclude(isSure ? way : `perhaps_${way}`, Math.abs(change.percent));
}
