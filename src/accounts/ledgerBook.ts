// The ledger of one meter, in memory and in its document. Only what the state store has taken is published: on the disk of a household,
// or with the claim of a fleet, which writes before it publishes. What is untold stays written down.
import type { Config } from '../config/schema.ts';
import { type Change, type Ledger, ledgerSince, newestDay, openLedger } from '../domain/ledger.ts';
import { type Day, isSameZone } from '../domain/period.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { type RetainedHistory, restoreLedger } from '../domain/recovery.ts';
import { fitTariff, hasMoved, type Tariff } from '../domain/tariff/tariff.ts';
import { isClockSet } from '../foundation/clock.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { Document } from '../store/stateStore.ts';
import type { AccountContext, MeterChange } from './context.ts';
import { rememberLast } from './rememberLast.ts';

const DAY_MS = 24 * 3_600_000;
const EARLIEST_ORIGIN = '2000-01-01';
const FOR_THE_TIME_BEING: ReadingCloses = 'same_day';
// Without a broker for years, as with the page alone, the file would grow for ever.
const MOST_UNTOLD = 100;

type Needs = Pick<AccountContext, 'zone' | 'state' | 'clock' | 'log'> & {
  readonly config: Pick<Config, 'usage'>;
};

/** `history_since` of the account, as the configuration has it. */
export const tenantSince = (account: string, { accounts }: Pick<Config, 'accounts'>): Day | undefined =>
  accounts.find(({ id }) => id === account)?.history_since;

export class LedgerBook {
  readonly #context: Needs;
  readonly #file: Document<LedgerDocument>;
  /** The origin that the configuration gives; undefined: none. */
  readonly #since: Day | undefined;
  /** `history_since` of the account. */
  readonly #tenantSince: Day | undefined;
  /** It is ahead of the disk until it is written. */
  #document: LedgerDocument;
  #saved: Ledger;
  readonly #tenancyOf = rememberLast(ledgerSince);
  // The search takes milliseconds, and a state is written far more often than a day changes.
  readonly #tariffOfDays = rememberLast(fitTariff);

  /** `file`: the name of the document in the state directory. `tenantSince`: `history_since` of the account. */
  static async open(file: string, context: Needs, tenantSince?: Day): Promise<LedgerBook> {
    const document = context.state.document(file, ledgerCodec);
    return new LedgerBook(document, await document.read(), tenantSince, context);
  }

  private constructor(
    file: Document<LedgerDocument>,
    stored: LedgerDocument | null,
    tenantSince: Day | undefined,
    context: Needs,
  ) {
    this.#context = context;
    this.#file = file;
    this.#tenantSince = tenantSince;
    this.#since = tenantSince ?? context.config.usage.history_since;
    this.#document = {
      isNew: true,
      untold: [],
      tariff: null,
      ...stored,
      timezone: context.zone.name,
      readingCloses: this.#closesAfter(stored),
      ledger: stored?.ledger ?? openLedger(this.#firstOrigin()),
    };
    if (stored !== null) this.#goOn(stored);
    this.#saved = this.ledger;
  }

