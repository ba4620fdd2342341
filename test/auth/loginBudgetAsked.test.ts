// Somebody asks for one more login: after the stop only, one try, and not more than one an hour.
import { beforeEach, describe, expect, test } from 'vitest';
import { type LoginBudget, type LoginBudgetRecord, openLoginBudget } from '../../src/auth/loginBudget.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { type MemoryStore, memoryStore } from '../support/tokenStore.ts';

const HOUR = 3_600_000;
const MINE = 'me / my password';
const bad = new LoginRefused(REFUSALS.badCredentials);
const final = new LoginRefused(REFUSALS.notSetUp);

let clock: HandClock;
let vault: MemoryStore<LoginBudgetRecord>;
let budget: LoginBudget;
const isFree = async (credentials = MINE) => (await budget.inForce(credentials)) === null;

beforeEach(() => {
  clock = handClock('2026-03-10T12:00:00Z');
  vault = memoryStore();
  budget = openLoginBudget(vault, clock);
});

/** Refuses so many times, each as soon as it may be tried. */
async function refuse(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const { nextAttemptAt } = vault.kept ?? {};
    if (nextAttemptAt) clock.advance(Math.max(0, nextAttemptAt - clock.now()));
    await budget.refused(bad, MINE);
  }
}

describe('asking for one more try', () => {
  test('while a wait is running changes nothing', async () => {
    await refuse(1);
    await budget.ask();
    expect(await isFree()).toBe(false);
  });

  test('without a refusal changes nothing either', async () => {
    await budget.ask();
    await refuse(4);
    expect(await isFree()).toBe(false);
  });

  test('after the stop gives one try, and not more than one an hour', async () => {
    await refuse(4);
    await budget.ask();
    expect(await isFree()).toBe(true);
    await budget.refused(bad, MINE);
    expect(await isFree()).toBe(false);
    clock.advance(HOUR - 1);
    await budget.ask();
    expect(await isFree()).toBe(false);
    clock.advance(1);
    await budget.ask();
    expect(await isFree()).toBe(true);
    await budget.refused(bad, MINE);
    expect(vault.kept).toMatchObject({ refusals: 6, nextAttemptAt: null });
  });

  test('a wall clock that jumps makes no hour', async () => {
    await refuse(4);
    await budget.ask();
    await budget.refused(bad, MINE);
    clock.jump(48 * HOUR);
    await budget.ask();
    expect(await isFree()).toBe(false);
  });

  test('a restart between two asks makes no hour either, whatever its clock shows', async () => {
    await refuse(4);
    await budget.ask();
    await budget.refused(bad, MINE);
    for (const jump of [1, -48 * HOUR, HOUR]) {
      clock.jump(jump);
      budget = openLoginBudget(vault, clock);
      await budget.ask();
      expect(await isFree()).toBe(false);
    }
    clock.advance(HOUR);
    await budget.ask();
    expect(await isFree()).toBe(true);
  });

  test('counts only once it is written down', async () => {
    await refuse(4);
    vault.isFull = true;
    await budget.ask();
    expect(await isFree()).toBe(false);
  });

  test('also helps after a refusal that waiting could not', async () => {
    await budget.refused(final, MINE);
    await budget.ask();
    expect(await isFree()).toBe(true);
    await budget.accepted();
    expect(vault.kept).toBeNull();
  });
});
