// The bills of an account against the days of its meters.
import type { Extras } from '../domain/extras.ts';
import { type BillChecks, billJudge } from '../domain/insight/bill.ts';
import { type BillForecast, forecastBill, nextBillSpan } from '../domain/insight/billForecast.ts';
import type { Invoice } from '../domain/invoice.ts';
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

const NO_INVOICES: readonly Invoice[] = [];

/** Remembers what it has found of one account. */
export function invoiceChecks(zone: Zone) {
  const judge = billJudge();
  const invoicesOf = ({ extras }: Billed) => extras.known.invoices.found?.all ?? NO_INVOICES;

  /** A check for each id of an invoice; none while the history of a meter is not complete. The same map as long as nothing changes. */
  const of = (account: Billed): BillChecks => {
    const ledgers = metersOf(account).map(({ store }) => store.tenancy);
    return judge(invoicesOf(account), ledgers, zone);
  };

  /** The bill after the newest one. `null` without invoices that tell a period, and while the ledgers do not cover it. */
  const next = (account: Billed, today: Day): BillForecast | null => {
    const span = nextBillSpan(invoicesOf(account), today, zone);
    const meters = metersOf(account);
    if (!span || meters.some(({ store }) => store.tenancy.origin > span.from)) return null;
    const checks = of(account);
    const explained = invoicesOf(account).map(({ id }) => checks.get(id));
    const forecasts = meters.map((meter) => meter.forecastOver(span));
    return forecastBill(span, forecasts, explained.find((check) => check?.rule) ?? null);
  };

  return { of, next };
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
