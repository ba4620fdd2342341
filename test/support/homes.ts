// Invented people and homes for the stories: quiet meters, so that only what a story orders goes wrong.

import type { AccountOptions, PropertyOptions } from '../../src/simulator/accounts.ts';
import type { ExplicitEvent, MeterOptions } from '../../src/simulator/meter.ts';
import type { Simulator } from '../../src/simulator/provider.ts';

/** A meter whose every day is booked in time, once, and for good. */
export const quiet = (more: MeterOptions = {}): MeterOptions => ({
  since: '2025-01-01',
  late: 0,
  missing: 0,
  corrected: 0,
  withoutStandingCharge: 0,
  idle: 0,
  ...more,
});

export const METER = '70418235';
export const PROPERTY = 512_001;

export const home = (identifier: string | null = METER, meter = quiet(), id = PROPERTY): PropertyOptions => ({
  id,
  services: [{ identifier, meter }],
});

export function person(name: string, properties: readonly PropertyOptions[]): AccountOptions {
  return {
    username: `${name}.canarywood+heat@mail.example.org`,
    password: `kän"a\\ry '$&+=%/?#:@; pässwort of ${name}`,
    customerCode: `CANARY-CODE-${name}-77Q`,
    groups: [{ properties }],
  };
}

export const ME = person('me', [home()]);

/** A reading at half past midnight UTC, told at once unless `bookedAt` says otherwise. */
export const reading = (
  day: string,
  kwh: number,
  eur: number,
  more: Partial<ExplicitEvent> = {},
): ExplicitEvent => ({
  at: Date.parse(`${day}T00:30:00Z`),
  kwh,
  eur,
  ...more,
});

export const USAGE = 'POST /api/v1/reports/usage';
export const STATE = `heat2mqtt/meter/${METER}/state`;
export const EVENT = `heat2mqtt/meter/${METER}/event`;
export const HEALTH = 'heat2mqtt/bridge/health';

/** A later subscriber finds these, of ME with the usual configuration. */
export const RETAINED = [
  'heat2mqtt/account/home/invoices',
  'heat2mqtt/account/home/state',
  HEALTH,
  'heat2mqtt/bridge/info',
  'heat2mqtt/bridge/state',
  `heat2mqtt/meter/${METER}/history`,
  STATE,
  `heat2mqtt/meter/${METER}/statement`,
  ...['day', 'month', 'week'].map((interval) => `heat2mqtt/meter/${METER}/usage/${interval}`),
  'homeassistant/device/heat2mqtt_account_home/config',
  'homeassistant/device/heat2mqtt_bridge/config',
  `homeassistant/device/heat2mqtt_meter_${METER}/config`,
];

/** What the provider has booked by now, summed without float noise. */
export function booked({ truth }: Simulator, property = PROPERTY): { kwh: number; eur: number } {
  const days = [...truth(property).values()];
  const sum = (pick: (day: { kwh: number; eur: number }) => number) =>
    days.reduce((total, day) => total + Math.round(pick(day) * 1e6), 0) / 1e6;
  return { kwh: sum(({ kwh }) => kwh), eur: sum(({ eur }) => eur) };
}
