// Keeps one property's ledger: in memory, on disk, and recovered from the broker when the disk has lost it.
import type { Config } from '../config/schema.ts';
import { type Ledger, openLedger } from '../domain/ledger.ts';
import type { Day, Zone } from '../domain/period.ts';
import { type Remembered, recall } from '../domain/recovery.ts';
import { fitTariff, hasMoved, type Tariff, type TariffChange } from '../domain/tariff.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';

export interface LedgerKeeper {
  readonly ledger: Ledger;
  /** What may be told: the ledger as a restart would find it. A total told before it is kept could fall after a crash. */
  readonly kept: Ledger;
  /** Nothing was on disk, and the broker has not been asked yet what it remembers. */
  readonly isNew: boolean;
  /** To be called before the first question: a clock that was wrong at the start has been set since. */
  begin(): void;
  /** Resolves to the change of the tariff since it was last told, if the ledger shows one. */
  keep(ledger: Ledger): Promise<TariffChange | null>;
  /** What explains the days of this ledger; `null` while nothing does. */
  tariffOf(ledger: Ledger): Tariff | null;
  /** What there is to remember of it. */
  readonly memory: Remembered;
  /** A new ledger goes on from what was published last; `null`: nothing was. */
  remember(found: Remembered | null): Promise<void>;
}

export interface LedgerKeeperParts {
  /** The name of the document in the state directory. */
  readonly file: string;
  readonly usage: Config['usage'];
  readonly zone: Zone;
  readonly state: StateDirectory;
  readonly clock: Clock;
  readonly log: Log;
}

const EARLIEST_ORIGIN = '2000-01-01';

export async function openLedgerKeeper(parts: LedgerKeeperParts): Promise<LedgerKeeper> {
  const { usage, zone, log } = parts;
  const document = parts.state.document(parts.file, ledgerCodec);
  const cut = { timezone: zone.name, readingCloses: usage.reading_closes };
  const stored = await document.read();
  let isNew = stored?.isNew ?? true;
  let told = stored?.tariff ?? null;
  let ledger = stored === null ? openLedger(firstOrigin()) : stillCutAlike(stored);

  function firstOrigin(): Day {
    const today = zone.dayAt(parts.clock.now());
    return usage.history_since ?? `${Number(today.slice(0, 4)) - 2}-01-01`;
  }

  function isCutAlike(other: typeof cut): boolean {
    return other.timezone === cut.timezone && other.readingCloses === cut.readingCloses;
  }

  function stillCutAlike(found: LedgerDocument): Ledger {
    const { origin } = found.ledger;
    if (usage.history_since !== undefined && usage.history_since !== origin) {
      log.warn({ origin }, 'usage.history_since is not followed: the origin of the totals is frozen');
    }
    if (isCutAlike(found)) return found.ledger;
    log.warn('days are cut differently now: the history is read again');
    return openLedger(origin);
  }

  let kept = ledger;
  let memories = 0;

  /** A disk that does not take it is no reason to keep silent. */
  async function save(): Promise<void> {
    const saving = ledger;
    const before = memories;
    await document
      .write({ ...cut, ledger: saving, isNew, tariff: told })
      .catch((err) => log.error({ err }, 'ledger could not be saved'));
    // What was on its way when the broker remembered better is not to be told.
    if (memories === before) kept = saving;
  }

  // The search takes milliseconds, and a state is written far more often than a day changes.
  let fitted: { readonly days: Ledger['days']; readonly tariff: Tariff | null } | null = null;
  function tariffOf({ days }: Ledger): Tariff | null {
    if (fitted?.days !== days) fitted = { days, tariff: fitTariff(days) };
    return fitted.tariff;
  }

  /** The last one told is kept with the ledger: neither a restart nor some unexplained days make it news again. */
  function tariffChange(): TariffChange | null {
    const before = told;
    const after = ledger.complete ? tariffOf(ledger) : null;
    if (after === null || after === before) return null;
    told = after;
    return before && hasMoved(before, after, ledger.days) ? { kind: 'tariff_changed', before, after } : null;
  }

  return {
    get ledger() {
      return ledger;
    },
    get kept() {
      return kept;
    },
    tariffOf,
    get memory() {
      return { ...cut, origin: ledger.origin, days: ledger.days };
    },
    get isNew() {
      return isNew;
    },
    begin() {
      // Two years before 1970: a Pi without a clock battery had not heard the time yet.
      if (ledger.origin < EARLIEST_ORIGIN) ledger = openLedger(firstOrigin());
    },
    async keep(next) {
      ledger = next;
      const change = tariffChange();
      // Most polls bring nothing new, and the file of twenty years is long.
      if (change === null && isSame(ledger, kept)) ledger = kept;
      else await save();
      return change;
    },
    async remember(found) {
      if (!isNew) return;
      isNew = false;
      if (found !== null) {
        const { origin } = found;
        // Days that were cut differently cannot be told from the provider's own.
        const days = isCutAlike(found) ? found.days : new Map();
        log.info({ origin, days: days.size }, 'history recovered');
        ledger = recall(ledger, { ...found, days }, parts.clock.now());
        memories += 1;
        kept = ledger;
      }
      await save();
    },
  };
}

const isSame = (one: Ledger, other: Ledger): boolean =>
  (Object.keys(one) as (keyof Ledger)[]).every((key) => one[key] === other[key]);
