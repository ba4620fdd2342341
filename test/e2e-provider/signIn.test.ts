// A person signs in and out beside a running daemon: on another device, by a link.
import { expect, test } from 'vitest';
import { converse, signIn } from './person.ts';
import { ME, openRealm, PAGE_CLIENT, REDIRECT_URI, type Settings } from './realm.ts';
import { OFTEN, openStory } from './story.ts';

const PKCE = { 'pkce.code.challenge.method': 'S256' };
const DEVICE = { attributes: { ...PKCE, 'oauth2.device.authorization.grant.enabled': 'true' } };
const ADDRESS = /Open (?:this address in a browser and sign in:\s+)?(http\S+)/;

async function waitingDaemon(provider: Settings) {
  const realm = await openRealm({ pageClient: DEVICE });
  const page = { client_id: PAGE_CLIENT, redirect_uri: REDIRECT_URI };
  // Only a person can sign in.
  const account = { password: undefined };
  const story = await openStory(realm, { provider: { ...page, ...provider }, account, usage: OFTEN });
  const program = story.start();
  await story.until(
    'a person wanted',
    ({ auth, codes }) => auth === 'login_needed' && codes.includes('login_needed'),
  );
  return {
    realm,
    story,
    program,
    login: (...words: string[]) => converse(story.stack, ['login', ...words, '--config', story.config]),
  };
}

const unsaid = (texts: readonly string[], secrets: readonly string[]) => {
  for (const secret of secrets) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
};

test('on another device: the running daemon takes the session, and logout ends it at the issuer', async () => {
  const { realm, story, program, login } = await waitingDaemon({ sign_in: 'device' });
  const command = login();
  const address = await command.says(ADDRESS);
  await signIn(address, 'accept');
  expect(await command.exited).toBe(0);
  await story.untilWell();
  expect(await realm.counts()).toMatchObject({ OAUTH2_DEVICE_CODE_TO_TOKEN: 1 });
  await story.untilAsync('a refresh', async () => (await realm.happened('REFRESH_TOKEN')).length > 0);
  const userCode = new URL(address).searchParams.get('user_code') ?? '';
  unsaid(
    [program.output, program.errors, ...story.probe.heard.map(({ payload }) => payload)],
    [userCode, ME.password],
  );

  const signedOut = await story.command('logout');
  expect(signedOut).toMatchObject({ code: 0, output: expect.stringContaining('Signed out') });
  expect(await realm.sessions()).toEqual([]);
  await expect(story.refreshToken()).rejects.toThrow();
  await story.until('a person wanted', ({ auth }) => auth === 'login_needed');
});

test('by a link: an address of another attempt is refused, the right one is taken', async () => {
  const { realm, story, program, login } = await waitingDaemon({ sign_in: 'link' });
  const command = login('--method', 'link');
  const address = await command.says(ADDRESS);
  const { location } = await signIn(address);
  expect(location?.href.startsWith(REDIRECT_URI)).toBe(true);
  const other = new URL(location ?? '');
  other.searchParams.set('state', 'of-another-attempt');
  command.type(other.href);
  await command.says(/(another attempt)/);
  command.type(location?.href ?? '');
  expect([await command.exited, command.output]).toEqual([0, expect.stringContaining('Signed in')]);
  await story.untilWell();
  expect(await realm.counts()).toMatchObject({ LOGIN: 1, CODE_TO_TOKEN: 1 });
  const code = location?.searchParams.get('code') ?? 'none';
  const state = new URL(address).searchParams.get('state') ?? 'none';
  unsaid([program.output, ...story.probe.heard.map(({ payload }) => payload)], [code, state]);
});
