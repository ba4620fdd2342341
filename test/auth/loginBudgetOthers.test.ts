// What the login budget makes of refusals that are not about the password, of crashes and of other processes.
import { beforeEach, describe, expect, test } from 'vitest';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import { IssuerUnreachable } from '../../src/auth/unreachable.ts';
import { logLines } from '../support/logLines.ts';
import { QUICK_HASH } from './account.ts';
import { type BudgetHome, bad, HOUR, MINE, MINUTE, OTHER, openBudget } from './budget.ts';

let home: BudgetHome;
beforeEach(() => {
  home = openBudget();
});

describe('a refusal of the client', () => {
  const client = new LoginRefused(REFUSALS.wrongClient);

  test('holds for six hours, or until a restart or somebody asks', async () => {
    for (const release of [home.restart, () => home.budget.ask(), () => home.clock.advance(1)]) {
      await home.refused(client, MINE);
      expect(await home.budget.inForce(MINE)).toMatchObject({
        code: 'client_refused',
        nextAttemptAt: home.clock.now() + 6 * HOUR,
      });
      home.clock.advance(6 * HOUR - 1);
      expect([await home.isFree(), await home.isFree(OTHER)]).toEqual([false, true]);
      await release();
      expect(await home.isFree()).toBe(true);
    }
  });

  test('holds for six hours where an account is opened for each run, as in a fleet', async () => {
    await home.refused(client, MINE);
    const open = () =>
      new LoginBudget(home.store, home.clock, logLines().log, {
        isOpenedForEachRun: true,
        scryptCost: QUICK_HASH,
      });
    home.clock.advance(6 * HOUR - 1);
    expect(await open().inForce(MINE)).toMatchObject({ about: 'client', code: 'client_refused' });
    home.clock.advance(1);
    expect(await open().inForce(MINE)).toBeNull();
  });

  test('of a command makes the running bridge wait as well, and neither counts nor clears refusals of the password', async () => {
    await home.refuse(2);
    home.clock.advance(HOUR);
    await home.refused(client, MINE);
    expect(home.store.kept).toMatchObject({ refusals: 2, secretMark: expect.any(String) });
    home.restart();
    await home.refused(bad, MINE);
    expect(home.store.kept).toMatchObject({ refusals: 3, nextAttemptAt: home.clock.now() + 6 * HOUR });
  });
});

describe('a crash in the middle of a login', () => {
  test('counts as an attempt: a minute, then the waits of a refusal', async () => {
    for (const wait of [MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, 6 * HOUR]) {
      await home.crash();
      const record = await home.budget.inForce(MINE);
      expect(record).toMatchObject({ state: 'backoff', code: 'login_unfinished' });
      expect(record?.nextAttemptAt).toBe(home.clock.now() + wait);
      home.clock.advance(wait - 1);
      expect(await home.isFree()).toBe(false);
      home.clock.advance(1);
      expect(await home.isFree()).toBe(true);
    }
  });

  test('after refusals does not shorten their waits', async () => {
    await home.refuse(2);
    home.clock.advance(HOUR);
    await home.crash();
    expect(await home.budget.inForce(MINE)).toMatchObject({
      refusals: 3,
      nextAttemptAt: home.clock.now() + HOUR,
    });
  });

  test('is forgotten once an answer has come, and by one that says nothing', async () => {
    await home.refuse(1);
    const before = home.store.kept;
    home.clock.advance(15 * MINUTE);
    await home.refused(new IssuerUnreachable('Away.', { retry: 'soon' }));
    expect(home.store.kept).toEqual(before);
    await home.accepted();
    expect(home.store.kept).toBeNull();
  });
});

test('what another process was refused counts here as well', async () => {
  const { store, clock } = home;
  const other = new LoginBudget(store, clock, logLines().log, { scryptCost: QUICK_HASH });
  expect(await home.isFree()).toBe(true);
  await other.attempt(MINE, () => Promise.reject(bad)).catch(() => undefined);
  expect(await home.isFree()).toBe(false);
  await other.forget();
  expect(await home.isFree()).toBe(true);
});
