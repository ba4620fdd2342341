// A refused sign-in: one try, then long waits that no restart shortens, until the secret changes or the owner acts.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REDIRECT } from '../simulator/browser.ts';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory } from '../support/story.ts';

const MINUTE_MS = 60_000;
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

test('one try, then after 15 minutes, 1 hour and 6 hours; health says when; it stops until somebody asks', async () => {
  const { story, probe, auth, grants } = await refusedStory();
  const { state, next_attempt_at } = Object(auth).home;
  expect(state).toBe(LOCKED);
  const wait = Date.parse(next_attempt_at) - story.clock.now();
  expect(Math.abs(wait - 15 * MINUTE_MS)).toBeLessThan(2_000);
  expect(await probe.until('heat2mqtt/bridge/event')).toMatchObject({
    event_type: 'auth_needed',
    code: LOCKED,
    account: 'home',
  });
  expect(probe.last('heat2mqtt/bridge/state')?.payload).toBe('online');
  for (const [tries, wait] of [15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS].entries()) {
    await story.pass(wait - 6 * MINUTE_MS, 5 * MINUTE_MS);
    await story.nextPoll();
    expect(grants.asked).toBe(tries + 1);
    await story.pass(8 * MINUTE_MS, 20_000);
    await untilTrue(`try ${tries + 2}`, () => grants.asked === tries + 2);
    await untilTrue('its verdict', () => story.logged('login refused').length === tries + 2);
  }
  await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 2);
  await probe.until(HEALTH, ({ auth }) => JSON.stringify(auth).includes('"next_attempt_at":null'));
  await story.pass(24 * HOUR_MS, HOUR_MS);
  expect(grants.asked).toBe(4);
  await probe.publish('heat2mqtt/bridge/request/refresh', '');
  await untilTrue('the try that was asked for', () => grants.asked === 5);
  expect(await probe.until('heat2mqtt/bridge/response/refresh')).toMatchObject({
    status: 'error',
    error: { code: LOCKED },
  });
});

test('a restart buys no try, a changed password file does, and health no longer says refused once signed in', async () => {
  const { story, daemon, config, passwordFile, grants } = await refusedStory();
  await story.stop(daemon);
  const probe = await story.listen();
  await story.start(config);
  await untilTrue('the verdict of the second run', () => story.logged('poll failed').length === 2);
  const refused = await probe.until(HEALTH, ({ auth }) => JSON.stringify(auth).includes(LOCKED));
  expect(refused.auth).toMatchObject({
    home: { next_attempt_at: expect.stringContaining('2025-03-10T12:15') },
  });
  expect(grants.asked).toBe(1);

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
  await story.pass(60_000, 5_000);
  await probe.until(STATE);
  await probe.until('heat2mqtt/bridge/event', ({ event_type }) => event_type === 'recovered');
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
  expect(grants).toEqual({ asked: 2, ok: 1 });
});

test.each([
  ['login_needed', true, 'or run heat2mqtt login'],
  ['method_disabled', false, 'Direct access grants'],
] as const)(
  '%s: a try every six hours, and words that do not blame the password',
  async (state, isOffered, hint) => {
    const { story, probe } = await firstPoll({
      prepare({ simulator }) {
        simulator.switches.token.passwordGrantAllowed = false;
        simulator.switches.token.deviceAdvertised = isOffered;
      },
    });
    const health = probe.json(HEALTH);
    expect(health).toMatchObject({
      state: 'failing',
      failures_in_a_row: 1,
      auth: { home: { state, next_attempt_at: '2025-03-10T18:00:00+00:00' } },
      reasons: [{ code: state, account: 'home', hint: expect.stringContaining(hint) }],
    });
    expect(JSON.stringify(health?.reasons)).not.toContain('user name');
    await story.pass(24 * HOUR_MS, HOUR_MS);
    await story.nextPoll();
    expect(story.simulator.counters.passwordGrants.asked).toBe(1 + 24 / 6);
    expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({ auth_state: state });
  },
);

test('what only the owner can do is told at each poll, and each refresh request tries, until it is done', async () => {
  const { story, probe, switches, counters } = await firstPoll({
    config: { provider: { sign_in: 'form', redirect_uri: REDIRECT } },
    prepare: ({ simulator }) =>
      void simulator.switches.token.requiredActions.set(ME.username, ['TERMS_AND_CONDITIONS']),
  });
  const reason = {
    code: 'account_not_set_up',
    message: 'The account waits for something only its owner can do: accept the terms.',
    hint: expect.stringContaining('press Poll now'),
  };
  for (let poll = 0; poll < 3; poll += 1) {
    expect(probe.json(HEALTH)).toMatchObject({ state: 'failing', reasons: [reason] });
    await story.nextPoll();
  }
  const posted = () => counters.requests['POST /auth/realms/energy/login-actions/authenticate'];
  expect(posted()).toBe(1);
  for (let count = 2; count <= 4; count += 1) {
    await story.pass(6 * MINUTE_MS, MINUTE_MS);
    await probe.publish('heat2mqtt/bridge/request/refresh', '');
    await untilTrue('the try that was asked for', () => posted() === count);
  }
  switches.token.requiredActions.clear();
  await story.pass(6 * MINUTE_MS, MINUTE_MS);
  await probe.publish('heat2mqtt/bridge/request/refresh', '');
  await probe.until(STATE);
});
