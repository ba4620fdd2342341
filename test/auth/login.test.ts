// One login over the wire: what counts against the budget, what does not, what is told, and a secret that changes meanwhile.
import { beforeEach, expect, test } from 'vitest';
import type { SignIn } from '../../src/auth/login.ts';
import { LoginSuspended } from '../../src/auth/loginSuspended.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import { look } from '../simulator/visitor.ts';
import { type Account, DISCOVERY_PATH, HOUR, MINUTE, openAccount, refusalOf, SECOND } from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

async function refusedOnce() {
  account.password = 'wrong password 17';
  const running = account.start();
  await refusalOf(running.session.accessToken());
  return running;
}

test('logs a refusal once, and asks the issuer no more, when a login is refused', async () => {
  const { login, session } = await refusedOnce();
  const told = account.events.length;
  for (let count = 0; count < 3; count += 1) {
    const suspended = await refusalOf(login.attempt());
    expect(suspended).toBeInstanceOf(LoginSuspended);
    expect(suspended).toMatchObject({
      code: 'bad_credentials_or_locked',
      retry: 'never',
      exitCode: 4,
      suspension: { nextAttemptAt: account.clock.now() + HOUR / 4 },
    });
  }
  await refusalOf(session.accessToken());
  // None is said to be under way.
  expect(account.events.slice(told)).toEqual(['bad_credentials_or_locked']);
  expect(account.asked().logins).toBe(1);
  expect(account.messages('error')).toEqual(['login refused']);
  expect(account.lines.join('')).not.toContain('wrong password 17');
});

test('says so, and when the next login is, when a limit of sessions suspends it', async () => {
  account.simulator.switches.token.mostSessions = 0;
  const { login, session } = account.start();
  expect(await refusalOf(session.accessToken())).toMatchObject({ code: 'session_limit', exitCode: 4 });
  expect(await refusalOf(login.attempt())).toMatchObject({
    code: 'session_limit',
    message: `${REFUSALS.sessionLimit.message} The next login waits until 12:15.`,
    hint: REFUSALS.sessionLimit.hint,
  });
  expect(session.status()).toMatchObject({ state: 'backoff', nextAttemptAt: account.clock.now() + HOUR / 4 });
  expect(account.asked().logins).toBe(1);
  // It counts towards the lock, at the simulator too.
  Object.assign(account.simulator.switches.token, { lockAfterWrongPasswords: 2 });
  account.clock.advance(HOUR / 4);
  await refusalOf(login.attempt());
  account.simulator.switches.token.mostSessions = 1;
  account.clock.advance(HOUR);
  await login.attempt();
});

test('names what is odd about the password when it is refused, and as long as that is in force', async () => {
  const caution = 'The file has a blank at its end.';
  const password = { read: async () => 'demo ', caution: async () => caution };
  const { login } = account.start({ account: { username: 'me@example.org', password } });
  const refused = await refusalOf(login.attempt());
  expect(refused).toMatchObject({ hint: `${REFUSALS.badCredentials.hint} ${caution}` });
  expect(await refusalOf(login.attempt())).toMatchObject({ hint: expect.stringContaining(caution) });
  // What was sent was the password as it is.
  expect(account.asked().logins).toBe(1);
  const client = account.start({ account: { username: 'me@example.org', password }, context: 'another' });
  account.simulator.switches.token.clientEnabled = false;
  expect(await refusalOf(client.login.attempt())).toMatchObject({ hint: REFUSALS.wrongClient.hint });
});

test('tries a password at once when it was corrected, and suspends the login again when the refused one comes back', async () => {
  const { login } = await refusedOnce();
  account.password = 'also wrong';
  expect(await login.suspendedBy()).toBeNull();
  // It frees no password that a person types.
  const typed = { username: 'me@example.org', password: 'typed', code: null };
  expect(await refusalOf(login.attempt(typed))).toBeInstanceOf(LoginSuspended);
  await refusalOf(login.attempt());
  account.password = 'wrong password 17';
  await refusalOf(login.attempt());
  expect(await refusalOf(login.attempt())).toBeInstanceOf(LoginSuspended);
  account.password = 'demo';
  expect(await login.attempt()).toMatchObject({ expiresInSeconds: 1800 });
  expect(account.asked().logins).toBe(4);
  expect(account.budgetStore.kept).toMatchObject({ refusals: 0, state: null, useless: [] });
});

