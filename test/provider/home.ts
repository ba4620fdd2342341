// The simulated provider, an access token for it, and the ask that the tests of this folder use.
import { onTestFinished } from 'vitest';
import { HttpClient } from '../../src/http/client.ts';
import { type Ask, type AskOptions, createAsk } from '../../src/provider/request.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { login, look } from '../simulator/visitor.ts';
import { type HandClock, handClock } from '../support/clock.ts';

export interface Provider {
  readonly clock: HandClock;
  readonly simulator: Simulator;
  readonly token: string;
  /** Whose token it is. */
  readonly customerCode: string;
  /** Each request as the daemon counts it. */
  readonly seen: { ms: number; ok: boolean }[];
  ask: Ask;
  open(changes?: Partial<AskOptions>): Ask;
  /** Waits until so many requests below a path have arrived. */
  arrived(path: string, times?: number): Promise<void>;
}

export interface ProviderOptions {
  readonly at?: string;
  readonly accounts?: readonly AccountOptions[];
}

export async function openProvider({ at = '2026-03-10T12:00:00Z', accounts }: ProviderOptions = {}) {
  const clock = handClock(at);
  const simulator = await startSimulator({ clock, ...(accounts ? { accounts } : {}) });
  onTestFinished(() => simulator.stop());
  // One token for as long as a test moves its clock.
  simulator.switches.token.accessSeconds = 20 * 366 * 86_400;
  const { username, password } = accounts?.[0] ?? { username: 'me@example.org', password: 'demo' };
  const granted = await login(simulator, { username, password });
  const token = String(look(granted.body, 'access_token'));
  const seen: Provider['seen'] = [];
  const { send } = new HttpClient(clock, (one) => void seen.push(one));
  const open = (changes: Partial<AskOptions> = {}) =>
    createAsk({
      baseUrl: simulator.urls.api,
      timeoutSeconds: 30,
      send,
      clock,
      accessToken: async () => token,
      ...changes,
    });
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  const provider: Provider = {
    clock,
    simulator,
    token,
    customerCode: String(claims.customer_code),
    seen,
    ask: open(),
    open,
    async arrived(path, times = 1) {
      const count = () => simulator.requests.filter((one) => one.path.startsWith(path)).length;
      while (count() < times) await new Promise((resolve) => setImmediate(resolve));
    },
  };
  return provider;
}
