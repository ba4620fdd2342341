// What was done when for each account: requests and logins of the local day, and the newest polls; kept over restarts.
import type { Day } from '../../domain/period.ts';
import { type AccountRecord, journalCodec } from '../../store/documents.ts';
import type { Context } from '../context.ts';
import { Autosave } from '../publishing/autosave.ts';

const NEWEST_POLLS = 12;
const NOTHING_YET: Omit<AccountRecord, 'day'> = {
  requestsToday: 0,
  loginsToday: 0,
  lastPollAt: null,
  lastSuccessAt: null,
  discoveredAt: null,
  polls: [],
};

type Needs = Pick<Context, 'state' | 'zone' | 'clock' | 'log'>;

/** The histories of all accounts are one document: a poll of a thousand accounts writes one file. */
export class PollHistory {
  readonly #clock: Needs['clock'];
  readonly #today: () => Day;
  readonly #autosave: Autosave;
  readonly #stored: ReadonlyMap<string, AccountRecord>;
  readonly #accounts = new Map<string, AccountHistory>();

  static async open(needs: Needs): Promise<PollHistory> {
    const document = needs.state.document('journal', journalCodec);
    const stored = new Map(Object.entries((await document.read())?.accounts ?? {}));
    return new PollHistory(needs, stored, async (accounts) => {
      await document
        .write({ accounts })
        .catch((err) => needs.log.error({ err }, 'poll history could not be saved'));
    });
  }

  private constructor(
    { zone, clock }: Needs,
    stored: ReadonlyMap<string, AccountRecord>,
    write: (accounts: Record<string, AccountRecord>) => Promise<void>,
  ) {
    this.#clock = clock;
    this.#stored = stored;
    this.#today = () => zone.dayAt(clock.now());
    const records = () => [...this.#accounts].map(([account, { record }]) => [account, record] as const);
    this.#autosave = new Autosave(() => write(Object.fromEntries(records())), clock);
  }

  of(account: string): AccountHistory {
    const record = this.#stored.get(account) ?? { ...NOTHING_YET, day: this.#today() };
    const history = new AccountHistory(record, this.#today, this.#clock, this.#autosave);
    this.#accounts.set(account, history);
    return history;
  }
}

export class AccountHistory {
  record: AccountRecord;
  readonly #today: () => Day;
  readonly #clock: Needs['clock'];
  readonly #autosave: Autosave;

  constructor(record: AccountRecord, today: () => Day, clock: Needs['clock'], autosave: Autosave) {
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

  today(): { readonly requests: number; readonly logins: number } {
    this.#beginDay();
    return { requests: this.record.requestsToday, logins: this.record.loginsToday };
  }

  /** Epoch milliseconds. */
  get lastPollAt(): number | null {
    return this.record.lastPollAt;
  }

  get lastSuccessAt(): number | null {
    return this.record.lastSuccessAt;
  }

  get discoveredAt(): number | null {
    return this.record.discoveredAt;
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
