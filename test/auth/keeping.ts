// A session that is kept alive, and when it asked the issuer for tokens.
import { look } from '../simulator/visitor.ts';
import { type Account, openAccount } from './account.ts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

/** With sessions that outlast every test, unless it says otherwise. */
export async function openLongAccount(): Promise<Account> {
  const account = await openAccount();
  account.simulator.switches.token.sessionMaxSeconds = 10 * 86_400;
  return account;
}

/** Times of the token requests so far, and the time between one grant and the next. */
export function grants({ simulator }: Account): { at: number[]; gaps: number[] } {
  const at = simulator.requests
    .filter(({ body }) => look(body, 'grant_type') !== undefined)
    .map((request) => request.at);
  return { at, gaps: at.slice(1).map((time, index) => time - (at[index] ?? 0)) };
}

/** Numbers that look drawn, the same in each run. */
function drawn(): () => number {
  let seed = 17;
  return () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}

export async function loggedIn(account: Account, random: () => number = drawn()) {
  const running = account.start();
  await running.session.accessToken();
  return { ...running, alive: running.keepAlive(random) };
}
