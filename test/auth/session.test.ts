// An access token for everybody: valid, else one refresh, else one login. Over the wire, with a store that outlives processes.
import { beforeEach, describe, expect, test } from 'vitest';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { FAULTS } from '../support/faults.ts';
import {
  type Account,
  expiring,
  HOUR,
  idTokenWith,
  openAccount,
  refusalOf,
  SECOND,
  TOKEN_PATH,
} from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

test('logs in, keeps the token and refreshes shortly before its end, and tells each change, when tokens are wanted again and again', async () => {
  const { session } = account.start();
  expect(await session.current()).toBeNull();
  expect(session.status()).toMatchObject({ state: 'ok', accessExpiresAt: null, refreshExpiresAt: null });
  const first = await session.accessToken();
  const now = account.clock.now();
  expect(session.status()).toEqual({
    state: 'ok',
    nextAttemptAt: null,
    accessExpiresAt: now + 1800 * SECOND,
    refreshExpiresAt: now + 2100 * SECOND,
  });
  account.clock.advance(1739 * SECOND);
  expect(await session.accessToken()).toBe(first);
  expect(account.asked()).toEqual({ logins: 1, refreshes: 0 });
  account.clock.advance(SECOND);
  const second = await session.accessToken();
  expect(second).not.toBe(first);
  expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  expect(account.events).toEqual(['refreshing', 'login', 'ok', 'refreshing', 'refresh', 'ok']);
  for (const token of [first, second, account.tokens.kept?.refreshToken ?? '']) {
    expect(account.scrubber.scrub(Buffer.from(token).toString('base64'))).toBe('[secret]');
    expect(account.lines.join('')).not.toContain(token);
  }
});

test('makes one login and one refresh when fifty ask at a time', async () => {
  const { session } = account.start();
  const fifty = (rejected?: string[]) =>
    Promise.all(Array.from({ length: 50 }, () => session.accessToken(rejected)));
  const [first = '', ...others] = await fifty();
  expect(new Set(others)).toEqual(new Set([first]));
  expect(account.asked()).toEqual({ logins: 1, refreshes: 0 });
  const [, tokens] = await Promise.all([session.renew(), fifty([first]), session.renew()]);
  expect(new Set(tokens).size).toBe(1);
  expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  expect(account.simulator.counters.refreshGrants.maxInFlight).toBe(1);
});

describe('tokens on the disk', () => {
  test('takes those of another process when the clock has stepped back since ours were granted', async () => {
    const [one, other] = [account.start().session, account.start().session];
    await one.accessToken();
    account.clock.advance(1750 * SECOND);
    account.clock.jump(-HOUR);
    const theirs = await other.accessToken();
    expect(await one.accessToken()).toBe(theirs);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });

  test.each([1750, 1500])(
    'has a pair on the disk before it is used when it is refreshed after %d s',
    async (age) => {
      const { session } = account.start();
      const first = await session.accessToken();
      account.clock.advance(age * SECOND);
      let finish = (): void => undefined;
      const began = new Promise<void>((isWriting) => {
        account.tokens.takes = () => {
          isWriting();
          return new Promise<void>((resolve) => (finish = resolve));
        };
      });
      const isKept = () => session.accessToken().then((token) => token === account.tokens.kept?.accessToken);
      const renewing = session.renew();
      const early = [isKept(), began.then(isKept)];
      await began;
      await account.settle();
      finish();
      await renewing;
      expect(await Promise.all([...early, isKept()])).toEqual([true, true, true]);
      expect(account.tokens.kept?.accessToken).not.toBe(first);
    },
  );

  test('goes on in memory when the disk is full, and does not take the older pair for news', async () => {
    const session = await expiring(account);
    account.tokens.isFull = true;
    const second = await session.accessToken();
    expect(await session.accessToken()).toBe(second);
    account.clock.advance(1750 * SECOND);
    expect(await session.accessToken()).not.toBe(second);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 2 });
    account.simulator.endSessions();
    account.clock.advance(1750 * SECOND);
    await session.accessToken();
    expect(account.asked()).toEqual({ logins: 2, refreshes: 3 });
    expect(session.status().state).toBe('ok');
  });
});

