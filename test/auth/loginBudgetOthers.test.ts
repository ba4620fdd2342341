// What the login budget makes of refusals that are not about the password, of crashes and of other processes.
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

describe('a refusal of the client', () => {
  const client = new LoginRefused(REFUSALS.wrongClient);

  test('holds for six hours, or until a restart or somebody asks', async () => {
    for (const release of [restart, () => budget.ask(), () => clock.advance(1)]) {
      await refused(client, MINE);
      expect(await budget.inForce(MINE)).toMatchObject({
        code: 'client_refused',
        nextAttemptAt: clock.now() + 6 * HOUR,
      });
      clock.advance(6 * HOUR - 1);
      expect([await isFree(), await isFree(OTHER)]).toEqual([false, true]);
      await release();
      expect(await isFree()).toBe(true);
    }
    expect(store.kept).toBeNull();
  });

  test('neither counts nor clears refusals of the password', async () => {
    await refuse(2);
    clock.advance(HOUR);
    const before = store.kept;
    await refused(client, MINE);
    expect(store.kept).toEqual(before);
    restart();
    await refused(bad, MINE);
    expect(store.kept).toMatchObject({ refusals: 3, nextAttemptAt: clock.now() + 6 * HOUR });
  });
});

describe('a crash in the middle of a login', () => {
  /** The process dies before the answer comes. */
  async function crash(): Promise<void> {
    await budget.begin(MINE);
    restart();
  }

  test('counts as an attempt: a minute, then the waits of a refusal', async () => {
    for (const wait of [MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, 6 * HOUR]) {
      await crash();
      const record = await budget.inForce(MINE);
      expect(record).toMatchObject({ state: 'backoff', code: 'login_unfinished' });
      expect(record?.nextAttemptAt).toBe(clock.now() + wait);
      clock.advance(wait - 1);
      expect(await isFree()).toBe(false);
      clock.advance(1);
      expect(await isFree()).toBe(true);
    }
  });

  test('after refusals does not shorten their waits', async () => {
    await refuse(2);
    clock.advance(HOUR);
    await crash();
    expect(await budget.inForce(MINE)).toMatchObject({ refusals: 3, nextAttemptAt: clock.now() + HOUR });
  });

  test('is forgotten once an answer has come, and by one that says nothing', async () => {
    await refuse(1);
    const before = store.kept;
    clock.advance(15 * MINUTE);
    await (await budget.begin(MINE)).unanswered();
    expect(store.kept).toEqual(before);
    await accepted();
    expect(store.kept).toBeNull();
  });
});

test('what another process was refused counts here as well', async () => {
  const other = new LoginBudget(store, clock, QUICK_HASH);
  expect(await isFree()).toBe(true);
  await (await other.begin(MINE)).refused(bad);
  expect(await isFree()).toBe(false);
  await (await other.begin(MINE)).accepted();
  expect(await isFree()).toBe(true);
});
