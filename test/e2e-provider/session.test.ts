// A session under a running daemon beside a real Keycloak: rotation, what ends it and is followed by one login, an outage, and a
// wrong password. What Keycloak says in each situation is in agreement.test.ts, and what that means in test/auth and test/story.
import { expect, inject, test } from 'vitest';
import { freePort } from '../e2e/mosquitto.ts';
import { openStack } from '../support/stack.ts';
import { startKeycloak } from './keycloak.ts';
import { openRealm, type Realm, type Settings } from './realm.ts';
import { expectNoBlame, OFTEN, openStory } from './story.ts';

async function livingDaemon(settings: Settings = {}, url?: string) {
  const realm = await openRealm({ realm: settings, ...(url === undefined ? {} : { url }) });
  const story = await openStory(realm, { usage: OFTEN });
  const program = story.start();
  await story.untilWell();
  return { realm, story, program };
}

const refreshes = async ({ happened }: Realm) => (await happened('REFRESH_TOKEN')).length;

test('a refresh token that somebody else has used: one login follows, and nobody is blamed', async () => {
  const { realm, story, program } = await livingDaemon();
  // With young tokens that are stored, so that the daemon does not refresh while things change.
  const first = await story.refreshToken();
  await story.untilAsync('tokens of a refresh on disk', async () => (await story.refreshToken()) !== first);
  const form = { grant_type: 'refresh_token', refresh_token: await story.refreshToken() };
  expect((await realm.grant(form)).status).toBe(200);
  await story.until('a login', ({ loginsToday, state }) => loginsToday >= 2 && state === 'ok');
  const before = await refreshes(realm);
  await story.untilAsync('a refresh', async () => (await refreshes(realm)) > before);
  const counts = await realm.counts();
  expect(counts.LOGIN).toBe(2);
  expect(counts).not.toHaveProperty('LOGIN_ERROR');
  expect(counts.REFRESH_TOKEN_ERROR ?? 0).toBeLessThanOrEqual(1);
  expectNoBlame(story, program.output);
});

test('a wrong password is tried once, whatever polls there are', async () => {
  const realm = await openRealm();
  const story = await openStory(realm, { account: { password: 'no' }, usage: OFTEN });
  const program = story.start();
  const polls = () => program.output.split('"poll').length;
  await story.until('the refusal', ({ codes }) => codes.includes('bad_credentials_or_locked'));
  const seen = polls();
  await story.until('two polls more', () => polls() > seen + 1);
  expect(story.health()).toMatchObject({ state: 'failing', auth: 'bad_credentials_or_locked' });
  expect(await realm.counts()).toEqual({ LOGIN_ERROR: 1 });
  expect(await realm.failuresCounted()).toBe(1);
});

test('rotation: each refresh token is used once, and each is another one', async () => {
  const { realm, story, program } = await livingDaemon();
  await story.untilAsync('four refreshes', async () => (await refreshes(realm)) > 3);
  const used = (await realm.happened('REFRESH_TOKEN')).map(({ details }) => details?.refresh_token_id);
  expect(new Set(used).size).toBe(used.length);
  // Kill and start: the tokens on the disk are the newest.
  await program.end('SIGKILL');
  const again = story.start();
  await story.untilAsync('a refresh', async () => (await refreshes(realm)) > used.length);
  expect((await realm.counts()).LOGIN).toBe(1);
  expectNoBlame(story, program.output + again.output);
});

test('the longest life of a session: one login for each session, and no poll fails', async () => {
  const { realm, story, program } = await livingDaemon({ ssoSessionMaxLifespan: 15 });
  await story.until('a third session', ({ loginsToday }) => loginsToday === 3);
  await story.untilWell();
  const counts = await realm.counts();
  expect(counts.LOGIN).toBe(3);
  expect(counts).not.toHaveProperty('LOGIN_ERROR');
  expect(program.output).not.toContain('poll failed');
  expectNoBlame(story, program.output);
});

test('Keycloak stopped for a while: the session lives on in its database', async () => {
  const stack = openStack();
  const folder = await stack.folder();
  const port = await freePort();
  const parts = inject('parts');
  const first = stack.use(await startKeycloak(parts, folder, port));
  const { realm, story, program } = await livingDaemon({}, first.url);
  await first.stop();
  await story.until(
    'trouble',
    ({ auth, codes }) => auth === 'provider_down' && codes.includes('issuer_unreachable'),
  );
  stack.use(await startKeycloak(parts, folder, port));
  await story.untilWell();
  const counts = await realm.counts();
  expect(counts.LOGIN).toBe(1);
  expect(counts).not.toHaveProperty('LOGIN_ERROR');
  expectNoBlame(story, program.output);
});
