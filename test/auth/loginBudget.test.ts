// How often a refused login may be tried again: waits, restarts, a changed secret, clocks that jump, one more attempt.
import { beforeEach, describe, expect, test } from 'vitest';
import { LoginBudget, type LoginBudgetRecord } from '../../src/auth/loginBudget.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { type MemoryStore, memoryStore } from '../support/tokenStore.ts';
import { QUICK_HASH } from './account.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const MINE = 'me / my password';
const OTHER = 'me / my new password';
const bad = new LoginRefused(REFUSALS.badCredentials);
const final = new LoginRefused(REFUSALS.notSetUp);

let clock: HandClock;
let store: MemoryStore<LoginBudgetRecord>;
let budget: LoginBudget;
const restart = () => {
  budget = new LoginBudget(store, clock, QUICK_HASH);
};
const isFree = async (credentials = MINE) => (await budget.inForce(credentials)) === null;
const refused = async (refusal: LoginRefused, credentials: string) =>
  (await budget.begin(credentials)).refused(refusal);
const accepted = async () => (await budget.begin(MINE)).accepted();

beforeEach(() => {
  clock = handClock('2026-03-10T12:00:00Z');
  store = memoryStore();
  restart();
});

/** Refuses so many times, each as soon as it may be tried. */
async function refuse(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const { nextAttemptAt } = store.kept ?? {};
    if (nextAttemptAt) clock.advance(Math.max(0, nextAttemptAt - clock.now()));
    await refused(bad, MINE);
  }
}

describe('after a refusal', () => {
  test.each([
    ['a quarter of an hour', 1, 15 * MINUTE],
    ['an hour', 2, HOUR],
    ['six hours', 3, 6 * HOUR],
  ])('%s, whatever restarts', async (_, refusals, wait) => {
    await refuse(refusals);
    for (let restarts = 0; restarts < 2; restarts += 1) {
      expect(await budget.inForce(MINE)).toMatchObject({
        refusals,
        nextAttemptAt: clock.now() + wait,
        state: 'bad_credentials_or_locked',
        code: 'bad_credentials_or_locked',
      });
      restart();
    }
    clock.advance(wait - 1);
    expect(await isFree()).toBe(false);
    clock.advance(1);
    expect(await isFree()).toBe(true);
  });

  test('after the fourth it has stopped for good, restarts in between', async () => {
    for (let refusals = 1; refusals <= 4; refusals += 1) {
      await refuse(1);
      restart();
      expect(store.kept?.refusals).toBe(refusals);
    }
    expect(await budget.inForce(MINE)).toMatchObject({ refusals: 4, nextAttemptAt: null });
    clock.advance(1000 * HOUR);
    expect(await isFree()).toBe(false);
  });

  test('one that waiting cannot help stops at once', async () => {
    await refused(final, MINE);
    clock.advance(1000 * HOUR);
    expect(await budget.inForce(MINE)).toMatchObject({
      nextAttemptAt: null,
      state: 'needs_user_action',
      code: 'account_not_set_up',
    });
  });

  test('an accepted login forgets all of them; before the first nothing is in force or written', async () => {
    expect(await isFree()).toBe(true);
    expect(store.steps).toEqual(['read']);
    await accepted();
    expect(store.kept).toBeNull();
    await refuse(3);
    await accepted();
    expect(store.kept).toBeNull();
    expect(await isFree()).toBe(true);
    await refuse(1);
    expect(store.kept).toMatchObject({ refusals: 1 });
  });
});

describe('another secret', () => {
  test('frees the budget at once, the refused one does not', async () => {
    await refuse(4);
    for (const again of [() => undefined, restart]) {
      again();
      expect([await isFree(), await isFree(OTHER)]).toEqual([false, true]);
    }
  });

  test('that is refused as well starts its own count', async () => {
    await refuse(3);
    await refused(bad, OTHER);
    expect(store.kept).toMatchObject({ refusals: 1, nextAttemptAt: clock.now() + 15 * MINUTE });
    expect(await isFree(OTHER)).toBe(false);
  });

  test('is noticed without keeping either of them', async () => {
    await refuse(1);
    const kept = JSON.stringify(store.kept);
    expect(kept).not.toContain('password');
    await accepted();
    await refuse(1);
    expect(store.kept?.secretMark).not.toBe(JSON.parse(kept).secretMark);
  });

  test('a mark that an earlier version wrote is recognised', async () => {
    const secretMark = 'kyq2qULTPGyyLKynQYORsQ.x2yF63yHNXEPsDe0EkRQ_zC6yHfiBuhCd4fHL96e54Y';
    await refuse(1);
    store.kept = { ...(store.kept as LoginBudgetRecord), secretMark };
    budget = new LoginBudget(store, clock);
    expect([await isFree(), await isFree(OTHER)]).toEqual([false, true]);
    await refused(bad, MINE);
    expect(store.kept).toMatchObject({ refusals: 2, secretMark });
  });

  test('one that cannot be read at present counts as unchanged', async () => {
    expect(await budget.inForce(null)).toBeNull();
    await refuse(1);
    expect(await budget.inForce(null)).toMatchObject({ refusals: 1 });
    clock.advance(15 * MINUTE);
    expect(await budget.inForce(null)).toBeNull();
  });
});

