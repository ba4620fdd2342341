// Which tokens the issuer has seen and granted, beside what the state directory holds of them after a crash.
import { readFile } from 'node:fs/promises';
import type { Simulator } from '../../src/simulator/provider.ts';

// The session judges a pair by a margin, and is not read at the instant of the start.
const LAPSING_MS = 2_500;

export function watchTokens(simulator: Simulator, file: string) {
  const used = new Set<string>();
  let askedAt = 0;
  let waiting: { readonly path: RegExp; readonly told: () => void } | null = null;
  const { counters, switches } = simulator;
  // A fault that never happens: its condition sees every request as it comes, in full.
  switches.fault(
    '/',
    { kind: 'reset' },
    {
      when({ path, body }) {
        const token = (body as { refresh_token?: unknown } | undefined)?.refresh_token;
        if (typeof token === 'string') used.add(token);
        if (path.endsWith('/token')) askedAt = performance.now();
        if (waiting?.path.test(path)) {
          const { told } = waiting;
          waiting = null;
          told();
        }
        return false;
      },
    },
  );
  return {
    /** Logins asked for so far. */
    get logins() {
      return counters.passwordGrants.asked;
    },
    get refreshes() {
      return counters.refreshGrants.ok;
    },
    /** Pairs granted by login or refresh. */
    get grants() {
      return counters.passwordGrants.ok + counters.refreshGrants.ok;
    },
    /** `performance.now()` of the newest request for tokens. */
    get askedAt() {
      return askedAt;
    },
    /** What a restart finds: a good pair, none, one that has served already, or one that has lapsed. */
    async kept(): Promise<'good' | 'none' | 'spent' | 'lapsed'> {
      const text = await readFile(file, 'utf8').catch(() => null);
      if (text === null) return 'none';
      const { refreshToken, refreshExpiresAt } = JSON.parse(text).value;
      if (used.has(refreshToken)) return 'spent';
      return refreshExpiresAt - Date.now() < LAPSING_MS ? 'lapsed' : 'good';
    },
    /** Calls back once, as soon as such a request has come. */
    onRequest(path: RegExp, told: () => void): void {
      waiting = { path, told };
    },
  };
}
