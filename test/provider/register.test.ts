// The meter's register from single readings, in whatever order, unit and shape they come.
import { expect, test } from 'vitest';
import { readRegister } from '../../src/provider/monetization/register.ts';
import { UnexpectedReply } from '../../src/provider/request.ts';

const METER = '70418235';
const NOW = Date.parse('2026-03-10T12:00:00Z');
const at = (date: string) => Date.parse(`${date}T00:00:00Z`);
const event = (value: unknown, readAt: unknown, more: Record<string, unknown> = {}) => ({
  created_at: readAt,
  fields: { identifier: METER, meter_value: value, time_of_read: readAt, reading_type: 'A', ...more },
});

/** What is found, and the first question. */
async function read(rows: readonly unknown[], more = {}, knownReadAt: number | null = null) {
  const asked: object[] = [];
  const property = {
    propertyCustomerId: '512001',
    subscriptionId: null,
    balanceGroupId: null,
    meterIdentifiers: [METER],
    ...more,
  };
  const all = await readRegister(
    async ({ path, query }) => {
      asked.push({ path, ...Object.fromEntries(query ?? []) });
      return { objects: rows, total_num: rows.length };
    },
    { property, knownReadAt, now: NOW },
  );
  return { all, asked: asked[0] };
}

test('is asked for the last five weeks, or since the last known reading, a week earlier', async () => {
  const first = await read([]);
  expect(first).toEqual({
    all: [],
    asked: {
      path: '/customers/512001/usage-events',
      'time-from': String(NOW - 35 * 86_400_000),
      'time-to': String(NOW + 86_400_000),
      'service-type': 'HEAT_METER_READ_SERVICE',
      identifier: METER,
      'order-dir': 'desc',
      page: '1',
      count: '50',
    },
  });
  const unnamed = await read([], { balanceGroupId: '9', meterIdentifiers: [] }, at('2026-03-08'));
  expect(unnamed.asked).toMatchObject({ 'time-from': String(at('2026-03-01')), 'balance-group': '9' });
  expect(unnamed.asked).not.toHaveProperty('identifier');
});

test('oldest first; a correction of the same moment counts; an estimate, another meter, the future and what cannot be read do not', async () => {
  const [eighth, ninth, tenth] = [at('2026-03-08'), at('2026-03-09'), at('2026-03-10')];
  const { all } = await read([
    { ...event('120.5', String(ninth)), created_at: ninth + 2 },
    { ...event('999', String(ninth)), created_at: ninth + 1 },
    event('130', String(tenth), { reading_type: 'E' }),
    event('7', String(tenth), { identifier: 'other' }),
    event('8', String(at('2027-03-10'))),
    event('many', String(tenth)),
    event('5', String(tenth), { meter_value_unit: 'm3' }),
    event('-5', String(tenth)),
    event(110, eighth, { identifier: null, reading_type: null }),
    null,
    'text',
  ]);
  expect(all).toEqual([
    { energy: 110_000_000, readAt: eighth },
    { energy: 120_500_000, readAt: ninth },
  ]);
});

test.each([
  ['1.25', 'MWh', 1_250_000_000],
  [1250, 'kwh', 1_250_000_000],
  ['1250000', 'Wh', 1_250_000_000],
  [0, null, 0],
])('%s %s', async (value, unit, energy) => {
  const { all } = await read([event(value, at('2026-03-09'), { meter_value_unit: unit })]);
  expect(all).toMatchObject([{ energy }]);
});

test('readings of which none can be read are told', async () => {
  await expect(read([{ id: 1 }])).rejects.toThrow(UnexpectedReply);
});
