// The meter's register from single readings, in whatever order, unit and shape they come.
import { expect, test } from 'vitest';
import type { Property } from '../../src/domain/reading.ts';
import type { Clock } from '../../src/foundation/clock.ts';
import { readRegister } from '../../src/provider/monetization/register.ts';
import { type Ask, UnexpectedReply } from '../../src/provider/request.ts';
import { home, METER, PROPERTY, person, quiet } from '../support/homes.ts';
import { openProvider, type Provider } from './home.ts';

const openHome = () =>
  openProvider({ accounts: [person('me', [home(METER, quiet({ since: '2026-01-01' }))])] });
/** A provider that answers so. */
const answering = (body: unknown) => ({ ask: async () => body, clock: { now: () => NOW } });
const NOW = Date.parse('2026-03-10T12:00:00Z');
const property = (more: Partial<Property> = {}): Property => ({
  propertyCustomerId: String(PROPERTY),
  subscriptionId: null,
  balanceGroupId: null,
  meterIdentifiers: [METER],
  ...more,
});

/** The newest. */
async function read(
  { ask, clock }: { readonly ask: Ask; readonly clock: Pick<Clock, 'now'> },
  more: Partial<Property> = {},
  knownReadAt: number | null = null,
) {
  const all = await readRegister(ask, { property: property(more), knownReadAt, now: clock.now() });
  expect(all).toEqual(all.toSorted((a, b) => a.readAt - b.readAt));
  return all.at(-1) ?? null;
}
const events = ({ simulator }: Provider) =>
  simulator.requests.filter(({ path }) => path.endsWith('/usage-events'));
const day = (date: string) => Date.parse(`${date}T00:00:00Z`);
const event = (value: unknown, readAt: unknown, more: Record<string, unknown> = {}) => ({
  event_id: Math.abs(day('2026-03-01') - Number(readAt)) % 1000,
  created_at: readAt,
  fields: { identifier: METER, meter_value: value, time_of_read: readAt, reading_type: 'A', ...more },
});

test('is the one read last, on whichever page and with whatever id it comes', async () => {
  const provider = await openHome();
  provider.simulator.switches.api.maxPageSize = 3;
  const found = await read(provider);
  expect(new Date(found?.readAt ?? 0).toISOString().slice(0, 10)).toBe('2026-03-10');
  provider.simulator.switches.api.readingsById = true;
  expect(await read(provider)).toEqual(found);
  expect(found?.energy).toBeGreaterThan(1_000_000_000);
  expect(events(provider)[0]?.query).toMatchObject({
    identifier: METER,
    'service-type': 'HEAT_METER_READ_SERVICE',
    'order-dir': 'desc',
    page: '1',
  });
});

test('is asked for since the last known reading, a week earlier', async () => {
  const provider = await openHome();
  await read(provider, { balanceGroupId: '9' }, day('2026-03-08'));
  expect(events(provider)[0]?.query).toMatchObject({
    'time-from': String(day('2026-03-01')),
    'balance-group': '9',
  });
});

test('nothing lately is null; so is a meter without a number, if it has no reading', async () => {
  expect(await read(answering({ objects: [], total_num: 0 }))).toBeNull();
  expect(await read(answering([]), { meterIdentifiers: [] })).toBeNull();
});

test('a correction of the same moment counts, an estimate, another meter and the future do not', async () => {
  const at = day('2026-03-09');
  const objects = [
    { ...event('120.5', String(at)), created_at: at + 2 },
    { ...event('999', String(at)), created_at: at + 1 },
    event('130', String(day('2026-03-10')), { reading_type: 'E' }),
    event('7', String(day('2026-03-10')), { identifier: 'other' }),
    event('8', String(day('2027-03-10'))),
    event('many', String(day('2026-03-10'))),
    event('5', String(day('2026-03-10')), { meter_value_unit: 'm3' }),
    event('-5', String(day('2026-03-10'))),
    null,
    'text',
  ];
  expect(await read(answering(objects))).toEqual({ energy: 120_500_000, readAt: at });
});

test.each([
  ['1.25', 'MWh', 1_250_000_000],
  [1250, 'kwh', 1_250_000_000],
  ['1250000', 'Wh', 1_250_000_000],
  [0, null, 0],
])('%s %s', async (value, unit, energy) => {
  const one = event(value, day('2026-03-09'), { meter_value_unit: unit });
  expect(await read(answering([one]))).toMatchObject({ energy });
});

test('readings of which none can be read are told', async () => {
  await expect(read(answering([{ id: 1 }]))).rejects.toThrow(UnexpectedReply);
});