test('sends what a person types, the user name as well, when they sign in', async () => {
  const { login } = account.start();
  await refusalOf(login.attempt({ username: 'you@example.org', password: 'typed', code: null }));
  expect(look(account.simulator.requests.at(-1)?.body, 'username')).toBe('you@example.org');
});

test('signs in by what a person types when the configured password cannot be read', async () => {
  account.password = null;
  const { login } = account.start();
  const typed = { username: 'me@example.org', password: 'demo', code: null };
  expect(await login.attempt(typed)).toMatchObject({ expiresInSeconds: 1800 });
});

test.each([
  ['a person could sign in on another device', {}, 'login_needed'],
  ['there is no other way', { device_authorization_endpoint: undefined }, 'method_disabled'],
])('refuses when passwords are not allowed, no login page is known, and %s', async (_, changes, code) => {
  const { switches } = account.simulator;
  switches.token.passwordGrantAllowed = false;
  switches.fault(DISCOVERY_PATH, { kind: 'change', change: (body) => ({ ...Object(body), ...changes }) });
  expect(await refusalOf(account.start().login.attempt())).toMatchObject({ code, about: 'client' });
});

test('counts a secret as unchanged when its file vanishes while the login is suspended', async () => {
  const { login, session } = await refusedOnce();
  account.password = null;
  expect(await login.suspendedBy()).toMatchObject({ refusals: 1 });
  expect(await refusalOf(session.accessToken())).toBeInstanceOf(LoginSuspended);
  expect(session.status().state).toBe('bad_credentials_or_locked');
  account.clock.advance(HOUR / 4);
  expect(await login.suspendedBy()).toBeNull();
  expect(String(await refusalOf(login.attempt()))).toContain('the secret file is gone');
  account.password = 'demo';
  await login.attempt();
  expect(account.asked().logins).toBe(2);
});

test('tries at once when the secret for one-time codes changes, not when it vanishes, and sends no password without a code', async () => {
  account.totpSecret = 'HEAT2MQTTEXAMPLE';
  const { login } = await refusedOnce();
  account.totpSecret = 'ANOTHEREXAMPLE22';
  expect(await login.suspendedBy()).toBeNull();
  account.totpSecret = null;
  expect(await login.suspendedBy()).toMatchObject({ refusals: 1 });
  account.clock.advance(HOUR);
  await expect(login.attempt()).rejects.toThrow('the secret file is gone');
  expect(account.asked().logins).toBe(1);
});

