// The ledger of one meter: in memory, on disk, and restored from the broker when the disk has lost it.
import { type Ledger, ledgerSince, openLedger } from '../domain/ledger.ts';
import type { Day } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { type RetainedHistory, restoreLedger } from '../domain/recovery.ts';
import { fitTariff, hasMoved, type Tariff, type TariffChange } from '../domain/tariff/tariff.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { StateStore } from '../store/stateStore.ts';
import type { AccountContext } from './context.ts';
import { lastAnswer } from './lastAnswer.ts';

const EARLIEST_ORIGIN = '2000-01-01';
const FOR_THE_TIME_BEING: ReadingCloses = 'same_day';

/** The name of its document in the state directory. */
export const ledgerFile = (account: string, { propertyCustomerId }: Property): string =>
  `accounts/${account}/ledger-${encodeURIComponent(propertyCustomerId)}`;

/** Those of the account's properties that have one. */
export async function withLedger(
  state: Pick<StateStore, 'list'>,
  account: string,
  properties: readonly Property[],
): Promise<readonly Property[]> {
  const files = properties.length === 0 ? [] : await state.list(`accounts/${account}`);
  return properties.filter((one) => files.some((file) => ledgerFile(account, one).endsWith(`/${file}`)));
}

type Needs = Pick<AccountContext, 'zone' | 'state' | 'clock' | 'log'> & {
  readonly config: Pick<AccountContext['config'], 'usage'>;
};

