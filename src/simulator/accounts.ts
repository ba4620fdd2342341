// The provider's customers: accounts, payment groups, properties and services, with ids invented where none are given.
import { Meter, type MeterOptions } from './meter.ts';
import { drawFor, uuidFrom } from './random.ts';

export const HEAT_SERVICE = 'HEAT_METER_READ_SERVICE';

interface ServiceOptions {
  readonly identifier?: string | null;
  readonly serviceType?: string;
  readonly meter?: MeterOptions;
}

export interface PropertyOptions {
  readonly id?: number;
  readonly services?: readonly ServiceOptions[];
}

interface GroupOptions {
  readonly id?: number;
  readonly type?: string;
  /** Default: the account's own. */
  readonly billingProfileId?: number;
  readonly properties?: readonly PropertyOptions[];
}

export interface AccountOptions {
  readonly username: string;
  readonly password: string;
  readonly customerCode?: string;
  readonly customerId?: number;
  readonly sites?: readonly string[];
  readonly groups?: readonly GroupOptions[];
  /**
   * They replace the monthly invoices that follow from the readings. They are read live; one with a `billing_profile` is given to
   * questions about that one only.
   */
  readonly invoices?: readonly Record<string, unknown>[];
  /** The share of the monthly invoices on top of the readings: 0.135 is VAT of 13.5 %. */
  readonly markup?: number;
}

export type Account = ReturnType<typeof settleAccount>;
export type Group = ReturnType<typeof settleGroup>;
export type Property = ReturnType<typeof settleProperty>;
export type Service = Property['services'][number];
type FreshId = () => number;

export function settle(accounts: readonly AccountOptions[]): Account[] {
  let lastId = 410_000;
  return accounts.map((options, index) => settleAccount(options, index, () => ++lastId));
}

/** A test may change the password. */
function settleAccount(options: AccountOptions, index: number, fresh: FreshId) {
  const { username, password, groups = [], invoices, markup = 0, sites = ['/harbour-yard'] } = options;
  const draw = drawFor(77, index, username);
  return {
    username,
    password,
    userId: uuidFrom(draw),
    customerCode: options.customerCode ?? uuidFrom(draw),
    customerId: options.customerId ?? fresh(),
    billingProfileId: fresh(),
    sites,
    groups: groups.map((group) => settleGroup(group, fresh)),
    invoices,
    markup,
  };
}

function settleGroup(options: GroupOptions, fresh: FreshId) {
  const { id = fresh(), type = 'payment', billingProfileId, properties = [] } = options;
  const settled = properties.map((property) => settleProperty(property, fresh));
  return { id, type, name: `Group ${id}`, billingProfileId, properties: settled };
}

/** The meter that has taken a reading of that moment. */
export const identifierAt = ({ identifier, earlier }: Service, at: number): string | null =>
  (earlier.find(({ until }) => at < until) ?? { identifier }).identifier;

/** A test may change the id, and exchange a meter. */
function settleProperty(options: PropertyOptions, fresh: FreshId) {
  const { id = fresh(), services = [] } = options;
  const settled = services.map(({ identifier, serviceType = HEAT_SERVICE, meter }) => {
    const serviceId = fresh();
    const name = identifier === undefined ? `HM${serviceId}` : identifier;
    /** Meters that were here before, the oldest first. */
    const earlier: { readonly identifier: string | null; readonly until: number }[] = [];
    return { id: serviceId, identifier: name, earlier, serviceType, meter: meter && new Meter(meter) };
  });
  return { id, subscriptionId: fresh(), balanceGroupId: fresh(), services: settled };
}

const personWith = (username: string, password: string, services: readonly ServiceOptions[]) => ({
  username,
  password,
  groups: [{ properties: [{ services }] }],
});

/** One account with one heat meter and history since 1 January two years back. */
export function demoAccounts(seed = 1, heat: MeterOptions = {}): AccountOptions[] {
  const water = { seed: seed + 1, meanKwhPerDay: 3 };
  const services = [
    { identifier: '70418235', meter: { seed, ...heat } },
    { identifier: 'W-3302', serviceType: 'WATER_METER_READ_SERVICE', meter: water },
  ];
  return [{ ...personWith('me@example.org', 'demo', services), markup: 0.135 }];
}

/** `count` accounts with one heat meter each: flat-1@example.org with the password demo-1, and so on. */
export const flatAccounts = (count: number, heat: MeterOptions = {}): AccountOptions[] =>
  Array.from({ length: count }, (_, n) => {
    const service = { identifier: String(70_600_001 + n), meter: { seed: n + 1, ...heat } };
    return personWith(`flat-${n + 1}@example.org`, `demo-${n + 1}`, [service]);
  });
