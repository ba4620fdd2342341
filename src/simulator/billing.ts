// The monetization API: checks the token, and answers about customers, groups, properties and usage, and beside that about
// invoices, the open bill and single readings.
import type { Clock } from '../foundation/clock.ts';
import { type Account, type Group, HEAT_SERVICE, type Property, type Service } from './accounts.ts';
import { type Exchange, json, type Reply, type Route, refused } from './exchange.ts';
import { verified } from './issuer/realm.ts';
import { Zone } from './localTime.ts';
import type { Switches } from './switches.ts';
import { parseUsageRequest, Refusal, truthAt, usageReport } from './usage.ts';

export interface BillingOptions {
  readonly clock: Clock;
  readonly issuer: string;
  readonly accounts: readonly Account[];
  readonly switches: Switches;
  /** Ids that properties had before a test renumbered them. */
  readonly retiredIds: ReadonlySet<number>;
}

type Answer = (account: Account, exchange: Exchange, id: string, bill: string) => Reply;

export function billingRoutes(options: BillingOptions): Route[] {
  const { switches, clock, accounts } = options;
  const route = (method: string, path: string, answer: Answer): Route => ({
    method,
    template: `/api/v1${path}`,
    reply: (exchange, { id = '', bill = '' }) => {
      const account = tokenHolder(exchange, options);
      return 'status' in account ? account : answer(account, exchange, id, bill);
    },
  });
  const listed = (objects: readonly unknown[], exchange: Exchange) =>
    json(paged(objects, exchange.query, switches));
  /** The number of another customer is forbidden, an unknown one is not found. */
  function ifOwn<T>(account: Account, find: (one: Account) => T | undefined, answer: (found: T) => Reply) {
    const own = find(account);
    if (own !== undefined) return answer(own);
    const isForeign = accounts.some((one) => find(one) !== undefined);
    return isForeign ? refused(403, 'Forbidden') : refused(404, 'Customer not found');
  }
  const propertyOf = (account: Account, id: string) =>
    propertiesOf(account).find((property) => String(property.id) === id);
  const ofProperty = (account: Account, id: string, answer: (property: Property) => Reply) =>
    ifOwn(account, (one) => propertyOf(one, id), answer);
  const ofPerson = (account: Account, id: string | null, answer: () => Reply) =>
    ifOwn(account, (one) => [one.customerCode, String(one.customerId)].find((own) => own === id), answer);

  return [
    route('GET', '/customers/:id', (account, _, id) => {
      const property = propertyOf(account, id);
      return property
        ? json(propertyCustomer(property))
        : ofPerson(account, id, () => json(personCustomer(account)));
    }),
    route('GET', '/customers/:id/groups', (account, exchange, id) =>
      ofPerson(account, id, () => {
        const type = exchange.query.get('type');
        const groups = account.groups.filter((group) => type === null || group.type === type);
        return listed(
          groups.map((group) => paymentGroup(group, account)),
          exchange,
        );
      }),
    ),
    route('GET', '/customers', (account, exchange) => {
      const asked = exchange.query.get('parent-group');
      const isGroup = ({ id }: Group) => String(id) === asked;
      const group = account.groups.find(isGroup);
      if (group) return listed(group.properties.map(propertyCustomer), exchange);
      return accounts.some(({ groups }) => groups.some(isGroup)) || asked === null
        ? refused(403, 'Forbidden')
        : listed([], exchange);
    }),
    route('POST', '/reports/usage', (account, { body }) => reportUsage(account, body, options)),
    route('GET', '/customers/:id/usage-events', (account, exchange, id) =>
      ofProperty(account, id, (property) =>
        listed(usageEvents(property, exchange.query, clock.now(), switches), exchange),
      ),
    ),
    route('GET', '/customers/:id/open-bill-due', (account, _, id) =>
      ofPerson(account, id, () => json({ open_bill_due: openBillDue(account, clock.now(), switches) })),
    ),
    route('GET', '/invoices', (account, exchange) =>
      ofPerson(account, exchange.query.get('customerId'), () =>
        listed(invoices(account, exchange.query, clock.now(), switches), exchange),
      ),
    ),
    route('GET', '/customers/:id/bills', (account, exchange, id) =>
      ofPerson(account, id, () => listed(bills(account, exchange.query, clock.now()), exchange)),
    ),
    // Asked for by the property as well as by the person.
    route('GET', '/customers/:id/bills/:bill', (account, _, id, number) => {
      const one = () => {
        const found = bills(account, new URLSearchParams(), clock.now()).find(
          (bill) => String(bill.id) === number,
        );
        return found ? json(found) : refused(404, 'Bill not found');
      };
      return propertyOf(account, id) ? one() : ofPerson(account, id, one);
    }),
    route('GET', '/credit-balances', (account, exchange) =>
      ofPerson(account, exchange.query.get('customer'), () =>
        listed([{ id: account.billingProfileId + 5000, amount: 0 }], exchange),
      ),
    ),
    route('GET', '/site', () => {
      const { timezone, currency } = switches.site;
      return json({ code: 'harbour-yard', timezone, currency: { code: currency } });
    }),
  ];
}

export function propertiesOf({ groups }: Account): Property[] {
  return groups.flatMap(({ properties }) => properties);
}

function tokenHolder(
  { headers }: Exchange,
  { clock, issuer, accounts, switches }: BillingOptions,
): Account | Reply {
  const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  const claims = token === undefined ? undefined : verified(token, switches.token.keyId);
  const isAlive =
    claims?.typ === 'Bearer' && claims.iss === issuer && Number(claims.exp) > clock.now() / 1000;
  const account = isAlive ? accounts.find(({ userId }) => userId === claims.sub) : undefined;
  if (!account) return refused(401, 'Unauthorized');
  return String(claims?.scope).split(' ').includes('service-energy')
    ? account
    : refused(403, 'Missing scope');
}

function reportUsage(account: Account, body: unknown, options: BillingOptions): Reply {
  const { clock, accounts, switches, retiredIds } = options;
  try {
    const request = parseUsageRequest(body);
    const id = Number(request.customer_id);
    if (retiredIds.has(id)) return refused(switches.api.retiredStatus, 'Customer not found');
    const isAsked = (property: Property) => property.id === id;
    const own = propertiesOf(account).find(isAsked);
    if (!own && accounts.some((one) => propertiesOf(one).some(isAsked))) return refused(403, 'Forbidden');
    return json(usageReport(own, request, clock.now(), switches.api));
  } catch (err) {
    if (err instanceof Refusal) return json(err.body, err.status);
    throw err;
  }
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
  const page = api.ignoresPage ? 1 : wholeNumber(query.get('page'), 1);
  const count = Math.min(wholeNumber(query.get('count'), DEFAULT_COUNT), api.maxPageSize);
  const shown = objects.slice((page - 1) * count, page * count);
  return api.bareArrays ? shown : { objects: shown, total_num: objects.length };
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
function invoices(
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
function bills(account: Account, query: URLSearchParams, now: number): readonly Invoice[] {
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

function openBillDue(account: Account, now: number, switches: Switches): number {
  const all = invoices(account, new URLSearchParams(), now, switches);
  const due = all.map(({ due_amount }) => Number(due_amount ?? 0));
  return rounded(due.reduce((sum, amount) => sum + amount, 0));
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
  const heated = propertiesOf(account).filter(({ services }) =>
    services.some(({ serviceType }) => serviceType === HEAT_SERVICE),
  );
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
    const total = rounded(eur * (1 + account.markup));
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

function rounded(value: number, decimals = 2): number {
  return Number(value.toFixed(decimals));
}
