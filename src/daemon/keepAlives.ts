// Keeps the session of every account from lapsing, where the configuration wants it.
import { type KeepAlive, startKeepAlive } from '../auth/keepAlive.ts';
import type { Session } from '../auth/session.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import type { AccountRuntime } from './account.ts';
import type { Turns } from './turns.ts';

export interface KeepAlives {
  /** Tells that the account may have new tokens. */
  wake(account: string): void;
  stop(): Promise<void>;
}

export interface KeepAlivesParts {
  readonly config: Config;
  readonly accounts: readonly AccountRuntime[];
  /** Shared with the polls. */
  readonly turns: Turns;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

export function startKeepAlives({
  config,
  accounts,
  turns,
  clock,
  log,
  random,
}: KeepAlivesParts): KeepAlives {
  const wanted = config.provider?.keep_alive ? accounts : [];
  const started = new Map<string, KeepAlive>();
  let isStopping = false;

  function inTurn({ held, renew }: Session): Pick<Session, 'held' | 'renew'> {
    return {
      held,
      async renew() {
        const due = await held();
        await turns.take(async () => {
          // A poll may have refreshed it while it waited.
          if (!isStopping && (await held()) === due) await renew();
        });
      },
    };
  }

  for (const { id, upstream } of wanted) {
    const session = inTurn(upstream.session);
    started.set(id, startKeepAlive(session, clock, log.child({ account: id }), random));
  }
  return {
    wake: (account) => started.get(account)?.wake(),
    async stop() {
      isStopping = true;
      await Promise.all([...started.values()].map((one) => one.stop()));
    },
  };
}
