// A command beside the processes of a fleet: which account it is about, and the way to its state and to the provider.
import type { Account, Fleet } from '../../config/schema.ts';
import type { Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import type { Log, Scrubber } from '../../foundation/log.ts';
import type { Gate } from '../../http/client.ts';
import { SharedClock } from '../../store/database/database.ts';
import { VisitedState } from '../../store/database/visitedState.ts';
import { type FleetHealth, readHealth } from '../members/status.ts';
import { type OpenFleet, openFleet } from '../open.ts';
import { countWords } from '../words.ts';
import { accountOf, type Login, loginPlace } from '../work/accountRun.ts';
import { Budget } from '../work/budget.ts';
import { openGates } from '../work/gates.ts';

class NoSuchAccount extends Failure {
  readonly code = 'no_such_account';
  readonly exitCode = EXIT.usage;

  constructor(option: unknown, accounts: number) {
    const found = option === undefined ? 'nothing' : String(option).slice(0, 40);
    const allowed = `the id of one of the ${countWords(accounts, 'account')} of the fleet`;
    super(
      accounts === 0 ? 'The fleet has no account yet.' : `--account: found ${found}; allowed: ${allowed}.`,
      {
        retry: 'never',
        hint: `\`heat2mqtt accounts ${accounts === 0 ? 'import FILE.csv` brings some' : 'list` prints them'}.`,
      },
    );
  }
}

/** One account of a fleet, for a command. */
export interface VisitedAccount {
  readonly account: Account;
  readonly state: VisitedState;
  /** The time of the database. */
  readonly clock: Clock;
  readonly gate: (to: 'issuer' | 'provider') => Gate;
  /** Its next run is due now: there is something new. */
  wake(): Promise<void>;
}

export interface Visit extends OpenFleet {
  /** The time of the database. */
  readonly clock: Clock;
  /** The account of `--account`; without the option the only one. Rejects with NoSuchAccount. */
  account(option: unknown): Promise<VisitedAccount>;
  health(zone: Zone): Promise<FleetHealth>;
}

/** `nodeVersion`: as `process.versions.node`. Rejects with a Failure. */
export async function visitFleet(
  fleet: Fleet,
  nodeVersion: string,
  given: {
    readonly clock: Clock;
    readonly log: Log;
    readonly scrubber: Scrubber;
    readonly interrupted: AbortSignal;
  },
): Promise<Visit> {
  const { log, scrubber, interrupted } = given;
  const clock = new SharedClock(given.clock);
  const opened = await openFleet(fleet, nodeVersion, false, { clock, log });
  const { database, seal, jobs } = opened;
  const { claim_seconds: claimSeconds, requests_per_second: perSecond } = fleet;
  const [row] = await database.query<{ now: number }>('SELECT clock_timestamp() AS now');
  if (row !== undefined) clock.set(row.now, clock.monotonic());
  return {
    ...opened,
    clock,
    health: (zone) => readHealth(database, { claimSeconds, zone, now: clock.now() }),
    async account(option) {
      const rows = await database.query<{ id: string; login: Buffer }>(
        'SELECT id, login FROM heat2mqtt.account WHERE NOT removed AND ($1::text IS NULL OR id = $1) LIMIT 2',
        [option === undefined ? null : String(option)],
      );
      const [found, another] = rows;
      if (found === undefined || another !== undefined) {
        const [counted] = await database.query<{ n: number }>(
          'SELECT count(*) AS n FROM heat2mqtt.account WHERE NOT removed',
        );
        throw new NoSuchAccount(option, counted?.n ?? 0);
      }
      const { id, login } = found;
      const state = new VisitedState({ account: id, database, seal, clock, claimSeconds, interrupted });
      const budget = new Budget(database, perSecond, clock);
      const parts = { claims: state.claims, budget, clock, log };
      return {
        account: accountOf(id, seal.open(loginPlace(id), login) as Login, scrubber),
        state,
        clock,
        gate: openGates(() => state.claim, interrupted, parts).gate,
        async wake() {
          await database.query('UPDATE heat2mqtt.account SET due_at = now(), poll_at = now() WHERE id = $1', [
            id,
          ]);
          await jobs.wake([id]);
        },
      };
    },
  };
}
