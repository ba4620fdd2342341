// The monetization API: whose token it is, the way to the meters, paging, the usage report and the extras.
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

const idsOf = ({ body }: Seen) => (look(body, 'objects') as { id: number }[]).map(({ id }) => id);

const question = (propertyId: unknown) =>
  usageQuestion(propertyId, '2024-01-01T00:00:00.000Z', '2026-03-31T22:59:59.999Z');

test('only a living access token of this realm opens the door', async () => {
  const knock = (authorization?: string) =>
    visit(`${provider.urls.api}/site`, authorization === undefined ? {} : { headers: { authorization } });
  const access = String(look(key.body, 'access_token'));
  expect((await knock(`Bearer ${access}`)).status).toBe(200);
  expect((await knock()).status).toBe(401);
  expect((await knock(`Bearer ${access.slice(0, -8)}AAAAAAAA`)).status).toBe(401);
  expect((await knock(`Bearer ${look(key.body, 'refresh_token')}`)).status).toBe(401);
  clock.advance(1_799_000);
  expect((await knock(`Bearer ${access}`)).status).toBe(200);
  clock.advance(1000);
  expect((await knock(`Bearer ${access}`)).status).toBe(401);
});

test('a token without the scope is let in nowhere', async () => {
  expect((await ask(provider, await login(provider, { scope: 'openid' }), '/site')).status).toBe(403);
});

test('from the customer code to every heat meter', async () => {
  const { customer_code, customer_id } = claimsOf(key);
  const person = await ask(provider, key, `/customers/${customer_code}`);
  expect(person.body).toMatchObject({ id: customer_id, code: customer_code, status: 'active' });
  expect((await ask(provider, key, `/customers/${customer_id}`)).body).toEqual(person.body);
  const all = await ask(provider, key, `/customers/${customer_id}/groups`);
  expect(idsOf(all)).toHaveLength(3);
  const groups = await ask(provider, key, `/customers/${customer_id}/groups?type=payment`);
  expect(idsOf(groups)).toHaveLength(2);
  expect(look(groups.body, 'objects.0.owner.id')).toBe(customer_id);
  const [first, second] = idsOf(groups);
  const flat = await ask(provider, key, `/customers?parent-group=${first}`);
  expect(look(flat.body, 'objects.0.services')).toMatchObject([
    { service_type: { code: 'WATER_METER_READ_SERVICE' } },
    { identifier: '70418235', service_type: { code: 'HEAT_METER_READ_SERVICE' } },
  ]);
  const others = await ask(provider, key, `/customers?parent-group=${second}`);
  expect(look(others.body, 'total_num')).toBe(2);
  expect(look(others.body, 'objects.1')).toMatchObject({ services: [], subscriptions: [] });
});

test('the neighbours are none of our business', async () => {
  const theirs = claimsOf(await login(provider, { username: 'neighbour@example.org', password: 'demo-too' }));
  const [property] = provider.properties('neighbour@example.org');
  const paths = [
    `/customers/${theirs.customer_code}`,
    `/customers/${theirs.customer_id}/groups`,
    `/customers?parent-group=${property?.groupId}`,
    `/customers/${property?.id}/usage-events`,
    `/customers/${theirs.customer_id}/open-bill-due`,
    `/invoices?customerId=${theirs.customer_id}`,
  ];
  for (const path of paths) expect([path, (await ask(provider, key, path)).status]).toEqual([path, 403]);
  expect((await ask(provider, key, '/reports/usage', question(property?.id))).status).toBe(403);
  expect((await ask(provider, key, '/customers/1')).status).toBe(404);
});

test('the usage report agrees with the truth, day by day', async () => {
  const [property] = provider.properties('me@example.org');
  const { status, body } = await ask(provider, key, '/reports/usage', question(property?.id));
  expect(status).toBe(200);
  const truth = provider.truth(Number(property?.id));
  expect(truth.size).toBeGreaterThan(780);
  const dayOf = (key: unknown) => new Date(Number(key) + 7_200_000).toISOString().slice(0, 10);
  const resources = look(body, 'aggregations.resources.buckets') as Record<string, unknown>[];
  expect(resources.map(({ key }) => key)).toEqual(['Euro', 'Heat - Meter Value']);
  for (const [resource, field, value] of [
    [resources[0], 'amount', 'eur'],
    [resources[1], 'quantity', 'kwh'],
  ] as const) {
    const days = look(resource, 'readings.intervals.buckets') as Record<string, unknown>[];
    const read = days.filter(({ doc_count }) => doc_count !== 0);
    expect(read).toHaveLength(truth.size);
    for (const bucket of read) {
      const expected = Number(truth.get(dayOf(bucket.key))?.[value]);
      expect(look(bucket, `documents.${field}.value`)).toBeCloseTo(expected, 6);
    }
  }
});

test('the report wants POST and a body it understands', async () => {
  expect((await ask(provider, key, '/reports/usage')).status).toBe(405);
  const magic = await ask(provider, key, '/reports/usage', { size: 0, query: { magic: {} } });
  expect([magic.status, look(magic.body, 'error.root_cause.0.reason')]).toEqual([
    400,
    'no [query] registered for [magic]',
  ]);
  expect((await ask(provider, key, '/reports/usage', question(1))).status).toBe(200);
  expect((await ask(provider, key, '/nowhere')).status).toBe(404);
});

test('a renumbered property is found anew, its old number refused', async () => {
  const [property] = provider.properties('me@example.org');
  const old = Number(property?.id);
  provider.renumberProperty(old, 999_001);
  expect((await ask(provider, key, '/reports/usage', question(old))).status).toBe(404);
  provider.switches.api.retiredStatus = 403;
  expect((await ask(provider, key, '/reports/usage', question(old))).status).toBe(403);
  expect((await ask(provider, key, '/reports/usage', question(999_001))).status).toBe(200);
  expect(idsOf(await ask(provider, key, `/customers?parent-group=${property?.groupId}`))).toEqual([999_001]);
});

test('requests are counted by route and remembered without secrets', async () => {
  await ask(provider, key, '/reports/usage', question(1));
  await ask(provider, key, '/site?x=1');
  expect(provider.counters.requests).toMatchObject({
    'POST /api/v1/reports/usage': 1,
    'GET /api/v1/site': 1,
  });
  expect(provider.requests.at(-2)?.body).toEqual(question(1));
  expect(provider.requests.at(-1)).toMatchObject({
    path: '/api/v1/site',
    query: { x: '1' },
    authorized: true,
    at: clock.now(),
  });
  for (let i = 0; i < 1000; i++) provider.counters.enter({ ...fakeExchange, at: i }, 'GET /x')();
  expect(provider.requests).toHaveLength(1000);
});

const fakeExchange = {
  method: 'GET',
  path: '/x',
  query: new URLSearchParams(),
  headers: {},
  text: '',
  body: undefined,
};