  #closesAfter(stored: LedgerDocument | null): ReadingCloses | null {
    const { reading_closes: configured, timezone } = this.#context.config.usage;
    if (configured !== 'auto') return configured;
    return stored !== null && isSameZone(stored.timezone, timezone) ? stored.readingCloses : null;
  }

  #goOn(stored: LedgerDocument): void {
    const { log } = this.#context;
    const { origin } = stored.ledger;
    const tenantSince = this.#tenantSince;
    const isMoved = tenantSince === undefined ? (this.#since ?? origin) !== origin : tenantSince < origin;
    if (isMoved) log.warn({ origin }, 'history_since is ignored: the origin of the totals is frozen');
    if (this.#hasSameBoundaries(stored)) return;
    log.warn('usage.timezone or usage.reading_closes has changed: the history is read again');
    this.#change({ ledger: openLedger(origin) });
  }

  #change(changes: Partial<LedgerDocument>): void {
    this.#document = { ...this.#document, ...changes };
  }

  /** A disk that does not take it is told in health, and is no reason to publish nothing: the state directory tries it again. */
  async #save(): Promise<void> {
    const { ledger } = this;
    await this.#file.write(this.#document);
    // A restoration meanwhile knows more than what was being saved.
    if (this.ledger === ledger) this.#saved = ledger;
  }

  /** All that is kept of it. */
  get document(): LedgerDocument {
    return this.#document;
  }

  get ledger(): Ledger {
    return this.#document.ledger;
  }

  /**
   * The ledger as it was when it was last written: only this one is published. A total that is published before it is on the disk
   * could fall after a crash.
   */
  get saved(): Ledger {
    return this.#saved;
  }

  /** Nothing was on disk, and the broker has not been asked yet for its retained history. */
  get isNew(): boolean {
    return this.#document.isNew;
  }

  /** The saved days since the account's `history_since`, which are compared, forecast and shown. Totals are those of all. */
  get tenancy(): Ledger {
    return this.#tenantSince === undefined ? this.#saved : this.#tenancyOf(this.#saved, this.#tenantSince);
  }

  /** The source for another ledger of the same series. */
  get history(): RetainedHistory {
    const { origin, days } = this.ledger;
    return { timezone: this.#context.zone.name, readingCloses: this.readingCloses, origin, days };
  }

  /** `usage.reading_closes` leaves it to the readings. */
  get isOpenToReadings(): boolean {
    return this.#context.config.usage.reading_closes === 'auto';
  }

  /** It is not known yet which day a reading closes. */
  get isUndecided(): boolean {
    return this.#document.readingCloses === null;
  }

  /** The day that a reading closes: as configured, decided once, or for the time being. */
  get readingCloses(): ReadingCloses {
    return this.#document.readingCloses ?? FOR_THE_TIME_BEING;
  }

  /** Changes that the broker has not answered yet, oldest first. */
  get untold(): readonly MeterChange[] {
    return this.#document.untold;
  }

  /** The tariff that explains the days of this ledger; `null` while none does. */
  tariffOf({ days }: Ledger): Tariff | null {
    return this.#tariffOfDays(days);
  }

  #hasSameBoundaries({
    timezone,
    readingCloses,
  }: Pick<LedgerDocument, 'timezone' | 'readingCloses'>): boolean {
    const isSameDay = (readingCloses ?? FOR_THE_TIME_BEING) === this.readingCloses;
    return isSameDay && isSameZone(timezone, this.#context.zone.name);
  }

  #today(): Day {
    return this.#context.zone.dayAt(this.#context.clock.now());
  }

  #firstOrigin(): Day {
    return this.#since ?? `${Number(this.#today().slice(0, 4)) - 2}-01-01`;
  }

  /** A day that was read lies after today: the clock is behind now, and judges nothing. */
  #isClockBehind(): boolean {
    return (newestDay(this.ledger.days) ?? '') > this.#today();
  }

  /** Its origin was computed while the clock was ahead, and an earlier one is right. */
  #isOfClockAhead(): boolean {
    if (this.#since !== undefined || this.#firstOrigin() >= this.ledger.origin) return false;
    const latest = this.#context.clock.now() + DAY_MS;
    return [...this.ledger.days.values()].some(({ receivedAt }) => receivedAt > latest);
  }

  /** A poll starts with this, before its first question. */
  begin(): void {
    const { origin, days } = this.ledger;
    if (this.#isClockBehind()) return;
    // Two years before 1970, or after today: the clock was not set when the ledger was opened.
    if (origin < EARLIEST_ORIGIN || origin > this.#today())
      this.#change({ ledger: openLedger(this.#firstOrigin()) });
    else if (this.#isOfClockAhead()) {
      this.#context.log.warn({ origin }, 'the clock was ahead when the history was read: it is read again');
      this.#change({ ledger: { ...openLedger(this.#firstOrigin()), days } });
    }
  }

  /** Saves the decision. What was read by another one is to be read again. */
  async decide(readingCloses: ReadingCloses): Promise<void> {
    this.#close(readingCloses);
    await this.#save();
  }

  #close(readingCloses: ReadingCloses): void {
    const isOther = readingCloses !== this.readingCloses;
    this.#change({ readingCloses, ledger: isOther ? openLedger(this.ledger.origin) : this.ledger });
  }

  /** Takes and saves the next ledger with what has changed in it. Resolves to that, and the change of the tariff. */
  async update(next: Ledger, changes: readonly Change[] = []): Promise<readonly MeterChange[]> {
    const { tariff: before, ledger } = this.#document;
    const after = (next.complete ? this.tariffOf(next) : null) ?? before;
    const isOther = before !== null && after !== null && after !== before;
    const isMoved = ledger.complete && isOther && hasMoved(before, after, next.days);
    const news = [...changes, ...(isMoved ? [{ kind: 'tariff_changed', before, after } as const] : [])];
    // Neither a restart nor some unexplained days make the tariff that was published last a change again.
    const untold = [...this.untold, ...news].slice(-MOST_UNTOLD);
    this.#change({ ledger: next, tariff: after, untold });
    // Most polls bring nothing new, and the file of twenty years is long.
    if (!isMoved && isSame(next, this.#saved)) this.#change({ ledger: this.#saved });
    else await this.#save();
    return news;
  }

  /** The broker has answered these. */
  async told(changes: readonly MeterChange[]): Promise<void> {
    const untold = this.untold.filter((change) => !changes.includes(change));
    if (untold.length === this.untold.length) return;
    this.#change({ untold });
    await this.#save();
  }

  /** A new ledger goes on from the retained history; `null`: there is none. */
  async restore(retained: RetainedHistory | null): Promise<void> {
    // The future begins where a set clock says.
    if (!this.isNew || (retained !== null && !isClockSet(this.#context.clock.now()))) return;
    this.#change({ isNew: false });
    if (retained === null) await this.#save();
    else await this.restoreLate(retained);
  }

  /** The same, of a history that came after nothing was thought to be there. */
  async restoreLate(retained: RetainedHistory): Promise<void> {
    const today = this.#today();
    // Every client of the broker may write there: days after today would stop all reading.
    if (retained.origin <= today)
      this.#merge({ ...retained, days: new Map([...retained.days].filter(([day]) => day <= today)) });
    await this.#save();
  }

  #merge(history: RetainedHistory): void {
    const { origin, timezone, readingCloses } = history;
    const { zone, log, clock } = this.#context;
    // A decision from before the state was lost stands, whatever a poll has decided meanwhile.
    if (this.isOpenToReadings && isSameZone(timezone, zone.name) && history.days.size > 0)
      this.#close(readingCloses);
    // Days with other boundaries cannot be compared with the provider's own.
    const days = this.#hasSameBoundaries(history) ? history.days : new Map();
    log.info({ origin, days: days.size }, 'history restored from the broker');
    this.#change({ ledger: restoreLedger(this.ledger, { ...history, days }, clock.now()) });
    this.#saved = this.ledger;
  }
}

const isSame = (one: Ledger, other: Ledger): boolean =>
  (Object.keys(one) as (keyof Ledger)[]).every((key) => one[key] === other[key]);
