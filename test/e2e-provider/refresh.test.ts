// The refresh grant row by row under a running daemon: what keeps the session, and what ends it and is followed by one login.
import { expect, test } from 'vitest';
import { openRealm, type Realm } from './realm.ts';
import { expectNoBlame, OFTEN, openStory, type Story } from './story.ts';

type Change = (realm: Realm, story: Story) => Promise<unknown>;

async function livingDaemon() {
  const realm = await openRealm();
  const story = await openStory(realm, { usage: OFTEN });
  const program = story.start();
  await story.untilWell();
  return { realm, story, program };
}

const refreshes = async ({ happened }: Realm) => (await happened('REFRESH_TOKEN')).length;

test.each<[string, Change]>([
  ['direct access grants switched off', ({ setClient }) => setClient({ directAccessGrantsEnabled: false })],
  ['the password changed', ({ setPassword }) => setPassword('another one')],
  ['a required action set', ({ setUser }) => setUser({ requiredActions: ['UPDATE_PASSWORD'] })],
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
  ['tokens declared stale', ({ set }) => set({ notBefore: Math.floor(Date.now() / 1000) + 1 })],
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
