// Which tokens the issuer has seen and granted, beside what the state directory holds of them after a crash.
import { readFile } from 'node:fs/promises';
import type { Simulator } from '../../src/simulator/provider.ts';

/** What a restart finds: a good pair, none, one that has served already, or one that has lapsed. */
export type Kept = 'good' | 'none' | 'spent' | 'lapsed';

export interface TokenWatch {
  /** Logins asked for, refreshes granted, and pairs granted by either, so far. */
  readonly logins: number;
  readonly refreshes: number;
  readonly grants: number;
  /** `performance.now()` of the newest request for tokens. */
  readonly askedAt: number;
  kept(): Promise<Kept>;
  /** Calls back once, as soon as such a request has come. */
  onRequest(path: RegExp, told: () => void): void;
}

// The session judges a pair by a margin, and is not read at the instant of the start.
const LAPSING_MS = 2_500;

export function watchTokens(simulator: Simulator, file: string): TokenWatch {
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
    get logins() {
      return counters.passwordGrants.asked;
    },
    get refreshes() {
      return counters.refreshGrants.ok;
    },
    get grants() {
      return counters.passwordGrants.ok + counters.refreshGrants.ok;
    },
    get askedAt() {
      return askedAt;
    },
    async kept() {
      const text = await readFile(file, 'utf8').catch(() => null);
      if (text === null) return 'none';
      const { refreshToken, refreshExpiresAt } = JSON.parse(text).value;
      if (used.has(refreshToken)) return 'spent';
      return refreshExpiresAt - Date.now() < LAPSING_MS ? 'lapsed' : 'good';
    },
    onRequest(path, told) {
      waiting = { path, told };
    },
  };
}
