// A login budget on a store in memory, under a clock that the test moves.
import { LoginBudget, type LoginBudgetRecord } from '../../src/auth/loginBudget.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import { handClock } from '../support/clock.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { QUICK_HASH } from './account.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const MINE = 'me / my password';
export const OTHER = 'me / my new password';
export const bad = new LoginRefused(REFUSALS.badCredentials);

export type BudgetHome = ReturnType<typeof openBudget>;

export function openBudget() {
  const clock = handClock('2026-03-10T12:00:00Z');
  const store = memoryStore<LoginBudgetRecord>();
  const open = () => new LoginBudget(store, clock, QUICK_HASH);
  const home = {
    clock,
    store,
    budget: open(),
    restart() {
      home.budget = open();
    },
    isFree: async (credentials = MINE) => (await home.budget.inForce(credentials)) === null,
    refused: async (refusal: LoginRefused, credentials: string) =>
      (await home.budget.begin(credentials)).refused(refusal),
    granted: async () => (await home.budget.begin(MINE)).granted(),
    /** Granted, and the API accepts the tokens. */
    accepted: async () => {
      await home.granted();
      await home.budget.useful();
    },
    /** Refuses so many times, each as soon as it may be tried. */
    async refuse(times: number): Promise<void> {
      for (let count = 0; count < times; count += 1) {
        const { nextAttemptAt } = store.kept ?? {};
        if (nextAttemptAt) clock.advance(Math.max(0, nextAttemptAt - clock.now()));
        await home.refused(bad, MINE);
      }
    },
  };
  return home;
}
