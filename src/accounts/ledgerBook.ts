// The ledger of one meter in memory and on disk: what is published is what a restart would find, and what is untold stays written down.
import type { Config } from '../config/schema.ts';
import { type Change, type Ledger, ledgerSince, openLedger } from '../domain/ledger.ts';
import { type Day, isSameZone } from '../domain/period.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { type RetainedHistory, restoreLedger } from '../domain/recovery.ts';
import { fitTariff, hasMoved, type Tariff, type TariffChange } from '../domain/tariff/tariff.ts';
import { isClockSet } from '../foundation/clock.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { Document } from '../store/stateStore.ts';
import type { AccountContext, MeterEvent } from './context.ts';
import { lastAnswer } from './lastAnswer.ts';

const DAY_MS = 24 * 3_600_000;
const EARLIEST_ORIGIN = '2000-01-01';
const FOR_THE_TIME_BEING: ReadingCloses = 'same_day';

type Needs = Pick<AccountContext, 'zone' | 'state' | 'clock' | 'log'> & {
  readonly config: Pick<Config, 'usage'>;
};

export class LedgerBook {
  readonly #context: Needs;
  readonly #document: Document<LedgerDocument>;
  /** `history_since` of the account. */
  readonly #since: Day | null;
  /** `usage.reading_closes` leaves it to the readings. */
  readonly isOpenToReadings: boolean;
  #closes: ReadingCloses | null;
  #isNew: boolean;
  #untold: readonly MeterEvent['change'][];
  /** The tariff that was published last: neither a restart nor some unexplained days make it a change again. */
  #publishedTariff: Tariff | null;
  #ledger: Ledger;
  #saved: Ledger;
  readonly #tenancyOf = lastAnswer(ledgerSince);
  // The search takes milliseconds, and a state is written far more often than a day changes.
  readonly #tariffOfDays = lastAnswer(fitTariff);

  /** `file`: the name of the document in the state directory. `since`: of the account. */
  static async open(file: string, context: Needs, since: Day | null = null): Promise<LedgerBook> {
    const document = context.state.document(file, ledgerCodec);
    return new LedgerBook(document, await document.read(), since, context);
  }

  private constructor(
    document: Document<LedgerDocument>,
    stored: LedgerDocument | null,
    since: Day | null,
    context: Needs,
  ) {
    const { usage } = context.config;
    this.#context = context;
    this.#document = document;
    this.#since = since;
    this.isOpenToReadings = usage.reading_closes === 'auto';
    const isOfThisZone = stored !== null && isSameZone(stored.timezone, usage.timezone);
    const decided = isOfThisZone ? stored.readingCloses : null;
    this.#closes = usage.reading_closes === 'auto' ? decided : usage.reading_closes;
    this.#isNew = stored?.isNew ?? true;
    this.#untold = stored?.untold ?? [];
    this.#publishedTariff = stored?.tariff ?? null;
    this.#ledger = stored === null ? openLedger(this.#firstOrigin()) : this.#unlessBoundariesChanged(stored);
    this.#saved = this.#ledger;
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  /**
   * The ledger as a restart would find it: only this one is published. A total that is published before it is on the disk could fall
   * after a crash.
   */
  get saved(): Ledger {
    return this.#saved;
  }

  /** Nothing was on disk, and the broker has not been asked yet for its retained history. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** The saved days since the account's `history_since`, which are compared, forecast and shown. Totals are those of all. */
  get tenancy(): Ledger {
    return this.#since === null ? this.#saved : this.#tenancyOf(this.#saved, this.#since);
  }

  /** The source for another ledger of the same series. */
  get history(): RetainedHistory {
    return { ...this.#boundaries(), origin: this.#ledger.origin, days: this.#ledger.days };
  }

  /** It is not known yet which day a reading closes. */
  get isUndecided(): boolean {
    return this.#closes === null;
  }

  /** The day that a reading closes: as configured, decided once, or for the time being. */
  get readingCloses(): ReadingCloses {
    return this.#closes ?? FOR_THE_TIME_BEING;
  }

  /** Changes that the broker has not taken yet, oldest first. */
  get untold(): readonly MeterEvent['change'][] {
    return this.#untold;
  }

  /** The tariff that explains the days of this ledger; `null` while none does. */
  tariffOf({ days }: Ledger): Tariff | null {
    return this.#tariffOfDays(days);
  }

  toDocument(): LedgerDocument {
    return {
      timezone: this.#context.zone.name,
      readingCloses: this.#closes,
      ledger: this.#ledger,
      isNew: this.#isNew,
      tariff: this.#publishedTariff,
      untold: this.#untold,
    };
  }

  /** A disk that does not take it is no reason to publish nothing. */
  async #save(): Promise<void> {
    const saving = this.#ledger;
    await this.#document.write(this.toDocument());
    // A restoration meanwhile knows more than what was being saved.
    if (this.#ledger === saving) this.#saved = saving;
  }

  #boundaries(): Pick<RetainedHistory, 'timezone' | 'readingCloses'> {
    return { timezone: this.#context.zone.name, readingCloses: this.readingCloses };
  }

  #hasSameBoundaries(other: Pick<LedgerDocument, 'timezone' | 'readingCloses'>): boolean {
    const { timezone, readingCloses } = this.#boundaries();
    const otherCloses = other.readingCloses ?? FOR_THE_TIME_BEING;
    return isSameZone(other.timezone, timezone) && otherCloses === readingCloses;
  }

  #unlessBoundariesChanged(stored: LedgerDocument): Ledger {
    const { config, log } = this.#context;
    const { origin } = stored.ledger;
    const since = this.#since;
    const isMoved = since === null ? (config.usage.history_since ?? origin) !== origin : since < origin;
    if (isMoved) log.warn({ origin }, 'history_since is ignored: the origin of the totals is frozen');
    if (this.#hasSameBoundaries(stored)) return stored.ledger;
    log.warn('usage.timezone or usage.reading_closes has changed: the history is read again');
    return openLedger(origin);
  }

  #today(): Day {
    return this.#context.zone.dayAt(this.#context.clock.now());
  }

