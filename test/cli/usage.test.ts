// heat2mqtt usage against a simulated provider: what it asks, what it makes of the answers, and what it leaves alone.
import { readdir } from 'node:fs/promises';
import { beforeEach, expect, test } from 'vitest';
import { periodOf, periodOptions } from '../../src/cli/usage.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import { home, METER, PROPERTY, person, quiet, USAGE } from '../support/homes.ts';
import { openProviderFor, typed } from '../support/typed.ts';

const ME = person('me', [home(METER, quiet({ since: '2023-01-01' }))]);
let simulator: Simulator;
let stateDir: string;
let own: Record<string, string>;

beforeEach(async () => {
  ({ simulator, stateDir, env: own } = await openProviderFor(ME));
});

interface Row {
  readonly start: Day;
  readonly from: Day;
  readonly to: Day;
  readonly energy_kwh: number;
  readonly cost_at_tariff: number;
}

async function type(words: string, { isTerminal = false, env = {} } = {}) {
  const result = await typed(['usage', ...words.split(' ')], { isTerminal, env: { ...own, ...env } });
  return { ...result, rows: () => JSON.parse(result.out) as Row[] };
}

const asked = (): string[] =>
  simulator.requests
    .filter(({ route }) => route === USAGE)
    .map(({ body }) => /"interval":"(\w+)"/.exec(JSON.stringify(body))?.[1] ?? '');

/** What the provider knows of the days from one to another, the first included. */
function truth(from: Day, to: Day): number {
  const days = [...simulator.truth(PROPERTY)].filter(([day]) => day >= from && day < to);
  return days.reduce((sum, [, { kwh }]) => sum + kwh, 0);
}

test.each([
  ['week', 54, '2023-12-25', '2024-01-01'],
  ['month', 13, '2023-12-01', '2024-01-01'],
  ['quarter', 5, '2023-10-01', '2024-01-01'],
  ['year', 2, '2023-01-01', '2024-01-01'],
])(
  'a year and a day by %s: one question, the first piece only what was asked for',
  async (interval, count, first, second) => {
    const { rows, err, exitCode } = await type(`--interval ${interval} --from 2023-12-31 --to 2024-12-31`);
    expect([exitCode, err, asked(), rows().length]).toEqual([0, '', [interval], count]);
    expect(rows()[0]).toMatchObject({ start: first, from: '2023-12-31', to: '2023-12-31', partial: true });
    expect(rows()[1]).toMatchObject({ start: second });
    // Each has all of its days and no other, also where a clock changes.
    for (const { from, to, energy_kwh } of rows())
      expect(energy_kwh).toBeCloseTo(truth(from, addDays(to, 1)), 2);
  },
);

test('asks for a long span in pieces of at most 366, with progress beside the output', async () => {
  const { rows, err } = await type('--from 2022-06-01 --to 2024-12-31');
  expect(asked()).toEqual(['day', 'day', 'day']);
  expect(err.split('\n')).toEqual([
    'Asking the provider, 1 of 3: 2022-06-01 to 2023-06-01',
    'Asking the provider, 2 of 3: 2023-06-02 to 2024-06-01',
    'Asking the provider, 3 of 3: 2024-06-02 to 2024-12-31',
    '',
  ]);
  expect(rows()).toHaveLength(945);
  expect(rows()[0]).toMatchObject({ start: '2022-06-01', energy_kwh: null, cost_eur: null });
  expect(rows().at(-1)?.energy_kwh).toBeCloseTo(truth('2024-12-31', '2025-01-01'), 3);
});

test('makes months of days when readings close the day before', async () => {
  const closes = { env: { HEAT2MQTT_USAGE_READING_CLOSES: 'previous_day' } };
  const { rows } = await type('--interval month --from 2024-01-01 --to 2024-02-29', closes);
  expect(asked()).toEqual(['day']);
  expect(rows()[0]?.energy_kwh).toBeCloseTo(truth('2024-01-02', '2024-02-02'), 2);
});

test('prints a table with bars and the tariff on a terminal', async () => {
  const { out, err } = await type('--interval month --from 2024-01-01 --to 2024-12-31', { isTerminal: true });
  expect([asked(), err]).toEqual([['month', 'day'], '']);
  expect(out.match(/█+/g)).toHaveLength(12);
  expect(out).toContain(
    'Tariff (derived): 0.124 EUR/kWh + 0.686 EUR/day, explains 365 of 365 days, 2024-01-02 to 2024-12-31.',
  );
});

