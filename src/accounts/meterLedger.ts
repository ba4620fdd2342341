// The ledger of one meter: in memory, on disk, and restored from the broker when the disk has lost it.
import { type Ledger, ledgerSince, openLedger } from '../domain/ledger.ts';
import type { Day } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { type RetainedHistory, restoreLedger } from '../domain/recovery.ts';
import { fitTariff, hasMoved, type Tariff, type TariffChange } from '../domain/tariff/tariff.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { Document } from '../store/stateStore.ts';
import type { AccountContext } from './context.ts';
import { lastAnswer } from './lastAnswer.ts';

const EARLIEST_ORIGIN = '2000-01-01';
const FOR_THE_TIME_BEING: ReadingCloses = 'same_day';

/** The name of its document in the state directory. */
export const ledgerFile = (account: string, { propertyCustomerId }: Property): string =>
  `accounts/${account}/ledger-${encodeURIComponent(propertyCustomerId)}`;

type Needs = Pick<AccountContext, 'zone' | 'state' | 'clock' | 'log'> & {
  readonly config: Pick<AccountContext['config'], 'usage'>;
};

export class MeterLedger {
  readonly #needs: Needs;
  readonly #document: Document<LedgerDocument>;
  readonly #since: Day | null;
  ledger: Ledger;
  #closes: ReadingCloses | null;
  /**
   * The ledger as a restart would find it: only this one is published. A total that is published before it is on
   * the disk could fall after a crash.
   */
  saved: Ledger;
  /** Nothing was on disk, and the broker has not been asked yet for its retained history. */
  isNew: boolean;
  /** The tariff that was published last: neither a restart nor some unexplained days make it a change again. */
  #publishedTariff: Tariff | null;
  #restorations = 0;
  /** The search takes milliseconds, and a state is written far more often than a day changes. */
  #fitted: { readonly days: Ledger['days']; readonly tariff: Tariff | null } | null = null;
  readonly #tenancy = lastAnswer(ledgerSince);

  /** `file`: the name of the document in the state directory. `since`: of the account. */
  static async open(file: string, needs: Needs, since: Day | null = null): Promise<MeterLedger> {
    const document = needs.state.document(file, ledgerCodec);
    return new MeterLedger(needs, document, await document.read(), since);
  }

