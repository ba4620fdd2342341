// How often a refused login may be tried again: waits, restarts, a changed secret, clocks that jump, one more attempt.

import { beforeEach, describe, expect, test } from 'vitest';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import type { LoginBudgetRecord } from '../../src/store/documents.ts';
import { logLines } from '../support/logLines.ts';
import { type BudgetHome, bad, HOUR, MINE, MINUTE, OTHER, openBudget } from './budget.ts';

const final = new LoginRefused(REFUSALS.notSetUp);

let home: BudgetHome;
beforeEach(() => {
  home = openBudget();
});

describe('after a refusal', () => {
  test.each([
    ['a quarter of an hour', 1, 15 * MINUTE],
    ['an hour', 2, HOUR],
    ['six hours', 3, 6 * HOUR],
  ])('%s, whatever restarts', async (_, refusals, wait) => {
    await home.refuse(refusals);
    for (let restarts = 0; restarts < 2; restarts += 1) {
      expect(await home.budget.inForce(MINE)).toMatchObject({
        refusals,
        nextAttemptAt: home.clock.now() + wait,
        state: 'bad_credentials_or_locked',
        code: 'bad_credentials_or_locked',
      });
      home.restart();
    }
    home.clock.advance(wait - 1);
    expect(await home.isFree()).toBe(false);
    home.clock.advance(1);
    expect(await home.isFree()).toBe(true);
  });

  test('after the fourth it has stopped for good, restarts in between', async () => {
    for (let refusals = 1; refusals <= 4; refusals += 1) {
      await home.refuse(1);
      home.restart();
      expect(home.store.kept?.refusals).toBe(refusals);
    }
    expect(await home.budget.inForce(MINE)).toMatchObject({ refusals: 4, nextAttemptAt: null });
    home.clock.advance(1000 * HOUR);
    expect(await home.isFree()).toBe(false);
  });

  test('one that waiting cannot help stops at once', async () => {
    await home.refused(final, MINE);
    home.clock.advance(1000 * HOUR);
    expect(await home.budget.inForce(MINE)).toMatchObject({
      nextAttemptAt: null,
      state: 'needs_user_action',
      code: 'account_not_set_up',
    });
  });

  test('an accepted login forgets all of them; before the first nothing is in force or written', async () => {
    expect(await home.isFree()).toBe(true);
    expect(home.store.steps).toEqual(['read']);
    await home.accepted();
    expect(home.store.kept).toBeNull();
    await home.refuse(3);
    await home.accepted();
    expect(home.store.kept).toBeNull();
    expect(await home.isFree()).toBe(true);
    await home.refuse(1);
    expect(home.store.kept).toMatchObject({ refusals: 1 });
  });
});

