// What was done when for each account: counts of the local day, and the polls that went well; kept over restarts.
import type { Day, Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import { type AccountRecord, journalCodec } from '../../store/documents.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import { openUpkeep, type Upkeep } from '../publishing/autosave.ts';

export interface Journal {
  /** Each account has a page of its own. */
  page(account: string): JournalPage;
}

export interface JournalPage {
  countRequest(): void;
  countLogin(): void;
  /** `code` of what went wrong; `null`: nothing did. */
  notePoll(code: string | null): void;
  /** The provider has been asked for the account's properties. */
  noteDiscovery(): void;
  today(): { readonly requests: number; readonly logins: number };
  /** Epoch milliseconds. */
  readonly lastPollAt: number | null;
  readonly lastSuccessAt: number | null;
  readonly discoveredAt: number | null;
  /** What has been noted is worth writing down. */
  save(): void;
  /** Resolves once everything worth it is on the disk, or could not be written. */
  saved(): Promise<void>;
}

const NEWEST_POLLS = 12;
const UNWRITTEN: Omit<AccountRecord, 'day'> = {
  requestsToday: 0,
  loginsToday: 0,
  lastPollAt: null,
  lastSuccessAt: null,
  discoveredAt: null,
  polls: [],
};

/** One document for all: thousands of accounts would write thousands of small files with each poll. */
export async function openJournal(
  state: StateDirectory,
  zone: Zone,
  clock: Clock,
  log: Log,
): Promise<Journal> {
  // What a power cut takes back is at most a count of this day and one poll.
  const document = state.document('journal', journalCodec);
  const stored = new Map(Object.entries((await document.read())?.accounts ?? {}));
  const pages = new Map<string, Page>();
  const upkeep = openUpkeep(
    () =>
      document
        .write({ accounts: Object.fromEntries([...pages].map(([account, { record }]) => [account, record])) })
        .catch((err) => log.error({ err }, 'journal could not be saved')),
    clock,
  );
  const today = () => zone.dayAt(clock.now());
  return {
    page(account) {
      const record = stored.get(account) ?? { ...UNWRITTEN, day: today() };
      const page = new Page(record, { today, clock, upkeep });
      pages.set(account, page);
      return page;
    },
  };
}

interface Desk {
  readonly today: () => Day;
  readonly clock: Clock;
  readonly upkeep: Upkeep;
}

class Page implements JournalPage {
  record: AccountRecord;
  readonly desk: Desk;

  constructor(record: AccountRecord, desk: Desk) {
    this.record = record;
    this.desk = desk;
  }

  #turn(): void {
    const day = this.desk.today();
    if (day !== this.record.day) this.record = { ...this.record, day, requestsToday: 0, loginsToday: 0 };
  }

  countRequest(): void {
    this.#turn();
    this.record = { ...this.record, requestsToday: this.record.requestsToday + 1 };
  }

  countLogin(): void {
    this.#turn();
    this.record = { ...this.record, loginsToday: this.record.loginsToday + 1 };
  }

  notePoll(code: string | null): void {
    const lastPollAt = this.desk.clock.now();
    const lastSuccessAt = code === null ? lastPollAt : this.record.lastSuccessAt;
    const polls = [...this.record.polls, [lastPollAt, code] satisfies [number, string | null]];
    this.record = { ...this.record, lastPollAt, lastSuccessAt, polls: polls.slice(-NEWEST_POLLS) };
  }

  noteDiscovery(): void {
    this.record = { ...this.record, discoveredAt: this.desk.clock.now() };
  }

  today(): { readonly requests: number; readonly logins: number } {
    this.#turn();
    return { requests: this.record.requestsToday, logins: this.record.loginsToday };
  }

  get lastPollAt(): number | null {
    return this.record.lastPollAt;
  }

  get lastSuccessAt(): number | null {
    return this.record.lastSuccessAt;
  }

  get discoveredAt(): number | null {
    return this.record.discoveredAt;
  }

  save(): void {
    this.desk.upkeep.changed();
  }

  saved(): Promise<void> {
    return this.desk.upkeep.saved();
  }
}
