// How often a login may be tried: waits, restarts, another secret, clocks that jump, crashes, one more attempt, useless logins.
import { beforeEach, describe, expect, test } from 'vitest';
import { openLoginBudget } from '../../src/auth/loginBudget.ts';
import { GrantUnusable, IssuerUnreachable } from '../../src/auth/oidc.ts';
import { accessTokenRejected, LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import type { Grant } from '../../src/auth/tokens.ts';
import type { Failure } from '../../src/foundation/failure.ts';
import type { LoginBudgetRecord } from '../../src/store/documents.ts';
import { handClock } from '../support/clock.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { HOUR, MINUTE } from './account.ts';

const MINE = 'me / my password';
const OTHER = 'me / my new password';
const DAY = 24 * HOUR;
const bad = new LoginRefused(REFUSALS.badCredentials);
const final = new LoginRefused(REFUSALS.notSetUp);
const client = new LoginRefused(REFUSALS.wrongClient);
const away = new IssuerUnreachable('Away.', { retry: 'soon' });
const GRANT: Grant = {
  accessToken: 'a',
  refreshToken: 'r',
  expiresInSeconds: 9,
  refreshExpiresInSeconds: null,
};

function openHome() {
  const clock = handClock('2026-03-10T12:00:00Z');
  const store = memoryStore<LoginBudgetRecord>();
  const open = (changes = {}) => openLoginBudget({ store, clock, scryptCost: 2, ...changes });
  const home = {
    clock,
    store,
    open,
    budget: open(),
    restart() {
      home.budget = open();
    },
    isFree: async (credentials = MINE) => (await home.budget.inForce(credentials)) === null,
    refused: (refusal: Failure, credentials = MINE): Promise<unknown> =>
      home.budget.attempt(credentials, () => Promise.reject(refusal)).catch(() => undefined),
    granted: (credentials = MINE) => home.budget.attempt(credentials, async () => GRANT),
    /** Granted, and the API accepts the tokens. */
    accepted: () => home.granted().then(() => home.budget.useful()),
    /** Granted, and the API refuses them. */
    useless: () => home.granted().then(() => home.budget.useless(accessTokenRejected(), MINE)),
    /** The process dies before the answer comes. */
    async crash(): Promise<void> {
      await new Promise<void>((resolve) => {
        void home.budget.attempt(MINE, () => {
          resolve();
          return new Promise(() => undefined);
        });
      });
      home.restart();
    },
    /** Refuses so many times, each as soon as it may be tried. */
    async refuse(times: number): Promise<void> {
      for (let count = 0; count < times; count += 1) {
        const { nextAttemptAt } = store.kept ?? {};
        if (nextAttemptAt) clock.advance(Math.max(0, nextAttemptAt - clock.now()));
        await home.refused(bad);
      }
    },
  };
  return home;
}

let home: ReturnType<typeof openHome>;
beforeEach(() => {
  home = openHome();
});

/** Free after this time, and not a millisecond earlier, whatever restarts. */
async function isFreeAfter(wait: number): Promise<void> {
  home.restart();
  home.clock.advance(wait - 1);
  expect(await home.isFree()).toBe(false);
  home.clock.advance(1);
  expect(await home.isFree()).toBe(true);
}

describe('after a refusal', () => {
  test('a quarter of an hour, an hour, six hours, then it has stopped for good', async () => {
    for (const [index, wait] of [15 * MINUTE, HOUR, 6 * HOUR].entries()) {
      await home.refused(bad);
      expect(await home.budget.inForce(MINE)).toMatchObject({
        refusals: index + 1,
        nextAttemptAt: home.clock.now() + wait,
        state: 'bad_credentials_or_locked',
        code: 'bad_credentials_or_locked',
      });
      await isFreeAfter(wait);
    }
    await home.refused(bad);
    home.restart();
    for (const jump of [1e5, -2e5, 1e5]) {
      home.clock.advance(1000 * HOUR);
      home.clock.jump(jump * HOUR);
      expect(await home.budget.inForce(MINE)).toMatchObject({ refusals: 4, nextAttemptAt: null });
    }
  });

  test('one that waiting cannot help stops at once', async () => {
    await home.refused(final);
    home.clock.advance(1000 * HOUR);
    const expected = { nextAttemptAt: null, state: 'needs_user_action', code: 'account_not_set_up' };
    expect(await home.budget.inForce(MINE)).toMatchObject(expected);
  });

  test('an accepted login forgets all of them; before the first nothing is in force or written', async () => {
    expect(await home.isFree()).toBe(true);
    await home.budget.ask();
    expect(home.store.steps).toEqual(['read', 'read']);
    await home.refuse(3);
    await home.accepted();
    expect(home.store.kept).toBeNull();
    await home.refuse(1);
    expect(home.store.kept).toMatchObject({ refusals: 1 });
  });

  test('a clock that jumps ahead ends a wait early but brings the stop nearer; one that jumps back does not stretch it', async () => {
    await home.refuse(1);
    home.clock.jump(HOUR);
    expect(await home.isFree()).toBe(true);
    await home.refused(bad);
    expect(home.store.kept?.refusals).toBe(2);
    home.clock.jump(-365 * DAY);
    expect(await home.isFree()).toBe(true);
    await home.refused(bad);
    expect(await home.isFree()).toBe(false);
  });
});

describe('another secret', () => {
  test('frees the budget at once, and is noticed without keeping either of them', async () => {
    await home.refuse(4);
    expect(JSON.stringify(home.store.kept)).not.toContain('password');
    for (const again of [() => undefined, home.restart]) {
      again();
      expect([await home.isFree(), await home.isFree(OTHER)]).toEqual([false, true]);
    }
    await home.refused(bad, OTHER);
    expect(home.store.kept).toMatchObject({ refusals: 1, nextAttemptAt: home.clock.now() + 15 * MINUTE });
    expect(await home.isFree(OTHER)).toBe(false);
  });

  test('a mark that an earlier version wrote is recognised', async () => {
    const secretMark = 'kyq2qULTPGyyLKynQYORsQ.x2yF63yHNXEPsDe0EkRQ_zC6yHfiBuhCd4fHL96e54Y';
    await home.refuse(1);
    home.store.kept = { ...(home.store.kept as LoginBudgetRecord), secretMark };
    home.budget = home.open({ scryptCost: undefined });
    expect([await home.isFree(), await home.isFree(OTHER)]).toEqual([false, true]);
    await home.refused(bad);
    expect(home.store.kept).toMatchObject({ refusals: 2, secretMark });
  });

  test('one that cannot be read at present counts as unchanged', async () => {
    expect(await home.budget.inForce(null)).toBeNull();
    await home.refuse(1);
    expect(await home.budget.inForce(null)).toMatchObject({ refusals: 1 });
    home.clock.advance(15 * MINUTE);
    expect(await home.budget.inForce(null)).toBeNull();
  });
});

describe('a refusal of the client', () => {
  test('holds for six hours, until a restart, or until a user asks', async () => {
    for (const release of [home.restart, () => home.budget.ask(), () => home.clock.advance(1)]) {
      await home.refused(client);
      const expected = { code: 'client_refused', nextAttemptAt: home.clock.now() + 6 * HOUR };
      expect(await home.budget.inForce(MINE)).toMatchObject(expected);
      home.clock.advance(6 * HOUR - 1);
      expect([await home.isFree(), await home.isFree(OTHER)]).toEqual([false, true]);
      const ofFleet = home.open({ isOpenedForEachRun: true });
      expect(await ofFleet.inForce(MINE)).toMatchObject({ about: 'client' });
      await release();
      expect(await home.isFree()).toBe(true);
    }
  });

  test('by a command makes the running bridge wait, and neither counts nor clears refusals of the password', async () => {
    await home.refuse(2);
    home.clock.advance(HOUR);
    await home
      .open()
      .attempt(MINE, () => Promise.reject(client))
      .catch(() => undefined);
    expect(await home.isFree()).toBe(false);
    expect(home.store.kept).toMatchObject({ refusals: 2 });
    home.restart();
    await home.refused(bad);
    expect(home.store.kept).toMatchObject({ refusals: 3, nextAttemptAt: home.clock.now() + 6 * HOUR });
    await home.open().forget();
    expect(await home.isFree()).toBe(true);
  });
});

describe('a crash in the middle of a login', () => {
  test('counts as an attempt: a minute, then the waits of a refusal', async () => {
    for (const wait of [MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, 6 * HOUR]) {
      await home.crash();
      const expected = { state: 'backoff', code: 'login_unfinished', nextAttemptAt: home.clock.now() + wait };
      expect(await home.budget.inForce(MINE)).toMatchObject(expected);
      await isFreeAfter(wait);
    }
  });

  test('does not shorten the waits of refusals, and is forgotten once an answer has come', async () => {
    await home.refuse(2);
    home.clock.advance(HOUR);
    const before = home.store.kept;
    await home.refused(away);
    expect(home.store.kept).toEqual(before);
    await home.crash();
    const expected = { refusals: 3, nextAttemptAt: home.clock.now() + HOUR };
    expect(await home.budget.inForce(MINE)).toMatchObject(expected);
    await home.accepted();
    expect(home.store.kept).toBeNull();
  });
});

describe('asking for one more attempt', () => {
  /** Asks, and uses the attempt if there is one. */
  const isGranted = async (refusal = bad) => {
    await home.budget.ask();
    const granted = await home.isFree();
    if (granted) await home.refused(refusal);
    expect(await home.isFree()).toBe(false);
    return granted;
  };

  test.each([1, 4])('after %d refusals: one, and the next only after an hour', async (refusals) => {
    await home.refuse(refusals);
    expect(await isGranted()).toBe(true);
    expect(home.store.kept).toMatchObject({ refusals: refusals + 1 });
    home.clock.advance(HOUR - 1);
    expect(await isGranted()).toBe(false);
    home.clock.advance(1);
    await home.budget.ask();
    expect(await home.isFree()).toBe(true);
  });

  test('once the wait is over is not used up', async () => {
    await home.refuse(1);
    home.clock.advance(15 * MINUTE);
    await home.budget.ask();
    await home.refused(bad);
    expect(await isGranted()).toBe(true);
  });

  test('after a refusal that is not about the password gives one each time, and buys none with the password', async () => {
    await home.refused(final);
    for (const restart of [() => undefined, home.restart, home.restart]) {
      restart();
      expect(await isGranted(final)).toBe(true);
    }
    expect(await isGranted(bad)).toBe(true);
    // The first that counts.
    expect(home.store.kept).toMatchObject({ refusals: 1, nextAttemptAt: home.clock.now() + 15 * MINUTE });
    expect([await isGranted(final), await isGranted(bad), await isGranted(bad)]).toEqual([true, true, false]);
  });

  test('a wall clock that jumps does not make an hour, a restart does not either', async () => {
    await home.refuse(4);
    expect(await isGranted()).toBe(true);
    home.clock.jump(48 * HOUR);
    expect(await isGranted()).toBe(false);
    home.clock.jump(-48 * HOUR);
    for (const jump of [1, -48 * HOUR, HOUR - 1]) {
      home.clock.jump(jump);
      home.restart();
      expect(await isGranted()).toBe(false);
    }
    home.clock.advance(HOUR);
    expect(await isGranted()).toBe(true);
  });

  test('counts only once it is on the disk', async () => {
    await home.refuse(4);
    home.store.isFull = true;
    expect(await isGranted()).toBe(false);
  });
});

describe('a login of no use', () => {
  test('holds the next one back for an hour, the fourth of a day for the rest of it', async () => {
    const begin = home.clock.now();
    for (let count = 1; count <= 3; count += 1) {
      await home.useless();
      await isFreeAfter(HOUR);
    }
    await home.useless();
    const { message } = accessTokenRejected();
    const expected = { about: 'tokens', code: 'key_rejected', message, nextAttemptAt: begin + DAY };
    expect(await home.budget.inForce(MINE)).toMatchObject(expected);
    await isFreeAfter(21 * HOUR);
  });

  test('asking does not buy another, nor does a person who signs in; other credentials begin again', async () => {
    await home.useless();
    await home.budget.ask();
    expect(await home.isFree()).toBe(false);
    await home.budget.forget();
    expect([await home.isFree(), await home.isFree(OTHER)]).toEqual([false, true]);
    await home.granted(OTHER);
    expect(home.store.kept).toMatchObject({ useless: [] });
  });

  test('is one as long as it was not accepted; a later refusal says nothing about the login', async () => {
    await home.granted();
    expect(await home.isFree()).toBe(true);
    await home.useless();
    expect(home.store.kept?.useless).toHaveLength(1);
    home.clock.advance(DAY);
    await home.granted();
    home.restart();
    expect(await home.budget.isUnproven()).toBe(true);
    await home.budget.useful();
    await home.budget.useless(accessTokenRejected(), MINE);
    expect(home.store.kept).toBeNull();
  });

  test('tokens that the program itself cannot use count at once', async () => {
    await home.refused(new GrantUnusable(away));
    expect(await home.isFree()).toBe(false);
  });

  test('after a clock that was far ahead it takes an hour, not a year', async () => {
    home.clock.jump(365 * DAY);
    await home.useless();
    home.clock.jump(-365 * DAY);
    for (let restarts = 0; restarts < 4; restarts += 1) {
      home.restart();
      expect(await home.isFree()).toBe(false);
      home.clock.advance(HOUR / 4);
    }
    expect(await home.isFree()).toBe(true);
  });
});
