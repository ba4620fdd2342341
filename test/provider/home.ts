// The simulated provider, an access token for it, and the ask that the tests of this folder use.
import { onTestFinished } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { type Ask, type AskOptions, createAsk } from '../../src/provider/request.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { login, look } from '../simulator/visitor.ts';
import { handClock } from '../support/clock.ts';

export type Provider = Awaited<ReturnType<typeof openProvider>>;

export async function openProvider(accounts?: readonly AccountOptions[]) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const simulator = await startSimulator({ clock, ...(accounts ? { accounts } : {}) });
  onTestFinished(() => simulator.stop());
  // One token for as long as a test moves its clock.
  simulator.switches.token.accessSeconds = 20 * 366 * 86_400;
  const { username, password } = accounts?.[0] ?? { username: 'me@example.org', password: 'demo' };
  const token = String(look(await login(simulator, username, password), 'access_token'));
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
    seen,
    ask: open(),
    open,
    /** Waits until a request below a path has arrived. */
    async arrived(path: string) {
      while (!simulator.requests.some((one) => one.path.startsWith(path)))
        await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
