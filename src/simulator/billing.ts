// The monetization API: checks the token, and answers about customers, groups, properties and usage, and beside that about
// invoices, the open bill and single readings.
import type { Clock } from '../foundation/clock.ts';
import {
  type Account,
  type Group,
  HEAT_SERVICE,
  identifierAt,
  type Property,
  type Service,
} from './accounts.ts';
import { type Exchange, json, type Route, refusal } from './exchange.ts';
import { verified } from './issuer/realm.ts';
import { Zone } from './localTime.ts';
import type { Switches } from './switches.ts';
import { parseUsageRequest, truthAt, usageReport } from './usage.ts';

export interface BillingOptions {
  readonly clock: Clock;
  readonly issuer: string;
  readonly accounts: readonly Account[];
  readonly switches: Switches;
  /** Ids that properties had before a test renumbered them. */
  readonly retiredIds: ReadonlySet<number>;
}

/** Gives the body of the reply. */
type Answer = (account: Account, exchange: Exchange, id: string, bill: string) => unknown;

export function billingRoutes(options: BillingOptions): Route[] {
  const { switches, clock, accounts, retiredIds } = options;
  const route = (method: string, path: string, answer: Answer): Route => ({
    method,
    template: `/api/v1${path}`,
    reply: (exchange, { id = '', bill = '' }) =>
      json(answer(tokenHolder(exchange, options), exchange, id, bill)),
  });
  const listed = (objects: readonly unknown[], { query }: Exchange) => paged(objects, query, switches);
  /** The number of another customer is forbidden, an unknown one is not found. */
  function own<T>(account: Account, find: (one: Account) => T | undefined): T {
    const found = find(account);
    if (found !== undefined) return found;
    const isForeign = accounts.some((one) => find(one) !== undefined);
    throw isForeign ? refusal(403, 'Forbidden') : refusal(404, 'Customer not found');
  }
  const propertyOf = (account: Account, id: string) =>
    propertiesOf(account).find((property) => String(property.id) === id);
  const refuseOthers = (account: Account, id: string | null) =>
    own(account, (one) => [one.customerCode, String(one.customerId)].find((its) => its === id));

  return [
    route('GET', '/customers/:id', (account, _, id) => {
      const property = propertyOf(account, id);
      if (property) return propertyCustomer(property);
      refuseOthers(account, id);
      return personCustomer(account);
    }),
    route('GET', '/customers/:id/groups', (account, exchange, id) => {
      refuseOthers(account, id);
      const asks = asking(exchange.query);
      const groups = account.groups.filter(({ type }) => asks('type', type));
      return listed(
        groups.map((group) => paymentGroup(group, account)),
        exchange,
      );
    }),
    route('GET', '/customers', (account, exchange) => {
      const asked = exchange.query.get('parent-group');
      const groupIn = ({ groups }: Account) => groups.find(({ id }) => String(id) === asked);
      const group = groupIn(account);
      if (!group && (asked === null || accounts.some(groupIn))) throw refusal(403, 'Forbidden');
      return listed(group?.properties.map(propertyCustomer) ?? [], exchange);
    }),
    route('POST', '/reports/usage', (account, { body }) => {
      const request = parseUsageRequest(body);
      const id = Number(request.customer_id);
      if (retiredIds.has(id)) throw refusal(switches.api.retiredStatus, 'Customer not found');
      const property = propertyOf(account, String(id));
      if (!property && accounts.some((one) => propertyOf(one, String(id)))) throw refusal(403, 'Forbidden');
      return usageReport(property, request, clock.now());
    }),
    route('GET', '/customers/:id/usage-events', (account, exchange, id) => {
      const property = own(account, (one) => propertyOf(one, id));
      return listed(usageEvents(property, exchange.query, clock.now(), switches), exchange);
    }),
    route('GET', '/customers/:id/open-bill-due', (account, _, id) => {
      refuseOthers(account, id);
      const all = invoices(account, new URLSearchParams(), clock.now());
      const due = all.map(({ due_amount }) => Number(due_amount ?? 0));
      return { open_bill_due: rounded(due.reduce((sum, amount) => sum + amount, 0)) };
    }),
    route('GET', '/invoices', (account, exchange) => {
      refuseOthers(account, exchange.query.get('customerId'));
      return listed(invoices(account, exchange.query, clock.now()), exchange);
    }),
    route('GET', '/customers/:id/bills', (account, exchange, id) => {
      refuseOthers(account, id);
      return listed(bills(account, exchange.query, clock.now()), exchange);
    }),
    // Asked for by the property as well as by the person.
    route('GET', '/customers/:id/bills/:bill', (account, _, id, number) => {
      if (!propertyOf(account, id)) refuseOthers(account, id);
      const all = bills(account, new URLSearchParams(), clock.now());
      const found = all.find((bill) => String(bill.id) === number);
      if (found) return found;
      throw refusal(404, 'Bill not found');
    }),
    route('GET', '/credit-balances', (account, exchange) => {
      refuseOthers(account, exchange.query.get('customer'));
      return listed([{ id: account.billingProfileId + 5000, amount: 0 }], exchange);
    }),
    route('GET', '/site', () => {
      const { timezone, currency } = switches.site;
      return { code: 'harbour-yard', timezone, currency: { code: currency } };
    }),
  ];
}

