// The monetization API: whose token it is, the way to the meters, single readings, invoices and the balance.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { usageQuestion } from './usageQuestion.ts';
import { ask, claimsOf, login, look, type Seen, visit } from './visitor.ts';

let clock: HandClock;
let provider: Simulator;
let key: Seen;

beforeEach(async () => {
  clock = handClock('2026-03-31T12:00:00Z');
  provider = await startSimulator({ clock });
  key = await login(provider);
});
afterEach(() => provider.stop());

const get = async (path: string) => (await ask(provider, key, path)).body;
const statusOf = async (path: string, body?: unknown) => (await ask(provider, key, path, body)).status;
const question = (id: unknown) => usageQuestion(id, '2024-01-01T00:00:00.000Z', '2026-03-31T22:59:59.999Z');

test('only a living access token of this realm, with the scope, opens the door', async () => {
  const knock = async (authorization?: string) =>
    (await visit(`${provider.urls.api}/site`, authorization ? { headers: { authorization } } : {})).status;
  const access = String(look(key.body, 'access_token'));
  const other = (await login(provider, { scope: 'openid' })).body;
  expect(await knock(`Bearer ${access}`)).toBe(200);
  expect(await knock()).toBe(401);
  expect(await knock(`Bearer ${access.slice(0, -8)}AAAAAAAA`)).toBe(401);
  expect(await knock(`Bearer ${look(key.body, 'refresh_token')}`)).toBe(401);
  expect(await knock(`Bearer ${look(other, 'access_token')}`)).toBe(403);
  clock.advance(1_799_000);
  expect(await knock(`Bearer ${access}`)).toBe(200);
  clock.advance(1000);
  expect(await knock(`Bearer ${access}`)).toBe(401);
  const younger = await login(provider);
  provider.switches.token.keyId = 'replaced';
  expect((await ask(provider, younger, '/site')).status).toBe(401);
  expect((await ask(provider, await login(provider), '/site')).status).toBe(200);
});

test('from the customer code to every service', async () => {
  const { customer_code, customer_id } = claimsOf(key);
  const person = await get(`/customers/${customer_code}`);
  expect(person).toMatchObject({ id: customer_id, code: customer_code, status: 'active' });
  expect(look(person, 'contact_infos.0.email')).toBe('me@example.org');
  expect(await get(`/customers/${customer_id}`)).toEqual(person);
  expect(look(await get(`/customers/${customer_id}/groups`), 'objects')).toHaveLength(3);
  const groups = await get(`/customers/${customer_id}/groups?type=payment`);
  expect(look(groups, 'objects')).toMatchObject([{ owner: { id: customer_id } }, {}]);
  const first = await get(`/customers?parent-group=${look(groups, 'objects.0.id')}`);
  expect(look(first, 'objects.0.services')).toMatchObject([
    { service_type: { code: 'WATER_METER_READ_SERVICE' } },
    { identifier: '70418235', service_type: { code: 'HEAT_METER_READ_SERVICE' } },
  ]);
  const second = await get(`/customers?parent-group=${look(groups, 'objects.1.id')}`);
  expect(second).toMatchObject({ total_num: 2, objects: [{}, { services: [], subscriptions: [] }] });
});

test('the neighbours are none of our business; what is not there is not found', async () => {
  const theirs = claimsOf(await login(provider, { username: 'neighbour@example.org', password: 'demo-too' }));
  const [property] = provider.properties('neighbour@example.org');
  const paths = [
    `/customers/${theirs.customer_code}`,
    `/customers/${theirs.customer_id}/groups`,
    `/customers?parent-group=${property?.groupId}`,
    `/customers/${property?.id}/usage-events`,
    `/customers/${theirs.customer_id}/open-bill-due`,
    `/invoices?customerId=${theirs.customer_id}`,
    `/customers/${theirs.customer_id}/bills`,
  ];
  for (const path of paths) expect([path, await statusOf(path)]).toEqual([path, 403]);
  expect(await statusOf('/reports/usage', question(property?.id))).toBe(403);
  expect(await statusOf('/customers/1')).toBe(404);
  expect(await statusOf('/nowhere')).toBe(404);
  expect(await statusOf('/reports/usage')).toBe(405);
  expect(await statusOf('/reports/usage', { size: 0, query: { magic: {} } })).toBe(400);
});

