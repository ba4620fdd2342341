// A session under a running daemon while a real Keycloak changes: what keeps it, what is waited for, and what ends it and is
// followed by one login.
import { expect, inject, test } from 'vitest';
import { freePort } from '../e2e/mosquitto.ts';
import { openStack } from '../support/stack.ts';
import { startKeycloak } from './keycloak.ts';
import { openRealm, type Realm, type Settings } from './realm.ts';
import { expectNoBlame, OFTEN, openStory, type Story } from './story.ts';

type Change = (realm: Realm, story: Story) => Promise<unknown>;

async function livingDaemon(settings: Settings = {}, url?: string) {
  const realm = await openRealm({ realm: settings, ...(url === undefined ? {} : { url }) });
  const story = await openStory(realm, { usage: OFTEN });
  const program = story.start();
  await story.untilWell();
  return { realm, story, program };
}

const refreshes = async ({ happened }: Realm) => (await happened('REFRESH_TOKEN')).length;

test.each<[string, Change]>([
  ['the user locked by somebody else', ({ lock }) => lock()],
  ['keys rotated, the old ones kept', ({ renewKeys }) => renewKeys({ keepOld: true })],
])('%s: the session goes on', async (_, change) => {
  const { realm, story, program } = await livingDaemon();
  await change(realm, story);
  const before = await refreshes(realm);
  await story.untilAsync('two refreshes more', async () => (await refreshes(realm)) > before + 1);
  await story.untilWell();
  expect((await realm.counts()).LOGIN).toBe(1);
  expect(await realm.happened('REFRESH_TOKEN_ERROR')).toEqual([]);
  expect(story.api.seen.filter((line) => line.endsWith(' 401'))).toEqual([]);
  expectNoBlame(story, program.output);
});

test.each<[string, Change]>([
  ['signed out by an administrator', ({ admin, at }) => admin.ask('POST', `${at}/logout-all`)],
  [
    'a refresh token that somebody else has used',
    async ({ grant }, { refreshToken }) => {
      const form = { grant_type: 'refresh_token', refresh_token: await refreshToken() };
      expect((await grant(form)).status).toBe(200);
    },
  ],
  ['keys replaced at once', ({ renewKeys }) => renewKeys({ keepOld: false })],
])('%s: one login follows, and nobody is blamed', async (_, change) => {
  const { realm, story, program } = await livingDaemon();
  // With young tokens that are stored, so that the daemon does not refresh while things change.
  const first = await story.refreshToken();
  await story.untilAsync('tokens of a refresh on disk', async () => (await story.refreshToken()) !== first);
  await change(realm, story);
  await story.until('a login', ({ loginsToday, state }) => loginsToday >= 2 && state === 'ok');
  const before = await refreshes(realm);
  await story.untilAsync('a refresh', async () => (await refreshes(realm)) > before);
  const counts = await realm.counts();
  expect(counts.LOGIN).toBe(2);
  expect(counts).not.toHaveProperty('LOGIN_ERROR');
  expect(counts.REFRESH_TOKEN_ERROR ?? 0).toBeLessThanOrEqual(1);
  expectNoBlame(story, program.output);
});

test.each<[string, string, Change, Change]>([
  ['realm', 'issuer_refused', ({ set }) => set({ enabled: false }), ({ set }) => set({ enabled: true })],
  [
    'user',
    'account_disabled',
    ({ setUser }) => setUser({ enabled: false }),
    ({ setUser }) => setUser({ enabled: true }),
  ],
])(
  'a %s switched off and on again: the session is kept, and no password is blamed',
  async (_, code, off, on) => {
    const { realm, story, program } = await livingDaemon();
    await off(realm, story);
    await story.until(code, ({ codes, auth }) => codes.includes(code) && auth !== 'ok');
    const { state, lastError } = story.health();
    expect(state).not.toBe('ok');
    expect(lastError).not.toBeNull();
    await on(realm, story);
    await story.untilWell();
    await program.end('SIGTERM');
    const counts = await realm.counts();
    expect(counts).toMatchObject({ LOGIN: 1 });
    expect(counts).not.toHaveProperty('LOGIN_ERROR');
    const sessions = (await realm.happened()).flatMap(({ sessionId = [] }) => sessionId);
    expect(new Set(sessions).size).toBe(1);
    expectNoBlame(story, program.output);
  },
);

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
