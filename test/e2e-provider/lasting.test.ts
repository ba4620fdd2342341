// Sessions without an end, scopes that are corrected, and what Poll now does after a refusal of the client.
import { expect, test } from 'vitest';
import { CLIENT, ME, OTP_BASE32, openRealm, otpCredential, passwordCredential, type Realm } from './realm.ts';
import { expectNoBlame, OFTEN, openStory } from './story.ts';

const OFFLINE = { offline_access: true };

test('offline_access: the session outlives what a realm allows an ordinary one', async () => {
  const realm = await openRealm({ realm: { ssoSessionMaxLifespan: 12 } });
  const story = await openStory(realm, { provider: OFFLINE, usage: OFTEN });
  const program = story.start();
  await story.untilAsync('three refreshes', async () => (await realm.happened('REFRESH_TOKEN')).length > 2);
  expect(story.health().refreshExpiresAt).toBeNull();
  expect(await realm.counts()).toEqual({ LOGIN: 1, REFRESH_TOKEN: expect.any(Number) });
  expectNoBlame(story, program.output);
});

test.each<[string, (realm: Realm) => Promise<void>]>([
  [
    'the client',
    async ({ admin, at, client }) => {
      const all = await admin.ask<{ id: string; name: string }[]>('GET', `${at}/client-scopes`);
      const scope = all.find(({ name }) => name === 'offline_access')?.id;
      await admin.ask('DELETE', `${await client(CLIENT)}/optional-client-scopes/${scope}`);
    },
  ],
  [
    'the user',
    async ({ admin, at, name }) => {
      const role = await admin.ask('GET', `${at}/roles/offline_access`);
      await admin.ask('DELETE', `${at}/roles/default-roles-${name}/composites`, [role]);
    },
  ],
])('offline_access that %s may not have: an ordinary session, and the log says so', async (_, change) => {
  const realm = await openRealm();
  await change(realm);
  const story = await openStory(realm, { provider: OFFLINE });
  const program = story.start();
  await story.untilWell();
  expect(story.health().refreshExpiresAt).not.toBeNull();
  expect(program.output).toContain('offline_access');
  expect(await realm.failuresCounted()).toBe(0);
  expectNoBlame(story, program.output);
});

test('a second factor that is computed, by the password grant', async () => {
  const credentials = [passwordCredential(ME.password), otpCredential()];
  const realm = await openRealm({ user: { credentials } });
  const story = await openStory(realm, { account: { totp_secret: OTP_BASE32 } });
  const program = story.start();
  await story.untilWell();
  expect(await realm.counts()).toMatchObject({ LOGIN: 1 });
  expect(program.output + program.errors).not.toContain(OTP_BASE32);
});

test('scopes that are corrected take effect with the next start', async () => {
  const realm = await openRealm();
  const story = await openStory(realm, { provider: { scopes: ['openid'] } });
  const first = story.start();
  await story.until('a claim that is missing', ({ codes }) => codes.includes('claim_missing'));
  expect(story.health().words).toContain('openid');
  await first.end('SIGTERM');
  await story.configure({ provider: { issuer: realm.issuer, api_url: story.api.url, client_id: CLIENT } });
  story.start();
  await story.untilWell();
  expect(await realm.counts()).toMatchObject({ LOGIN: 2 });
});

test('a refused client: Poll now tries at once when it is allowed again', async () => {
  const realm = await openRealm({ client: { enabled: false } });
  const story = await openStory(realm);
  story.start();
  await story.until('a refused client', ({ codes }) => codes.includes('client_refused'));
  await realm.setClient({ enabled: true });
  await story.probe.publish('heat2mqtt/bridge/request/refresh', '{}');
  await story.untilWell();
  expect(await realm.counts()).toMatchObject({ LOGIN: 1 });
});
