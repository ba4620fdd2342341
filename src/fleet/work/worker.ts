// Works on the accounts that are due, a few at a time: takes their jobs, claims them, runs them, publishes, and settles.
import { Failure, safeWords } from '../../foundation/failure.ts';
import { ThrottledLog } from '../../foundation/limits.ts';
import type { Link } from '../../mqtt/link.ts';
import type { OutboxRow } from '../../store/database/claimedState.ts';
import { type Claim, FenceLost, GIVEN_BACK } from '../../store/database/claims.ts';
import type { Statements } from '../../store/database/database.ts';
import { type RunParts, runAccount } from './accountRun.ts';
import { FleetPaused } from './budget.ts';
import type { Job, Jobs } from './jobs.ts';

interface Parts extends RunParts {
  readonly jobs: Jobs;
  readonly link: Pick<Link, 'send' | 'status'>;
  readonly claimSeconds: number;
}

interface Running {
  readonly job: Job;
  readonly claim: Claim;
  readonly done: Promise<void>;
}

// The engine's own workers look no more often.
const LOOK_MS = 500;
const AGAIN_SECONDS = 2;
const AFTER_A_BUG_SECONDS = 60;
const RENEWALS = 6;

/** Counts since the start of the process. */
export class RunCounters {
  runs = 0;
  /** Dropped because another process had the account by then. */
  fencesLost = 0;
  /** Dropped because the provider had asked for a pause. */
  paused = 0;
}

