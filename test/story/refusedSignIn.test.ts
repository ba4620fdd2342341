// A refused sign-in, and an issuer that is out: one try, then long waits that no restart shortens, until the secret changes or the owner
// acts; the session outlives an outage; and health tells which it is, at a poll and between two.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Simulator } from '../../src/simulator/provider.ts';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, MINUTE_MS, openStory } from '../support/story.ts';

const LOCKED = 'bad_credentials_or_locked';

async function refusedStory() {
  const story = await openStory();
  const probe = await story.listen();
  const passwordFile = join(story.stateDir, 'password');
  await writeFile(passwordFile, 'not the password\n');
  const config = { accounts: [{ id: 'home', username: ME.username, password_file: passwordFile }] };
  const daemon = await story.start(config);
  const { auth } = await probe.until(HEALTH, ({ state }) => state === 'failing');
  const grants = story.simulator.counters.passwordGrants;
  return { story, probe, daemon, config, passwordFile, auth, grants };
}

test('a restart buys no try, a changed password file does, and health no longer says refused once signed in', async () => {
  const { story, daemon, config, passwordFile, auth, grants, probe } = await refusedStory();
  expect(auth).toMatchObject({
    home: { state: LOCKED, next_attempt_at: expect.stringContaining('2025-03-10T12:15') },
  });
  const needed = { event_type: 'auth_needed', code: LOCKED, account: 'home' };
  expect(await probe.until('heat2mqtt/bridge/event')).toMatchObject(needed);
  expect(probe.last('heat2mqtt/bridge/state')?.payload).toBe('online');
  await story.stop(daemon);
  probe.forget();
  await story.start(config);
  await untilTrue('the verdict of the second run', () => story.logged('poll failed').length === 2);
  const isNext = (at: unknown) => String(at).startsWith('2025-03-10T12:15');
  const refused = await probe.until(HEALTH, ({ next_poll_at }) => isNext(next_poll_at));
  expect(refused.auth).toMatchObject({
    home: { state: LOCKED, next_attempt_at: expect.stringContaining('2025-03-10T12:15') },
  });
  expect(grants.asked).toBe(1);
  // It is tried again by itself at the time that health has told.
  await story.pass(Date.parse('2025-03-10T12:15:59Z') - story.clock.now(), 5 * MINUTE_MS);
  expect(grants.asked).toBe(2);
  await probe.publish('heat2mqtt/bridge/request/refresh', '');
  expect(await probe.until('heat2mqtt/bridge/response/refresh')).toMatchObject({
    status: 'error',
    error: { code: LOCKED },
  });
  expect(grants.asked).toBe(3);

  // However long the history takes.
  const slow = story.simulator.switches.fault('/api/v1/reports', { kind: 'hang' });
  await writeFile(passwordFile, `${ME.password}\n`);
  probe.forget();
  await story.pass(20_000, 1_000);
  const isRefused = ({ code }: { code: string }) => code === LOCKED;
  const health = await probe.until(HEALTH, ({ reasons }) => !(reasons as { code: string }[]).some(isRefused));
  expect(health.auth).toMatchObject({ home: { state: 'ok' } });
  await probe.publish('heat2mqtt/bridge/request/health', '');
  const answer = await probe.until('heat2mqtt/bridge/response/health');
  expect(answer).toMatchObject({ status: 'ok', data: { state: 'degraded', reasons: [] } });
  slow.remove();
  await story.pass(300_000, 10_000);
  await probe.until(STATE);
  await probe.until('heat2mqtt/bridge/event', ({ event_type }) => event_type === 'recovered');
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
  expect(grants).toEqual({ asked: 4, ok: 1 });
});

