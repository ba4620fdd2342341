// The standing job of each account: when it runs next, and who runs it. The only door to pg-boss.
import { type JobAttempt, PgBoss } from 'pg-boss';
import type { Clock } from '../../foundation/clock.ts';
import { concurrencyLimit, ThrottledLog } from '../../foundation/limits.ts';
import type { Log } from '../../foundation/log.ts';
import type { Database, Statements } from '../../store/database/database.ts';
import { ENGINE_SCHEMA } from '../../store/database/migrations.ts';

/** One run of the job of an account; it names the attempt, so that whoever comes late settles nothing. */
export interface Job extends JobAttempt {
  readonly account: string;
}

const QUEUE = 'account';
const BATCH = 1_000;
/** Of the connections to the database some are left for the claims. */
const AT_ONCE = 5;
// Unlike the daily ones, a first history takes many requests.
const FIRST_HISTORY_PRIORITY = -1;
const DAY_SECONDS = 86_400;

interface Data {
  readonly account: string;
}

export class Jobs {
  readonly #boss: PgBoss;

  /** `supervise`: jobs of processes that are not heard of for `claimSeconds` are given to others. */
  static async open(
    database: Database,
    options: { readonly claimSeconds: number; readonly supervise: boolean; readonly isOwner: boolean },
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ): Promise<Jobs> {
    const { claimSeconds, supervise, isOwner } = options;
    const throttledLog = new ThrottledLog(clock);
    const boss = new PgBoss({
      db: adapterOf(database),
      schema: ENGINE_SCHEMA,
      migrate: isOwner,
      createSchema: isOwner,
      supervise,
      schedule: false,
      superviseIntervalSeconds: Math.ceil(claimSeconds / 10),
      monitorIntervalSeconds: Math.ceil(claimSeconds / 10),
      warningQueueSize: Number.MAX_SAFE_INTEGER,
    });
    // An error without a listener would end the process.
    boss.on('error', (err) =>
      throttledLog.write('engine', (more) =>
        log.warn({ ...more, err }, 'the engine of the jobs met an error'),
      ),
    );
    boss.on('warning', ({ message }) => log.debug({ message }, 'the engine of the jobs warns'));
    await boss.start();
    if (isOwner || (await boss.getQueue(QUEUE)) === null) {
      const queue = {
        heartbeatSeconds: claimSeconds,
        expireInSeconds: DAY_SECONDS - 1,
        retentionSeconds: 365 * DAY_SECONDS,
        deleteAfterSeconds: 3_600,
        // A run that failed settles its job itself. These are for processes that died.
        retryLimit: 1_000_000,
        retryDelay: 1,
        retryBackoff: true,
        retryDelayMax: claimSeconds,
      };
      // With `exclusive` there is one for each account, whatever is sent.
      await boss.createQueue(QUEUE, { policy: 'exclusive', ...queue });
      await boss.updateQueue(QUEUE, queue);
    }
    return new Jobs(boss);
  }

  private constructor(boss: PgBoss) {
    this.#boss = boss;
  }

  /** Those that are due, at most so many. Within the transaction of `sql`. */
  async take(most: number, sql: Statements): Promise<Job[]> {
    const jobs = await this.#boss.fetch<Data>(QUEUE, { batchSize: most, db: adapterOf(sql) });
    return jobs.map(({ id, retryCount, data }) => ({ id, retryCount, account: data.account }));
  }

  async touch(jobs: readonly Job[]): Promise<void> {
    if (jobs.length > 0) await this.#boss.touch(QUEUE, jobs.map(attemptOf));
  }

  /** Ends this run; `afterSeconds`: until the next one, `null`: there is none. Within the transaction of `sql`. */
  async settle(
    job: Job,
    afterSeconds: number | null,
    isFirstHistory: boolean,
    sql: Statements,
  ): Promise<void> {
    const db = adapterOf(sql);
    await this.#boss.complete(QUEUE, attemptOf(job), null, { db });
    if (afterSeconds === null) return;
    await this.#boss.send(
      QUEUE,
      { account: job.account },
      {
        singletonKey: job.account,
        startAfter: Math.max(1, Math.ceil(afterSeconds)),
        ...(isFirstHistory ? { priority: FIRST_HISTORY_PRIORITY } : {}),
        db,
      },
    );
  }

  /** The accounts are due now. One that is under way is not disturbed: whoever works on it looks for what is wanted. */
  async wake(accounts: readonly string[]): Promise<void> {
    const together = concurrencyLimit(AT_ONCE);
    const wake = (account: string) =>
      this.#boss.upsert(QUEUE, { account }, { singletonKey: account, startAfter: 0 });
    await Promise.all(accounts.map((account) => together(() => wake(account))));
  }

  /** Jobs for accounts that have none yet, or have lost theirs; due now. */
  async add(accounts: readonly string[]): Promise<void> {
    for (let at = 0; at < accounts.length; at += BATCH)
      await this.#boss.insert(
        QUEUE,
        accounts.slice(at, at + BATCH).map((account) => ({
          data: { account },
          singletonKey: account,
          priority: FIRST_HISTORY_PRIORITY,
        })),
      );
  }

  async stop(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false });
  }
}

const attemptOf = ({ id, retryCount }: Job): JobAttempt => ({ id, retryCount });

const adapterOf = (sql: Statements) => ({
  executeSql: async (text: string, values?: unknown[]) => ({ rows: await sql.plain(text, values) }),
});
