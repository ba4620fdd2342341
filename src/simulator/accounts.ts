// The provider's customers: accounts, payment groups, properties and services, with ids invented where none are given.
import { Meter, type MeterOptions } from './meter.ts';
import { drawFor, uuidFrom } from './random.ts';

export const HEAT_SERVICE = 'HEAT_METER_READ_SERVICE';

export interface ServiceOptions {
  readonly identifier?: string | null;
  readonly serviceType?: string;
  readonly meter?: MeterOptions;
}

export interface PropertyOptions {
  readonly id?: number;
  readonly services?: readonly ServiceOptions[];
}

export interface GroupOptions {
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
   * In place of the monthly invoices that follow from the readings. Read live; one with a `billing_profile` is given
   * to questions about that one only.
   */
  readonly invoices?: readonly Record<string, unknown>[];
  /** What the monthly invoices have on top of the readings: 0.135 is VAT of 13.5 %. */
  readonly onTop?: number;
}

export interface Service {
  readonly id: number;
  readonly identifier: string | null;
  readonly serviceType: string;
  readonly meter: Meter | undefined;
}

export interface Property {
  /** Changes when a test renumbers it. */
  id: number;
  readonly subscriptionId: number;
  readonly balanceGroupId: number;
  readonly services: readonly Service[];
}

export interface Group {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly billingProfileId: number | undefined;
  readonly properties: readonly Property[];
}

export interface Account {
  readonly username: string;
  /** Changes when a test changes it. */
  password: string;
  readonly userId: string;
  readonly customerCode: string;
  readonly customerId: number;
  readonly billingProfileId: number;
  readonly sites: readonly string[];
  readonly groups: readonly Group[];
  readonly invoices: readonly Record<string, unknown>[] | undefined;
  readonly onTop: number;
}

export function settle(accounts: readonly AccountOptions[]): Account[] {
  let lastId = 410_000;
  const fresh = () => ++lastId;
  return accounts.map((options, index) => {
    const draw = drawFor(77, index, options.username);
    return {
      username: options.username,
      password: options.password,
      userId: uuidFrom(draw),
      customerCode: options.customerCode ?? uuidFrom(draw),
      customerId: options.customerId ?? fresh(),
      billingProfileId: fresh(),
      sites: options.sites ?? ['/harbour-yard'],
      groups: (options.groups ?? []).map((group) => settleGroup(group, fresh)),
      invoices: options.invoices,
      onTop: options.onTop ?? 0,
    };
  });
}

function settleGroup(options: GroupOptions, fresh: () => number): Group {
  const { id = fresh(), type = 'payment', billingProfileId, properties = [] } = options;
  return {
    id,
    type,
    name: `Group ${id}`,
    billingProfileId,
    properties: properties.map((one) => settleProperty(one, fresh)),
  };
}

function settleProperty(options: PropertyOptions, fresh: () => number): Property {
  const id = options.id ?? fresh();
  const services = (options.services ?? []).map(({ identifier, serviceType = HEAT_SERVICE, meter }) => {
    const serviceId = fresh();
    return {
      id: serviceId,
      identifier: identifier === undefined ? `HM${serviceId}` : identifier,
      serviceType,
      meter: meter && new Meter(meter),
    };
  });
  return {
    id,
    subscriptionId: fresh(),
    balanceGroupId: fresh(),
    services,
  };
}

/** One account with one heat meter and history since 1 January two years back. */
export function demoAccounts(seed = 1, heat: MeterOptions = {}): AccountOptions[] {
  const services = [
    { identifier: '70418235', meter: { seed, ...heat } },
    {
      identifier: 'W-3302',
      serviceType: 'WATER_METER_READ_SERVICE',
      meter: { seed: seed + 1, meanKwhPerDay: 3 },
    },
  ];
  const groups = [{ type: 'payment', properties: [{ services }] }];
  return [{ username: 'me@example.org', password: 'demo', groups, onTop: 0.135 }];
}

/** `count` accounts with one heat meter each: flat-1@example.org with the password demo-1, and so on. */
export const flatAccounts = (count: number, heat: MeterOptions = {}): AccountOptions[] =>
  Array.from({ length: count }, (_, n) => ({
    username: `flat-${n + 1}@example.org`,
    password: `demo-${n + 1}`,
    groups: [
      {
        type: 'payment',
        properties: [{ services: [{ identifier: String(70_600_001 + n), meter: { seed: n + 1, ...heat } }] }],
      },
    ],
  }));

/** Two payment groups, three properties (one without any service), a group of another type, and a neighbour. */
export function wideAccounts(seed = 1): AccountOptions[] {
  const groups: GroupOptions[] = [
    ...(demoAccounts(seed)[0]?.groups ?? []),
    { type: 'hierarchy', properties: [{ services: [{ identifier: '70499999' }] }] },
    {
      type: 'payment',
      properties: [{ services: [{ identifier: '70418301', meter: { seed: seed + 2 } }] }, { services: [] }],
    },
  ];
  const next = [{ properties: [{ services: [{ identifier: '70555001', meter: { seed: seed + 3 } }] }] }];
  return [
    { username: 'me@example.org', password: 'demo', groups },
    { username: 'neighbour@example.org', password: 'demo-too', groups: next },
  ];
}
