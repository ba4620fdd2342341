// The built program signs in on the login page: what it needs for that is loaded from the bundle, not from node_modules.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ME, openHome, outcome } from './program.ts';

const REDIRECT_URI = 'https://portal.example.org/signed-in';
const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

/** `asked`: the one-time code that the page asks for. */
async function checkLive({ password = ME.password, isCodeAsked = false }) {
  const home = await openHome();
  const { issuer, api } = home.simulator.urls;
  const { token } = home.simulator.switches;
  token.passwordGrantAllowed = false;
  if (isCodeAsked) token.oneTimeCodes.set(ME.username, '000000');
  const passwordFile = join(home.folder, 'other-password');
  await writeFile(passwordFile, password);
  const config = await home.configure({
    provider: { issuer, api_url: api, client_id: 'self-care', redirect_uri: REDIRECT_URI },
    accounts: [{ username: ME.username, password_file: passwordFile, totp_secret: SECRET }],
    mqtt: { url: 'mqtt://127.0.0.1:9' },
  });
  const { code, output, errors } = await outcome(['check', '--live', '--config', config]);
  const posts = home.simulator.requests.filter(
    ({ method, path }) => method === 'POST' && path.includes('/login-actions/authenticate'),
  );
  return { code, posts: posts.length, said: output + errors };
}

test('a client that may not use the password grant signs in on the page', async () => {
  const { posts, said } = await checkLive({});
  expect(said).toContain('provider for home: signed in, 1 heat meter(s)');
  expect(posts).toBe(1);
});

test.each([
  [
    'a wrong password is posted once',
    { password: 'not the password' },
    'refused the user name or password',
    1,
  ],
  ['a code is computed, and posted once', { isCodeAsked: true }, 'refused the one-time code', 2],
])('%s', async (_, how, words, wanted) => {
  const { code, posts, said } = await checkLive(how);
  expect(said).toContain(words);
  expect([code, posts]).toEqual([4, wanted]);
});
