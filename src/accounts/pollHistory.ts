// What was done when for each account: requests and logins of the local day, and the newest polls; kept over restarts.
import type { Day } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { Autosave } from '../store/autosave.ts';
import { type AccountRecord, journalCodec } from '../store/documents.ts';
import type { AccountContext } from './context.ts';

const DAY_MS = 24 * 3_600_000;
const NEWEST_POLLS = 12;
const NOTHING_YET: Omit<AccountRecord, 'day'> = {
  requestsToday: 0,
  loginsToday: 0,
  lastPollAt: null,
  lastSuccessAt: null,
  discoveredAt: null,
  searchedAt: null,
  rediscoveredAt: null,
  polls: [],
};

/** Opens the history of one account after the other. All are one document: a poll of a thousand accounts writes one file. */
export async function openPollHistories(
  context: Pick<AccountContext, 'state' | 'zone' | 'clock' | 'log'>,
): Promise<(account: string) => PollHistory> {
  const { state, zone, clock, log } = context;
  const document = state.document('journal', journalCodec);
  const stored = new Map(Object.entries((await document.read())?.accounts ?? {}));
  const histories = new Map<string, PollHistory>();
  const write = async () => {
    const accounts = Object.fromEntries([...histories].map(([account, { record }]) => [account, record]));
    await document.write({ accounts }).catch((err) => log.error({ err }, 'poll history could not be saved'));
  };
  const autosave = new Autosave(write, clock);
  const today = () => zone.dayAt(clock.now());
  return (account) => {
    const record = stored.get(account) ?? { ...NOTHING_YET, day: today() };
    const history = new PollHistory(record, today, clock, autosave);
    histories.set(account, history);
    return history;
  };
}

export class PollHistory {
  /** Its counts are those of its day: `today()` gives the current ones. */
  record: AccountRecord;
  readonly #today: () => Day;
  readonly #clock: Clock;
  readonly #autosave: Autosave;

  constructor(record: AccountRecord, today: () => Day, clock: Clock, autosave: Autosave) {
    this.record = record;
    this.#today = today;
    this.#clock = clock;
    this.#autosave = autosave;
  }

  countRequest(): void {
    this.#beginDay();
    this.record = { ...this.record, requestsToday: this.record.requestsToday + 1 };
  }

  countLogin(): void {
    this.#beginDay();
    this.record = { ...this.record, loginsToday: this.record.loginsToday + 1 };
  }

  /** `code` of what went wrong; `null`: nothing did. */
  notePoll(code: string | null): void {
    const lastPollAt = this.#clock.now();
    const lastSuccessAt = code === null ? lastPollAt : this.record.lastSuccessAt;
    const polls = [...this.record.polls, [lastPollAt, code] satisfies [number, string | null]];
    this.record = { ...this.record, lastPollAt, lastSuccessAt, polls: polls.slice(-NEWEST_POLLS) };
  }

  /** The provider has been asked for the account's properties. */
  noteDiscovery(): void {
    this.record = { ...this.record, discoveredAt: this.#clock.now() };
  }

  /** Whether this has not been done for a day; from now on it has. A clock that was far ahead must not put it off for long. */
  tryOnceADay(what: 'searchedAt' | 'rediscoveredAt'): boolean {
    const now = this.#clock.now();
    const before = this.record[what] ?? null;
    if (before !== null && Math.abs(now - before) < DAY_MS) return false;
    this.record = { ...this.record, [what]: now };
    return true;
  }

  allowAgain(what: 'searchedAt' | 'rediscoveredAt'): void {
    this.record = { ...this.record, [what]: null };
  }

  today(): { readonly requests: number; readonly logins: number } {
    this.#beginDay();
    return { requests: this.record.requestsToday, logins: this.record.loginsToday };
  }

  /** Writes down soon what has been noted: counts alone are not worth a write. */
  save(): void {
    this.#autosave.changed();
  }

  /** Resolves once everything is on the disk, or could not be written. */
  saved(): Promise<void> {
    return this.#autosave.saved();
  }

  #beginDay(): void {
    const day = this.#today();
    if (day !== this.record.day) this.record = { ...this.record, day, requestsToday: 0, loginsToday: 0 };
  }
}
