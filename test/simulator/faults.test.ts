// Every way a reply can go wrong, seen from the client's end of the wire.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FAULTS, type Fault, inBuckets, inSums, tooMany } from '../../src/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { usageQuestion } from './usageQuestion.ts';
import { ask, claimsOf, login, look, refresh, type Seen } from './visitor.ts';

let clock: HandClock;
let provider: Simulator;
let key: Seen;

beforeEach(async () => {
  clock = handClock('2026-03-10T12:00:00Z');
  provider = await startSimulator({ clock });
  key = await login(provider);
});
afterEach(() => provider.stop());

const SITE = '/api/v1/site';
const site = () => ask(provider, key, '/site');

test('once, a few times, for good until removed, and by method or content', async () => {
  provider.switches.fault(SITE, FAULTS.serverError, { times: 2 });
  const standing = provider.switches.fault('/api/v1/', FAULTS.forbidden);
  expect([(await site()).status, (await site()).status, (await site()).status]).toEqual([500, 500, 403]);
  standing.remove();
  expect((await site()).status).toBe(200);
  provider.switches.fault(SITE, FAULTS.notFound, { method: 'POST' });
  provider.switches.fault(SITE, FAULTS.notFound, { when: ({ query }) => query.has('fail') });
  expect((await site()).status).toBe(200);
  expect((await ask(provider, key, '/site?fail')).status).toBe(404);
  provider.switches.fault('/', FAULTS.captivePage);
  provider.switches.clearFaults();
  expect((await site()).status).toBe(200);
});

test.each<[string, Fault, number]>([
  ['unauthorized although the token is fine', FAULTS.unauthorized, 401],
  ['a captive page', FAULTS.captivePage, 200],
  ['no body', FAULTS.empty, 200],
  ['any text', { kind: 'reply', status: 200, body: '{"timezone": NaN}' }, 200],
])('a reply in place of the real one: %s', async (_, fault, status) => {
  provider.switches.fault(SITE, fault);
  const seen = await site();
  expect(seen.status).toBe(status);
  expect(seen.text).not.toContain('harbour-yard');
});

test('too many requests, with seconds or a date', async () => {
  provider.switches.fault(SITE, tooMany(120), { times: 1 });
  provider.switches.fault(SITE, tooMany('Tue, 10 Mar 2026 12:05:00 GMT', 503), { times: 1 });
  const [first, second] = [await site(), await site()];
  expect([first.status, first.headers.get('retry-after')]).toEqual([429, '120']);
  expect([second.status, second.headers.get('retry-after')]).toEqual([503, 'Tue, 10 Mar 2026 12:05:00 GMT']);
});

test('the real reply, changed', async () => {
  provider.switches.fault(SITE, { kind: 'change', change: (body) => ({ ...Object(body), timezone: 7 }) });
  expect((await site()).body).toEqual({ code: 'harbour-yard', timezone: 7, currency: { code: 'EUR' } });
});

test('buckets and sums of a usage report, spoilt', async () => {
  const id = provider.properties('me@example.org')[0]?.id;
  const question = usageQuestion(id, '2026-03-05T00:00:00.000Z', '2026-03-05T23:59:59.999Z');
  const report = async () => (await ask(provider, key, '/reports/usage', question)).body;
  const buckets = 'aggregations.resources.buckets';
  const [first, second] = look(await report(), buckets) as Record<string, unknown>[];
  provider.switches.fault(
    '/api/v1/reports',
    inBuckets((buckets) => buckets.reverse()),
    { times: 1 },
  );
  expect(look(await report(), buckets)).toEqual([second, first]);
  provider.switches.fault(
    '/api/v1/reports',
    inSums((value) => String(value)),
    { times: 1 },
  );
  const spoilt = await report();
  const amount = 'readings.intervals.buckets.0.documents.amount.value';
  expect(look(spoilt, `${buckets}.0.${amount}`)).toBe(String(look(first, amount)));
  expect(look(spoilt, 'hits.total.value')).toBeTypeOf('number');
});

test('claims of the access token renamed or left out', async () => {
  provider.switches.token.claims = { customer_code: undefined, customer: 'x' };
  const claims = claimsOf(await login(provider));
  expect([claims.customer, 'customer_code' in claims]).toEqual(['x', false]);
});

test('half a reply: as if whole, and broken off', async () => {
  const whole = (await site()).text;
  provider.switches.fault(SITE, { kind: 'truncated' }, { times: 1 });
  expect((await site()).text).toBe(whole.slice(0, Math.floor(whole.length / 2)));
  provider.switches.fault(SITE, { kind: 'reset_mid_body' }, { times: 1 });
  await expect(site()).rejects.toThrow('terminated');
});

test('no reply: reset, lost after the work was done, hanging', async () => {
  const token = '/auth/realms/energy/protocol';
  provider.switches.fault(token, { kind: 'reset' }, { times: 1 });
  await expect(refresh(provider, key)).rejects.toThrow('fetch failed');
  expect(provider.counters.refreshGrants).toMatchObject({ asked: 1, ok: 0 });
  provider.switches.fault(token, { kind: 'reply_lost' }, { times: 1 });
  await expect(refresh(provider, key)).rejects.toThrow('fetch failed');
  expect(provider.counters.refreshGrants).toMatchObject({ asked: 2, ok: 1 });
  provider.switches.fault(SITE, { kind: 'hang' }, { times: 1 });
  const hanging = fetch(`${provider.urls.api}/site`, { signal: AbortSignal.timeout(50) });
  await expect(hanging).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('a slow reply comes when the clock has moved on', async () => {
  provider.switches.fault(SITE, { kind: 'slow', ms: 5000 }, { times: 1 });
  let came = false;
  const slow = site().then(({ status }) => {
    came = true;
    return status;
  });
  while (provider.requests.at(-1)?.path !== SITE) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(4999);
  await site();
  expect(came).toBe(false);
  clock.advance(1);
  expect(await slow).toBe(200);
});

test('more than 16 MiB, plain and packed', async () => {
  provider.switches.fault(SITE, { kind: 'oversized' }, { times: 1 });
  expect((await site()).text.length).toBeGreaterThan(16 * 1024 * 1024);
  provider.switches.fault(SITE, { kind: 'gzip_bomb' }, { times: 1 });
  const response = await fetch(`${provider.urls.api}/site`);
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > 32 * 1024 * 1024) break;
  }
  expect(bytes).toBeGreaterThan(32 * 1024 * 1024);
});

test('stopping does not wait for what hangs, and frees the port', async () => {
  provider.switches.fault(SITE, { kind: 'hang' });
  const hanging = expect(site()).rejects.toThrow();
  while (provider.requests.at(-1)?.path !== SITE) await new Promise((resolve) => setImmediate(resolve));
  await provider.stop();
  await hanging;
  const { port } = provider;
  provider = await startSimulator({ clock, port });
  expect(provider.port).toBe(port);
  await expect(startSimulator({ clock, port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