test('requests are counted by route and remembered without secrets', async () => {
  expect(await statusOf('/reports/usage', question(1))).toBe(200);
  await get('/site?x=1');
  expect(provider.counters.requests).toMatchObject({
    'POST /api/v1/reports/usage': 1,
    'GET /api/v1/site': 1,
  });
  expect(provider.requests.at(-2)?.body).toEqual(question(1));
  const newest = { path: '/api/v1/site', query: { x: '1' }, authorized: true, at: clock.now() };
  expect(provider.requests.at(-1)).toMatchObject(newest);
  const exchange = {
    method: 'GET',
    path: '/x',
    query: new URLSearchParams(),
    headers: {},
    text: '',
    body: 0,
  };
  for (let at = 0; at < 1000; at++) provider.counters.enter({ ...exchange, at }, 'GET /x')();
  expect(provider.requests).toHaveLength(1000);
});

test('single readings by meter, newest booking first, in pages, with the register as text', async () => {
  const events = `/customers/${provider.properties('me@example.org')[0]?.id}/usage-events`;
  const service = 'service-type=HEAT_METER_READ_SERVICE&identifier=70418235';
  const body = await get(`${events}?${service}&count=2`);
  const [newest, older] = look(body, 'objects') as { created_at: number; fields: object }[];
  expect(newest?.created_at).toBeGreaterThan(Number(older?.created_at));
  expect(newest?.fields).toMatchObject({
    identifier: '70418235',
    reading_type: 'A',
    meter_value: expect.stringMatching(/^\d+\.\d{3}$/),
    meter_value_unit: 'kWh',
    property: `property-${look(newest, 'customer.id')}`,
    session_id: `70418235-${look(newest, 'fields.time_of_read')}`,
  });
  expect(newest).toMatchObject({ service_type: 'HEAT_METER_READ_SERVICE', identifier: '70418235' });
  expect(look(await get(`${events}?${service}&count=1&page=2`), 'objects')).toEqual([older]);
  expect(look(await get(`${events}?${service}&count=500`), 'objects')).toHaveLength(10);
  expect(look(await get(`${events}?identifier=none`), 'total_num')).toBe(0);
});

test('bills: the one that grows, the one to be paid, and those that are paid', async () => {
  clock.advance(6 * 86_400_000);
  key = await login(provider);
  const { customer_id: id } = claimsOf(key);
  const newest = look(await get(`/invoices?customerId=${id}`), 'objects.0');
  const list = await get(`/customers/${id}/bills?count=3`);
  const { total_amount } = Object(newest);
  const march = {
    status: 'billing',
    valid_from: Date.parse('2026-03-01'),
    valid_to: Date.parse('2026-03-31T23:00:00Z'),
  };
  expect(list).toMatchObject({
    objects: [
      { status: 'active', valid_from: march.valid_to, customer: { id } },
      { ...march, id: look(newest, 'id'), total_amount, due_amount: total_amount },
      { status: 'closed', due_amount: 0 },
    ],
    total_num: 28,
  });
  const [property] = provider.properties('me@example.org');
  const bill = look(list, 'objects.1');
  for (const asked of [id, property?.id]) {
    expect(await get(`/customers/${asked}/bills/${look(bill, 'id')}`)).toEqual(bill);
    expect(await statusOf(`/customers/${asked}/bills/1`)).toBe(404);
  }
  const [theirs] = provider.properties('neighbour@example.org');
  expect(await statusOf(`/customers/${theirs?.id}/bills/${look(bill, 'id')}`)).toBe(404);
});

test('invoices by month, the newest still due, and the balance that follows', async () => {
  clock.advance(6 * 86_400_000);
  key = await login(provider);
  const { customer_id } = claimsOf(key);
  const body = await get(`/invoices?customerId=${customer_id}&invoice-status=invoice&page=1&count=2`);
  const total = look(body, 'objects.0.total_amount');
  const [start_time, end_time] = [Date.parse('2026-03-01'), Date.parse('2026-03-31T23:00:00Z')];
  const march = { start_time, end_time, status: 'invoice', due_amount: total };
  expect(body).toMatchObject({ objects: [march, { due_amount: 0 }], total_num: 27 });
  expect(await get(`/customers/${customer_id}/open-bill-due`)).toEqual({ open_bill_due: total });
  // Read just after midnight, each day is billed with the month in which it was used.
  const used = provider
    .properties('me@example.org')
    .flatMap(({ id }) => [...provider.truth(id)])
    .filter(([day]) => day > '2026-03-01' && day <= '2026-04-01');
  expect(total).toBeCloseTo(
    used.reduce((sum, [, { eur }]) => sum + eur, 0),
    2,
  );
  const from = `/invoices?customerId=${customer_id}&time-from=${Date.parse('2026-02-01')}`;
  expect(look(await get(from), 'total_num')).toBe(2);
  expect(look(await get(`/credit-balances?customer=${customer_id}`), 'objects.0.amount')).toBe(0);
});