  #firstOrigin(): Day {
    const twoYearsAgo = `${Number(this.#today().slice(0, 4)) - 2}-01-01`;
    return this.#since ?? this.#context.config.usage.history_since ?? twoYearsAgo;
  }

  /** Its origin was computed while the clock was ahead, and an earlier one is right. */
  #isOfClockAhead(): boolean {
    const isGiven = this.#since !== null || this.#context.config.usage.history_since !== undefined;
    if (isGiven || this.#firstOrigin() >= this.#ledger.origin) return false;
    const latest = this.#context.clock.now() + DAY_MS;
    return [...this.#ledger.days.values()].some(({ receivedAt }) => receivedAt > latest);
  }

  /** To be called before the first question of a poll. */
  begin(): void {
    const { origin, days } = this.#ledger;
    // Two years before 1970, or after today: the clock was not set when the ledger was opened.
    if (origin < EARLIEST_ORIGIN || origin > this.#today()) this.#ledger = openLedger(this.#firstOrigin());
    else if (this.#isOfClockAhead()) {
      this.#context.log.warn({ origin }, 'the clock was ahead when the history was read: it is read again');
      this.#ledger = { ...openLedger(this.#firstOrigin()), days };
    }
  }

  /** Saves the decision. What was read by another one is to be read again. */
  async decide(decision: ReadingCloses): Promise<void> {
    if (decision !== this.readingCloses) this.#ledger = openLedger(this.#ledger.origin);
    this.#closes = decision;
    await this.#save();
  }

  /** Takes and saves the next ledger with what has changed in it. Resolves to that, and the change of the tariff. */
  async update(next: Ledger, changes: readonly Change[] = []): Promise<readonly MeterEvent['change'][]> {
    const wasComplete = this.#ledger.complete;
    this.#ledger = next;
    const ofTariff = this.#tariffChange();
    const news = [...changes, ...(ofTariff && wasComplete ? [ofTariff] : [])];
    this.#untold = [...this.#untold, ...news];
    // Most polls bring nothing new, and the file of twenty years is long.
    if (ofTariff === null && isSame(this.#ledger, this.#saved)) this.#ledger = this.#saved;
    else await this.#save();
    return news;
  }

  #tariffChange(): TariffChange | null {
    const before = this.#publishedTariff;
    const after = this.#ledger.complete ? this.tariffOf(this.#ledger) : null;
    if (after === null || after === before) return null;
    this.#publishedTariff = after;
    const isChange = before !== null && hasMoved(before, after, this.#ledger.days);
    return isChange ? { kind: 'tariff_changed', before, after } : null;
  }

  /** The broker has taken these. */
  async told(changes: readonly MeterEvent['change'][]): Promise<void> {
    const left = this.#untold.filter((one) => !changes.includes(one));
    if (left.length === this.#untold.length) return;
    this.#untold = left;
    await this.#save();
  }

  /** A new ledger goes on from the retained history; `null`: there is none. */
  async restore(found: RetainedHistory | null): Promise<void> {
    // The future begins where a set clock says.
    if (!this.#isNew || (found !== null && !isClockSet(this.#context.clock.now()))) return;
    this.#isNew = false;
    if (found !== null) this.#merge(found);
    await this.#save();
  }

  /** The same, of a history that came after nothing was thought to be there. */
  async restoreLate(found: RetainedHistory): Promise<void> {
    this.#merge(found);
    await this.#save();
  }

  #merge(found: RetainedHistory): void {
    const history = withoutFuture(found, this.#today());
    if (history === null) return;
    const { origin } = history;
    this.#adoptDecision(history);
    // Days with other boundaries cannot be compared with the provider's own.
    const days = this.#hasSameBoundaries(history) ? history.days : new Map();
    this.#context.log.info({ origin, days: days.size }, 'history restored from the broker');
    this.#ledger = restoreLedger(this.#ledger, { ...history, days }, this.#context.clock.now());
    this.#saved = this.#ledger;
  }

  /** A decision from before the state was lost stands, whatever a poll has decided meanwhile. */
  #adoptDecision({ timezone, readingCloses, days }: RetainedHistory): void {
    if (!this.isOpenToReadings || !isSameZone(timezone, this.#context.zone.name) || days.size === 0) return;
    if (readingCloses !== this.readingCloses) this.#ledger = openLedger(this.#ledger.origin);
    this.#closes = readingCloses;
  }
}

/** Every client of the broker may write there: days after today would stop all reading. `null`: it begins after today. */
function withoutFuture(history: RetainedHistory, today: Day): RetainedHistory | null {
  if (history.origin > today) return null;
  return { ...history, days: new Map([...history.days].filter(([day]) => day <= today)) };
}

const isSame = (one: Ledger, other: Ledger): boolean =>
  (Object.keys(one) as (keyof Ledger)[]).every((key) => one[key] === other[key]);
