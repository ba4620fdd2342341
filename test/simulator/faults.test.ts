// Faults that come when they are wanted: which request they spoil, for how long, and whether its work is done.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FAULTS } from '../../src/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { handClock } from '../support/clock.ts';
import { ask, login, refresh, type Seen } from './visitor.ts';

const clock = handClock('2026-03-10T12:00:00Z');
let provider: Simulator;
let key: Seen;

beforeEach(async () => {
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

test('half a reply is the first half; a connection that is reset does no work, a lost reply did it', async () => {
  const whole = (await site()).text;
  provider.switches.fault(SITE, { kind: 'truncated' }, { times: 1 });
  expect((await site()).text).toBe(whole.slice(0, Math.floor(whole.length / 2)));
  for (const [kind, ok] of [['reset', 0] as const, ['reply_lost', 1] as const]) {
    provider.switches.fault('/auth/realms/energy/protocol', { kind }, { times: 1 });
    await expect(refresh(provider, key)).rejects.toThrow('fetch failed');
    expect(provider.counters.refreshGrants.ok).toBe(ok);
  }
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
