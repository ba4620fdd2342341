// The simulated provider, an access token for it, and the ask that the tests of this folder use.
import { onTestFinished } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { type Ask, type AskOptions, createAsk } from '../../src/provider/request.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { claimsOf, login, look } from '../simulator/visitor.ts';
import { handClock } from '../support/clock.ts';

export type Provider = Awaited<ReturnType<typeof openProvider>>;

export async function openProvider({
  at = '2026-03-10T12:00:00Z',
  accounts,
}: {
  at?: string;
  accounts?: readonly AccountOptions[];
} = {}) {
  const clock = handClock(at);
  const simulator = await startSimulator({ clock, ...(accounts ? { accounts } : {}) });
  onTestFinished(() => simulator.stop());
  // One token for as long as a test moves its clock.
  simulator.switches.token.accessSeconds = 20 * 366 * 86_400;
  const { username, password } = accounts?.[0] ?? { username: 'me@example.org', password: 'demo' };
  const granted = await login(simulator, { username, password });
  const token = String(look(granted, 'access_token'));
  /** Each request as the daemon counts it. */
  const seen: { ms: number; ok: boolean }[] = [];
  const { send } = createHttpClient(clock, (one) => void seen.push(one));
  const open = (changes: Partial<AskOptions> = {}): Ask =>
    createAsk({
      baseUrl: simulator.urls.api,
      timeoutSeconds: 30,
      send,
      clock,
      accessToken: async () => token,
      ...changes,
    });
  return {
    clock,
    simulator,
    token,
    /** Whose token it is. */
    customerCode: String(claimsOf(granted).customer_code),
    seen,
    ask: open(),
    open,
    /** Waits until so many requests below a path have arrived. */
    async arrived(path: string, times = 1) {
      const count = () => simulator.requests.filter((one) => one.path.startsWith(path)).length;
      while (count() < times) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
