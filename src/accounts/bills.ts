// The bills of one account against the days of its meters, and what the next bill will come to.
import { type BillChecks, billJudge } from '../domain/insight/bill.ts';
import { type BillForecast, forecastBill, nextBillSpan } from '../domain/insight/nextBill.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { Day, Zone } from '../domain/period.ts';
import { lastAnswer } from './lastAnswer.ts';
import type { Meter } from './meter.ts';

const NO_CHECKS: BillChecks = new Map();

/** `meters`: all that the bills are about; none while one of them is not complete. */
export function openBills(invoices: () => readonly Invoice[], meters: () => readonly Meter[], zone: Zone) {
  const judge = billJudge();
  const judged = lastAnswer((bills: readonly Invoice[], ...ledgers: readonly Ledger[]) =>
    judge(bills, ledgers, zone),
  );

  /** The keys are ids of invoices. It is the same map as long as nothing changes. */
  function checks(): BillChecks {
    const bills = invoices();
    // The days that each reading is about are looked up first, which takes as long as reading them.
    if (bills.length === 0) return NO_CHECKS;
    return judged(bills, ...meters().map(({ store }) => store.tenancy));
  }

  return {
    checks,
    /** The bill after the newest one. `null` without invoices that tell a period, and while the ledgers do not cover it. */
    next(today: Day): BillForecast | null {
      const span = nextBillSpan(invoices(), today, zone);
      const billed = meters();
      if (!span || billed.some(({ store }) => store.tenancy.origin > span.from)) return null;
      const checked = checks();
      const rules = invoices().map(({ id }) => checked.get(id)?.rule ?? null);
      const forecasts = billed.map((meter) => meter.forecastOver(span));
      return forecastBill(span, forecasts, rules.find((rule) => rule !== null) ?? null);
    },
  };
}