/** `file`: the name of the document in the state directory. `since`: of the account. */
export async function openMeterLedger(
  file: string,
  { zone, state, clock, log, config }: Needs,
  since: Day | null = null,
) {
  const { usage } = config;
  const throttledLog = new ThrottledLog(clock);
  const document = state.document(file, ledgerCodec);
  const stored = await document.read();
  /** `usage.reading_closes` leaves it to the readings. */
  const isOpenToReadings = usage.reading_closes === 'auto';
  const kept = stored?.timezone === usage.timezone ? stored.readingCloses : null;
  let closes: ReadingCloses | null = usage.reading_closes === 'auto' ? kept : usage.reading_closes;
  /** Nothing was on disk, and the broker has not been asked yet for its retained history. */
  let isNew = stored?.isNew ?? true;
  /** The tariff that was published last: neither a restart nor some unexplained days make it a change again. */
  let publishedTariff: Tariff | null = stored?.tariff ?? null;
  let ledger = stored === null ? openLedger(firstOrigin()) : unlessBoundariesChanged(stored);
  /**
   * The ledger as a restart would find it: only this one is published. A total that is published before it is on
   * the disk could fall after a crash.
   */
  let saved = ledger;
  const tenancyOf = lastAnswer(ledgerSince);
  // The search takes milliseconds, and a state is written far more often than a day changes.
  const tariffOfDays = lastAnswer(fitTariff);

  /** What decides on which day a reading counts. */
  function dayBoundaries() {
    return { timezone: zone.name, readingCloses: closes ?? FOR_THE_TIME_BEING };
  }

  function hasSameBoundaries(other: Pick<LedgerDocument, 'timezone' | 'readingCloses'>): boolean {
    const { timezone, readingCloses } = dayBoundaries();
    return other.timezone === timezone && (other.readingCloses ?? FOR_THE_TIME_BEING) === readingCloses;
  }

  function firstOrigin(): Day {
    const twoYearsAgo = `${Number(zone.dayAt(clock.now()).slice(0, 4)) - 2}-01-01`;
    return since ?? usage.history_since ?? twoYearsAgo;
  }

  function unlessBoundariesChanged(stored: LedgerDocument): Ledger {
    const { origin } = stored.ledger;
    const isMoved = since === null ? (usage.history_since ?? origin) !== origin : since < origin;
    if (isMoved) log.warn({ origin }, 'history_since is ignored: the origin of the totals is frozen');
    if (hasSameBoundaries(stored)) return stored.ledger;
    log.warn('usage.timezone or usage.reading_closes has changed: the history is read again');
    return openLedger(origin);
  }

  /** A disk that does not take it is no reason to publish nothing. */
  async function save(): Promise<void> {
    const saving = ledger;
    await document
      .write({ timezone: zone.name, readingCloses: closes, ledger, isNew, tariff: publishedTariff })
      .catch((err) =>
        throttledLog.write('unsaved', (more) => log.error({ err, ...more }, 'ledger could not be saved')),
      );
    // A restoration meanwhile knows more than what was being saved.
    if (ledger === saving) saved = saving;
  }

  /** What explains the days of this ledger; `null` while nothing does. */
  const tariffOf = ({ days }: Ledger): Tariff | null => tariffOfDays(days);

  function tariffChange(): TariffChange | null {
    const before = publishedTariff;
    const after = ledger.complete ? tariffOf(ledger) : null;
    if (after === null || after === before) return null;
    publishedTariff = after;
    return before && hasMoved(before, after, ledger.days) ? { kind: 'tariff_changed', before, after } : null;
  }

  /** What was decided before the state was lost stands, whatever a poll has decided meanwhile. */
  function adoptDecision({ timezone, readingCloses, days }: RetainedHistory): void {
    if (!isOpenToReadings || timezone !== zone.name || days.size === 0) return;
    if (readingCloses !== dayBoundaries().readingCloses) ledger = openLedger(ledger.origin);
    closes = readingCloses;
  }

  return {
    isOpenToReadings,
    tariffOf,
    get ledger(): Ledger {
      return ledger;
    },
    get saved(): Ledger {
      return saved;
    },
    get isNew(): boolean {
      return isNew;
    },
    /** What is saved since the account's `history_since`: what is compared, forecast and shown. Totals are those of all. */
    get tenancy(): Ledger {
      return since === null ? saved : tenancyOf(saved, since);
    },
    /** What another ledger of the same series would be restored from. */
    get history(): RetainedHistory {
      return { ...dayBoundaries(), origin: ledger.origin, days: ledger.days };
    },
    /** It is not known yet which day a reading closes. */
    get isUndecided(): boolean {
      return closes === null;
    },
    /** The day that a reading closes: as configured, decided once, or for the time being. */
    get readingCloses(): ReadingCloses {
      return dayBoundaries().readingCloses;
    },
    /** Saves the decision. What was read by another one is to be read again. */
    async decide(decision: ReadingCloses): Promise<void> {
      if (decision !== dayBoundaries().readingCloses) ledger = openLedger(ledger.origin);
      closes = decision;
      await save();
    },
    /** To be called before the first question of a poll. */
    begin(): void {
      // Two years before 1970: a Pi without a clock battery had not heard the time when it opened the ledger.
      if (ledger.origin < EARLIEST_ORIGIN) ledger = openLedger(firstOrigin());
    },
    /** Takes and saves the next ledger. Resolves to the change of the tariff since it was last published, if there is one. */
    async update(next: Ledger): Promise<TariffChange | null> {
      ledger = next;
      const change = tariffChange();
      // Most polls bring nothing new, and the file of twenty years is long.
      if (change === null && isSame(ledger, saved)) ledger = saved;
      else await save();
      return change;
    },
    /** A new ledger goes on from the retained history; `null`: there is none. */
    async restore(found: RetainedHistory | null): Promise<void> {
      if (!isNew) return;
      isNew = false;
      if (found !== null) {
        const { origin } = found;
        adoptDecision(found);
        // Days with other boundaries cannot be compared with the provider's own.
        const days = hasSameBoundaries(found) ? found.days : new Map();
        log.info({ origin, days: days.size }, 'history restored from the broker');
        ledger = restoreLedger(ledger, { ...found, days }, clock.now());
        saved = ledger;
      }
      await save();
    },
  };
}

const isSame = (one: Ledger, other: Ledger): boolean =>
  (Object.keys(one) as (keyof Ledger)[]).every((key) => one[key] === other[key]);
