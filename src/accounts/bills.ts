// The bills of one account against the days of its meters, and what the next bill will come to.
import { type BillChecks, billJudge } from '../domain/insight/bill.ts';
import { type BillForecast, forecastBill, nextBillSpan } from '../domain/insight/nextBill.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { Day, Zone } from '../domain/period.ts';
import { lastAnswer } from './lastAnswer.ts';
import type { Meter } from './meter.ts';

const NO_CHECKS: BillChecks = new Map();

export class Bills {
  readonly #invoices: () => readonly Invoice[];
  readonly #meters: () => readonly Meter[];
  readonly #zone: Zone;
  readonly #judge: (bills: readonly Invoice[], ...ledgers: readonly Ledger[]) => BillChecks;

  /** `meters`: all that the bills are about; none while one of them is not complete. */
  constructor(invoices: () => readonly Invoice[], meters: () => readonly Meter[], zone: Zone) {
    this.#invoices = invoices;
    this.#meters = meters;
    this.#zone = zone;
    const judge = billJudge();
    this.#judge = lastAnswer((bills, ...ledgers) => judge(bills, ledgers, zone));
  }

  /** The keys are ids of invoices. It is the same map as long as nothing changes. */
  checks(): BillChecks {
    const invoices = this.#invoices();
    // The days that each reading is about are looked up first, which takes as long as reading them.
    if (invoices.length === 0) return NO_CHECKS;
    return this.#judge(invoices, ...this.#meters().map(({ store }) => store.tenancy));
  }

  /** The bill after the newest one. `null` without invoices that tell a period, and while the ledgers do not cover it. */
  next(today: Day): BillForecast | null {
    const invoices = this.#invoices();
    const span = nextBillSpan(invoices, today, this.#zone);
    const meters = this.#meters();
    if (!span || meters.some(({ store }) => store.tenancy.origin > span.from)) return null;
    const checks = this.checks();
    const rules = invoices.map(({ id }) => checks.get(id)?.rule ?? null);
    const forecasts = meters.map((meter) => meter.forecastOver(span));
    return forecastBill(span, forecasts, rules.find((rule) => rule !== null) ?? null);
  }
}