describe('another secret', () => {
  test('frees the budget at once, the refused one does not', async () => {
    await home.refuse(4);
    for (const again of [() => undefined, home.restart]) {
      again();
      expect([await home.isFree(), await home.isFree(OTHER)]).toEqual([false, true]);
    }
  });

  test('that is refused as well starts its own count', async () => {
    await home.refuse(3);
    await home.refused(bad, OTHER);
    expect(home.store.kept).toMatchObject({ refusals: 1, nextAttemptAt: home.clock.now() + 15 * MINUTE });
    expect(await home.isFree(OTHER)).toBe(false);
  });

  test('is noticed without keeping either of them', async () => {
    await home.refuse(1);
    const kept = JSON.stringify(home.store.kept);
    expect(kept).not.toContain('password');
    await home.accepted();
    await home.refuse(1);
    expect(home.store.kept?.secretMark).not.toBe(JSON.parse(kept).secretMark);
  });

  test('a mark that an earlier version wrote is recognised', async () => {
    const secretMark = 'kyq2qULTPGyyLKynQYORsQ.x2yF63yHNXEPsDe0EkRQ_zC6yHfiBuhCd4fHL96e54Y';
    await home.refuse(1);
    home.store.kept = { ...(home.store.kept as LoginBudgetRecord), secretMark };
    home.budget = new LoginBudget(home.store, home.clock, logLines().log);
    expect([await home.isFree(), await home.isFree(OTHER)]).toEqual([false, true]);
    await home.refused(bad, MINE);
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

describe('a clock that jumps', () => {
  test('ahead ends a wait early, but brings the stop nearer', async () => {
    await home.refuse(1);
    home.clock.jump(HOUR);
    expect(await home.isFree()).toBe(true);
    await home.refused(bad, MINE);
    expect(home.store.kept?.refusals).toBe(2);
  });

  test('back does not stretch the wait beyond the longest', async () => {
    await home.refuse(1);
    home.clock.jump(-365 * 24 * HOUR);
    expect(await home.isFree()).toBe(true);
    await home.refused(bad, MINE);
    expect(await home.isFree()).toBe(false);
  });

  test('never ends a stop', async () => {
    await home.refuse(4);
    for (const hours of [1e5, -2e5, 1e5]) {
      home.clock.jump(hours * HOUR);
      expect(await home.isFree()).toBe(false);
    }
  });
});

describe('asking for one more attempt', () => {
  /** Asks, and uses the attempt if there is one. */
  const isGranted = async () => {
    await home.budget.ask();
    const granted = await home.isFree();
    if (granted) await home.refused(bad, MINE);
    expect(await home.isFree()).toBe(false);
    return granted;
  };

  test('changes nothing without a refusal', async () => {
    await home.budget.ask();
    expect(home.store.steps).toEqual(['read']);
  });

  test('while a wait is running gives one attempt, and the next only after an hour', async () => {
    await home.refuse(1);
    expect(await isGranted()).toBe(true);
    expect(home.store.kept).toMatchObject({ refusals: 2, nextAttemptAt: home.clock.now() + HOUR });
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
    await home.refused(bad, MINE);
    expect(await isGranted()).toBe(true);
  });

  test('after a refusal that is not about the password gives one attempt each time', async () => {
    await home.refused(final, MINE);
    for (let count = 0; count < 5; count += 1) {
      expect(await home.isFree()).toBe(false);
      home.restart();
      await home.budget.ask();
      expect(await home.isFree()).toBe(true);
      await home.refused(final, MINE);
    }
    // None of these was about the password: its own waits begin with the first.
    await home.budget.ask();
    await home.refused(bad, MINE);
    expect(home.store.kept).toMatchObject({ refusals: 1, nextAttemptAt: home.clock.now() + 15 * MINUTE });
  });

  test('refusals that take turns do not buy a second attempt with the password within the hour', async () => {
    await home.refused(bad, MINE);
    const refusals = [final, bad, final, bad];
    const granted = [];
    for (const refusal of refusals) {
      await home.budget.ask();
      if (!(await home.isFree())) continue;
      granted.push(refusal);
      await home.refused(refusal, MINE);
    }
    expect(granted).toEqual([final, bad]);
  });

  test('after the stop gives one attempt, and not more than one an hour', async () => {
    await home.refuse(4);
    expect(await isGranted()).toBe(true);
    home.clock.advance(HOUR - 1);
    expect(await isGranted()).toBe(false);
    home.clock.advance(1);
    expect(await isGranted()).toBe(true);
    expect(home.store.kept).toMatchObject({ refusals: 6, nextAttemptAt: null });
  });

  test('a wall clock that jumps does not make an hour, a restart does not either', async () => {
    await home.refuse(4);
    expect(await isGranted()).toBe(true);
    home.clock.jump(48 * HOUR);
    expect(await isGranted()).toBe(false);
    home.clock.jump(-48 * HOUR);
    for (const jump of [1, -48 * HOUR, HOUR]) {
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

  test('also helps after a refusal that waiting could not', async () => {
    await home.refused(final, MINE);
    await home.budget.ask();
    expect(await home.isFree()).toBe(true);
    await home.accepted();
    expect(home.store.kept).toBeNull();
  });
});
