// Lists in pages and the extras: single readings, invoices and the balance.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { handClock } from '../support/clock.ts';
import { ask, claimsOf, login, look, type Seen } from './visitor.ts';

let provider: Simulator;
let key: Seen;

beforeEach(async () => {
  provider = await startSimulator({ clock: handClock('2026-03-31T12:00:00Z') });
  key = await login(provider);
});
afterEach(() => provider.stop());

test('lists come in pages, bare on request, and may ignore the page', async () => {
  const id = provider.properties('me@example.org')[0]?.id;
  const events = (page: string) => ask(provider, key, `/customers/${id}/usage-events?order-dir=asc${page}`);
  const eventIds = ({ body }: Seen) =>
    (look(body, 'objects') as { event_id: number }[]).map(({ event_id }) => event_id);
  const one = await events('&page=1&count=4');
  const two = await events('&page=2&count=4');
  const both = await events('&page=1&count=8');
  expect([...eventIds(one), ...eventIds(two)]).toEqual(eventIds(both));
  expect(eventIds(await events('&page=1&count=500'))).toHaveLength(10);
  expect(eventIds(await events('&page=9999'))).toEqual([]);
  provider.switches.api.maxPageSize = 3;
  expect(eventIds(await events(''))).toHaveLength(3);
  provider.switches.api.ignoresPage = true;
  expect(eventIds(await events('&page=2'))).toEqual(eventIds(one).slice(0, 3));
  provider.switches.api.bareArrays = true;
  expect((await events('')).body).toHaveLength(3);
});

test('single readings by meter, newest booking first, with the register as text', async () => {
  const id = provider.properties('me@example.org')[0]?.id;
  const query = 'service-type=HEAT_METER_READ_SERVICE&identifier=70418235&count=2';
  const { body } = await ask(provider, key, `/customers/${id}/usage-events?${query}`);
  const [newest, older] = look(body, 'objects') as { created_at: number; fields: Record<string, string> }[];
  expect(newest?.created_at).toBeGreaterThan(Number(older?.created_at));
  expect(newest?.fields).toMatchObject({
    identifier: '70418235',
    reading_type: 'A',
    meter_value_unit: 'kWh',
  });
  expect(newest?.fields.meter_value).toMatch(/^\d+\.\d{3}$/);
  expect(
    look((await ask(provider, key, `/customers/${id}/usage-events?identifier=none`)).body, 'total_num'),
  ).toBe(0);
});

test('invoices by month, the newest still due, and the balance that follows', async () => {
  const { customer_id } = claimsOf(key);
  const { body } = await ask(
    provider,
    key,
    `/invoices?customerId=${customer_id}&invoice-status=invoice&page=1&count=2`,
  );
  const february = {
    start_time: Date.parse('2026-02-01'),
    end_time: Date.parse('2026-03-01'),
    status: 'invoice',
  };
  expect(look(body, 'objects.0')).toMatchObject({
    ...february,
    due_amount: look(body, 'objects.0.total_amount'),
  });
  expect(look(body, 'objects.1.due_amount')).toBe(0);
  expect(look(body, 'total_num')).toBe(26);
  const due = await ask(provider, key, `/customers/${customer_id}/open-bill-due`);
  expect(due.body).toEqual({ open_bill_due: look(body, 'objects.0.total_amount') });
  const from = `/invoices?customerId=${customer_id}&time-from=${Date.parse('2026-01-01')}`;
  expect(look((await ask(provider, key, from)).body, 'total_num')).toBe(2);
  const credit = await ask(provider, key, `/credit-balances?customer=${customer_id}`);
  expect(look(credit.body, 'objects.0.amount')).toBe(0);
});
