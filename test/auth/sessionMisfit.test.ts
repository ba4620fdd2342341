// A session whose issuer grants tokens that do not fit: of another issuer, or for another client.
import { beforeEach, expect, test } from 'vitest';
import { look } from '../simulator/visitor.ts';
import { type Account, expiring, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

const SECOND = 1000;
const HOUR = 3_600_000;
const OTHER = 'https://elsewhere.example.org';
let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

test('a login that was granted counts, and the next one waits an hour, whatever restarts', async () => {
  account.simulator.switches.token.issuer = OTHER;
  const { session } = account.start();
  expect(await refusalOf(session.accessToken())).toMatchObject({ code: 'tokens_unusable', exitCode: 5 });
  expect(account.events).toContain('login');
  expect(session.status()).toMatchObject({
    state: 'provider_down',
    nextAttemptAt: account.clock.now() + HOUR,
  });
  const again = account.start();
  expect(await refusalOf(again.session.accessToken())).toMatchObject({
    code: 'tokens_unusable',
    message: expect.stringMatching(/"iss".*waits until 13:00/),
    hint: expect.stringContaining('provider.issuer'),
  });
  expect(again.session.status()).toMatchObject({ state: 'backoff', nextAttemptAt: expect.any(Number) });
  expect(account.simulator.counters.passwordGrants.ok).toBe(1);
  account.simulator.switches.token.issuer = null;
  account.clock.advance(HOUR);
  await expect(again.session.accessToken()).resolves.toMatch(/^eyJ/);
});

/** The id token of each answer is for another client. */
const misfit = (change: (body: object) => object = (body) => body) =>
  account.simulator.switches.fault(TOKEN_PATH, {
    kind: 'change',
    change: (body) => {
      const [head, claims, mark] = String(look(body, 'id_token')).split('.');
      const read = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString());
      const written = Buffer.from(JSON.stringify({ ...read, aud: 'another' })).toString('base64url');
      return change({ ...Object(body), id_token: `${head}.${written}.${mark}` });
    },
  });

test('a refresh that brings some keeps the session by its rotated token', async () => {
  const session = await expiring(account);
  const before = account.tokens.kept;
  const rule = misfit();
  for (let count = 0; count < 3; count += 1)
    expect(await refusalOf(session.accessToken())).toMatchObject({ code: 'tokens_unusable' });
  expect(account.tokens.kept).toMatchObject({ accessToken: before?.accessToken });
  expect(account.tokens.kept?.refreshToken).not.toBe(before?.refreshToken);
  rule.remove();
  await account.start().session.accessToken();
  await session.accessToken();
  expect(account.asked()).toEqual({ logins: 1, refreshes: 4 });
});

test('a refresh that brings those of another session keeps nothing of it', async () => {
  const session = await expiring(account);
  const before = account.tokens.kept;
  const theirs = await account.issuer().login('me@example.org', 'demo');
  misfit((body) => ({ ...body, refresh_token: theirs.refreshToken }));
  await refusalOf(session.accessToken());
  expect(account.tokens.kept).toEqual(before);
});

test('the pauses between refreshes grow although the rotated token is new each time', async () => {
  const { session, keepAlive } = account.start();
  await session.accessToken();
  misfit();
  keepAlive();
  await account.pass(1700 * SECOND);
  const { refreshes } = account.asked();
  expect(refreshes).toBeGreaterThan(2);
  expect(refreshes).toBeLessThan(12);
  expect(account.messages('warn')).toEqual(['refresh ahead of expiry failed']);
  expect(account.messages('info')).not.toContain('the session has new tokens again');
});
