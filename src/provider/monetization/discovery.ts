// A customer code leads to every property with a heat meter, as the account's EntityContext, and to the provider's
// site.
import * as z from 'zod';
import type { Site } from '../../domain/extras.ts';
import type { EntityContext, Property } from '../../domain/reading.ts';
import type { Log } from '../../foundation/log.ts';
import type { Identity } from '../provider.ts';
import { askFor, kindInWords, meterIdentifier, opaqueId, readList, rowsOf, shortText } from '../reply.ts';
import { type Ask, UnexpectedReply } from '../request.ts';
import { NAMES, PATHS } from './names.ts';

const typed = z.object({
  service_type: z.union([shortText, z.object({ code: shortText.nullish() })]).nullish(),
});

function isHeatMeter({ service_type }: z.infer<typeof typed>): boolean {
  return (typeof service_type === 'string' ? service_type : service_type?.code) === NAMES.heatService;
}

/** Other products have fields of their own, which must not stop the heat meters: such a service is read without its fields. */
const service = z.preprocess(
  (row) => {
    const { data } = typed.safeParse(row);
    return data !== undefined && !isHeatMeter(data) ? {} : row;
  },
  typed.extend({
    identifier: meterIdentifier.nullish(),
    serial: meterIdentifier.nullish(),
    serial_number: meterIdentifier.nullish(),
    subscription: z.object({ id: opaqueId }).nullish(),
  }),
);
type Service = z.infer<typeof service>;

const subscription = z.object({
  id: opaqueId,
  status: shortText.nullish(),
  balance_group: z.object({ id: opaqueId }).nullish(),
  services: rowsOf(service).nullish(),
});
type Subscription = z.infer<typeof subscription>;

const person = z.object({ id: opaqueId });
const group = z.object({
  id: opaqueId,
  type: shortText.nullish(),
  owner_billing_profile: z.object({ id: opaqueId }).nullish(),
});
const propertyCustomer = z.object({
  id: opaqueId,
  subscriptions: rowsOf(subscription).nullish(),
  services: rowsOf(service).nullish(),
});

// Each is a meter with questions, documents and topics of its own: one strange answer must not bring thousands.
const MOST_PROPERTIES = 500;

// The first request of an account: an address that is mistyped shows here.
const NO_CUSTOMER = {
  message: 'The customer was not found at provider.api_url (HTTP 404).',
  hint: 'Most likely the address is mistyped: check it, with its path (such as /api/v1). If it is right, this user name belongs to no customer there.',
};

/** Every payment group, every property, every heat meter. Rejects with UnexpectedReply when there is none at all. */
export async function discover(
  ask: Ask,
  { customerCode, siteCodes }: Identity,
  log: Log,
  signal?: AbortSignal,
): Promise<EntityContext> {
  const { id: personCustomerId } = await askFor(
    ask,
    {
      method: 'GET',
      path: PATHS.customer(customerCode),
      what: 'question for the customer',
      notFound: NO_CUSTOMER,
      signal,
    },
    person,
  );
  const groups = await readList(ask, {
    what: 'list of payment groups',
    path: PATHS.groups(personCustomerId),
    query: { type: NAMES.paymentGroup },
    row: group,
    signal,
    log,
  });
  // Asked for by type, but a server may ignore that.
  const payment = groups.filter(({ type }) => type == null || type.toLowerCase() === NAMES.paymentGroup);
  const properties = new Map<string, Property>();
  for (const { id } of payment) {
    const customers = await readList(ask, {
      what: 'list of properties',
      path: PATHS.properties,
      query: { 'parent-group': id },
      row: propertyCustomer,
      signal,
      log,
    });
    for (const property of customers.flatMap((row) => toProperty(row) ?? []))
      properties.set(property.propertyCustomerId, property);
  }
  demandPlausible(properties.size, payment.length);
  const profiles = payment.flatMap(({ owner_billing_profile }) => owner_billing_profile?.id ?? []);
  return {
    personCustomerId,
    siteCodes,
    billingProfileIds: [...new Set(profiles)],
    properties: [...properties.values()],
  };
}

function demandPlausible(properties: number, groups: number): void {
  const what = 'discovery of the heat meters';
  if (properties === 0)
    throw new UnexpectedReply(
      what,
      `a property with a service of type ${NAMES.heatService}`,
      `none in ${groups} payment group(s)`,
      "Sign in on the provider's own page with this user name. If no heat meter is there either, it is another account that has it; if one is, please report it.",
    );
  if (properties > MOST_PROPERTIES) {
    const expected = `at most ${MOST_PROPERTIES} properties of one account`;
    throw new UnexpectedReply(what, expected, String(properties));
  }
}

/** `null` for a property without a heat meter. */
function toProperty(row: z.infer<typeof propertyCustomer>): Property | null {
  const subscriptions = row.subscriptions ?? [];
  const services = [...(row.services ?? []), ...subscriptions.flatMap((each) => each.services ?? [])];
  const heat = services.filter(isHeatMeter);
  const first = heat[0];
  if (!first) return null;
  const carrier = carrierOf(first, subscriptions);
  const identifiers = heat.flatMap((each) => each.identifier ?? each.serial_number ?? each.serial ?? []);
  return {
    propertyCustomerId: row.id,
    subscriptionId: carrier?.id ?? null,
    balanceGroupId: carrier?.balance_group?.id ?? null,
    meterIdentifiers: [...new Set(identifiers)].sort(),
  };
}

/** The subscription that holds the service: the one it names or stands in, else an active one, else the first. */
function carrierOf(heat: Service, subscriptions: readonly Subscription[]): Subscription | undefined {
  return (
    subscriptions.find(({ id }) => id === heat.subscription?.id) ??
    subscriptions.find(({ services }) => services?.some(isHeatMeter)) ??
    subscriptions.find(({ status }) => status?.toUpperCase() === 'ACTIVE') ??
    subscriptions[0]
  );
}

const isTimeZone = (name: unknown): name is string => {
  try {
    return typeof name === 'string' && Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
};
const isCurrency = (code: unknown): code is string => typeof code === 'string' && /^[A-Z]{3}$/.test(code);
const site = z.object({ timezone: z.unknown().optional(), currency: z.unknown().optional() });

/** The time zone and currency that the provider's site says it has. */
export async function readSite(ask: Ask, signal?: AbortSignal): Promise<Site> {
  const what = 'question for the site';
  const { timezone, currency } = await askFor(ask, { method: 'GET', path: PATHS.site, what, signal }, site);
  const { code } = Object(currency);
  if (!isTimeZone(timezone) && !isCurrency(code))
    throw new UnexpectedReply(
      what,
      'a time zone such as Europe/Dublin at timezone, or a currency such as EUR at currency.code',
      `${kindInWords(timezone)} and ${kindInWords(code)}`,
    );
  return { timezone: isTimeZone(timezone) ? timezone : null, currency: isCurrency(code) ? code : null };
}
