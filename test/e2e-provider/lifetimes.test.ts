// Lifetimes: rotation, the longest life of a session, and a Keycloak that is stopped for a while.
import { expect, inject, test } from 'vitest';
import { freePort } from '../e2e/mosquitto.ts';
import { openStack } from '../support/stack.ts';
import { startKeycloak } from './keycloak.ts';
import { openRealm } from './realm.ts';
import { expectNoBlame, OFTEN, openStory } from './story.ts';

test('rotation: each refresh token is used once, and each is another one', async () => {
  const realm = await openRealm();
  const story = await openStory(realm, { usage: OFTEN });
  const program = story.start();
  await story.untilAsync('four refreshes', async () => (await realm.happened('REFRESH_TOKEN')).length > 3);
  const used = (await realm.happened('REFRESH_TOKEN')).map(({ details }) => details?.refresh_token_id);
  expect(new Set(used).size).toBe(used.length);
  // Kill and start: the tokens on the disk are the newest.
  await program.end('SIGKILL');
  const again = story.start();
  await story.untilAsync(
    'a refresh',
    async () => (await realm.happened('REFRESH_TOKEN')).length > used.length,
  );
  expect((await realm.counts()).LOGIN).toBe(1);
  expectNoBlame(story, program.output + again.output);
});

test('the longest life of a session: one login for each session, and no poll fails', async () => {
  const realm = await openRealm({ realm: { ssoSessionMaxLifespan: 15 } });
  const story = await openStory(realm, { usage: OFTEN });
  const program = story.start();
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
  const realm = await openRealm({ url: first.url });
  const story = await openStory(realm, { usage: OFTEN });
  const program = story.start();
  await story.untilWell();
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