test('names its time, what was asked for and what to do when a login is suspended', async () => {
  // Times are rounded up to the minute: none is told too early.
  account.clock.advance(SECOND);
  const { login, budget } = await refusedOnce();
  const told = async () => {
    const { message, hint } = (await refusalOf(login.attempt())) as LoginSuspended;
    return `${message} ${hint}`;
  };
  expect(await told()).toMatch(
    /the next one waits until 12:16\. Correct the user name or password .*, or wait, or press Poll now to try at once\.$/,
  );
  await budget.ask();
  await refusalOf(login.attempt());
  expect(await told()).toMatch(/, or wait\. An extra try was asked for at 12:00; .* from 13:01\.$/);
  for (let count = 0; count < 2; count += 1) {
    account.clock.advance(7 * HOUR);
    await refusalOf(login.attempt());
  }
  expect(await told()).toMatch(
    /none is tried until the password changes or a poll is requested\..*, or press Poll now\./,
  );
  const notSetUp = { about: 'person', state: 'needs_user_action', code: 'account_not_set_up' } as const;
  const waiting = { ...notSetUp, refusals: 1, nextAttemptAt: null, message: null, askedAt: null };
  expect(login.suspended(waiting).hint).toMatch(/^Sign in once in the provider's own/);
  const unfinished = { about: 'password', state: 'backoff', code: 'login_unfinished' } as const;
  const { message, hint } = login.suspended({
    ...waiting,
    ...unfinished,
    nextAttemptAt: account.clock.now(),
  });
  expect(`${message} ${hint}`).toMatch(/^The program ended in the middle .* Nothing needs to be done: wait/);
});

test('suspends, and keeps the tokens that were granted, when the budget cannot be written', async () => {
  account.budgetStore.isFull = true;
  account.password = 'no';
  const { login } = account.start();
  account.clock.advance(15 * MINUTE);
  expect(await refusalOf(login.attempt())).toMatchObject({ about: 'password' });
  expect(await refusalOf(login.attempt())).toBeInstanceOf(LoginSuspended);
  account.password = 'demo';
  expect(await login.attempt()).toMatchObject({ expiresInSeconds: 1800 });
});

test('sends no password when its refusal could not be kept, however often it is started, and sends it once it can', async () => {
  account.budgetStore.isFull = true;
  for (let start = 0; start < 4; start += 1) {
    const { login } = account.start();
    account.clock.advance(15 * MINUTE - 1);
    const refusal = await refusalOf(login.attempt());
    expect(refusal).toMatchObject({ code: 'state_unwritable', retry: 'soon' });
  }
  expect(account.asked().logins).toBe(0);
  const { login } = account.start();
  await refusalOf(login.attempt());
  account.budgetStore.isFull = false;
  expect(await login.attempt()).toMatchObject({ expiresInSeconds: 1800 });
});

test('takes the login page when passwords are not allowed, and remembers it until it refuses the client', async () => {
  const { token } = account.simulator.switches;
  const granted = {
    accessToken: 'a',
    refreshToken: null,
    expiresInSeconds: 60,
    refreshExpiresInSeconds: null,
  };
  let refusal: Error | null = null;
  let pages = 0;
  const form = async () => {
    pages += 1;
    if (refusal) throw refusal;
    return granted;
  };
  const attempt = (signIn: SignIn = 'auto') => {
    account.clock.advance(SECOND);
    return account.start({ form, signIn }).login.attempt();
  };
  token.passwordGrantAllowed = false;
  expect(await refusalOf(attempt('password'))).toMatchObject({ code: 'method_disabled' });
  expect(pages).toBe(0);
  expect(await attempt()).toEqual(granted);
  const { logins } = account.asked();
  await attempt();
  expect([pages, account.asked().logins]).toEqual([2, logins]);
  refusal = new LoginRefused(REFUSALS.wrongClient);
  token.realmEnabled = false;
  expect(await refusalOf(attempt())).toMatchObject({ code: 'issuer_refused' });
  expect(account.wayIn.kept).toEqual({ way: 'form' });
  token.realmEnabled = true;
  expect(await refusalOf(attempt())).toMatchObject({ code: 'client_refused' });
  expect(account.wayIn.kept).toBeNull();
});

test('takes the password again when the redirect address of the login page is gone from the configuration', async () => {
  account.wayIn.kept = { way: 'form' };
  expect(await account.start().login.attempt()).toMatchObject({ expiresInSeconds: 1800 });
});

test('promises no try when a person has typed a wrong password and none is made without a person', async () => {
  const { session, login } = account.start({ signIn: 'link' });
  const typed = { username: 'me@example.org', password: 'wrong', code: null };
  expect(await refusalOf(session.logIn(typed))).toMatchObject({
    code: 'bad_credentials_or_locked',
    hint: expect.not.stringMatching(/totp_secret|Poll now/),
  });
  expect(session.status()).toMatchObject({ state: 'bad_credentials_or_locked', nextAttemptAt: null });
  expect(await refusalOf(session.logIn(typed))).toMatchObject({
    message: expect.stringContaining('waits until 12:15'),
    hint: 'Sign in in another way, or type the password again once the wait is over.',
  });
  expect(session.status()).toMatchObject({ nextAttemptAt: null });
  expect(login.needsPerson).toBe(true);
});
