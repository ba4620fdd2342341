// Login pages that differ from the usual one, forms posted twice, and two logins of one user at the same moment.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import type { LoginPage } from '../../src/simulator/switches.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { actionOf, authorizationUrl, Browser, fieldsOf, hasId, type Page, pageIdOf } from './browser.ts';
import { login } from './visitor.ts';

const ME = 'me@example.org';
let clock: HandClock;
let provider: Simulator;

beforeEach(async () => {
  clock = handClock('2026-03-10T12:00:00Z');
  provider = await startSimulator({ clock });
});
afterEach(() => provider.stop());

const show = (page: LoginPage, browser = new Browser()) => {
  provider.switches.token.loginPage = page;
  return browser.open(authorizationUrl(provider));
};

test('a captcha stands in the form, which is shown again without its solution', async () => {
  expect((await show('captcha')).html).toContain('data-sitekey=');
  const again = await new Browser().signIn(authorizationUrl(provider));
  expect([again.status, hasId(again, 'input-error-username')]).toEqual([200, false]);
});

test('a passkey has a page of its own, in place of the password or after it', async () => {
  const first = await show('passkey');
  expect([pageIdOf(first), fieldsOf(first)]).toEqual([
    'login-webauthn-authenticate',
    expect.not.arrayContaining(['password']),
  ]);
  await show('passkey_second');
  const second = await new Browser().signIn(authorizationUrl(provider));
  expect([second.status, pageIdOf(second)]).toEqual([200, 'login-webauthn-authenticate']);
});

test('a passkey that is offered beside the password is a second form', async () => {
  expect((await show('passkey_offered')).html.match(/<form /g)).toHaveLength(2);
  expect((await new Browser().signIn(authorizationUrl(provider))).status).toBe(302);
});

test('the browser is sent to another company, or the form would send the password there', async () => {
  const { status, location } = await show('foreign_provider');
  expect([status, location?.origin]).toEqual([303, 'https://login.northlight.example']);
  expect(new URL(actionOf(await show('foreign_action'))).origin).toBe('https://login.northlight.example');
});

test('a relative action is resolved against the address of its page', async () => {
  const page = await show('relative_action');
  expect(actionOf(page)).toMatch(/^\.\.\/\.\.\/login-actions\/authenticate\?/);
  const browser = new Browser();
  const wrong = await browser.signIn(authorizationUrl(provider), ME, 'no');
  expect(actionOf(wrong)).toMatch(/^\.\.\/login-actions\/authenticate\?/);
  expect((await browser.post(wrong, { username: ME, password: 'demo' })).status).toBe(302);
});

test('another theme keeps the fields and little else: a wrong password is told by the field that is invalid', async () => {
  const browser = new Browser();
  const page = await show('other_theme');
  expect([pageIdOf(page), fieldsOf(page).slice(0, 2)]).toEqual([undefined, ['username', 'password']]);
  const wrong = await browser.signIn(authorizationUrl(provider), ME, 'no');
  expect([hasId(wrong, 'input-error-username'), hasId(wrong, 'input-error')]).toEqual([false, true]);
  expect(wrong.html).toMatch(/name="username"[^>]* aria-invalid="true"/);
  provider.switches.token.accountStates.set(ME, 'disabled');
  const disabled = await browser.signIn(authorizationUrl(provider));
  expect([wrong, disabled].map(({ html }) => html.includes('kc-feedback-text'))).toEqual([true, true]);
  expect(disabled.html).not.toContain('aria-invalid="true"');
});

test.each<[string, string, (page: Page) => unknown[], unknown[]]>([
  [
    'a wrong password: the login page with a message, and no field invalid',
    'no',
    (page) => [
      page.status,
      pageIdOf(page),
      page.html.includes('kc-feedback-text'),
      hasId(page, 'input-error-username'),
    ],
    [200, 'login-login', true, false],
  ],
  [
    'the right one: an error for the redirect address',
    'demo',
    ({ status, location }) => [status, location?.searchParams.get('error')],
    [302, 'temporarily_unavailable'],
  ],
])('a form posted twice with %s', async (_, password, seen, expected) => {
  const browser = new Browser();
  const page = await show('usual', browser);
  await browser.post(page, { username: ME, password });
  expect(seen(await browser.post(page, { username: ME, password }))).toEqual(expected);
});

test('a form posted twice when another page has followed: that page has expired', async () => {
  provider.switches.token.requiredActions.set(ME, ['UPDATE_PASSWORD']);
  const browser = new Browser();
  const page = await show('usual', browser);
  await browser.post(page, { username: ME, password: 'demo' });
  const again = await browser.post(page, { username: ME, password: 'demo' });
  expect([again.status, pageIdOf(again)]).toEqual([200, 'login-login-page-expired']);
});

test.each([
  ['with the lock on, the later of two logins at a time is refused as a wrong one', 5, 401],
  ['without a lock both are let in', Number.POSITIVE_INFINITY, 200],
])('%s', async (_, lockAfterWrongPasswords, status) => {
  provider.switches.token.lockAfterWrongPasswords = lockAfterWrongPasswords;
  provider.switches.fault('/auth/', { kind: 'slow', ms: 1000 }, { times: 2, method: 'POST' });
  const first = login(provider);
  const asked = async (count: number) => {
    while (provider.counters.passwordGrants.asked < count)
      await new Promise((resolve) => setImmediate(resolve));
  };
  await asked(1);
  const second = login(provider);
  await asked(2);
  clock.advance(1000);
  expect([(await first).status, (await second).status]).toEqual([200, status]);
  expect((await login(provider)).status).toBe(200);
  expect(provider.counters.passwordGrants.asked).toBe(3);
});
