// The meter's register from single readings, in whatever order, unit and shape they come.
import { expect, test } from 'vitest';
import type { RegisterHistory } from '../../src/domain/reading.ts';
import { readRegister } from '../../src/provider/monetization/register.ts';
import { ProviderRefused, UnexpectedReply } from '../../src/provider/request.ts';

const METER = '70418235';
const NOW = Date.parse('2026-03-10T12:00:00Z');
const at = (date: string) => Date.parse(`${date}T00:00:00Z`);
const event = (value: unknown, readAt: unknown, more: Record<string, unknown> = {}) => ({
  created_at: readAt,
  fields: { identifier: METER, meter_value: value, time_of_read: readAt, reading_type: 'A', ...more },
});

/** What is found, and the questions. `rows`: what there is, or what there is of a meter. */
async function read(
  rows: readonly unknown[] | ((identifier: string | undefined) => readonly unknown[]),
  more = {},
  known: RegisterHistory | null = null,
) {
  const asked: Record<string, string>[] = [];
  const property = {
    propertyCustomerId: '512001',
    subscriptionId: null,
    balanceGroupId: null,
    meterIdentifiers: [METER],
    ...more,
  };
  const all = await readRegister(
    async ({ path, query }) => {
      const question = { path, ...Object.fromEntries(query ?? []) };
      asked.push(question);
      const objects = typeof rows === 'function' ? rows(asked.at(-1)?.identifier) : rows;
      return { objects, total_num: objects.length };
    },
    { property, known, now: NOW },
  );
  return { all, asked: asked[0], questions: asked };
}

test('asks for five weeks, or from a week before the last reading when one is known', async () => {
  const first = await read([]);
  expect([first.all, first.asked]).toEqual([
    [],
    {
      path: '/customers/512001/usage-events',
      'time-from': String(NOW - 35 * 86_400_000),
      'time-to': String(NOW + 86_400_000),
      'service-type': 'HEAT_METER_READ_SERVICE',
      identifier: METER,
      'order-dir': 'desc',
      page: '1',
      count: '50',
    },
  ]);
  const known = { energy: 1, readAt: at('2026-03-08'), readings: [] };
  const unnamed = await read([], { balanceGroupId: '9', meterIdentifiers: [] }, known);
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
    { energy: 110_000_000, readAt: eighth, meter: METER },
    { energy: 120_500_000, readAt: ninth, meter: METER },
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

test('refuses the answer when none of its readings can be read', async () => {
  await expect(read([{ id: 1 }])).rejects.toThrow(UnexpectedReply);
});

const OLD = '70000017';
const known = (...days: readonly string[]): RegisterHistory => {
  const readings = days.map((day) => ({ energy: 17_600_000_000, readAt: at(day), meter: OLD }));
  return { energy: 17_600_000_000, readAt: at(days.at(-1) ?? ''), meter: OLD, readings };
};

test('asks for the end of the meter before it when there was an exchange lately', async () => {
  const of = (identifier: string | undefined, kwh: number, ...days: readonly string[]) =>
    days.map((day) => event(kwh, at(day), { identifier }));
  const { all, questions } = await read(
    (identifier) =>
      identifier === OLD
        ? of(OLD, 17_650, '2026-03-05', '2026-03-06', '2026-03-07', '2026-03-09')
        : of(METER, 3, '2026-03-08', '2026-03-09'),
    {},
    known('2026-03-04', '2026-03-05'),
  );
  expect(questions.map(({ identifier }) => identifier)).toEqual([METER, OLD]);
  expect(questions.map((one) => one['time-from'])).toEqual(Array(2).fill(String(at('2026-02-26'))));
  const told = all.map(({ readAt, meter }) => [new Date(readAt).toISOString().slice(8, 10), meter]);
  expect(told).toEqual([
    ['05', OLD],
    ['06', OLD],
    ['07', OLD],
    ['08', METER],
    ['09', METER],
  ]);
});

test.each([403, 404])(
  'reads the meter of now when the provider has forgotten the one before (HTTP %i)',
  async (status) => {
    const { all } = await read(
      (identifier) => {
        if (identifier === OLD) throw new ProviderRefused(status, { message: 'refused', hint: '' });
        return [event('3', at('2026-03-09'))];
      },
      {},
      known('2026-03-04'),
    );
    expect(all).toEqual([{ energy: 3_000_000, readAt: at('2026-03-09'), meter: METER }]);
  },
);

test('asks about the old meter no more when the exchange is a week ago', async () => {
  const readings = [...known('2026-02-20').readings, { energy: 5, readAt: at('2026-03-09'), meter: METER }];
  const { questions } = await read([], {}, { energy: 5, readAt: at('2026-03-09'), meter: METER, readings });
  expect(questions.map(({ identifier }) => identifier)).toEqual([METER]);
});
