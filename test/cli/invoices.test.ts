// heat2mqtt invoices, beside a daemon that is not disturbed: what is printed, in which currency, and what is refused.
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { home, METER, person } from '../support/homes.ts';
import { openProviderFor, typed } from '../support/typed.ts';

const JANUARY = Date.parse('2026-01-01T00:00:00Z');
const FEBRUARY = Date.parse('2026-02-01T00:00:00Z');
const INVOICES = [
  {
    id: 11,
    status: 'invoice',
    start_time: JANUARY,
    end_time: FEBRUARY,
    payment_due: FEBRUARY + 18 * 86_400_000,
    total_amount: 48.1,
    due_amount: null,
    customer: { name: 'Nobody of Nowhere' },
  },
  { id: 12, status: 'invoice', start_time: FEBRUARY },
];

async function openProvider(more: Readonly<Record<string, string>> = {}) {
  const me = { ...person('me', [home(METER)]), invoices: INVOICES };
  const { simulator, env: own } = await openProviderFor(me);
  const env = { ...own, ...more };
  return { simulator, type: (...words: readonly string[]) => typed(['invoices', ...words], { env }) };
}

const RECORD = {
  id: '11',
  status: 'invoice',
  period_start: '2026-01-01',
  period_end: '2026-01-31',
  issued: '2026-02-01',
  due: '2026-02-19',
  amount: 48.1,
  amount_due: null,
  currency: 'GBP',
};
const UNKNOWN = { period_end: null, issued: null, due: null, amount: null };

test('prints JSON, CSV and a table, newest first, in the currency of the site', async () => {
  const { type, simulator } = await openProvider();
  simulator.switches.site.currency = 'GBP';
  const { out, err, exitCode } = await type();
  expect([exitCode, err]).toEqual([
    0,
    expect.stringMatching(/^The invoices are not compared with their days: /),
  ]);
  expect(JSON.parse(out)).toEqual([
    { ...RECORD, ...UNKNOWN, id: '12', period_start: '2026-02-01', check: null },
    { ...RECORD, check: null },
  ]);
  expect(out).not.toContain('Nobody');
  expect(simulator.counters.requests['GET /api/v1/invoices']).toBe(1);
  expect((await type('--format', 'csv')).out.split('\r\n')).toEqual([
    `${Object.keys(RECORD).join(',')},sum_of_days,difference,difference_percent,explained_percent,explained_amount,rest,verdict,expected,unexplained,doubt,days_missing,days_estimated`,
    '12,invoice,2026-02-01,,,,,,GBP,,,,,,,,,,,,',
    '11,invoice,2026-01-01,2026-01-31,2026-02-01,2026-02-19,48.1,,GBP,,,,,,,,,,,,',
    '',
  ]);
  const table = (await type('--format', 'table', '--account', 'home')).out.trimEnd().split('\n');
  expect(table[0]).toMatch(/^Issued +From +To +Due +Status +GBP +Still due +Invoice$/);
  expect(table[2]).toMatch(/^2026-02-01 +2026-01-01 +2026-01-31 +2026-02-19 +invoice +48\.10 +– +11$/);
  expect(table.at(-1)).toBe('2 in all');
});

test('asks for no currency when one is configured or the site says nothing', async () => {
  const configured = await openProvider({ HEAT2MQTT_PROVIDER_CURRENCY: 'SEK' });
  expect(JSON.parse((await configured.type()).out)[0].currency).toBe('SEK');
  expect(configured.simulator.counters.requests['GET /api/v1/site']).toBeUndefined();
  const silent = await openProvider();
  silent.simulator.switches.fault('/api/v1/site', FAULTS.notFound);
  expect(JSON.parse((await silent.type()).out)[0].currency).toBe('EUR');
});

test('ends with the exit code of what cannot be asked or is refused', async () => {
  const { type, simulator } = await openProvider();
  await expect(type('--account', 'attic')).rejects.toMatchObject({
    exitCode: 2,
    message: '--account: found attic; allowed: home.',
  });
  expect(simulator.requests).toEqual([]);
  simulator.switches.fault('/api/v1/invoices', FAULTS.notFound);
  expect(JSON.parse((await type()).out)[1]).toMatchObject({ id: '11', status: 'closed', due: null });
  const when = ({ path }: { path: string }) => path.endsWith('/bills');
  simulator.switches.fault('/api/v1/customers/', FAULTS.notFound, { when });
  await expect(type()).rejects.toMatchObject({
    exitCode: 5,
    message: 'The provider refused the list of bills with HTTP 404.',
  });
});
