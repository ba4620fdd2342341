// The journal of an account, its part of the document of that name: due times, failures, the newest polls, requests and logins of the
// local day, and what events have told. Kept over restarts.
import type { Zone } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { type Autosave, autosave } from '../store/autosave.ts';
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
  pollAt: null,
  retryAfter: null,
  failures: 0,
  failingSince: null,
  lastError: null,
  refresh: null,
  untold: [],
};

/** Opens the journal of one account after the other. All are one document: a poll of a thousand accounts writes one file. */
export async function openJournals(context: Pick<AccountContext, 'state' | 'zone' | 'clock'>) {
  const { state, clock } = context;
  const document = state.document('journal', journalCodec);
  const stored = (await document.read())?.accounts ?? {};
  const journals = new Map<string, AccountJournal>();
  const recordsNow = () => [...journals].map(([account, { record }]) => [account, record]);
  const saving = autosave(() => document.write({ accounts: Object.fromEntries(recordsNow()) }), clock);
  return (account: string): AccountJournal => {
    const before = Object.hasOwn(stored, account) ? stored[account] : undefined;
    const journal = new AccountJournal(before, saving, context);
    journals.set(account, journal);
    return journal;
  };
}

export class AccountJournal {
  readonly #saving: Autosave;
  readonly #zone: Zone;
  readonly #clock: Clock;
  #record: AccountRecord;

  /** `before`: as an earlier process has left it. */
  constructor(
    before: AccountRecord | undefined,
    saving: Autosave,
    { zone, clock }: Pick<AccountContext, 'zone' | 'clock'>,
  ) {
    this.#saving = saving;
    this.#zone = zone;
    this.#clock = clock;
    this.#record = before ?? { ...NOTHING_YET, day: zone.dayAt(clock.now()) };
  }

  /** Its counts are those of its day: `today()` gives the current ones. */
  get record(): AccountRecord {
    return this.#record;
  }

  /** The counts of the day. */
  today(): { readonly requests: number; readonly logins: number } {
    const day = this.#zone.dayAt(this.#clock.now());
    if (day !== this.#record.day) this.note({ day, requestsToday: 0, loginsToday: 0 });
    return { requests: this.#record.requestsToday, logins: this.#record.loginsToday };
  }

  countRequest(): void {
    this.note({ requestsToday: this.today().requests + 1 });
  }

  countLogin(): void {
    this.note({ loginsToday: this.today().logins + 1 });
  }

  /** `error`: what went wrong; `null`: nothing did. */
  notePoll(error: AccountRecord['lastError']): void {
    const { polls, failures, failingSince } = this.#record;
    const lastPollAt = this.#clock.now();
    const poll: AccountRecord['polls'][number] = [lastPollAt, error?.code ?? null];
    this.note({ lastPollAt, polls: [...polls, poll].slice(-NEWEST_POLLS), lastError: error });
    if (error === null) this.note({ lastSuccessAt: lastPollAt, failures: 0, failingSince: null });
    // Failures that began under a clock that was ahead count from now.
    else
      this.note({ failures: failures + 1, failingSince: Math.min(failingSince ?? lastPollAt, lastPollAt) });
  }

  /** Written with the next `save`. */
  note(changes: Partial<AccountRecord>): void {
    this.#record = { ...this.#record, ...changes };
  }

  /**
   * The caller may try if it has not for a day, and is taken to have tried. A clock that was far ahead must not put it off for
   * long.
   */
  tryOnceADay(what: 'searchedAt' | 'rediscoveredAt'): boolean {
    const now = this.#clock.now();
    const before = this.#record[what];
    if (before !== null && Math.abs(now - before) < DAY_MS) return false;
    this.note({ [what]: now });
    return true;
  }

  /** Writes down soon what has been noted: counts alone, such as that of a refresh, are not worth a write. */
  save(): void {
    this.#saving.changed();
  }

  /** Resolves once everything is on the disk, counts too, or could not be written. */
  saved(): Promise<void> {
    this.#saving.changed();
    return this.#saving.saved();
  }
}