describe('when the API refuses the access token', () => {
  test('refreshes when it is refused once, logs in when twice, and gives up when three times', async () => {
    const { session } = account.start();
    const first = await session.accessToken();
    await session.accepted();
    const second = await session.accessToken([first]);
    // It came meanwhile, and is good enough for others.
    expect(await session.accessToken([first])).toBe(second);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    const rejected = [first, second, await session.accessToken([first, second])];
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(new Set(rejected).size).toBe(3);
    expect(await refusalOf(session.accessToken(rejected))).toMatchObject({
      code: 'key_rejected',
      exitCode: 5,
    });
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(session.status().state).toBe('backoff');
  });

  test('is not said to be missing until it has ended when a person has brought the session', async () => {
    const byPerson = account.start({ signIn: 'device' }).session;
    const { session } = account.start();
    const rejected = [await session.accessToken()];
    await session.accepted();
    rejected.push(await byPerson.accessToken(rejected));
    expect(await refusalOf(byPerson.accessToken(rejected))).toMatchObject({ code: 'key_rejected' });
    account.simulator.endSessions();
    expect(await refusalOf(byPerson.accessToken(rejected.slice(1)))).toMatchObject({ code: 'login_needed' });
    expect(byPerson.status().state).toBe('login_needed');
    expect(account.asked().logins).toBe(1);
  });

  test('says why when no login may be tried, not that the token is at fault', async () => {
    const { session } = account.start();
    account.password = 'wrong';
    await refusalOf(session.accessToken());
    const code = 'bad_credentials_or_locked';
    expect(await refusalOf(session.accessToken(['refused by the API']))).toMatchObject({ code });
    expect(session.status().state).toBe(code);
    expect(account.asked().logins).toBe(1);
  });
});

describe('when a refresh is refused', () => {
  test('is not tried again when it has ended and the login behind it is refused', async () => {
    const session = await expiring(account);
    account.simulator.endSessions();
    account.simulator.changePassword('me@example.org', 'another');
    for (let count = 0; count < 3; count += 1) await refusalOf(session.accessToken());
    // A late answer of the API does not hide it.
    await session.accepted();
    expect(session.status().state).toBe('bad_credentials_or_locked');
    for (const one of [session, account.start().session]) {
      await refusalOf(one.accessToken());
      expect(one.status()).toEqual({
        state: 'bad_credentials_or_locked',
        nextAttemptAt: account.clock.now() + HOUR / 4,
        accessExpiresAt: null,
        refreshExpiresAt: null,
      });
    }
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
  });

  test('is our own bug when a token is used twice and no answer was lost', async () => {
    const session = await expiring(account);
    // The issuer carries the refresh out, but its reply is lost: the only good pair with it.
    account.simulator.switches.fault(TOKEN_PATH, { kind: 'reply_lost' }, { times: 1 });
    await refusalOf(session.accessToken());
    await session.accessToken();
    expect(account.asked()).toEqual({ logins: 2, refreshes: 2 });
    expect(account.messages('error')).toEqual([]);
    account.clock.advance(1750 * SECOND);
    account.simulator.switches.fault(TOKEN_PATH, FAULTS.reuseExceeded, { times: 1 });
    await session.accessToken();
    expect(account.asked()).toEqual({ logins: 3, refreshes: 3 });
    expect(account.messages('error')).toEqual(['session ended by the issuer']);
    expect(account.tokens.steps).toContain('remove');
  });
});

test('replaces sessions ahead of time six times an hour when they end again and again', async () => {
  const { session } = account.start();
  await session.accessToken();
  async function isReplaced(): Promise<boolean> {
    await session.renew();
    account.simulator.endSessions();
    const isNew = await session.renew();
    await session.accessToken();
    return isNew;
  }
  const replaced = [];
  for (let count = 0; count < 7; count += 1) replaced.push(await isReplaced());
  expect(replaced).toEqual([true, true, true, true, true, true, false]);
  account.clock.advance(HOUR);
  await session.accessToken();
  expect(await isReplaced()).toBe(true);
});