test('a password file with a byte order mark and a newline too many: sent as it is, and health says so', async () => {
  const story = await openStory();
  const probe = await story.listen();
  const passwordFile = join(story.stateDir, 'password');
  await writeFile(passwordFile, `\ufeff${ME.password}\n\n`);
  await story.start({ accounts: [{ id: 'home', username: ME.username, password_file: passwordFile }] });
  const { reasons } = await probe.until(HEALTH, ({ state }) => state === 'failing');
  const odd = `The file ${passwordFile} has a byte order mark at its beginning and a second newline at its end, and is sent as it is.`;
  expect(reasons).toMatchObject([{ code: LOCKED, hint: expect.stringContaining(odd) }]);
  await writeFile(passwordFile, `${ME.password}\n`);
  await story.pass(30_000, 1_000);
  await untilTrue('good health', () => Object(probe.json(HEALTH)?.auth).home.state === 'ok');
  expect(story.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
});

const CALM_STEP_MS = 15_000;
const BRIDGE_EVENT = 'heat2mqtt/bridge/event';
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
    await story.pass(285_000, CALM_STEP_MS);
    const health = probe.json(HEALTH);
    expect(health).toMatchObject({
      state: auth === 'needs_user_action' ? 'failing' : 'degraded',
      failures_in_a_row: 0,
      auth: { home: { state: auth } },
      reasons: [{ code, account: 'home', message: health?.last_error }],
    });
    expect(JSON.stringify(health?.reasons)).toMatch(words);
    // The access token expires, and polls ask for another one.
    await story.pass(5 * MINUTE_MS, CALM_STEP_MS);
    await story.nextPoll();
    await story.pass(10 * MINUTE_MS, 2 * CALM_STEP_MS);
    expect(probe.json(HEALTH)).toMatchObject({ auth: { home: { state: auth } }, reasons: [{ code }] });
    expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({ auth_state: auth });
    const recoveries = () =>
      probe.all(BRIDGE_EVENT).filter(({ event_type }) => event_type === 'recovered').length;
    // Not by a poll whose access token has served on, either.
    expect(recoveries()).toBe(0);

    end(switches.token);
    await story.pass(31 * MINUTE_MS, 4 * CALM_STEP_MS);
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

test('tells that a disabled account has recovered when it has new tokens, not before when the old one serves on after a restart', async () => {
  const { story, probe, switches, restart } = await firstPoll({
    prepare: ({ simulator }) =>
      void Object.assign(simulator.switches.token, { accessSeconds: 3_600, refreshSeconds: 7_200 }),
  });
  const told = () => probe.all(BRIDGE_EVENT).map(({ event_type }) => event_type);
  OUTAGES.user.begin(switches.token);
  await story.pass(52 * MINUTE_MS, CALM_STEP_MS);
  expect(told()).toEqual(['auth_needed']);

  const away = switches.fault('/auth/', { kind: 'reset' });
  await restart();
  await story.nextPoll();
  expect(told()).toEqual([]);

  away.remove();
  OUTAGES.user.end(switches.token);
  await story.pass(5 * MINUTE_MS, CALM_STEP_MS);
  await story.nextPoll();
  expect(told()).toEqual(['recovered']);
});

test('a token without the claim that the provider is read by: one session that stays, and no wait once the claim is there', async () => {
  const story = await openStory();
  const { token } = story.simulator.switches;
  token.claims = { customer_code: undefined };
  const probe = await story.listen();
  await story.start();
  const told = await probe.until(HEALTH, ({ reasons }) => JSON.stringify(reasons).includes('claim_missing'));
  expect(told).toMatchObject({ auth: { home: { state: 'ok', next_attempt_at: null } } });
  await story.pass(5 * HOUR_MS, 15 * MINUTE_MS);
  expect(probe.json(HEALTH)).toMatchObject({ auth: { home: { state: 'ok' } }, logins_today: 1 });
  token.claims = {};
  await story.pass(HOUR_MS, 15 * MINUTE_MS);
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
  expect(story.simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
});

test('a limit of sessions: no word of the password, waits as for the lock, no stop, and well by itself once somebody signs out', async () => {
  const story = await openStory();
  const { counters, switches } = story.simulator;
  switches.token.mostSessions = 0;
  const probe = await story.listen();
  await story.start();
  const health = await probe.until(HEALTH, ({ reasons }) =>
    JSON.stringify(reasons).includes('session_limit'),
  );
  expect(health).toMatchObject({
    state: 'degraded',
    auth: { home: { state: 'backoff', next_attempt_at: expect.stringContaining('2025-03-10T12:15') } },
    reasons: [{ message: expect.stringContaining('somebody is signed in elsewhere') }],
  });
  await story.pass(31 * HOUR_MS, 15 * MINUTE_MS);
  // At once, then after 15 minutes, an hour, and each six hours.
  expect(counters.passwordGrants).toEqual({ asked: 7, ok: 0 });
  expect(probe.json(HEALTH)).toMatchObject({
    reasons: [
      { code: 'session_limit', hint: expect.stringMatching(/^Sign out where the account is signed in/) },
    ],
  });
  const said = [
    ...probe.heard.flatMap(({ topic, payload }) => (topic.endsWith('/config') ? [] : payload)),
    ...story.log.map((line) => JSON.stringify(line)),
  ];
  expect(said.filter((text) => /bad_credentials|Check username|auth_needed/.test(text))).toEqual([]);
  switches.token.mostSessions = 1;
  await story.pass(6 * HOUR_MS, 15 * MINUTE_MS);
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
  expect(counters.passwordGrants).toEqual({ asked: 8, ok: 1 });
});
