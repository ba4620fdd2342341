// Invoices, the open bill and single readings: what the provider tells beside the usage report.
import { type Account, HEAT_SERVICE, type Property } from './accounts.ts';
import { Zone } from './localTime.ts';
import type { Switches } from './switches.ts';
import { truthAt } from './usage.ts';

interface Invoice {
  readonly [field: string]: unknown;
}

const DAY_MS = 86_400_000;
const ISSUED_AFTER_DAYS = 4;
const DUE_AFTER_DAYS = 18;
/** A reading in the first hours of a day is of the heat that was used on the day before. */
const FIRST_HOURS_MS = 6 * 3_600_000;
const WITHOUT_END = Date.UTC(9999, 0, 1);

/** One invoice for the days of each whole local month, issued on the 5th of the next, and paid by its due day. */
export function invoices(
  account: Account,
  query: URLSearchParams,
  now: number,
  { api }: Switches,
): readonly Invoice[] {
  const all = account.invoices ?? monthly(account, now).issued;
  if (api.ignoresInvoiceFilters) return all;
  const [isInTime, asks] = [within(query), asking(query)];
  return all.filter(
    ({ start_time, status, billing_profile = account.billingProfileId }) =>
      asks('invoice-status', status) &&
      asks('billing-profile', billing_profile) &&
      (typeof start_time !== 'number' || isInTime(start_time)),
  );
}

/** The same as bills: one that is paid is closed, and the one that still grows is active. */
export function bills(account: Account, query: URLSearchParams, now: number): readonly Invoice[] {
  const { issued, running } = monthly(account, now);
  const isInTime = within(query);
  return [...running, ...(account.invoices ?? issued)]
    .filter(({ start_time }) => typeof start_time !== 'number' || isInTime(start_time))
    .map(({ id, status, start_time, end_time, due_amount, total_amount }) => ({
      id,
      status: status !== 'invoice' ? status : due_amount ? 'billing' : 'closed',
      valid_from: start_time,
      valid_to: end_time,
      due_amount,
      total_amount,
      customer: { id: account.customerId },
      billing_profile: { id: account.billingProfileId },
    }));
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
  const [isInTime, asks] = [within(query), asking(query)];
  const events = services
    .filter(
      ({ serviceType, identifier }) => asks('service-type', serviceType) && asks('identifier', identifier),
    )
    .filter(() => asks('balance-group', balanceGroupId))
    .flatMap(({ id: serviceId, identifier, serviceType, meter }) =>
      (meter?.readingsAt(now) ?? []).map(({ index, at, bookedAt, kwh, register, charges }) => {
        const event_id = (serviceId % 10_000) * 100_000 + ((index * 7919) % 99_991);
        const eur = charges.reduce((sum, amount) => sum + amount, 0);
        return {
          event_id,
          event_code: `event-${event_id}`,
          service_type: serviceType,
          identifier,
          customer: { id },
          quantity: kwh,
          amount_with_discount: rounded(eur, 4),
          created_at: bookedAt,
          fields: {
            property: `property-${id}`,
            identifier,
            session_id: `${identifier}-${at}`,
            meter_value: register.toFixed(3),
            time_of_read: String(at),
            reading_type: 'A',
            meter_value_unit: 'kWh',
          },
        };
      }),
    )
    .filter(({ created_at }) => isInTime(created_at))
    .sort((a, b) => b.created_at - a.created_at);
  if (api.readingsById) return events.sort((a, b) => a.event_id - b.event_id);
  return query.get('order-dir')?.toLowerCase() === 'asc' ? events.reverse() : events;
}

/** An instant that is from `time-from` on and before `time-to`. */
function within(query: URLSearchParams): (at: number) => boolean {
  const from = Number(query.get('time-from') ?? Number.NEGATIVE_INFINITY);
  const to = Number(query.get('time-to') ?? Number.POSITIVE_INFINITY);
  return (at) => at >= from && at < to;
}

const asking = (query: URLSearchParams) => (name: string, value: unknown) => {
  const asked = query.get(name);
  return asked === null || asked === String(value);
};

/** Newest first. What is not issued yet is one bill without an end. */
function monthly(account: Account, now: number): { issued: Invoice[]; running: Invoice[] } {
  const zone = new Zone('Europe/Dublin');
  const eurByMonth = new Map<number, number>();
  const heated = account.groups.flatMap(({ properties }) => properties).filter(isHeated);
  for (const property of heated) {
    const [opened = ''] = truthAt(property, now).keys();
    for (const [date, { eur }] of truthAt(property, now, (at) => zone.dateOf(at - FIRST_HOURS_MS))) {
      // A first reading after midnight ends what was before the contract.
      if (date < opened) continue;
      const start = zone.startOfDate(`${date.slice(0, 7)}-01`);
      eurByMonth.set(start, (eurByMonth.get(start) ?? 0) + eur);
    }
  }
  const issued: Invoice[] = [];
  let [runningEur, runningFrom] = [0, Number.POSITIVE_INFINITY];
  for (const [start, eur] of [...eurByMonth].sort(([a], [b]) => b - a)) {
    const end = zone.next(start, 'month');
    const dueAt = end + DUE_AFTER_DAYS * DAY_MS;
    const total = rounded(eur * (1 + account.onTop));
    if (end + ISSUED_AFTER_DAYS * DAY_MS <= now) {
      issued.push({
        id: idOf(start),
        status: 'invoice',
        start_time: start,
        end_time: end,
        total_amount: total,
        due_amount: now < dueAt ? total : 0,
        payment_due: dueAt,
      });
    } else [runningEur, runningFrom] = [rounded(runningEur + total), start];
  }
  const times = { start_time: runningFrom, end_time: WITHOUT_END };
  const open = { id: idOf(runningFrom), status: 'active', total_amount: runningEur, due_amount: runningEur };
  return { issued, running: Number.isFinite(runningFrom) ? [{ ...open, ...times }] : [] };
}

const idOf = (start: number) => 880_000 + ((Math.floor(start / DAY_MS) * 31) % 9973);

function isHeated({ services }: Property): boolean {
  return services.some(({ serviceType }) => serviceType === HEAT_SERVICE);
}

function rounded(value: number, decimals = 2): number {
  return Number(value.toFixed(decimals));
}
