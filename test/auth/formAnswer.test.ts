// Where a sign-in on the login page ends, and what the browser that we are not carries along: redirect address and cookies.
import { describe, expect, test } from 'vitest';
import {
  COOKIES,
  done,
  html,
  login,
  loginForm,
  openLoginPages,
  otp,
  outcomeOf,
  REDIRECT_URI,
  redirect,
} from './loginPages.ts';

describe('the answer', () => {
  test.each([
    ['in the query', `${REDIRECT_URI}?state=s1&code=c1`, REDIRECT_URI],
    ['in the fragment', `${REDIRECT_URI}#state=s1&code=c1`, REDIRECT_URI],
    [
      'at an address with a query of its own',
      `${REDIRECT_URI}?app=1&state=s1&code=c1`,
      `${REDIRECT_URI}?app=1`,
    ],
    ['at a scheme of an app', 'com.example.heat:/oauth?state=s1&code=c1', 'com.example.heat:/oauth'],
    ['at a scheme of an app with a host', 'heat://callback?state=s1&code=c1', 'heat://callback'],
    ['at this machine', 'http://127.0.0.1:1/?state=s1&code=c1', 'http://127.0.0.1:1'],
    ['at the issuer itself', 'ORIGIN/realms/energy/account?state=s1&code=c1', 'ORIGIN/realms/energy/account'],
  ])('comes %s', async (_, location, redirectUri) => {
    const pages = await openLoginPages(login(), redirect(location));
    const { url } = await outcomeOf(pages, { redirectUri: redirectUri.replace('ORIGIN', pages.origin) });
    expect([url?.searchParams.get('code'), url?.searchParams.get('state'), url?.hash]).toEqual([
      'c1',
      's1',
      '',
    ]);
    expect(pages.seen).toHaveLength(2);
  });
});

describe('cookies', () => {
  test('Secure ones come back over plain http on this machine, each at its path', async () => {
    const elsewhere = html(loginForm().replaceAll('/realms/energy/', '/realms/other/'), {
      headers: { 'set-cookie': COOKIES },
    });
    const pages = await openLoginPages(elsewhere, done);
    await pages.signIn();
    expect(pages.seen.map(({ cookie }) => cookie)).toEqual(['', '']);
    const keycloak = await openLoginPages(login(), done);
    await keycloak.signIn();
    expect(keycloak.seen.map(({ cookie }) => cookie)).toEqual(['', 'AUTH_SESSION_ID=a1; KC_RESTART=r1']);
  });

  test('are changed and deleted, and live for one sign-in', async () => {
    const first = html(loginForm(), {
      headers: { 'set-cookie': ['a=1; Path=/', 'b=1; Path=/', '=;;', 'c=1; Domain=example.org'] },
    });
    const second = {
      ...otp(),
      headers: { ...otp().headers, 'set-cookie': ['a=2; Path=/', 'b=; Path=/; Max-Age=0'] },
    };
    const pages = await openLoginPages(first, second, done, first, done);
    await pages.signIn({ oneTimeCode: async () => '1' });
    await pages.signIn();
    expect(pages.seen.map(({ cookie }) => cookie)).toEqual(['', 'a=1; b=1', 'a=2', '', 'a=1; b=1']);
  });
});