test.each(['day', 'quarter'])('another price by %s: rows and total, from days', async (interval) => {
  const { out } = await type(
    `--tariff 0.1,0.5 --interval ${interval} --from 2024-01-15 --to 2024-06-30 --format json`,
  );
  expect(new Set(asked())).toEqual(new Set(['day']));
  const { rows, total } = JSON.parse(out) as { rows: Row[]; total: Row };
  const kwh = truth('2024-01-15', '2024-07-01');
  expect(total).toEqual({
    energy_kwh: expect.closeTo(kwh, 2),
    cost_eur: expect.any(Number),
    currency: 'EUR',
    cost_at_tariff: expect.closeTo(kwh * 0.1 + 168 * 0.5, 2),
  });
  const sum = rows.reduce((all, row) => all + row.cost_at_tariff, 0);
  expect(sum).toBeCloseTo(total.cost_at_tariff, 1);
  const days = interval === 'day' ? 1 : 77;
  expect(rows[0]?.cost_at_tariff).toBeCloseTo((rows[0]?.energy_kwh ?? 0) * 0.1 + days * 0.5, 2);
});

test('prints another price in CSV and table, and says that a decimal comma makes two prices', async () => {
  const period = '--interval month --from 2024-01-01 --to 2024-01-31';
  expect((await type(`--tariff=0.1,0.5 ${period} --format csv`)).out.split('\r\n').slice(0, 2)).toEqual([
    'meter,start,energy_kwh,cost_eur,currency,from,to,partial,cost_at_tariff',
    expect.stringMatching(/^70418235,2024-01-01,.*,false,\d+\.\d+$/),
  ]);
  const { out, err } = await type(`--tariff=0.1,0 ${period} --format table`);
  expect(out).toMatch(/^month +kWh +EUR +At tariff\n(.*\n)*total +[\d.]+ +[\d.]+ +\d+\.\d\d$/m);
  expect(out).toContain('At tariff: 0.1 EUR/kWh + 0 EUR/day, for each day with a reading and each that a');
  expect(err).toBe('');
  expect((await type(`--tariff 0,124 ${period}`)).err).toContain('0.124,0.686, not 0,124');
});

test.each(['0.1', '0.1,', ',0.5', '0.1,-0.5', 'a,b', '0.1,0.5,1', '0,1,0,5', '1e-1,0.5', '5000,1', ''])(
  'a tariff of %j is refused before anything is asked',
  async (tariff) => {
    await expect(typed(['usage', `--tariff=${tariff}`], { env: own })).rejects.toMatchObject({
      exitCode: 2,
      message: `--tariff: found ${tariff}; allowed: the price of a kWh and that of a day, each from 0 to 1000, such as 0.124,0.686.`,
    });
    expect(simulator.requests).toEqual([]);
  },
);

test('leaves out the days after today and says so', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const { rows, err } = await type(`--from ${addDays(today, -3)} --to 2999-12-31`);
  expect([3, 4, 5]).toContain(rows().length);
  expect(err).toMatch(/^Shown until today, \d{4}-\d\d-\d\d\.\n$/);
  await type('--from 2024-01-01 --to 2024-01-03');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  const files = (await readdir(stateDir, { recursive: true })).filter((name) => /\.\w+$/.test(name));
  expect(files).toEqual(['accounts/home/tokens.json']);
});

const spanOf = (options: Record<string, string>) => {
  const { span, interval } = periodOf(periodOptions(options), '2025-03-31');
  return [interval, span.from, span.to];
};

test.each<[Record<string, string>, ReturnType<typeof spanOf>]>([
  [{}, ['day', '2025-03-01', '2025-04-01']],
  [{ interval: 'week' }, ['week', '2025-01-06', '2025-04-01']],
  [{ interval: 'month' }, ['month', '2024-03-01', '2025-04-01']],
  [{ interval: 'quarter' }, ['quarter', '2023-01-01', '2025-04-01']],
  [{ interval: 'year' }, ['year', '2021-01-01', '2025-04-01']],
  [{ interval: 'month', from: '2025-01-15', to: '2025-03-30' }, ['month', '2025-01-15', '2025-03-31']],
  [{ to: '2025-02-10' }, ['day', '2025-01-11', '2025-02-11']],
  [{ from: '2025-03-31', to: '2026-01-01' }, ['day', '2025-03-31', '2025-04-01']],
])('the period of %j', (options, expected) => expect(spanOf(options)).toEqual(expected));

test.each<[Record<string, string>, string]>([
  [{ from: 'yesterday' }, '--from: found yesterday; allowed: a day as YYYY-MM-DD'],
  [{ to: '2025-02-30' }, '--to: found 2025-02-30; allowed: a day as YYYY-MM-DD'],
  [{ from: '0205-01-01' }, '--from: found 0205-01-01; allowed: a day as YYYY-MM-DD, from 2000-01-01 on.'],
  [{ from: '2025-03-02', to: '2025-03-01' }, '--from 2025-03-02 is after --to 2025-03-01.'],
  [{ from: '2025-04-01', to: '2025-05-01' }, 'allowed: a day not after today, 2025-03-31.'],
])('refuses %j', (options, message) => expect(() => spanOf(options)).toThrow(message));
