// The bills of one account against the days of its meters, and what the next bill will come to.
import { type BillChecks, billJudge } from '../domain/insight/bill.ts';
import { type BillForecast, forecastBill, nextBillSpan } from '../domain/insight/nextBill.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { Day, Zone } from '../domain/period.ts';
import type { Meter } from './meter.ts';
import { rememberLast } from './rememberLast.ts';

const NO_BILLS = { checks: new Map<string, never>(), nextBill: null };

/** The part of an account's view that is about bills. */
interface BillView {
  /** The keys are ids of invoices. It is the same map as long as nothing changes. */
  readonly checks: BillChecks;
  /** The bill after the newest one. `null` without invoices that tell a period, and while the ledgers do not cover it. */
  readonly nextBill: BillForecast | null;
}

export function openBills(zone: Zone) {
  const judge = billJudge();
  const judged = rememberLast((bills: readonly Invoice[], ...ledgers: readonly Ledger[]) =>
    judge(bills, ledgers, zone),
  );
  function nextBill(bills: readonly Invoice[], checks: BillChecks, meters: readonly Meter[], today: Day) {
    const span = nextBillSpan(bills, today, zone);
    if (!span || meters.some(({ book }) => book.tenancy.origin > span.from)) return null;
    const rules = bills.map(({ id }) => checks.get(id)?.rule ?? null);
    const forecasts = meters.map((meter) => meter.forecastOver(span));
    return forecastBill(span, forecasts, rules.find((rule) => rule !== null) ?? null);
  }
  /** `meters`: all that the bills are about; none while one of them is not complete. */
  return (bills: readonly Invoice[], meters: readonly Meter[], today: Day): BillView => {
    // The days that each reading is about are looked up first, which takes as long as reading them.
    if (bills.length === 0) return NO_BILLS;
    const checks = judged(bills, ...meters.map(({ book }) => book.tenancy));
    return { checks, nextBill: nextBill(bills, checks, meters, today) };
  };
}
