// The issuer's bad days: realm, client or user switched off for a while. The session outlives them, and health tells why.
import { expect, test } from 'vitest';
import type { Simulator } from '../../src/simulator/provider.ts';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const MINUTE_MS = 60_000;
const STEP_MS = 15_000;
const EVENT = 'heat2mqtt/bridge/event';
type Token = Simulator['switches']['token'];

const OUTAGES = {
  realm: {
    begin: (token: Token) => void Object.assign(token, { realmEnabled: false }),
    end: (token: Token) => void Object.assign(token, { realmEnabled: true }),
    code: 'issuer_refused',
    auth: 'provider_down',
    words: /realm/i,
  },
  client: {
    begin: (token: Token) => void Object.assign(token, { clientEnabled: false }),
    end: (token: Token) => void Object.assign(token, { clientEnabled: true }),
    code: 'client_refused',
    auth: 'provider_down',
    words: /client.*tried again with each poll/,
  },
  user: {
    begin: (token: Token) => void token.accountStates.set(ME.username, 'disabled'),
    end: (token: Token) => void token.accountStates.clear(),
    code: 'account_disabled',
    auth: 'needs_user_action',
    words: /disabled/,
  },
} as const;

const openOutage = () =>
  firstPoll({
    prepare: ({ simulator }) =>
      void Object.assign(simulator.switches.token, { accessSeconds: 300, refreshSeconds: 3_600 }),
  });

test('realm, client and user are off in turn: no session lost, no login, no blame on the password', async () => {
  const { story, probe, counters, switches } = await openOutage();
  for (const { begin, end, code, auth, words } of Object.values(OUTAGES)) {
    probe.forget();
    begin(switches.token);
    // By the keep-alive alone, before the access token has expired and before any poll.
    await story.pass(285_000, STEP_MS);
    const health = probe.json(HEALTH);
    expect(health).toMatchObject({
      state: auth === 'needs_user_action' ? 'failing' : 'degraded',
      failures_in_a_row: 0,
      auth: { home: { state: auth } },
      reasons: [{ code, account: 'home', message: health?.last_error }],
    });
    expect(JSON.stringify(health?.reasons)).toMatch(words);
    // The access token expires, and polls ask for another one.
    await story.pass(5 * MINUTE_MS, STEP_MS);
    await story.nextPoll();
    await story.pass(10 * MINUTE_MS, 2 * STEP_MS);
    expect(probe.json(HEALTH)).toMatchObject({ auth: { home: { state: auth } }, reasons: [{ code }] });
    expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({ auth_state: auth });
    const recoveries = () => probe.all(EVENT).filter(({ event_type }) => event_type === 'recovered').length;
    // Not by a poll whose access token has served on, either.
    expect(recoveries()).toBe(0);

    end(switches.token);
    await story.pass(31 * MINUTE_MS, 4 * STEP_MS);
    await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
    await story.nextPoll();
    expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [], last_error: null });
    expect(recoveries()).toBe(1);
    const said = [
      ...probe.heard.map(({ payload }) => payload),
      ...story.log.map((line) => JSON.stringify(line)),
    ];
    expect(said.filter((text) => /bad_credentials|user name or password/.test(text))).toEqual([]);
    expect(probe.on(STATE).every(({ payload }) => payload !== '')).toBe(true);
  }
  expect(counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  expect(story.logged('session ended by the issuer')).toEqual([]);
  const { home } = Object(probe.json(HEALTH)?.auth);
  expect(Date.parse(home.access_expires_at)).toBeGreaterThan(story.clock.now());
});

test('the realm is off for hours: the issuer is asked less and less, and no login is tried while the session lasts', async () => {
  const { begin, end } = OUTAGES.realm;
  const { story, counters, switches } = await openOutage();
  Object.assign(switches.token, { refreshSeconds: 86_400 });
  await story.pass(5 * MINUTE_MS, STEP_MS);
  begin(switches.token);
  const inAnHour: number[] = [];
  for (let hour = 1; hour <= 3; hour += 1) {
    const before = counters.refreshGrants.asked;
    await story.pass(HOUR_MS, 4 * STEP_MS);
    inAnHour.push(counters.refreshGrants.asked - before);
  }
  // Pauses double up to half an hour, those of the keep-alive and those of the polls.
  expect(inAnHour[0]).toBeLessThanOrEqual(24);
  for (const asked of inAnHour.slice(1)) expect(asked).toBeLessThanOrEqual(6);
  end(switches.token);
  await story.pass(31 * MINUTE_MS, 4 * STEP_MS);
  expect(counters.passwordGrants.asked).toBe(1);
  expect(counters.refreshGrants.maxInFlight).toBe(1);
});

test('a poll that goes well by the old access token is no recovery while the user is disabled', async () => {
  const { story, probe, switches } = await firstPoll({
    prepare: ({ simulator }) =>
      void Object.assign(simulator.switches.token, { accessSeconds: 18_000, refreshSeconds: 36_000 }),
  });
  await story.pass(3.9 * HOUR_MS, 5 * MINUTE_MS);
  switches.token.accountStates.set(ME.username, 'disabled');
  probe.forget();
  await story.pass(0.5 * HOUR_MS, 5 * MINUTE_MS);
  expect(probe.all(EVENT)).toMatchObject([{ event_type: 'auth_needed', code: 'account_disabled' }]);
  await story.nextPoll();
  expect(probe.json(HEALTH)).toMatchObject({ state: 'failing', failures_in_a_row: 0 });
  expect(probe.all(EVENT)).toHaveLength(1);
  switches.token.accountStates.clear();
  await story.pass(0.5 * HOUR_MS, 5 * MINUTE_MS);
  await story.nextPoll();
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok' });
  expect(probe.all(EVENT)).toMatchObject([{}, { event_type: 'recovered' }]);
});