export class Worker {
  readonly counters = new RunCounters();
  readonly #parts: Parts;
  readonly #running = new Set<Running>();
  readonly #stopping = new AbortController();
  readonly #throttledLog: ThrottledLog;
  readonly #loops: Promise<unknown>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#throttledLog = new ThrottledLog(parts.context.clock);
    this.#loops = Promise.all([this.#work(), this.#renew()]);
  }

  get underWay(): number {
    return this.#running.size;
  }

  /** What is under way may come to its end within `graceMs`; the rest is left to others. */
  async stop(graceMs: number): Promise<void> {
    const { context } = this.#parts;
    this.#stopping.abort();
    const ended = Promise.all([...this.#running].map(({ done }) => done));
    await Promise.race([ended, context.clock.sleep(graceMs)]);
    for (const { claim } of this.#running) claim.end(new FenceLost());
    await ended;
    await this.#loops;
  }

  async #work(): Promise<void> {
    const { context, link, budget } = this.#parts;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const free = context.config.usage.concurrency - this.#running.size;
      // What could not be published would keep the account from others.
      const mayWork = free > 0 && link.status().connected && budget.pausedMs() === 0;
      const taken = mayWork ? await this.#take(free) : 0;
      // Jobs that are waiting are taken as soon as there is room.
      if (taken < free || free <= 0) await this.#rest();
    }
  }

  /** Until it is time to look again, or a run has ended. */
  async #rest(): Promise<void> {
    const awake = new AbortController();
    const wake = () => awake.abort();
    const sleeping = this.#parts.context.clock.sleep(LOOK_MS, awake.signal);
    this.#stopping.signal.addEventListener('abort', wake, { once: true });
    const isFull = this.#running.size >= this.#parts.context.config.usage.concurrency;
    if (isFull) void Promise.race([...this.#running].map(({ done }) => done)).then(wake);
    await sleeping;
    this.#stopping.signal.removeEventListener('abort', wake);
  }

  /** Resolves to the number of jobs taken. Never rejects. */
  async #take(most: number): Promise<number> {
    const { claims, database, jobs } = this.#parts;
    let raised: readonly Claim[] = [];
    try {
      // Together: whoever ends in between has neither, and the account does not wait for a process that is gone.
      const taken = await database.transaction(async (sql) => {
        const found = await jobs.take(most, sql);
        if (found.length > 0)
          raised = await claims.raise(
            found.map(({ account }) => account),
            sql,
          );
        for (const job of found)
          if (!raised.some(({ account }) => account === job.account)) await this.#leave(job, sql);
        return found;
      });
      for (const claim of raised) {
        const job = taken.find(({ account }) => account === claim.account);
        if (job !== undefined) this.#begin(job, claim);
      }
      return taken.length;
    } catch (err) {
      for (const claim of raised) claims.forget(claim);
      this.#tell(err);
      return 0;
    }
  }

  /** Somebody else has the account, such as a command; or it is gone. */
  async #leave(job: Job, sql: Statements): Promise<void> {
    const [known] = await sql.query('SELECT id FROM heat2mqtt.account WHERE id = $1', [job.account]);
    await this.#parts.jobs.settle(job, known ? AGAIN_SECONDS : null, false, sql);
  }

  #begin(job: Job, claim: Claim): void {
    const running: Running = {
      job,
      claim,
      done: this.#run(job, claim).finally(() => {
        this.#parts.claims.forget(claim);
        this.#running.delete(running);
      }),
    };
    this.#running.add(running);
  }

  /** Never rejects. */
  async #run(job: Job, claim: Claim): Promise<void> {
    const { context, budget } = this.#parts;
    try {
      const isFirstHistory = await runAccount(claim, this.#parts);
      const last = await this.#publish(claim);
      await this.#settle(job, claim, { isFirstHistory, last });
      this.counters.runs += 1;
    } catch (err) {
      const why = claim.signal.aborted ? claim.signal.reason : err;
      if (why instanceof FenceLost) {
        this.counters.fencesLost += 1;
        context.log.debug({ account: claim.account }, 'run dropped: the account is no longer ours');
      } else if (why instanceof FleetPaused) this.counters.paused += 1;
      else if (why instanceof Failure) this.#tell(why, claim.account);
      else context.log.error({ account: claim.account, err: why }, 'run failed unexpectedly');
      // As if it had not been: the account is due again, after the pause if there is one.
      const usual = why instanceof Failure ? AGAIN_SECONDS : AFTER_A_BUG_SECONDS;
      const seconds = why instanceof FleetPaused ? budget.pausedMs() / 1000 : usual;
      await this.#settle(job, claim, { againAfter: seconds }).catch(() => undefined);
    }
  }

  /** Resolves to the last row that the broker has acknowledged; `null`: some have to wait for the next claim. */
  async #publish(claim: Claim): Promise<number | null> {
    const { database, link, context } = this.#parts;
    const rows = await database.query<OutboxRow>(
      'SELECT id, topic, payload, retain FROM heat2mqtt.outbox WHERE account = $1 ORDER BY id',
      [claim.account],
    );
    claim.check();
    try {
      await link.send(rows);
      return rows.at(-1)?.id ?? 0;
    } catch (err) {
      context.log.info(
        { account: claim.account, ...safeWords(err) },
        'not published yet: the next run does it',
      );
      return null;
    }
  }

  /** Ends the claim, and plans the next run. Rejects with FenceLost, or with DatabaseTrouble. */
  async #settle(
    job: Job,
    claim: Claim,
    how: { readonly isFirstHistory: boolean; readonly last: number | null } | { readonly againAfter: number },
  ): Promise<void> {
    const { database, jobs } = this.#parts;
    const { account, row } = claim;
    const isDone = 'last' in how && how.last !== null;
    await database.transaction(async (sql) => {
      const [found] = await sql.query<{ after: number }>(
        `UPDATE heat2mqtt.account SET ${GIVEN_BACK} WHERE id = $1 AND fence = $2
        RETURNING greatest(0, extract(epoch FROM due_at - now()))::float8 AS after`,
        [account, row.fence],
      );
      if (found === undefined) throw new FenceLost();
      if (isDone)
        await sql.query('DELETE FROM heat2mqtt.outbox WHERE account = $1 AND id <= $2', [account, how.last]);
      if (isDone && row.removed) await sql.query('DELETE FROM heat2mqtt.account WHERE id = $1', [account]);
      const isOver = isDone && (row.removed || row.paused);
      const after = isDone ? found.after : 'againAfter' in how ? how.againAfter : AGAIN_SECONDS;
      await jobs.settle(job, isOver ? null : after, 'isFirstHistory' in how && how.isFirstHistory, sql);
    });
  }

  /** Keeps what is under way, for as long as it takes. */
  async #renew(): Promise<void> {
    const { context, claims, jobs, claimSeconds } = this.#parts;
    while (!this.#stopping.signal.aborted || this.#running.size > 0) {
      await context.clock.sleep((claimSeconds * 1000) / RENEWALS, this.#stopping.signal);
      if (this.#stopping.signal.aborted) await context.clock.sleep(LOOK_MS);
      await Promise.all([
        claims.renew(),
        jobs.touch([...this.#running].filter(({ claim }) => !claim.signal.aborted).map(({ job }) => job)),
      ]).catch((err) => this.#tell(err));
    }
  }

  #tell(err: unknown, account?: string): void {
    this.#throttledLog.write(safeWords(err).code, (more) =>
      this.#parts.context.log.warn(
        { ...more, ...(account === undefined ? {} : { account }), ...safeWords(err) },
        'the fleet met a fault: tried again',
      ),
    );
  }
}
