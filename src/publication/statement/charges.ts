// The fields about money: the prices that the days were charged by, and the bills of that time.
import { inFull, knownUnits, toUnits } from '../../domain/amount.ts';
import { differenceOf } from '../../domain/insight/billWords.ts';
import { SEASON_DAYS } from '../../domain/insight/readings.ts';
import { type Invoice, invoiceRecord } from '../../domain/invoice.ts';
import type { Ledger } from '../../domain/ledger.ts';
import { addDays, type DaySpan } from '../../domain/period.ts';
import { fitTariff } from '../../domain/tariff/tariff.ts';
import { type AccountFacts, type Bill, type Price, type Statement, unknown, valued } from './fields.ts';

/**
 * The tariffs that explain days of the span, oldest first: fitted with the days of the season after it too, as a tariff that began on its
 * last days is not known by these alone.
 */
export function pricesIn(days: Ledger['days'], span: DaySpan): Statement['prices'] {
  const prices: Price[] = [];
  let explained = 0;
  let since = addDays(span.to, SEASON_DAYS);
  while (since > span.from) {
    const tariff = fitTariff(new Map([...days].filter(([day]) => day < since)));
    if (tariff === null || tariff.to < span.from) break;
    since = tariff.from;
    // It began after the span: the one before it may explain days of the span.
    if (tariff.from >= span.to) continue;
    prices.unshift({
      from: tariff.from < span.from ? span.from : tariff.from,
      to: tariff.to < span.to ? tariff.to : addDays(span.to, -1),
      unit_rate: tariff.unitRate,
      unit_rate_margin: tariff.unitRateMargin,
      standing_charge: inFull(tariff.standingCharge),
      standing_charge_margin: inFull(tariff.standingChargeMargin),
    });
    explained += tariff.daysExplained;
  }
  const last = prices.at(-1);
  if (last === undefined) return unknown('not_explained');
  return valued(prices, { kind: 'fit', from: since, to: last.to, days: explained });
}

/** The reason why the provider has not told an extra. */
export const untold = ({ asked }: AccountFacts, extra: keyof AccountFacts['asked']) =>
  unknown(asked[extra] ? 'not_told' : 'switched_off');

/** The bills whose period has days of the span. */
export function billsOf(account: AccountFacts, span: DaySpan): Statement['bills'] {
  if (account.invoices === null) return untold(account, 'invoices');
  const bills = account.invoices.all.flatMap((invoice) => billOf(invoice, account, span) ?? []);
  if (bills.length === 0) return unknown('no_bill');
  return valued(bills, { kind: 'bills', ids: bills.map(({ id }) => id) });
}

function billOf(invoice: Invoice, { checks, zone }: AccountFacts, span: DaySpan): Bill | null {
  const { id, period_start, period_end, amount, amount_due, due } = invoiceRecord(invoice, zone);
  if (period_start === null || period_end === null) return null;
  if (period_start >= span.to || period_end < span.from) return null;
  const check = checks.get(id);
  // A sum that lacks days is not that of the bill.
  const isWhole = check !== undefined && check.missing === 0 && check.together === null;
  return {
    id,
    from: period_start,
    to: period_end,
    amount,
    amount_due,
    due,
    sum_of_days: isWhole ? toUnits(check.sum) : null,
    difference: isWhole ? toUnits(differenceOf(check)) : null,
    verdict: check?.verdict ?? 'unknown',
    unexplained: knownUnits(check?.unexplained),
  };
}

/** Bills that another one of the same days was judged together with are left out: that one has the verdict on both. */
export function unsettled(bills: readonly Bill[], checks: AccountFacts['checks']): readonly Bill[] {
  const judgedWith = ({ id }: Bill): number => {
    const together = checks.get(id)?.together;
    return together?.how === 'same_days' ? together.bills : 0;
  };
  const settles = (one: Bill, other: Bill) =>
    one.from === other.from && one.to === other.to && judgedWith(one) > judgedWith(other);
  return bills.filter((bill) => !bills.some((other) => settles(other, bill)));
}
