// A login budget on a store in memory, under a clock that the test moves.

import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import type { Grant } from '../../src/auth/tokens.ts';
import type { Failure } from '../../src/foundation/failure.ts';
import type { LoginBudgetRecord } from '../../src/store/documents.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { QUICK_HASH } from './account.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const MINE = 'me / my password';
export const OTHER = 'me / my new password';
export const bad = new LoginRefused(REFUSALS.badCredentials);

const GRANT: Grant = {
  accessToken: 'a',
  refreshToken: 'r',
  expiresInSeconds: 1800,
  refreshExpiresInSeconds: null,
};

export type BudgetHome = ReturnType<typeof openBudget>;

export function openBudget() {
  const clock = handClock('2026-03-10T12:00:00Z');
  const store = memoryStore<LoginBudgetRecord>();
  const { log } = logLines();
  const open = () => new LoginBudget(store, clock, log, { scryptCost: QUICK_HASH });
  const home = {
    clock,
    store,
    budget: open(),
    restart() {
      home.budget = open();
    },
    isFree: async (credentials = MINE) => (await home.budget.inForce(credentials)) === null,
    refused: async (refusal: Failure, credentials = MINE): Promise<void> => {
      await home.budget.attempt(credentials, () => Promise.reject(refusal)).catch(() => undefined);
    },
    granted: async (credentials = MINE): Promise<void> => {
      await home.budget.attempt(credentials, async () => GRANT);
    },
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
