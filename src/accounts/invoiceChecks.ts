// The bills of accounts against the days of their meters, computed again only when one of them has changed.
import type { Extras, Invoices } from '../domain/extras.ts';
import { type BillChecks, billJudge } from '../domain/insight/bill.ts';
import { type BillForecast, forecastBill, nextBillSpan } from '../domain/insight/billForecast.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { Day, Zone } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import type { Meter } from './meter.ts';

/** What is looked at of an account. */
interface Billed {
  readonly extras: { readonly known: Pick<Extras, 'invoices'> };
  readonly meters: readonly Meter[] | null;
  /** Those that another account has too. */
  readonly duplicates: readonly {
    readonly property: Property;
    readonly owner: { readonly meters: readonly Meter[] | null };
  }[];
}

interface Known {
  readonly invoices: Invoices | null;
  readonly days: readonly Ledger['days'][];
  readonly judge: ReturnType<typeof billJudge>;
  readonly checks: BillChecks;
}

export class InvoiceChecks {
  readonly #zone: Zone;
  readonly #known = new WeakMap<Billed, Known>();

  constructor(zone: Zone) {
    this.#zone = zone;
  }

  /** A check for each id of an invoice; none while the history of a meter is not complete. The same map as long as nothing changes. */
  of(account: Billed): BillChecks {
    const { invoices } = account.extras.known;
    const ledgers = metersOf(account).map(({ store }) => store.tenancy);
    const days = ledgers.map((ledger) => ledger.days);
    const known = this.#known.get(account);
    const isSame =
      known?.invoices === invoices.found &&
      known.days.length === days.length &&
      days.every((one, at) => one === known.days[at]);
    if (known && isSame) return known.checks;
    const judge = known?.judge ?? billJudge();
    const checks = judge(invoices.found?.all ?? [], ledgers, this.#zone);
    this.#known.set(account, { invoices: invoices.found, days, judge, checks });
    return checks;
  }

  /** The bill after the newest one. `null` without invoices that tell a period, and while the ledgers do not cover it. */
  next(account: Billed, today: Day): BillForecast | null {
    const all = account.extras.known.invoices.found?.all ?? [];
    const span = nextBillSpan(all, today, this.#zone);
    const meters = metersOf(account);
    if (!span || meters.some(({ store }) => store.tenancy.origin > span.from)) return null;
    const checks = this.of(account);
    const explained = all.map(({ id }) => checks.get(id)).find((check) => check?.rule);
    const forecasts = meters.map((meter) => meter.forecastOver(span));
    return forecastBill(span, forecasts, explained ?? null);
  }
}

/** All its meters: the bills are about those that another account reads as well. None while one is not complete. */
function metersOf({ meters, duplicates }: Billed): readonly Meter[] {
  const others = duplicates.map(({ property, owner }) =>
    owner.meters?.find((one) => one.property.propertyCustomerId === property.propertyCustomerId),
  );
  const all: readonly (Meter | undefined)[] = [...(meters ?? []), ...others];
  const complete = all.flatMap((meter) => (meter?.isComplete ? [meter] : []));
  return complete.length === all.length ? complete : [];
}
