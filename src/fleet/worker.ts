// Works on the accounts that are due, a few at a time: claims them, runs them, and gives them back.
import { Failure, safeWords } from '../foundation/failure.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import { backOffMs } from '../foundation/retry.ts';
import type { Link } from '../mqtt/link.ts';
import { type KeptRow, readKept } from '../store/database/accountState.ts';
import { type Claim, type Columns, type End, FenceLost } from '../store/database/claims.ts';
import { DatabaseTrouble } from '../store/database/database.ts';
import { FleetPaused } from './pace.ts';
import { failureColumns, type RunParts, runAccount } from './run.ts';

interface Parts extends RunParts {
  readonly link: Pick<Link, 'send' | 'status'>;
  readonly claimSeconds: number;
}

const LOOK_MS = 500;
/** Several that have become free are taken by one statement. */
const GATHER_MS = 30;
const AGAIN_MS = 2_000;
const RENEWALS = 6;
/** While others are overdue, first histories have this part of what a process does at once. */
const SHARE_OF_FIRST_HISTORIES = 0.25;

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
  readonly #running = new Map<Claim, Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #throttledLog: ThrottledLog;
  readonly #loops: Promise<unknown>;
  /** The last look found more than there was room for. */
  #isCrowded = false;

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
    this.#stopping.abort();
    const ended = Promise.all(this.#running.values());
    await Promise.race([ended, this.#parts.context.clock.sleep(graceMs)]);
    for (const claim of this.#running.keys()) claim.end();
    await ended;
    await this.#loops;
  }

  async #work(): Promise<void> {
    const { context, link, pace } = this.#parts;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const free = context.config.usage.concurrency - this.#running.size;
      // What could not be published would keep the account from others.
      const mayWork = free > 0 && link.status().connected && pace.pausedMs() === 0;
      const taken = mayWork ? await this.#take(free) : 0;
      await context.clock.sleep(taken > 0 || free === 0 ? GATHER_MS : LOOK_MS, signal);
    }
  }

  /** Resolves to the number of accounts taken. Never rejects. */
  async #take(free: number): Promise<number> {
    const { claims, context, opened } = this.#parts;
    const share = Math.max(1, Math.floor(context.config.usage.concurrency * SHARE_OF_FIRST_HISTORIES));
    const fresh = [...this.#running.keys()].filter(({ row }) => row.first_history).length;
    const mostFresh = this.#isCrowded ? Math.min(free, Math.max(0, share - fresh)) : free;
    try {
      const taken = await claims.take(free, mostFresh);
      this.#isCrowded = taken.length === free;
      if (taken.length === 0) return 0;
      const kept = readKept(
        opened.database,
        taken.map(({ account }) => account),
      );
      for (const claim of taken) this.#running.set(claim, this.#run(claim, kept));
      return taken.length;
    } catch (err) {
      this.#tell(err);
      return 0;
    }
  }

  /** `kept`: of all accounts that were taken together. Never rejects. */
  async #run(claim: Claim, kept: Promise<readonly KeptRow[]>): Promise<void> {
    const { context, claims } = this.#parts;
    const { account, signal } = claim;
    try {
      const own = (await kept).filter((row) => row.account === account);
      await runAccount(claim, own, this.#parts);
      this.counters.runs += 1;
    } catch (err) {
      const why = signal.aborted ? signal.reason : err;
      if (why instanceof FenceLost) {
        this.counters.fencesLost += 1;
        context.log.debug({ account }, 'run dropped: the account is no longer ours');
        return;
      }
      if (why instanceof FleetPaused) this.counters.paused += 1;
      else if (why instanceof Failure) this.#tell(why, account);
      else context.log.error({ account, err: why }, 'run failed unexpectedly');
      // A claim that cannot be given back ends by itself.
      await claims.giveBack(claim, ...this.#after(claim, why)).catch(() => undefined);
    } finally {
      claims.forget(claim);
      this.#running.delete(claim);
    }
  }

  /** What is no failure of the account is as if it had not been; anything else counts, and the account waits longer each time. */
  #after({ row }: Claim, why: unknown): [End, Columns] {
    const { clock, random } = this.#parts.context;
    const { answered, republished } = row;
    const inMs = (ms: number) => new Date(clock.now() + ms);
    if (why instanceof FleetPaused)
      return [{ dueAt: inMs(why.retryAfterMs ?? 0), answered, republished }, {}];
    if (why instanceof DatabaseTrouble) return [{ dueAt: inMs(AGAIN_MS), answered, republished }, {}];
    const dueAt = inMs(backOffMs(why, row.failures + 1, random));
    const columns = failureColumns(why, row, clock.now());
    return [
      { dueAt, answered: row.wanted, republished: row.republish },
      { ...columns, poll_at: dueAt, last_poll_at: inMs(0) },
    ];
  }

  /** Keeps what is under way, for as long as it takes. */
  async #renew(): Promise<void> {
    const { context, claims, claimSeconds } = this.#parts;
    while (!this.#stopping.signal.aborted || this.#running.size > 0) {
      await context.clock.sleep((claimSeconds * 1000) / RENEWALS, this.#stopping.signal);
      if (this.#stopping.signal.aborted) await context.clock.sleep(LOOK_MS);
      await claims.renew().catch((err) => this.#tell(err));
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
