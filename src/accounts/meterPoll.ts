// A poll takes new readings of one property into its ledger, and decides once which day a reading counts for.
import { knownUnits, sumKnown } from '../domain/amount.ts';
import { markRead, merge, newestDay, questions } from '../domain/ledger.ts';
import { addDays, type Day, type DaySpan } from '../domain/period.ts';
import type { Bucket } from '../domain/reading.ts';
import { closingOf, DAYS_LOOKED_AT } from '../domain/readingCloses.ts';
import type { Provider } from '../provider/provider.ts';
import { ProviderRefused } from '../provider/request.ts';
import type { AccountContext, MeterChange } from './context.ts';
import type { LedgerBook } from './ledgerBook.ts';

type Needs = Pick<AccountContext, 'config' | 'zone' | 'clock' | 'log'>;

const DECISIONS = {
  same_day: 'a reading counts for the day on which it is taken',
  previous_day: 'readings are taken in the first hours of a day: each counts for the day before',
} as const;

export class MeterPoll {
  readonly #propertyCustomerId: string;
  readonly #book: LedgerBook;
  readonly #context: Needs;
  /** Called after each part of a history that is read for the first time. */
  readonly #onHistory: () => void;
  /** The provider does not understand the question. */
  #hoursAreRefused = false;
  /** Epoch milliseconds; 0: nothing was read yet. */
  updatedAt: number;

  constructor(propertyCustomerId: string, book: LedgerBook, context: Needs, onHistory: () => void) {
    this.#propertyCustomerId = propertyCustomerId;
    this.#book = book;
    this.#context = context;
    this.#onHistory = onHistory;
    this.updatedAt = Math.max(0, ...[...book.ledger.days.values()].map(({ receivedAt }) => receivedAt));
  }

  /** Reads what the provider has; `again`: those days instead of what is due. Rejects with the provider's failures. */
  async run(provider: Provider, signal: AbortSignal, again?: DaySpan): Promise<readonly MeterChange[]> {
    const store = this.#book;
    const { config, zone, clock } = this.#context;
    store.begin();
    const today = zone.dayAt(clock.now());
    if (this.#isToDecide(today, again)) await this.#decide(provider, today, signal);
    const { readingCloses } = store;
    const { origin } = store.ledger;
    const changes: MeterChange[] = [];
    for (const span of questions(store.ledger, today, config.usage.reread_days, again)) {
      const propertyCustomerId = this.#propertyCustomerId;
      const question = { propertyCustomerId, span, interval: 'day', zone, readingCloses, signal } as const;
      const buckets = await provider.usage(question);
      // The retained history has opened the ledger again meanwhile.
      if (store.ledger.origin !== origin || store.readingCloses !== readingCloses)
        return this.run(provider, signal, again);
      changes.push(...(await this.#take(buckets, span, today)));
    }
    if (!store.isUndecided) return changes;
    const newest = newestDay(store.ledger.days);
    if (newest === null) return changes;
    // The first readings of a new meter, or of one that is silent now.
    await this.#decide(provider, addDays(newest, 1), signal);
    return store.readingCloses === readingCloses ? changes : this.run(provider, signal);
  }

  /** Resolves to what is worth an event: nothing of a first history is. */
  async #take(buckets: readonly Bucket[], span: DaySpan, today: Day): Promise<readonly MeterChange[]> {
    const store = this.#book;
    const { clock, log } = this.#context;
    const isFirstTime = !store.ledger.complete;
    const merged = merge(store.ledger, buckets, clock.now(), span);
    const news = await store.update(markRead(merged.ledger, span, today), isFirstTime ? [] : merged.changes);
    this.updatedAt = clock.now();
    if (merged.quarantinedNow.length > 0)
      log.warn({ days: merged.quarantinedNow }, 'implausible readings quarantined');
    if (!isFirstTime) return news;
    const kwh = knownUnits(sumKnown(buckets.map(({ energy }) => energy)));
    log.info({ from: span.from, to: addDays(span.to, -1), days: buckets.length, kwh }, 'history read');
    this.#onHistory();
    return [];
  }

  /** This holds before the first history, and if all of it is to be read again. */
  #isToDecide(today: Day, again?: DaySpan): boolean {
    const { isOpenToReadings, isUndecided, ledger } = this.#book;
    const isOfEverything = again && ledger.complete && again.from <= ledger.origin && again.to > today;
    return isOpenToReadings && (isOfEverything || (isUndecided && ledger.readTo === ledger.origin));
  }

  /** Looks at when the readings up to the day were taken. Without any, nothing is decided. */
  async #decide(provider: Provider, last: Day, signal: AbortSignal): Promise<void> {
    const store = this.#book;
    const { zone, log } = this.#context;
    const wasUndecided = store.isUndecided;
    const span = { from: addDays(last, 1 - DAYS_LOOKED_AT), to: addDays(last, 1) };
    const hours = await this.#readingHours(provider, span, signal);
    // The last readings of days tell less: whether others came before them is not known.
    const closes = closingOf(hours.length > 0 ? hours : [...store.ledger.readTimes.values()], zone);
    // The retained history has brought what was decided once.
    if (closes === null || (wasUndecided && !store.isUndecided)) return;
    log.info({ readingCloses: closes, from: span.from, to: last }, DECISIONS[closes]);
    if (closes !== store.readingCloses || store.isUndecided) await store.decide(closes);
  }

  async #readingHours(provider: Provider, span: DaySpan, signal: AbortSignal): Promise<readonly number[]> {
    if (this.#hoursAreRefused || !provider.readingHours) return [];
    const { zone } = this.#context;
    try {
      const propertyCustomerId = this.#propertyCustomerId;
      return await provider.readingHours({ propertyCustomerId, span, zone, signal });
    } catch (err) {
      if (!(err instanceof ProviderRefused) || err.status !== 400) throw err;
      this.#hoursAreRefused = true;
      return [];
    }
  }
}
