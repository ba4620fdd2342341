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

interface BillingOptions {
  readonly clock: Clock;
  readonly issuer: string;
  readonly accounts: readonly Account[];
  readonly switches: Switches;
  /** Ids that properties had before a test renumbered them. */
  readonly retiredIds: ReadonlySet<number>;
}

/** A question, and the account of the token that came with it. */
interface Question extends BillingOptions {
  readonly account: Account;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** The id in `:id` or `:bill` of the path. */
  readonly id: string;
  readonly bill: string;
  readonly now: number;
}

/** An object of another customer is forbidden, one that nobody has is not found. */
function mine<T>(question: Question, find: (account: Account) => T | undefined): T {
  const object = find(question.account);
  if (object !== undefined) return object;
  throw isForeign(question, find) ? refusal(403, 'Forbidden') : refusal(404, 'Customer not found');
}

const isForeign = ({ accounts }: Question, find: (account: Account) => unknown): boolean =>
  accounts.some((account) => find(account) !== undefined);

/** Refuses every number and code but those of the account itself. */
const checkCustomer = (question: Question, asked: string | null) =>
  mine(question, ({ customerCode, customerId }) =>
    [customerCode, String(customerId)].find((name) => name === asked),
  );

// A page has so many objects, or fewer where a question says so.
const PAGE_SIZE = 10;

/** The page that was asked for. */
function listed({ query }: Question, objects: readonly unknown[]): unknown {
  const page = wholeNumber(query.get('page'), 1);
  const count = Math.min(wholeNumber(query.get('count'), PAGE_SIZE), PAGE_SIZE);
  return { objects: objects.slice((page - 1) * count, page * count), total_num: objects.length };
}

/** The bodies of the replies, by method and path. */
type Answers = Readonly<Record<string, (question: Question) => unknown>>;

const CUSTOMERS: Answers = {
  'GET /customers/:id': (question) => {
    const property = propertyOf(question.account, question.id);
    if (property) return propertyCustomer(property);
    checkCustomer(question, question.id);
    return personCustomer(question.account);
  },
  'GET /customers/:id/groups': (question) => {
    const { account, id, query } = question;
    checkCustomer(question, id);
    const asks = asking(query);
    const groups = account.groups.filter(({ type }) => asks('type', type));
    return listed(
      question,
      groups.map((group) => paymentGroup(group, account)),
    );
  },
  'GET /customers': (question) => {
    const { account, query } = question;
    const asked = query.get('parent-group');
    const groupIn = ({ groups }: Account) => groups.find(({ id }) => String(id) === asked);
    const group = groupIn(account);
    if (!group && (asked === null || isForeign(question, groupIn))) throw refusal(403, 'Forbidden');
    return listed(question, group?.properties.map(propertyCustomer) ?? []);
  },
};

const USAGE: Answers = {
  'POST /reports/usage': (question) => {
    const request = parseUsageRequest(question.body);
    const id = Number(request.customer_id);
    if (question.retiredIds.has(id)) throw refusal(question.switches.api.retiredStatus, 'Customer not found');
    const find = (account: Account) => propertyOf(account, String(id));
    const property = find(question.account);
    if (!property && isForeign(question, find)) throw refusal(403, 'Forbidden');
    return usageReport(property, request, question.now);
  },
  'GET /customers/:id/usage-events': (question) => {
    const { id, query, now } = question;
    const property = mine(question, (account) => propertyOf(account, id));
    return listed(question, usageEvents(property, query, now));
  },
};

const MONEY: Answers = {
  'GET /customers/:id/open-bill-due': (question) => {
    checkCustomer(question, question.id);
    const issued = invoices(question.account, new URLSearchParams(), question.now);
    const due = issued.map(({ due_amount }) => Number(due_amount ?? 0));
    return { open_bill_due: rounded(due.reduce((sum, amount) => sum + amount, 0)) };
  },
  'GET /invoices': (question) => {
    const { account, query, now } = question;
    checkCustomer(question, query.get('customerId'));
    return listed(question, invoices(account, query, now));
  },
  'GET /customers/:id/bills': (question) => {
    const { account, id, query, now } = question;
    checkCustomer(question, id);
    return listed(question, bills(account, query, now));
  },
  // Asked for by the property as well as by the person.
  'GET /customers/:id/bills/:bill': (question) => {
    const { account, id, now } = question;
    if (!propertyOf(account, id)) checkCustomer(question, id);
    const issued = bills(account, new URLSearchParams(), now);
    const bill = issued.find((candidate) => String(candidate.id) === question.bill);
    if (bill) return bill;
    throw refusal(404, 'Bill not found');
  },
  'GET /credit-balances': (question) => {
    checkCustomer(question, question.query.get('customer'));
    return listed(question, [{ id: question.account.billingProfileId + 5000, amount: 0 }]);
  },
  'GET /site': ({ switches }) => {
    const { timezone, currency } = switches.site;
    return { code: 'harbour-yard', timezone, currency: { code: currency } };
  },
};

export function billingRoutes(options: BillingOptions): Route[] {
  return Object.entries({ ...CUSTOMERS, ...USAGE, ...MONEY }).map(([route, answer]) => {
    const [method = '', path] = route.split(' ');
    return {
      method,
      template: `/api/v1${path}`,
      reply: (exchange, { id = '', bill = '' }) => {
        const { query, body } = exchange;
        const account = tokenHolder(exchange, options);
        return json(answer({ ...options, account, query, body, id, bill, now: options.clock.now() }));
      },
    };
  });
}

export function propertiesOf({ groups }: Account): Property[] {
  return groups.flatMap(({ properties }) => properties);
}

const propertyOf = (account: Account, id: string): Property | undefined =>
  propertiesOf(account).find((property) => String(property.id) === id);

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

/** A customer record holds personal data, too: nothing of it is needed, and none of it may leave the program. */
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
  // Supplies of other services come first, so that `[0]` is the wrong one.
  const supplies = [
    {
      id: subscriptionId + 50_000,
      name: 'Other services',
      of: services.filter((service) => !isHeat(service)),
    },
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
function usageEvents({ id, balanceGroupId, services }: Property, query: URLSearchParams, now: number) {
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
    return {
      id: idOf(start),
      status: 'invoice',
      start_time: start,
      end_time: end,
      total_amount: total,
      due_amount,
      payment_due,
    };
  });
  const open = months.filter((month) => !isIssued(month));
  const total_amount = rounded(open.reduce((sum, { total }) => sum + total, 0));
  const running = open.slice(-1).map(({ start }) => ({
    id: idOf(start),
    status: 'active',
    start_time: start,
    end_time: WITHOUT_END,
    total_amount,
    due_amount: total_amount,
  }));
  return { issued, running };
}

const idOf = (start: number) => 880_000 + ((Math.floor(start / DAY_MS) * 31) % 9973);

function rounded(value: number, decimals = 2): number {
  return Number(value.toFixed(decimals));
}
