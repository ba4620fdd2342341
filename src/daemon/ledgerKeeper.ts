// Keeps one property's ledger: in memory, on disk, and recovered from the broker when the disk has lost it.
import type { Config } from '../config/schema.ts';
import { type Ledger, openLedger } from '../domain/ledger.ts';
import type { Day, Zone } from '../domain/period.ts';
import { openingAfter, type Remembered, reopen } from '../domain/recovery.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';

export interface LedgerKeeper {
  readonly ledger: Ledger;
  /** Nothing was on disk, and the broker has not been asked yet what it remembers. */
  readonly isNew: boolean;
  keep(ledger: Ledger): Promise<void>;
  /** Takes over the origin, and the opening balance where the provider has forgotten days; `null`: there is none. */
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

export async function openLedgerKeeper(parts: LedgerKeeperParts): Promise<LedgerKeeper> {
  const { usage, zone, log } = parts;
  const document = parts.state.document(parts.file, ledgerCodec);
  const cut = { timezone: zone.name, readingCloses: usage.reading_closes };
  const stored = await document.read();
  let isNew = stored?.isNew ?? true;
  let remembered = stored?.remembered ?? null;
  let ledger = stored === null ? openLedger(firstOrigin()) : stillCutAlike(stored);

  function firstOrigin(): Day {
    const today = zone.dayAt(parts.clock.now());
    return usage.history_since ?? `${Number(today.slice(0, 4)) - 2}-01-01`;
  }

  function stillCutAlike({ timezone, readingCloses, ledger: found }: LedgerDocument): Ledger {
    const { origin, opening } = found;
    if (usage.history_since !== undefined && usage.history_since !== origin) {
      log.warn({ origin }, 'usage.history_since is not followed: the origin of the totals is frozen');
    }
    if (timezone === cut.timezone && readingCloses === cut.readingCloses) return found;
    log.warn('days are cut differently now: the history is read again');
    return { ...openLedger(origin), opening };
  }

  async function save(): Promise<void> {
    await document
      .write({ ...cut, ledger, remembered, isNew })
      .catch((err) => log.error({ err }, 'ledger could not be saved'));
  }

  /** Once the whole history has been read again, what was remembered has served. */
  function settle(): void {
    if (!ledger.complete || remembered === null) return;
    ledger = { ...ledger, opening: openingAfter(ledger, remembered) };
    remembered = null;
  }

  return {
    get ledger() {
      return ledger;
    },
    get isNew() {
      return isNew;
    },
    async keep(next) {
      ledger = next;
      settle();
      await save();
    },
    async remember(found) {
      if (!isNew) return;
      isNew = false;
      if (found !== null) {
        log.info({ origin: found.origin }, 'totals recovered from the broker');
        remembered = found;
        if (ledger.origin !== found.origin) ledger = reopen(found);
        settle();
      }
      await save();
    },
  };
}