test('ends the refusal of a login when the API accepts the tokens after all', async () => {
  const { session } = account.start();
  const rejected = [await session.accessToken()];
  await session.accepted();
  rejected.push(await session.accessToken(rejected));
  account.password = 'wrong';
  await refusalOf(session.accessToken(rejected));
  expect(session.isSuspended).toBe(true);
  account.clock.jump(HOUR);
  await session.accepted();
  // A late answer is no proof.
  expect(session.isSuspended).toBe(true);
  account.clock.jump(-HOUR);
  await session.accepted();
  expect([session.isSuspended, session.fault, session.status().state]).toEqual([false, null, 'ok']);
});

test('counts a login, and keeps the session of a refresh, when the id token is for another client', async () => {
  const misfit = () => account.simulator.switches.fault(TOKEN_PATH, idTokenWith({ aud: 'another' }));
  const rule = misfit();
  const { session } = account.start();
  const nextAttemptAt = account.clock.now() + HOUR;
  expect(await refusalOf(session.accessToken())).toMatchObject({ code: 'tokens_unusable', exitCode: 5 });
  expect(account.events).toContain('login');
  expect(session.status()).toMatchObject({ state: 'provider_down', nextAttemptAt });
  const again = account.start();
  expect(await refusalOf(again.session.accessToken())).toMatchObject({
    code: 'tokens_unusable',
    message: expect.stringMatching(/"aud".*waits until 13:00/),
    hint: expect.stringContaining('provider.issuer'),
  });
  expect(again.session.status()).toMatchObject({ state: 'backoff', nextAttemptAt });
  rule.remove();
  account.clock.advance(HOUR);
  await again.session.accessToken();
  expect(account.asked().logins).toBe(2);
  const other = account.start().session;
  await other.current();
  const ofRefresh = misfit();
  account.clock.advance(1750 * SECOND);
  const before = account.tokens.kept;
  for (let count = 0; count < 3; count += 1)
    expect(await refusalOf(again.session.accessToken())).toMatchObject({ code: 'tokens_unusable' });
  expect(account.tokens.kept).toMatchObject({ accessToken: before?.accessToken });
  expect(account.tokens.kept?.refreshToken).not.toBe(before?.refreshToken);
  ofRefresh.remove();
  // Another process takes the rotated token, though the access token beside it is the same.
  expect(await other.accessToken()).toBe(await again.session.accessToken());
  expect(account.asked()).toEqual({ logins: 2, refreshes: 4 });
});

test('keeps nothing of a refresh when its tokens do not fit and are of another session', async () => {
  const session = await expiring(account);
  const before = account.tokens.kept;
  const { refreshToken } = await account.issuer().login('me@example.org', 'demo');
  const misfit = idTokenWith({ aud: 'another' }, { refresh_token: refreshToken });
  account.simulator.switches.fault(TOKEN_PATH, misfit);
  await refusalOf(session.accessToken());
  expect(account.tokens.kept).toEqual(before);
});

test('needs the user when a secret cannot be read', async () => {
  const gone = failure('secret_unreadable', 'Gone.', { exit: EXIT.config, retry: 'later' });
  const password = { read: () => Promise.reject(gone) };
  const { session } = account.start({ account: { username: 'me@example.org', password } });
  expect(await refusalOf(session.accessToken())).toBe(gone);
  expect([session.status().state, session.fault]).toEqual(['needs_user_action', gone]);
});

test('pauses longer and longer when each unusable refresh brings another refresh token', async () => {
  const { session, keepAlive } = account.start();
  await session.accessToken();
  account.simulator.switches.fault(TOKEN_PATH, idTokenWith({ aud: 'another' }));
  const alive = keepAlive();
  await account.pass(1700 * SECOND);
  await alive.stop();
  const { refreshes } = account.asked();
  expect(refreshes).toBeGreaterThan(2);
  expect(refreshes).toBeLessThan(12);
  expect(account.messages('warn')).toEqual(['refresh ahead of expiry failed']);
});