describe('a clock that jumps', () => {
  test('ahead ends a wait early, but brings the stop nearer', async () => {
    await refuse(1);
    clock.jump(HOUR);
    expect(await isFree()).toBe(true);
    await refused(bad, MINE);
    expect(store.kept?.refusals).toBe(2);
  });

  test('back does not stretch the wait beyond the longest', async () => {
    await refuse(1);
    clock.jump(-365 * 24 * HOUR);
    expect(await isFree()).toBe(true);
    await refused(bad, MINE);
    expect(await isFree()).toBe(false);
  });

  test('never ends a stop', async () => {
    await refuse(4);
    for (const hours of [1e5, -2e5, 1e5]) {
      clock.jump(hours * HOUR);
      expect(await isFree()).toBe(false);
    }
  });
});

describe('asking for one more attempt', () => {
  /** Asks, and uses the attempt if there is one. */
  const isGranted = async () => {
    await budget.ask();
    const granted = await isFree();
    if (granted) await refused(bad, MINE);
    expect(await isFree()).toBe(false);
    return granted;
  };

  test('changes nothing without a refusal', async () => {
    await budget.ask();
    expect(store.steps).toEqual(['read']);
  });

  test('while a wait is running gives one attempt, and the next only after an hour', async () => {
    await refuse(1);
    expect(await isGranted()).toBe(true);
    expect(store.kept).toMatchObject({ refusals: 2, nextAttemptAt: clock.now() + HOUR });
    clock.advance(HOUR - 1);
    expect(await isGranted()).toBe(false);
    clock.advance(1);
    await budget.ask();
    expect(await isFree()).toBe(true);
  });

  test('once the wait is over is not used up', async () => {
    await refuse(1);
    clock.advance(15 * MINUTE);
    await budget.ask();
    await refused(bad, MINE);
    expect(await isGranted()).toBe(true);
  });

  test('after another refusal within the hour gives another attempt', async () => {
    await refuse(4);
    expect(await isGranted()).toBe(true);
    await budget.ask();
    expect(await isFree()).toBe(false);
    await refused(final, OTHER);
    await budget.ask();
    expect(await isFree(OTHER)).toBe(true);
    await refused(final, OTHER);
    await budget.ask();
    expect(await isFree(OTHER)).toBe(false);
  });

  test('after the stop gives one attempt, and not more than one an hour', async () => {
    await refuse(4);
    expect(await isGranted()).toBe(true);
    clock.advance(HOUR - 1);
    expect(await isGranted()).toBe(false);
    clock.advance(1);
    expect(await isGranted()).toBe(true);
    expect(store.kept).toMatchObject({ refusals: 6, nextAttemptAt: null });
  });

  test('a wall clock that jumps does not make an hour, a restart does not either', async () => {
    await refuse(4);
    expect(await isGranted()).toBe(true);
    clock.jump(48 * HOUR);
    expect(await isGranted()).toBe(false);
    clock.jump(-48 * HOUR);
    for (const jump of [1, -48 * HOUR, HOUR]) {
      clock.jump(jump);
      restart();
      expect(await isGranted()).toBe(false);
    }
    clock.advance(HOUR);
    expect(await isGranted()).toBe(true);
  });

  test('counts only once it is on the disk', async () => {
    await refuse(4);
    store.isFull = true;
    expect(await isGranted()).toBe(false);
  });

  test('also helps after a refusal that waiting could not', async () => {
    await refused(final, MINE);
    await budget.ask();
    expect(await isFree()).toBe(true);
    await accepted();
    expect(store.kept).toBeNull();
  });
});
