// The authorization code flow row by row: which page, which execution, which redirect, and what a code is good for.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import type { RequiredAction } from '../../src/simulator/switches.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import {
  actionOf,
  authorizationUrl,
  Browser,
  executionOf,
  fieldsOf,
  hasId,
  type Page,
  pageIdOf,
  REDIRECT,
  VERIFIER,
} from './browser.ts';
import { claimsOf, login, refresh, type Seen, said, tokenRequest } from './visitor.ts';

const ME = 'me@example.org';
let clock: HandClock;
let provider: Simulator;
let browser: Browser;

beforeEach(async () => {
  clock = handClock('2026-03-10T12:00:00Z');
  provider = await startSimulator({ clock });
  browser = new Browser();
});
afterEach(() => provider.stop());

const url = (changes: Record<string, string | undefined> = {}) => authorizationUrl(provider, changes);
const codeIn = ({ location }: Page) => location?.searchParams.get('code') ?? '';

function exchange(code: string, changes: Record<string, string> = {}): Promise<Seen> {
  const form = { grant_type: 'authorization_code', redirect_uri: REDIRECT, code_verifier: VERIFIER };
  return tokenRequest(provider, { client_id: 'self-care', ...form, code, ...changes });
}

describe('the login page', () => {
  test('has the structure of Keycloak, and cookies that only a browser sends to plain http', async () => {
    const page = await browser.open(url());
    expect([page.status, pageIdOf(page), fieldsOf(page).slice(0, 3)]).toEqual([
      200,
      'login-login',
      ['username', 'password', 'credentialId'],
    ]);
    const action = new URL(actionOf(page));
    expect(action.origin + action.pathname).toBe(`${provider.urls.issuer}/login-actions/authenticate`);
    expect([...action.searchParams.keys()]).toEqual(['session_code', 'execution', 'client_id', 'tab_id']);
    expect(page.html).toContain('&amp;execution=');
    expect([...browser.cookies.keys()]).toEqual(['AUTH_SESSION_ID', 'KC_AUTH_SESSION_HASH', 'KC_RESTART']);
    const { headers } = await fetch(url());
    for (const line of headers.getSetCookie()) expect(line).toMatch(/;Secure(;HttpOnly)?;SameSite=None$/);
  });

  test.each<[string, object, Record<string, string | undefined>]>([
    ['an unknown client', {}, { client_id: 'other' }],
    ['another redirect address', {}, { redirect_uri: 'https://elsewhere.example.org/' }],
    ['a client switched off', { clientEnabled: false }, {}],
    ['a realm switched off', { realmEnabled: false }, {}],
    ['a realm that demands TLS', { tlsRequired: true }, {}],
  ])('is an error page with status 400 for %s', async (_, switched, changes) => {
    Object.assign(provider.switches.token, switched);
    const page = await browser.open(url(changes));
    expect([page.status, pageIdOf(page), hasId(page, 'kc-error-message')]).toEqual([
      400,
      'login-error',
      true,
    ]);
  });

  test.each<[string, object, Record<string, string | undefined>, string]>([
    ['a scope that is not allowed', {}, { scope: 'openid heat' }, 'invalid_scope'],
    [
      'offline access refused',
      { offlineAccess: 'scope_refused' },
      { scope: 'offline_access' },
      'invalid_scope',
    ],
    ['no PKCE', {}, { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['plain PKCE', {}, { code_challenge_method: 'plain' }, 'invalid_request'],
    ['the flow switched off', { codeFlowAllowed: false }, {}, 'unauthorized_client'],
    ['another response type', {}, { response_type: 'other' }, 'unsupported_response_type'],
  ])('is left with an error for the redirect address: %s', async (_, switched, changes, error) => {
    Object.assign(provider.switches.token, switched);
    const { status, location } = await browser.open(url(changes));
    expect([status, location?.origin, location?.searchParams.get('error')]).toEqual([
      302,
      'https://portal.example.org',
      error,
    ]);
    expect(location?.searchParams.get('state')).toBe('a-state');
    expect(location?.searchParams.get('iss')).toBe(provider.urls.issuer);
  });
});

describe('the code', () => {
  test('comes with state and issuer, and is exchanged for a session like any other', async () => {
    const landed = await browser.signIn(url());
    expect(landed.status).toBe(302);
    expect(Object.fromEntries(landed.location?.searchParams ?? [])).toMatchObject({
      state: 'a-state',
      iss: provider.urls.issuer,
    });
    const seen = await exchange(codeIn(landed));
    expect(seen.body).toMatchObject({ expires_in: 1800, refresh_expires_in: 2100, token_type: 'Bearer' });
    expect(claimsOf(seen, 'id_token')).toMatchObject({ nonce: 'a-nonce', aud: 'self-care' });
    expect(claimsOf(seen)).toMatchObject({ preferred_username: ME });
    expect((await refresh(provider, seen)).status).toBe(200);
    expect(provider.counters).toMatchObject({ postedPasswords: 1, passwordGrants: { asked: 0, ok: 0 } });
  });

  test('comes in the fragment when that is asked for, or always', async () => {
    const fragments = async (changes: Record<string, string>) => {
      const { location } = await new Browser().signIn(url(changes));
      return new URLSearchParams(location?.hash.slice(1)).has('code');
    };
    expect([await fragments({}), await fragments({ response_mode: 'fragment' })]).toEqual([false, true]);
    provider.switches.token.codeInFragment = true;
    expect(await fragments({})).toBe(true);
  });

  test.each<[string, number, Record<string, string>, string]>([
    ['after its minute', 60, {}, 'Code not valid'],
    ['another code', 0, { code: 'other' }, 'Code not valid'],
    ['another verifier', 0, { code_verifier: `${VERIFIER}x` }, 'PKCE verification failed: Code mismatch'],
    [
      'another redirect address',
      0,
      { redirect_uri: 'https://portal.example.org/' },
      'Incorrect redirect_uri',
    ],
  ])('is refused: %s', async (_, seconds, changes, words) => {
    const code = codeIn(await browser.signIn(url()));
    clock.advance(seconds * 1000);
    expect(said(await exchange(code, changes))).toEqual([400, 'invalid_grant', words]);
  });

  test('serves once, and its second use ends the session of the first', async () => {
    const code = codeIn(await browser.signIn(url()));
    const seen = await exchange(code);
    expect(said(await exchange(code))).toEqual([400, 'invalid_grant', 'Code not valid']);
    const orphaned = "Session doesn't have required client";
    expect(said(await refresh(provider, seen))).toEqual([400, 'invalid_grant', orphaned]);
  });

  test('needs no verifier where the client may do without PKCE, and did', async () => {
    provider.switches.token.pkceRequired = false;
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    expect((await exchange(codeIn(await browser.signIn(url(without))))).status).toBe(200);
  });
});

describe('after the password', () => {
  test.each([
    ['a wrong password', ME, 'no'],
    ['an unknown user', 'nobody@example.org', 'demo'],
  ])('%s: the login page again with the same execution, and an error at the user name', async (_, ...who) => {
    const first = await browser.open(url());
    const [username, password] = who;
    const again = await browser.post(first, { username, password });
    expect([again.status, pageIdOf(again), hasId(again, 'input-error-username')]).toEqual([
      200,
      'login-login',
      true,
    ]);
    expect(executionOf(again)).toBe(executionOf(first));
    expect(actionOf(again)).not.toBe(actionOf(first));
    expect(codeIn(await browser.post(again, { username: ME, password: 'demo' }))).not.toBe('');
    expect(provider.counters.postedPasswords).toBe(2);
  });

  test('wrong ones count towards the same lock as those of the password grant', async () => {
    Object.assign(provider.switches.token, { lockAfterWrongPasswords: 2 });
    await login(provider, { password: 'no' });
    await browser.signIn(url(), ME, 'no');
    const locked = await browser.signIn(url());
    expect([locked.status, hasId(locked, 'input-error-username')]).toEqual([200, true]);
    expect((await login(provider)).status).toBe(401);
    clock.advance(900_000);
    expect((await browser.signIn(url())).status).toBe(302);
  });

  test('a disabled account: the login page again, with a message and no error at a field', async () => {
    provider.switches.token.accountStates.set(ME, 'disabled');
    const page = await browser.signIn(url());
    expect([page.status, pageIdOf(page), hasId(page, 'input-error-username')]).toEqual([
      200,
      'login-login',
      false,
    ]);
    expect(page.html).toContain('kc-feedback-text');
  });

  test('a one-time code: a page of its own with another execution, also when it is refused', async () => {
    const { token } = provider.switches;
    token.lockAfterWrongPasswords = 2;
    token.oneTimeCodes.set(ME, '123456');
    const first = await browser.open(url());
    const page = await browser.post(first, { username: ME, password: 'demo' });
    expect([page.status, hasId(page, 'kc-otp-login-form'), fieldsOf(page)[0]]).toEqual([200, true, 'otp']);
    expect(executionOf(page)).not.toBe(executionOf(first));
    const refused = await browser.post(page, { otp: '000000' });
    expect([refused.status, hasId(refused, 'input-error-otp'), executionOf(refused)]).toEqual([
      200,
      true,
      executionOf(page),
    ]);
    expect(codeIn(await browser.post(refused, { otp: '123456' }))).not.toBe('');
    await browser.post(await browser.signIn(url()), { otp: '000000' });
    await browser.post(await browser.signIn(url()), { otp: '000000' });
    expect(pageIdOf(await browser.signIn(url()))).toBe('login-login');
    expect(JSON.stringify(provider.requests)).not.toContain('123456');
  });

  test('a one-time code that follows the time serves once, whichever grant it came with', async () => {
    const code = () => String(100_000 + (Math.floor(clock.now() / 30_000) % 900_000));
    provider.switches.token.oneTimeCodes.set(ME, code);
    expect((await login(provider, { totp: code() })).status).toBe(200);
    const page = await browser.signIn(url());
    const refused = await browser.post(page, { otp: code() });
    expect(hasId(refused, 'input-error-otp')).toBe(true);
    clock.advance(30_000);
    expect((await browser.post(refused, { otp: code() })).status).toBe(302);
  });

  test.each<[RequiredAction, string, string | undefined]>([
    ['UPDATE_PASSWORD', 'login-login-update-password', 'kc-passwd-update-form'],
    ['CONFIGURE_TOTP', 'login-login-config-totp', 'kc-totp-settings-form'],
    ['UPDATE_PROFILE', 'login-login-update-profile', 'kc-update-profile-form'],
    ['TERMS_AND_CONDITIONS', 'login-terms', 'kc-accept'],
    ['VERIFY_EMAIL', 'login-login-verify-email', undefined],
  ])('%s: a redirect that names it, and its page', async (action, pageId, id) => {
    provider.switches.token.requiredActions.set(ME, [action]);
    const page = await browser.signIn(url());
    expect(page.trail.map((step) => step.replace(/\/auth\/realms\/energy\//, ''))).toEqual([
      'POST 302 login-actions/authenticate',
      'GET 200 login-actions/required-action',
    ]);
    expect([new URL(page.url).searchParams.get('execution'), pageIdOf(page)]).toEqual([action, pageId]);
    if (id) expect(hasId(page, id)).toBe(true);
    else expect(page.html).not.toContain('<form');
    const refusal = [400, 'invalid_grant', 'Account is not fully set up'];
    expect(said(await login(provider))).toEqual(refusal);
  });

  test('terms and consent that are agreed to lead on, and the consent has a relative action', async () => {
    Object.assign(provider.switches.token, { consentRequired: true });
    provider.switches.token.requiredActions.set(ME, ['TERMS_AND_CONDITIONS']);
    const consent = await browser.post(await browser.signIn(url()), { accept: 'Yes' });
    expect(new URL(consent.url).searchParams.get('execution')).toBe('OAUTH_GRANT');
    expect([pageIdOf(consent), actionOf(consent)]).toEqual([
      'login-login-oauth-grant',
      expect.stringMatching(/^\/auth\/realms\/energy\/login-actions\/consent\?/),
    ]);
    expect(codeIn(await browser.post(consent, { accept: 'Yes' }))).not.toBe('');
    provider.switches.token.requiredActions.clear();
    const declined = await browser.post(await browser.signIn(url()), { cancel: 'No' });
    expect(declined.location?.searchParams.get('error')).toBe('access_denied');
  });

  test('an account that is not set up has to change its password', async () => {
    provider.switches.token.accountStates.set(ME, 'not_fully_set_up');
    expect(pageIdOf(await browser.signIn(url()))).toBe('login-login-update-password');
  });

  test('without the cookies of the page: 400', async () => {
    const page = await browser.open(url());
    const answer = await new Browser().post(page, { username: ME, password: 'demo' });
    expect([answer.status, pageIdOf(answer)]).toEqual([400, 'login-error']);
  });

  test('with organizations the user name is asked for on a page of its own', async () => {
    provider.switches.token.identityFirst = true;
    const first = await browser.open(url());
    expect(fieldsOf(first)).toEqual(['username', 'login']);
    const second = await browser.post(first, { username: ME });
    expect(fieldsOf(second)).not.toContain('username');
    const wrong = await browser.post(second, { password: 'no' });
    expect([hasId(wrong, 'input-error-password'), executionOf(wrong)]).toEqual([true, executionOf(second)]);
    expect(executionOf(first)).not.toBe(executionOf(second));
    provider.switches.token.identityFirst = false;
    expect(executionOf(await new Browser().open(url()))).toBe(executionOf(second));
    expect(codeIn(await browser.post(wrong, { password: 'demo' }))).not.toBe('');
  });
});

test('nothing secret stands in the log of requests', async () => {
  const landed = await browser.signIn(url());
  await exchange(codeIn(landed));
  const log = JSON.stringify(provider.requests);
  for (const secret of ['"demo"', VERIFIER, codeIn(landed)]) expect(log).not.toContain(secret);
});
