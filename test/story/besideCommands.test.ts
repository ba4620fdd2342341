// Commands beside the running daemon, on one state directory: sessions that a person brings or ends. Neither costs the other its session.

import { expect, test } from 'vitest';
import { HEALTH, ME, PROPERTY, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { MINUTE_MS, openStory } from '../support/story.ts';

const ACCOUNT = 'heat2mqtt/account/home/state';
const EVENT = 'heat2mqtt/bridge/event';
const WITHOUT_PASSWORD = { accounts: [{ id: 'home', username: ME.username }] };

async function opened() {
  const story = await openStory();
  const { simulator } = story;
  const lives = { accessSeconds: 300, refreshSeconds: 36_000, devicePollSeconds: 0.2 };
  Object.assign(simulator.switches.token, lives);
  return { story, simulator, probe: await story.listen(), counters: simulator.counters };
}

// By a link, and what either says: test/cli/login.test.ts.
test('without a password: told to sign in at once, without a request for tokens; login is taken within a minute; and again when the issuer ends the session', async () => {
  const { story, probe, simulator, counters } = await opened();
  const config = { ...WITHOUT_PASSWORD, provider: { sign_in: 'device' } };
  async function signIn() {
    const printed = story.type('login', config, { ask: async () => '' });
    const code = await untilTrue('a user code', () => simulator.device.pending()[0]);
    simulator.device.approve(code, ME.username);
    return printed;
  }
  await story.start(config);
  await story.polled(1);
  const health = probe.json(HEALTH);
  expect(health).toMatchObject({
    state: 'failing',
    auth: { home: { state: 'login_needed', next_attempt_at: null } },
    reasons: [{ code: 'login_needed', hint: expect.stringContaining('heat2mqtt login') }],
    last_error: expect.stringContaining('sign in'),
  });
  expect(probe.json(ACCOUNT)).toMatchObject({ auth_state: 'login_needed' });
  expect(probe.all(EVENT)).toMatchObject([{ event_type: 'auth_needed', code: 'login_needed' }]);
  await story.pass(30 * MINUTE_MS, 60_000);
  expect(simulator.requests).toEqual([]);

  probe.forget();
  expect(await signIn()).toMatchObject({ exitCode: 0, out: expect.stringContaining('within a minute') });
  await story.pass(MINUTE_MS, 5_000);
  await probe.until(STATE);
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
  expect(probe.json(ACCOUNT)).toMatchObject({ auth_state: 'ok' });
  expect(probe.all(EVENT)).toMatchObject([{ event_type: 'recovered' }]);
  // Kept alive like any other.
  await story.pass(20 * MINUTE_MS, 20_000);
  expect(counters.refreshGrants.ok).toBeGreaterThan(3);
  expect(counters.refreshGrants).toMatchObject({ asked: counters.refreshGrants.ok, maxInFlight: 1 });

  // The issuer ends the session between two polls.
  simulator.endSessions();
  probe.forget();
  await story.pass(5 * MINUTE_MS, 20_000);
  expect(probe.json(HEALTH)).toMatchObject({
    state: 'failing',
    failures_in_a_row: 0,
    reasons: [{ code: 'login_needed' }],
  });
  expect(probe.all(EVENT)).toMatchObject([{ event_type: 'auth_needed', code: 'login_needed' }]);
  expect(probe.json(ACCOUNT)).toMatchObject({ auth_state: 'login_needed' });
  const asked = simulator.requests.length;
  await story.pass(30 * MINUTE_MS, 60_000);
  expect(simulator.requests.length).toBe(asked);
  const polls = counters.requests[USAGE] ?? 0;
  await signIn();
  await story.pass(MINUTE_MS, 5_000);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', auth: { home: { state: 'ok' } } });
  expect(probe.all(EVENT).map(({ event_type }) => event_type)).toEqual(['auth_needed', 'recovered']);
  expect(counters.requests[USAGE]).toBeGreaterThan(polls);
  expect(counters.passwordGrants.asked).toBe(0);
});

test('logout beside a daemon that has a password: it signs in again by itself, once', async () => {
  const { story, probe, counters } = await opened();
  await story.start();
  await story.polled(1);
  await story.pass(5 * MINUTE_MS, 20_000);
  await story.type('logout');
  expect(counters.revocations).toBe(1);
  await story.pass(10 * MINUTE_MS, 20_000);
  expect(counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
  expect(probe.json(STATE)).toBeDefined();
});

test('usage reads the meters that the daemon has found, and finds them anew when they are renumbered', async () => {
  const { story, simulator, counters } = await opened();
  await story.start();
  await story.polled(1);
  const discoveries = () => counters.requests['GET /api/v1/customers/:id'];
  expect([(await story.type('usage')).exitCode, discoveries()]).toEqual([0, 1]);
  simulator.renumberProperty(PROPERTY, 512_777);
  expect([(await story.type('usage')).exitCode, discoveries()]).toEqual([0, 2]);
});