export function propertiesOf({ groups }: Account): Property[] {
  return groups.flatMap(({ properties }) => properties);
}

function tokenHolder({ headers }: Exchange, { clock, issuer, accounts, switches }: BillingOptions): Account {
  const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  const claims = token === undefined ? undefined : verified(token, switches.token);
  const isAlive =
    claims?.typ === 'Bearer' && claims.iss === issuer && Number(claims.exp) > clock.now() / 1000;
  const account = isAlive ? accounts.find(({ userId }) => userId === claims.sub) : undefined;
  if (!account) throw refusal(401, 'Unauthorized');
  if (String(claims?.scope).split(' ').includes('service-energy')) return account;
  throw refusal(403, 'Missing scope');
}

/** With what a customer record holds besides: nothing of it is needed, and none of it may leave the program. */
function personCustomer({ customerId, customerCode, username }: Account) {
  const code = `PLAN-${customerId}`;
  return {
    id: customerId,
    code: customerCode,
    status: 'active',
    type: 'person',
    contact_infos: [{ email: username, first_name: 'Alex', last_name: 'Quay', address: '1 Harbour Yard' }],
    pay_info: { method: 'credit_card', default_credit_card: { card_type: 'visa', last_4: '0000' } },
    custom_attributes: { customer_supply_status: 'ON' },
    subscriptions: [{ id: customerId + 90_000, code, name: 'Account plan', status: 'active' }],
  };
}

function paymentGroup({ id, type, name, billingProfileId }: Group, account: Account) {
  const owner_billing_profile = { id: billingProfileId ?? account.billingProfileId };
  return { id, type, name, owner: { id: account.customerId }, owner_billing_profile };
}

function propertyCustomer({ id, subscriptionId, balanceGroupId, services }: Property) {
  const isHeat = ({ serviceType }: Service) => serviceType === HEAT_SERVICE;
  // Those of other services first, so that `[0]` is the wrong one.
  const supplies = [
    { id: subscriptionId + 50_000, name: 'Other services', of: services.filter((one) => !isHeat(one)) },
    { id: subscriptionId, name: 'Heat supply', of: services.filter(isHeat) },
  ].filter((supply) => supply.of.length > 0);
  return {
    id,
    code: `property-${id}`,
    status: 'active',
    subscriptions: supplies.map((supply) => ({
      id: supply.id,
      code: `SUPPLY-${supply.id}`,
      name: supply.name,
      status: 'active',
      balance_group: { id: balanceGroupId },
    })),
    services: supplies.flatMap((supply) =>
      supply.of.map(({ id: serviceId, identifier, serviceType }) => ({
        id: serviceId,
        ...(identifier === null ? {} : { identifier }),
        service_type: { code: serviceType, mandatory_fields: 'identifier;time_of_read;meter_value' },
        subscription: { id: supply.id },
      })),
    ),
  };
}

const DEFAULT_COUNT = 10;

function paged(objects: readonly unknown[], query: URLSearchParams, { api }: Switches): unknown {
  const page = wholeNumber(query.get('page'), 1);
  const count = Math.min(wholeNumber(query.get('count'), DEFAULT_COUNT), api.maxPageSize);
  return { objects: objects.slice((page - 1) * count, page * count), total_num: objects.length };
}

function wholeNumber(written: string | null, otherwise: number): number {
  const value = Number(written ?? otherwise);
  return Number.isInteger(value) && value >= 1 ? value : otherwise;
}

type Invoice = Readonly<Record<string, unknown>>;

const DAY_MS = 86_400_000;
const ISSUED_AFTER_DAYS = 4;
const DUE_AFTER_DAYS = 18;
/** A reading in the first hours of a day is of the heat that was used on the day before. */
const FIRST_HOURS_MS = 6 * 3_600_000;
const WITHOUT_END = Date.UTC(9999, 0, 1);

/** One invoice for the days of each whole local month, issued on the 5th of the next, and paid by its due day. */
function invoices(account: Account, query: URLSearchParams, now: number): readonly Invoice[] {
  const [isInTime, asks] = [within(query), asking(query)];
  return (account.invoices ?? monthly(account, now).issued).filter(
    ({ start_time, status, billing_profile = account.billingProfileId }) =>
      asks('invoice-status', status) && asks('billing-profile', billing_profile) && isInTime(start_time),
  );
}

