// Keeps the session of every account from lapsing, where the configuration wants it.
import { type KeepAlive, startKeepAlive } from '../../auth/keepAlive.ts';
import type { Session } from '../../auth/session.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import type { Turns } from './turns.ts';

export interface KeepAlivesParts {
  readonly config: Config;
  readonly accounts: readonly AccountRuntime[];
  /** Shared with the polls. */
  readonly turns: Turns;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

export function startKeepAlives(parts: KeepAlivesParts): KeepAlive {
  const { config, accounts, turns, clock, log, random } = parts;
  const wanted = config.provider?.keep_alive ? accounts : [];
  let isStopping = false;

  async function renewInTurn(session: Session): Promise<void> {
    const due = await session.held();
    await turns.take(async () => {
      // A poll may have refreshed it while it waited.
      if (!isStopping && (await session.held()) === due) await session.renew();
    });
  }

  const alive = startKeepAlive(
    wanted.map(({ id, upstream: { session } }) => ({
      id,
      session: { held: () => session.held(), renew: () => renewInTurn(session) },
      log: log.child({ account: id }),
    })),
    clock,
    random,
  );
  return {
    wake: alive.wake,
    async stop() {
      isStopping = true;
      await alive.stop();
    },
  };
}
