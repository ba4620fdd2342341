// Invoices, the open bill and single readings: what the provider tells beside the usage report.
import { type Account, HEAT_SERVICE, type Property } from './accounts.ts';
import { Zone } from './localTime.ts';
import type { Switches } from './switches.ts';
import { truthAt } from './usage/report.ts';

interface Invoice {
  readonly [field: string]: unknown;
}

const DAY_MS = 86_400_000;
const ISSUED_AFTER_DAYS = 4;
const DUE_AFTER_DAYS = 18;

/** One invoice for each whole local month, issued on the 5th of the next; all but the newest are paid. */
export function invoices(
  account: Account,
  query: URLSearchParams,
  now: number,
  { api }: Switches,
): readonly Invoice[] {
  const all = account.invoices ?? monthlyInvoices(account, now);
  if (api.ignoresInvoiceFilters) return all;
  const from = Number(query.get('time-from') ?? Number.NEGATIVE_INFINITY);
  const to = Number(query.get('time-to') ?? Number.POSITIVE_INFINITY);
  const status = query.get('invoice-status');
  const profile = query.get('billing-profile');
  return all.filter(
    ({ start_time, status: own, billing_profile = account.billingProfileId }) =>
      (status === null || own === status) &&
      (profile === null || profile === String(billing_profile)) &&
      (typeof start_time !== 'number' || (start_time >= from && start_time < to)),
  );
}

export function openBillDue(account: Account, now: number, switches: Switches): number {
  const all = invoices(account, new URLSearchParams(), now, switches);
  const due = all.map(({ due_amount }) => Number(due_amount ?? 0));
  return rounded(due.reduce((sum, amount) => sum + amount, 0));
}

/** Newest booking first unless asked otherwise; ids follow no order, as with the real service. */
export function usageEvents(
  { id, balanceGroupId, services }: Property,
  query: URLSearchParams,
  now: number,
  { api }: Switches,
) {
  const from = Number(query.get('time-from') ?? Number.NEGATIVE_INFINITY);
  const to = Number(query.get('time-to') ?? Number.POSITIVE_INFINITY);
  const matches = (name: string, value: string | number | null) => {
    const asked = query.get(name);
    return asked === null || asked === String(value);
  };
  const events = services
    .filter(
      ({ serviceType, identifier }) =>
        matches('service-type', serviceType) && matches('identifier', identifier),
    )
    .filter(() => matches('balance-group', balanceGroupId))
    .flatMap(({ id: serviceId, identifier, meter }) =>
      (meter?.readingsAt(now) ?? []).map(({ index, at, bookedAt, kwh, register, charges }) => ({
        event_id: (serviceId % 10_000) * 100_000 + ((index * 7919) % 99_991),
        customer: { id },
        quantity: kwh,
        amount_with_discount: rounded(
          charges.reduce((sum, amount) => sum + amount, 0),
          4,
        ),
        created_at: bookedAt,
        fields: {
          identifier,
          meter_value: register.toFixed(3),
          time_of_read: String(at),
          reading_type: 'A',
          meter_value_unit: 'kWh',
        },
      })),
    )
    .filter(({ created_at }) => created_at >= from && created_at < to)
    .sort((a, b) => b.created_at - a.created_at);
  if (api.readingsById) return events.sort((a, b) => a.event_id - b.event_id);
  return query.get('order-dir')?.toLowerCase() === 'asc' ? events.reverse() : events;
}

function monthlyInvoices(account: Account, now: number): Invoice[] {
  const zone = new Zone('Europe/Dublin');
  const eurByMonth = new Map<number, number>();
  const heated = account.groups.flatMap(({ properties }) => properties).filter(isHeated);
  for (const property of heated) {
    for (const [date, { eur }] of truthAt(property, now)) {
      const start = zone.startOfDate(`${date.slice(0, 7)}-01`);
      eurByMonth.set(start, (eurByMonth.get(start) ?? 0) + eur);
    }
  }
  const months = [...eurByMonth].sort(([a], [b]) => b - a);
  const issued = months.filter(([start]) => zone.next(start, 'month') + ISSUED_AFTER_DAYS * DAY_MS <= now);
  return issued.map(([start, eur], index) => {
    const end = zone.next(start, 'month');
    const total = rounded(eur);
    return {
      id: 880_000 + ((Math.floor(start / DAY_MS) * 31) % 9973),
      status: 'invoice',
      start_time: start,
      end_time: end,
      total_amount: total,
      due_amount: index === 0 ? total : 0,
      payment_due: end + DUE_AFTER_DAYS * DAY_MS,
    };
  });
}

function isHeated({ services }: Property): boolean {
  return services.some(({ serviceType }) => serviceType === HEAT_SERVICE);
}

function rounded(value: number, decimals = 2): number {
  return Number(value.toFixed(decimals));
}
