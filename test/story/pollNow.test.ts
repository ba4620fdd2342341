// What the hints promise: Poll now tries at once, at most once an hour; corrections of the configuration take effect.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS, openStory, type Story } from '../support/story.ts';

const MINUTE_MS = 60_000;
const ANSWER = 'heat2mqtt/bridge/response/refresh';
const OTHER_PASSWORD = { accounts: [{ id: 'home', username: ME.username, password: 'not the password' }] };

async function pressed(story: Story, probe: Awaited<ReturnType<Story['listen']>>) {
  // The cooldown of requests.
  await story.pass(6 * MINUTE_MS, 30_000);
  probe.forget();
  await probe.publish('heat2mqtt/bridge/request/refresh', '');
  return probe.until(ANSWER);
}

test('Poll now during a wait tries at once, once an hour for the same refusal, and the hint tells when again', async () => {
  const { story, probe, counters } = await firstPoll({ config: OTHER_PASSWORD });
  const grants = counters.passwordGrants;
  expect(probe.json(HEALTH)).toMatchObject({
    reasons: [
      { message: expect.stringContaining('second factor'), hint: expect.stringContaining('totp_secret') },
    ],
  });
  await pressed(story, probe);
  expect(grants.asked).toBe(2);
  const again = await pressed(story, probe);
  expect(again).toMatchObject({
    status: 'error',
    error: {
      code: 'bad_credentials_or_locked',
      hint: expect.stringContaining(
        'An extra try was asked for at 12:06; the next one is possible from 13:07.',
      ),
    },
  });
  await pressed(story, probe);
  expect(grants.asked).toBe(2);
  await story.pass(42 * MINUTE_MS, 30_000);
  expect(grants.asked).toBe(2);
  await pressed(story, probe);
  // Its own at 13:06, and the one that was asked for.
  expect(grants.asked).toBe(4);
});

test('a client that is refused: every six hours, at a restart at once, and when somebody asks', async () => {
  const { story, probe, switches, counters, restart } = await firstPoll({
    prepare: ({ simulator }) => void Object.assign(simulator.switches.token, { clientEnabled: false }),
  });
  const grants = counters.passwordGrants;
  expect(probe.json(HEALTH)).toMatchObject({
    auth: { home: { state: 'needs_user_action', next_attempt_at: '2025-03-10T18:00:00+00:00' } },
    reasons: [{ code: 'client_refused', hint: expect.stringMatching(/six hours.*Poll now/) }],
  });
  await story.pass(5 * HOUR_MS, 10 * MINUTE_MS);
  expect(grants.asked).toBe(1);
  await restart();
  await story.polled(2);
  expect(grants.asked).toBe(2);
  await pressed(story, probe);
  expect(grants.asked).toBe(3);
  await story.pass(5 * HOUR_MS, 10 * MINUTE_MS);
  expect(grants.asked).toBe(3);
  switches.token.clientEnabled = true;
  await story.pass(HOUR_MS + 10 * MINUTE_MS, 5 * MINUTE_MS);
  expect(grants).toEqual({ asked: 4, ok: 1 });
  await probe.until(STATE);
});

test('corrected scopes take effect with the restart; the session of the others is not used', async () => {
  const { story, probe, switches, restart } = await firstPoll({
    prepare: ({ simulator }) =>
      void Object.assign(simulator.switches.token.claims, { customer_code: undefined }),
    config: { provider: { scopes: ['openid', 'email'] } },
  });
  expect(probe.json(HEALTH)).toMatchObject({
    reasons: [{ code: 'claim_missing', message: expect.stringContaining('scopes: openid, email.') }],
  });
  delete switches.token.claims.customer_code;
  const asked = story.simulator.requests.length;
  await restart({ provider: { scopes: ['openid', 'service-energy'] } });
  await probe.until(STATE);
  const tokenRequests = story.simulator.requests.slice(asked).filter(({ path }) => path.endsWith('/token'));
  expect(tokenRequests.map(({ body }) => body)).toMatchObject([
    { grant_type: 'password', scope: 'openid service-energy' },
  ]);
});

test('tokens of a version that did not note the scopes are kept', async () => {
  const { story, probe, daemon, counters } = await firstPoll();
  await story.stop(daemon);
  const file = join(story.stateDir, 'accounts/home/tokens.json');
  const document = JSON.parse(await readFile(file, 'utf8'));
  expect(document.value.scopes).toEqual(['openid', 'service-energy']);
  delete document.value.scopes;
  await writeFile(file, JSON.stringify(document));
  await story.start();
  await story.pass(HOUR_MS, 5 * MINUTE_MS);
  await story.nextPoll();
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok' });
  expect(counters.passwordGrants.asked).toBe(1);
  expect(JSON.parse(await readFile(file, 'utf8')).value.scopes).toEqual(['openid', 'service-energy']);
});

test('a mistyped realm is named as such, and the password is not blamed', async () => {
  const story = await openStory();
  const probe = await story.listen();
  await story.start({ provider: { issuer: story.simulator.urls.issuer.replace('energy', 'energie') } });
  await story.polled(1);
  expect(probe.json(HEALTH)).toMatchObject({
    state: 'degraded',
    reasons: [
      {
        code: 'issuer_unreachable',
        message: expect.stringContaining('realm may be mistyped'),
        hint: expect.stringMatching(/realms\/<realm>.*password is not in doubt/),
      },
    ],
  });
});