/** One that is paid is closed, and the one that still grows is active. */
function billStatus(status: Invoice['status'], due: Invoice['due_amount']) {
  if (status !== 'invoice') return status;
  return due ? 'billing' : 'closed';
}

/** The same as bills. */
function bills(account: Account, query: URLSearchParams, now: number): readonly Invoice[] {
  const { issued, running } = monthly(account, now);
  const isInTime = within(query);
  return [...running, ...(account.invoices ?? issued)]
    .filter(({ start_time }) => isInTime(start_time))
    .map(({ id, status, start_time, end_time, due_amount, total_amount }) => ({
      id,
      status: billStatus(status, due_amount),
      valid_from: start_time,
      valid_to: end_time,
      due_amount,
      total_amount,
      customer: { id: account.customerId },
      billing_profile: { id: account.billingProfileId },
    }));
}

/** Newest booking first unless asked otherwise; ids follow no order, as with the real service. */
function usageEvents(
  { id, balanceGroupId, services }: Property,
  query: URLSearchParams,
  now: number,
  { api }: Switches,
) {
  const [isInTime, asks] = [within(query), asking(query)];
  const events = services
    .filter(({ serviceType }) => asks('service-type', serviceType) && asks('balance-group', balanceGroupId))
    .flatMap((service) =>
      (service.meter?.readingsAt(now) ?? []).map(({ index, at, bookedAt, kwh, register, charges }) => {
        const { id: serviceId, serviceType } = service;
        const identifier = identifierAt(service, at);
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
    .filter(({ created_at, identifier }) => isInTime(created_at) && asks('identifier', identifier))
    .sort((a, b) => b.created_at - a.created_at);
  if (api.readingsById) return events.sort((a, b) => a.event_id - b.event_id);
  return query.get('order-dir')?.toLowerCase() === 'asc' ? events.reverse() : events;
}

/** An instant that is from `time-from` on and before `time-to`. What has none is given to every question. */
function within(query: URLSearchParams): (at: unknown) => boolean {
  const from = Number(query.get('time-from') ?? Number.NEGATIVE_INFINITY);
  const to = Number(query.get('time-to') ?? Number.POSITIVE_INFINITY);
  return (at) => typeof at !== 'number' || (at >= from && at < to);
}

const asking = (query: URLSearchParams) => (name: string, value: unknown) => {
  const asked = query.get(name);
  return asked === null || asked === String(value);
};

/** Newest first. What is not issued yet is one bill without an end. */
function monthly(account: Account, now: number): { issued: Invoice[]; running: Invoice[] } {
  const zone = new Zone('Europe/Dublin');
  const eurByMonth = new Map<number, number>();
  for (const property of propertiesOf(account)) {
    const [opened = ''] = truthAt(property, now).keys();
    for (const [date, { eur }] of truthAt(property, now, (at) => zone.dateOf(at - FIRST_HOURS_MS))) {
      // A first reading after midnight ends what was before the contract.
      if (date < opened) continue;
      const start = zone.startOfDate(`${date.slice(0, 7)}-01`);
      eurByMonth.set(start, (eurByMonth.get(start) ?? 0) + eur);
    }
  }
  const months = [...eurByMonth]
    .sort(([a], [b]) => b - a)
    .map(([start, eur]) => ({
      start,
      end: zone.next(start, 'month'),
      total: rounded(eur * (1 + account.markup)),
    }));
  const isIssued = ({ end }: (typeof months)[number]) => end + ISSUED_AFTER_DAYS * DAY_MS <= now;
  const issued = months.filter(isIssued).map(({ start, end, total }) => {
    const payment_due = end + DUE_AFTER_DAYS * DAY_MS;
    const due_amount = now < payment_due ? total : 0;
    const times = { start_time: start, end_time: end };
    return { id: idOf(start), status: 'invoice', ...times, total_amount: total, due_amount, payment_due };
  });
  const open = months.filter((month) => !isIssued(month));
  const total_amount = rounded(open.reduce((sum, { total }) => sum + total, 0));
  const running = open.slice(-1).map(({ start }) => {
    const times = { start_time: start, end_time: WITHOUT_END };
    return { id: idOf(start), status: 'active', ...times, total_amount, due_amount: total_amount };
  });
  return { issued, running };
}

const idOf = (start: number) => 880_000 + ((Math.floor(start / DAY_MS) * 31) % 9973);

function rounded(value: number, decimals = 2): number {
  return Number(value.toFixed(decimals));
}
