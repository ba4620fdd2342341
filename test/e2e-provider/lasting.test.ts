// Sessions without an end, and a second factor that is computed.
import { expect, test } from 'vitest';
import { ME, OTP_BASE32, openRealm, otpCredential, passwordCredential } from './realm.ts';
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

test('a second factor that is computed, by the password grant', async () => {
  const credentials = [passwordCredential(ME.password), otpCredential()];
  const realm = await openRealm({ user: { credentials } });
  const story = await openStory(realm, { account: { totp_secret: OTP_BASE32 } });
  const program = story.start();
  await story.untilWell();
  expect(await realm.counts()).toMatchObject({ LOGIN: 1 });
  expect(program.output + program.errors).not.toContain(OTP_BASE32);
});
