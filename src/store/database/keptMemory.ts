// The documents of accounts that this process has given back, kept in memory: as long as no other process has had one since, which its fence tells, it
// need not be read again. Of the newest only, since the days of thousands of accounts would fill the memory.
import type { ClaimedRow } from './claimedRow.ts';
import type { Database } from './database.ts';
import { Kept, readKept } from './kept.ts';
import type { Seal } from './seal.ts';

const MOST_ACCOUNTS = 1_000;
/** Some 40 MB. */
const MOST_DAYS = 100_000;

interface Remembered {
  readonly kept: Kept;
  /** Of the row, once it was given back. */
  readonly fence: number;
  readonly days: number;
}

export class KeptMemory {
  /** A UUID. */
  readonly process: string;
  /** By account; the one that was given back longest ago comes first. */
  readonly #all = new Map<string, Remembered>();
  #days = 0;

  constructor(process: string) {
    this.process = process;
  }

  /** `fence`: that of the row now. */
  remember(account: string, fence: number, kept: Kept): void {
    this.#forget(account);
    const days = kept.countDays();
    this.#all.set(account, { kept, fence, days });
    this.#days += days;
    for (const oldest of this.#all.keys()) {
      if (this.#all.size <= MOST_ACCOUNTS && this.#days <= MOST_DAYS) return;
      this.#forget(oldest);
    }
  }

  /** Begins to read what is kept of accounts that were just claimed, but for what is remembered. */
  read(
    rows: readonly ClaimedRow[],
    { database, seal }: { readonly database: Database; readonly seal: Seal },
  ): (row: ClaimedRow) => Promise<Kept> {
    const remembered = new Map(rows.map((row) => [row.id, this.take(row)]));
    const others = rows.map(({ id }) => id).filter((id) => remembered.get(id) === null);
    const reading = others.length > 0 ? readKept(database, others) : Promise.resolve([]);
    // Opening a claim tells of a failure; this only avoids an unhandled rejection.
    reading.catch(() => undefined);
    return async ({ id, repair, removed }) => {
      const kept = remembered.get(id) ?? new Kept(id, seal, repair || removed);
      if (others.includes(id)) kept.load(await reading);
      return kept;
    };
  }

  /** Of an account that was just claimed; `null`: it has to be read. It is remembered no longer, since the run will change it. */
  take({ id, fence, kept_by, wanted, repair, removed }: ClaimedRow): Kept | null {
    const remembered = this.#all.get(id);
    this.#forget(id);
    // An account that was removed and comes back begins with the first fence again.
    const isContinued = remembered?.fence === fence - 1 && kept_by === this.process;
    // A person who asks for a poll may have put something right by hand.
    const isAskedFor = wanted > 0 || repair || removed;
    return isContinued && !isAskedFor ? remembered.kept : null;
  }

  #forget(account: string): void {
    this.#days -= this.#all.get(account)?.days ?? 0;
    this.#all.delete(account);
  }
}