  private constructor(
    needs: Needs,
    document: Document<LedgerDocument>,
    stored: LedgerDocument | null,
    since: Day | null,
  ) {
    this.#needs = needs;
    this.#document = document;
    this.#since = since;
    this.isNew = stored?.isNew ?? true;
    this.#publishedTariff = stored?.tariff ?? null;
    const { reading_closes: configured, timezone } = needs.config.usage;
    const kept = stored?.timezone === timezone ? stored.readingCloses : null;
    this.#closes = configured === 'auto' ? kept : configured;
    this.ledger = stored === null ? openLedger(this.#firstOrigin()) : this.#unlessBoundariesChanged(stored);
    this.saved = this.ledger;
  }

  /** What is saved since the account's `history_since`: what is compared, forecast and shown. Totals are those of all. */
  get tenancy(): Ledger {
    return this.#since === null ? this.saved : this.#tenancy(this.saved, this.#since);
  }

  /** What another ledger of the same series would be restored from. */
  get history(): RetainedHistory {
    return { ...this.#dayBoundaries(), origin: this.ledger.origin, days: this.ledger.days };
  }

  /** `usage.reading_closes` leaves it to the readings. */
  get isOpenToReadings(): boolean {
    return this.#needs.config.usage.reading_closes === 'auto';
  }

  /** It is not known yet which day a reading closes. */
  get isUndecided(): boolean {
    return this.#closes === null;
  }

  /** The day that a reading closes: as configured, decided once, or for the time being. */
  get readingCloses(): ReadingCloses {
    return this.#closes ?? FOR_THE_TIME_BEING;
  }

  /** Saves the decision. What was read by another one is to be read again. */
  async decide(closes: ReadingCloses): Promise<void> {
    if (closes !== this.readingCloses) this.ledger = openLedger(this.ledger.origin);
    this.#closes = closes;
    await this.#save();
  }

  /** To be called before the first question of a poll. */
  begin(): void {
    // Two years before 1970: a Pi without a clock battery had not heard the time when it opened the ledger.
    if (this.ledger.origin < EARLIEST_ORIGIN) this.ledger = openLedger(this.#firstOrigin());
  }

  /** Takes and saves the next ledger. Resolves to the change of the tariff since it was last published, if there is one. */
  async update(next: Ledger): Promise<TariffChange | null> {
    this.ledger = next;
    const change = this.#tariffChange();
    // Most polls bring nothing new, and the file of twenty years is long.
    if (change === null && isSame(this.ledger, this.saved)) this.ledger = this.saved;
    else await this.#save();
    return change;
  }

  /** What explains the days of this ledger; `null` while nothing does. */
  tariffOf({ days }: Ledger): Tariff | null {
    if (this.#fitted?.days !== days) this.#fitted = { days, tariff: fitTariff(days) };
    return this.#fitted.tariff;
  }

  /** A new ledger goes on from the retained history; `null`: there is none. */
  async restore(found: RetainedHistory | null): Promise<void> {
    if (!this.isNew) return;
    this.isNew = false;
    if (found !== null) {
      const { origin } = found;
      this.#adoptDecision(found);
      // Days with other boundaries cannot be compared with the provider's own.
      const days = this.#hasSameBoundaries(found) ? found.days : new Map();
      this.#needs.log.info({ origin, days: days.size }, 'history restored from the broker');
      this.ledger = restoreLedger(this.ledger, { ...found, days }, this.#needs.clock.now());
      this.#restorations += 1;
      this.saved = this.ledger;
    }
    await this.#save();
  }

  /** What decides on which day a reading counts. */
  #dayBoundaries() {
    return { timezone: this.#needs.zone.name, readingCloses: this.readingCloses };
  }

  /** What was decided before the state was lost stands, whatever a poll has decided meanwhile. */
  #adoptDecision({ timezone, readingCloses, days }: RetainedHistory): void {
    if (!this.isOpenToReadings || timezone !== this.#needs.zone.name || days.size === 0) return;
    if (readingCloses !== this.readingCloses) this.ledger = openLedger(this.ledger.origin);
    this.#closes = readingCloses;
  }

  #firstOrigin(): Day {
    const { zone, config, clock } = this.#needs;
    return (
      this.#since ?? config.usage.history_since ?? `${Number(zone.dayAt(clock.now()).slice(0, 4)) - 2}-01-01`
    );
  }

  #hasSameBoundaries(other: Pick<LedgerDocument, 'timezone' | 'readingCloses'>): boolean {
    const { timezone, readingCloses } = this.#dayBoundaries();
    return other.timezone === timezone && (other.readingCloses ?? FOR_THE_TIME_BEING) === readingCloses;
  }

  #unlessBoundariesChanged(stored: LedgerDocument): Ledger {
    const { config, log } = this.#needs;
    const { origin } = stored.ledger;
    const ofUsage = this.#since === null ? config.usage.history_since : undefined;
    if ((ofUsage !== undefined && ofUsage !== origin) || (this.#since !== null && this.#since < origin)) {
      log.warn({ origin }, 'history_since is ignored: the origin of the totals is frozen');
    }
    if (this.#hasSameBoundaries(stored)) return stored.ledger;
    log.warn('usage.timezone or usage.reading_closes has changed: the history is read again');
    return openLedger(origin);
  }

  /** A disk that does not take it is no reason to publish nothing. */
  async #save(): Promise<void> {
    const saving = this.ledger;
    const before = this.#restorations;
    await this.#document
      .write({
        ...this.#dayBoundaries(),
        readingCloses: this.#closes,
        ledger: saving,
        isNew: this.isNew,
        tariff: this.#publishedTariff,
      })
      .catch((err) => this.#needs.log.error({ err }, 'ledger could not be saved'));
    // A restoration meanwhile knows more than what was being saved.
    if (this.#restorations === before) this.saved = saving;
  }

  #tariffChange(): TariffChange | null {
    const before = this.#publishedTariff;
    const after = this.ledger.complete ? this.tariffOf(this.ledger) : null;
    if (after === null || after === before) return null;
    this.#publishedTariff = after;
    const { days } = this.ledger;
    return before && hasMoved(before, after, days) ? { kind: 'tariff_changed', before, after } : null;
  }
}

const isSame = (one: Ledger, other: Ledger): boolean =>
  (Object.keys(one) as (keyof Ledger)[]).every((key) => one[key] === other[key]);
