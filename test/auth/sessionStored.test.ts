// Tokens on the disk: reused after a restart, written before they are used, and a disk that refuses.

import { beforeEach, describe, expect, test } from 'vitest';
import type { TokenSet } from '../../src/store/documents.ts';
import { type Account, openAccount, TOKEN_PATH } from './account.ts';

const SECOND = 1000;
let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

describe('after a restart', () => {
  test('valid tokens serve without a single request', async () => {
    const first = await account.start().session.accessToken();
    const before = account.simulator.requests.length;
    account.clock.advance(1700 * SECOND);
    const { session } = account.start();
    expect(await session.accessToken()).toBe(first);
    expect(session.status()).toMatchObject({ accessExpiresAt: account.tokens.kept?.accessExpiresAt });
    expect(account.simulator.requests.length).toBe(before);
  });

  test.each([
    ['an expired access token with a valid refresh token costs one refresh', 1900, [1, 1]],
    ['two expired tokens cost one login', 86_400, [2, 0]],
  ])('%s', async (_, ageSeconds, [logins, refreshes]) => {
    await account.start().session.accessToken();
    account.clock.advance(ageSeconds * SECOND);
    await account.start().session.accessToken();
    expect(account.asked()).toEqual({ logins, refreshes });
  });

  test('after the clock was set back the access token is refreshed before it is used', async () => {
    await account.start().session.accessToken();
    account.clock.advance(60 * SECOND);
    // The tokens were stored under a clock an hour ahead of today's.
    const ahead = (at: unknown) => Number(at) + 3600 * SECOND;
    const before = account.tokens.kept as TokenSet;
    account.tokens.kept = {
      ...before,
      obtainedAt: ahead(before.obtainedAt),
      accessExpiresAt: ahead(before.accessExpiresAt),
      refreshExpiresAt: ahead(before.refreshExpiresAt),
    };
    await account.start().session.accessToken();
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });

  test('is read once, however many ask', async () => {
    await account.start().session.accessToken();
    account.tokens.steps.length = 0;
    const { session } = account.start();
    await Promise.all(Array.from({ length: 10 }, () => session.accessToken()));
    await session.accessToken();
    expect(new Set(account.tokens.steps)).toEqual(new Set(['read']));
    expect(account.asked().logins).toBe(1);
  });
});

describe('writing', () => {
  test.each([
    ['a refresh for a caller', 1750],
    ['a refresh ahead of expiry', 1500],
  ])('nobody gets a pair that is not on the disk yet: %s', async (_, ageSeconds) => {
    const { session } = account.start();
    const first = await session.accessToken();
    account.clock.advance(ageSeconds * SECOND);
    let finish = (): void => undefined;
    const began = new Promise<void>((isWriting) => {
      account.tokens.takes = () => {
        isWriting();
        return new Promise<void>((resolve) => (finish = resolve));
      };
    });
    const given: string[] = [];
    const asking = async () => {
      const token = await session.accessToken();
      given.push(`${token === account.tokens.kept?.accessToken}`);
      return token;
    };
    const renewing = session.renew();
    const early = [asking(), began.then(asking)];
    await began;
    await account.settle();
    finish();
    await renewing;
    await Promise.all([...early, asking()]);
    expect(given).toEqual(['true', 'true', 'true']);
    expect(account.tokens.kept?.accessToken).not.toBe(first);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });

  test('a reply without a refresh token goes on with the old one', async () => {
    const { token } = account.simulator.switches;
    token.rotation = false;
    const { session } = account.start();
    await session.accessToken();
    const old = account.tokens.kept?.refreshToken;
    token.withoutRefreshToken = true;
    for (let round = 1; round <= 3; round += 1) {
      account.clock.advance(600 * SECOND);
      await session.renew();
      expect(account.tokens.kept?.refreshToken).toBe(old);
      expect(account.asked()).toEqual({ logins: 1, refreshes: round });
    }
  });

  test('an issuer that gives none at all: a login when the access token is over, not before', async () => {
    account.simulator.switches.token.withoutRefreshToken = true;
    const { session } = account.start();
    await session.accessToken();
    await session.renew();
    account.clock.advance(1739 * SECOND);
    await session.accessToken();
    expect(account.asked()).toEqual({ logins: 1, refreshes: 0 });
    account.clock.advance(SECOND);
    await session.accessToken();
    expect(account.asked()).toEqual({ logins: 2, refreshes: 0 });
  });

  test('odd lifetimes leave tokens that can be stored', async () => {
    account.simulator.switches.fault(TOKEN_PATH, {
      kind: 'change',
      change: (body) => ({ ...Object(body), expires_in: 1799.9999, refresh_expires_in: 1e18 }),
    });
    await account.start().session.accessToken();
    const { accessExpiresAt, refreshExpiresAt } = account.tokens.kept as TokenSet;
    expect([accessExpiresAt, refreshExpiresAt].every(Number.isSafeInteger)).toBe(true);
  });
});

describe('a disk that cannot be written', () => {
  test('is logged, and the session goes on in memory', async () => {
    account.tokens.isFull = true;
    const { session } = account.start();
    const first = await session.accessToken();
    expect(await session.accessToken()).toBe(first);
    account.clock.advance(1750 * SECOND);
    await session.accessToken();
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    expect(account.messages('error')).toEqual(['tokens could not be saved', 'tokens could not be saved']);
    expect(session.status().state).toBe('ok');
  });

  test('does not keep an ended session from being replaced', async () => {
    const { session } = account.start();
    await session.accessToken();
    account.tokens.isFull = true;
    account.simulator.endSessions();
    account.clock.advance(1750 * SECOND);
    await expect(session.accessToken()).resolves.toMatch(/^eyJ/);
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
  });
});

test('the tokens of another process are taken, though the clock has stepped back since ours were granted', async () => {
  const [one, other] = [account.start().session, account.start().session];
  await one.accessToken();
  account.clock.advance(1750 * SECOND);
  account.clock.jump(-3600 * SECOND);
  const theirs = await other.accessToken();
  expect(await one.accessToken()).toBe(theirs);
  expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
});
