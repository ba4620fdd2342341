// Keeps the session of every account from lapsing, where the configuration wants it.
import { type KeepAlive, startKeepAlive } from '../auth/keepAlive.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import type { AccountRuntime } from './account.ts';

export interface KeepAlives {
  /** Tells that the account may have new tokens. */
  wake(account: string): void;
  stop(): Promise<void>;
}

export interface KeepAlivesParts {
  readonly config: Config;
  readonly accounts: readonly AccountRuntime[];
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

export function startKeepAlives({ config, accounts, clock, log, random }: KeepAlivesParts): KeepAlives {
  const wanted = config.provider?.keep_alive ? accounts : [];
  const started = new Map<string, KeepAlive>();
  for (const { id, upstream } of wanted) {
    started.set(id, startKeepAlive(upstream.session, clock, log.child({ account: id }), random));
  }
  return {
    wake: (account) => started.get(account)?.wake(),
    async stop() {
      await Promise.all([...started.values()].map((one) => one.stop()));
    },
  };
}
