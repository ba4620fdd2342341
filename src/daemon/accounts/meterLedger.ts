// Keeps one property's ledger: in memory, on disk, and recovered from the broker when the disk has lost it.
import type { Config } from '../../config/schema.ts';
import { type Ledger, openLedger } from '../../domain/ledger.ts';
import type { Day, Zone } from '../../domain/period.ts';
import { type Remembered, recall } from '../../domain/recovery.ts';
import { fitTariff, hasMoved, type Tariff, type TariffChange } from '../../domain/tariff/tariff.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { Document } from '../../store/document.ts';
import { type LedgerDocument, ledgerCodec } from '../../store/ledgerDocument.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';

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
  const document = parts.state.document(parts.file, ledgerCodec);
  return new Keeper(parts, document, await document.read());
}

class Keeper implements LedgerKeeper {
  readonly #parts: LedgerKeeperParts;
  readonly #document: Document<LedgerDocument>;
  ledger: Ledger;
  kept: Ledger;
  isNew: boolean;
  /** The tariff that was told last. */
  #told: Tariff | null;
  #memories = 0;
  /** The search takes milliseconds, and a state is written far more often than a day changes. */
  #fitted: { readonly days: Ledger['days']; readonly tariff: Tariff | null } | null = null;

  constructor(parts: LedgerKeeperParts, document: Document<LedgerDocument>, stored: LedgerDocument | null) {
    this.#parts = parts;
    this.#document = document;
    this.isNew = stored?.isNew ?? true;
    this.#told = stored?.tariff ?? null;
    this.ledger = stored === null ? openLedger(this.#firstOrigin()) : this.#stillCutAlike(stored);
    this.kept = this.ledger;
  }

  get memory(): Remembered {
    return { ...this.#cut(), origin: this.ledger.origin, days: this.ledger.days };
  }

  begin(): void {
    // Two years before 1970: a Pi without a clock battery had not heard the time yet.
    if (this.ledger.origin < EARLIEST_ORIGIN) this.ledger = openLedger(this.#firstOrigin());
  }

  async keep(next: Ledger): Promise<TariffChange | null> {
    this.ledger = next;
    const change = this.#tariffChange();
    // Most polls bring nothing new, and the file of twenty years is long.
    if (change === null && isSame(this.ledger, this.kept)) this.ledger = this.kept;
    else await this.#save();
    return change;
  }

  tariffOf({ days }: Ledger): Tariff | null {
    if (this.#fitted?.days !== days) this.#fitted = { days, tariff: fitTariff(days) };
    return this.#fitted.tariff;
  }

  async remember(found: Remembered | null): Promise<void> {
    if (!this.isNew) return;
    this.isNew = false;
    if (found !== null) {
      const { origin } = found;
      // Days that were cut differently cannot be told from the provider's own.
      const days = this.#isCutAlike(found) ? found.days : new Map();
      this.#parts.log.info({ origin, days: days.size }, 'history recovered');
      this.ledger = recall(this.ledger, { ...found, days }, this.#parts.clock.now());
      this.#memories += 1;
      this.kept = this.ledger;
    }
    await this.#save();
  }

  #cut() {
    const { zone, usage } = this.#parts;
    return { timezone: zone.name, readingCloses: usage.reading_closes };
  }

  #firstOrigin(): Day {
    const { zone, usage, clock } = this.#parts;
    return usage.history_since ?? `${Number(zone.dayAt(clock.now()).slice(0, 4)) - 2}-01-01`;
  }

  #isCutAlike(other: Pick<LedgerDocument, 'timezone' | 'readingCloses'>): boolean {
    const { timezone, readingCloses } = this.#cut();
    return other.timezone === timezone && other.readingCloses === readingCloses;
  }

  #stillCutAlike(found: LedgerDocument): Ledger {
    const { usage, log } = this.#parts;
    const { origin } = found.ledger;
    if (usage.history_since !== undefined && usage.history_since !== origin) {
      log.warn({ origin }, 'usage.history_since is not followed: the origin of the totals is frozen');
    }
    if (this.#isCutAlike(found)) return found.ledger;
    log.warn('days are cut differently now: the history is read again');
    return openLedger(origin);
  }

  /** A disk that does not take it is no reason to keep silent. */
  async #save(): Promise<void> {
    const saving = this.ledger;
    const before = this.#memories;
    await this.#document
      .write({ ...this.#cut(), ledger: saving, isNew: this.isNew, tariff: this.#told })
      .catch((err) => this.#parts.log.error({ err }, 'ledger could not be saved'));
    // What was on its way when the broker remembered better is not to be told.
    if (this.#memories === before) this.kept = saving;
  }

  /** The last one told is kept with the ledger: neither a restart nor some unexplained days make it news again. */
  #tariffChange(): TariffChange | null {
    const before = this.#told;
    const after = this.ledger.complete ? this.tariffOf(this.ledger) : null;
    if (after === null || after === before) return null;
    this.#told = after;
    const { days } = this.ledger;
    return before && hasMoved(before, after, days) ? { kind: 'tariff_changed', before, after } : null;
  }
}

const isSame = (one: Ledger, other: Ledger): boolean =>
  (Object.keys(one) as (keyof Ledger)[]).every((key) => one[key] === other[key]);
