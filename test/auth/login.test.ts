// One login over the wire: what counts against the budget, what does not, and a secret that changes meanwhile.
import { beforeEach, expect, test } from 'vitest';
import { LoginSuspended } from '../../src/auth/login.ts';
import { FAULTS } from '../../src/simulator/faults.ts';
import { type Account, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

const HOUR = 3_600_000;
let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

async function refusedOnce() {
  account.password = 'wrong';
  const running = account.start();
  await refusalOf(running.session.accessToken());
  return running;
}

test('a refused login is logged once, and then suspended without asking the issuer', async () => {
  account.password = 'wrong';
  const { login } = account.start();
  expect(await refusalOf(login.attempt())).toMatchObject({ code: 'bad_credentials_or_locked', exitCode: 4 });
  for (let count = 0; count < 5; count += 1) {
    const suspended = await refusalOf(login.attempt());
    expect(suspended).toBeInstanceOf(LoginSuspended);
    expect(suspended).toMatchObject({ code: 'bad_credentials_or_locked', retry: 'never' });
    expect(suspended).toHaveProperty('suspension.nextAttemptAt', account.clock.now() + HOUR / 4);
  }
  expect(account.asked().logins).toBe(1);
  expect(account.messages('error')).toEqual(['login refused']);
});

test('a week of tries every half hour, restarts in between: four requests, at 0, ½, 1½ and 7½ hours', async () => {
  account.password = 'wrong';
  const begin = account.clock.now();
  for (let restart = 0; restart < 14; restart += 1) {
    const { login } = account.start();
    for (let count = 0; count < 24; count += 1) {
      await refusalOf(login.attempt());
      account.clock.advance(HOUR / 2);
    }
  }
  const tries = account.simulator.requests.filter(({ method }) => method === 'POST');
  expect(tries.map(({ at }) => (at - begin) / HOUR)).toEqual([0, 0.5, 1.5, 7.5]);
});

test('a corrected password is tried at once, with no restart, and clears the record', async () => {
  const { login } = await refusedOnce();
  expect(await login.suspendedBy()).toMatchObject({ refusals: 1 });
  account.password = 'demo';
  expect(await login.suspendedBy()).toBeNull();
  expect(await login.attempt()).toMatchObject({ expiresInSeconds: 1800 });
  expect(account.budgetStore.kept).toMatchObject({ refusals: 0, state: null, useless: [] });
});

test('a secret file that vanishes while the login is suspended has not changed', async () => {
  const { login, session } = await refusedOnce();
  account.password = null;
  expect(await login.suspendedBy()).toMatchObject({ refusals: 1 });
  expect(await refusalOf(session.accessToken())).toBeInstanceOf(LoginSuspended);
  expect(session.status().state).toBe('bad_credentials_or_locked');
  account.clock.advance(HOUR / 4);
  expect(await login.suspendedBy()).toBeNull();
  expect(String(await refusalOf(login.attempt()))).toContain('the secret file is gone');
  account.password = 'demo';
  await expect(login.attempt()).resolves.toBeDefined();
  expect(account.asked().logins).toBe(2);
});

test('going back to the refused password within the wait suspends the login again', async () => {
  const { login } = await refusedOnce();
  account.password = 'also wrong';
  await refusalOf(login.attempt());
  expect(await refusalOf(login.attempt())).toBeInstanceOf(LoginSuspended);
  expect(account.asked().logins).toBe(2);
});

test('a suspended login names its time, and the hint for what was refused', async () => {
  const { login } = await refusedOnce();
  expect(await refusalOf(login.attempt())).toMatchObject({
    message: expect.stringContaining('the next one waits until 12:15.'),
    hint: expect.stringMatching(
      /^Correct the user name or password .*, or wait, or press Poll now to try at once\.$/,
    ),
  });
  for (let count = 0; count < 3; count += 1) {
    account.clock.advance(7 * HOUR);
    await refusalOf(login.attempt());
  }
  expect(await refusalOf(login.attempt())).toMatchObject({
    message: expect.stringContaining('none is tried until the password changes or somebody asks.'),
    hint: expect.stringMatching(/, or press Poll now\.$/),
  });
});

test('while no login may be tried, none is said to be under way', async () => {
  const { session } = await refusedOnce();
  const told = account.events.length;
  expect(await refusalOf(session.accessToken())).toBeInstanceOf(LoginSuspended);
  expect(account.events.slice(told)).toEqual(['bad_credentials_or_locked']);
});

test('an extra try that has been used up is not offered', async () => {
  const { login, budget } = await refusedOnce();
  await budget.ask();
  await refusalOf(login.attempt());
  expect(await refusalOf(login.attempt())).toMatchObject({
    hint: expect.stringMatching(/, or wait\. Somebody asked for an extra try at 12:00; .* from 13:00\.$/),
  });
});

test('an account that waits for its owner keeps the hint of its refusal', async () => {
  const suspended = new LoginSuspended(
    {
      about: 'person',
      refusals: 1,
      nextAttemptAt: null,
      state: 'needs_user_action',
      code: 'account_not_set_up',
      message: null,
      askedAt: null,
    },
    String,
  );
  expect(suspended.hint).toMatch(/^Sign in once in the provider's own/);
});

test('an outage costs nothing of the budget', async () => {
  const { login } = account.start();
  for (const fault of [FAULTS.htmlUnavailable, FAULTS.captivePage, FAULTS.empty, FAULTS.serverError]) {
    account.simulator.switches.fault(TOKEN_PATH, fault, { times: 2 });
    for (let count = 0; count < 2; count += 1) {
      expect(await refusalOf(login.attempt())).toMatchObject({ code: 'issuer_unreachable' });
    }
  }
  expect(account.budgetStore.kept).toBeNull();
  await expect(login.attempt()).resolves.toBeDefined();
});

test('a locked account opens again by waiting alone', async () => {
  account.simulator.switches.token.lockAfterWrongPasswords = 1;
  const { login } = await refusedOnce();
  account.password = 'demo';
  await refusalOf(login.attempt());
  account.clock.advance(HOUR / 4);
  await expect(login.attempt()).resolves.toBeDefined();
  expect(account.asked().logins).toBe(3);
});

test('a budget that cannot be cleared does not cost the tokens that were granted', async () => {
  const { login } = await refusedOnce();
  account.password = 'demo';
  account.budgetStore.isFull = true;
  expect(await login.attempt()).toMatchObject({ expiresInSeconds: 1800 });
  expect(account.messages('error')).toContain('login budget could not be saved');
});

test('a budget that cannot be written suspends all the same, and the refusal is reported', async () => {
  account.password = 'wrong';
  account.budgetStore.isFull = true;
  const { login } = account.start();
  expect(await refusalOf(login.attempt())).toMatchObject({ state: 'bad_credentials_or_locked' });
  expect(await refusalOf(login.attempt())).toBeInstanceOf(LoginSuspended);
});

test('the password is in no line of the log', async () => {
  account.password = 'wrong password 17';
  await refusalOf(account.start().login.attempt());
  expect(account.lines.join('')).not.toContain('wrong password 17');
});

test('the login page worked once, and its redirect address is gone from the configuration: the password again', async () => {
  account.wayIn.kept = { way: 'form' };
  expect(await account.start().login.attempt()).toMatchObject({ expiresInSeconds: 1800 });
});

test('a file with the secret of one-time codes that vanishes has not changed, and no password is sent without a code', async () => {
  account.totpSecret = 'HEAT2MQTTEXAMPLE';
  const { login } = await refusedOnce();
  account.totpSecret = null;
  expect(await login.suspendedBy()).toMatchObject({ refusals: 1 });
  account.clock.advance(HOUR);
  await expect(login.attempt()).rejects.toThrow('the secret file is gone');
  expect(account.asked().logins).toBe(1);
});

test('a wrong password that a person has typed promises no try where none is made without a person', async () => {
  account.signIn = 'link';
  const { session, login } = account.start();
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
