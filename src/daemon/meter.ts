// One property while the daemon runs: its ledger in memory and on disk, and how a poll takes new readings in.
import type { Config } from '../config/schema.ts';
import { type Change, type Ledger, markRead, merge, openLedger, questions } from '../domain/ledger.ts';
import { addDays, type Day, daysBetween, type Zone } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { totals } from '../domain/totals.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import type { ProviderClient } from '../provider/client.ts';
import type { MeterView } from '../publication/views.ts';
import { ledgerCodec } from '../store/documents.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';

export interface MeterParts {
  readonly account: string;
  readonly property: Property;
  /** The name of its series in topics. */
  readonly name: string;
  readonly usage: Config['usage'];
  readonly zone: Zone;
  readonly state: StateDirectory;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each answered question while the history is read for the first time. */
  readonly onProgress: () => void;
}

export interface Meter {
  readonly name: string;
  readonly property: Property;
  readonly ledger: Ledger;
  /** Reads what the provider has; resolves to the changes worth an event. Rejects with the provider's failures. */
  poll(client: ProviderClient, signal: AbortSignal): Promise<readonly Change[]>;
  /** `null` until the history is complete. */
  view(): MeterView | null;
  /** Set when the ledger could not be written: it goes on from memory. */
  readonly storeFault: unknown;
}

const HOUR_MS = 3_600_000;
const CURRENCY = 'EUR';

export async function openMeter(parts: MeterParts): Promise<Meter> {
  const { property, usage, zone, clock, log } = parts;
  const file = `accounts/${parts.account}/ledger-${encodeURIComponent(property.propertyCustomerId)}`;
  const document = parts.state.document(file, ledgerCodec);
  const cut = { timezone: zone.name, readingCloses: usage.reading_closes };
  let ledger = await load();
  let updatedAt = newestReceipt(ledger);
  let storeFault: unknown = null;

  async function load(): Promise<Ledger> {
    const stored = await document.read();
    if (stored === null) return openLedger(usage.history_since ?? defaultOrigin(zone.dayAt(clock.now())));
    const { origin } = stored.ledger;
    if (usage.history_since !== undefined && usage.history_since !== origin) {
      log.warn(
        { origin, meter: parts.name },
        'usage.history_since is not followed: the origin of the totals is frozen at the first start',
      );
    }
    if (stored.timezone === cut.timezone && stored.readingCloses === cut.readingCloses) return stored.ledger;
    log.warn({ meter: parts.name }, 'days are cut differently now: the history is read again');
    return { ...openLedger(origin), opening: stored.ledger.opening };
  }

  async function save(): Promise<void> {
    storeFault = null;
    await document.write({ ...cut, ledger }).catch((err) => {
      storeFault = err;
      log.error({ err, meter: parts.name }, 'ledger could not be saved');
    });
  }

  return {
    name: parts.name,
    property,
    get ledger() {
      return ledger;
    },
    get storeFault() {
      return storeFault;
    },
    async poll(client, signal) {
      const today = zone.dayAt(clock.now());
      const events: Change[] = [];
      for (const span of questions(ledger, today, usage.reread_days)) {
        const buckets = await client.usage({
          propertyCustomerId: property.propertyCustomerId,
          span,
          interval: 'day',
          zone,
          readingCloses: usage.reading_closes,
          signal,
        });
        const firstTime = !ledger.complete;
        const merged = merge(ledger, buckets, clock.now());
        ledger = markRead(merged.ledger, span, today);
        updatedAt = clock.now();
        await save();
        if (merged.heldBack.length > 0) {
          log.warn({ meter: parts.name, days: merged.heldBack }, 'implausible readings held back');
        }
        if (firstTime) {
          log.info(
            { meter: parts.name, from: span.from, to: addDays(span.to, -1), days: buckets.length },
            'history read',
          );
          parts.onProgress();
        } else events.push(...merged.changes);
      }
      return events;
    },
    view() {
      if (!ledger.complete) return null;
      const now = clock.now();
      const sums = totals(ledger, zone.dayAt(now));
      const readingAt = sums.newestDay === null ? null : zone.startOf(addDays(sums.newestDay, 1));
      return {
        meter: parts.name,
        account: parts.account,
        identifiers: property.meterIdentifiers,
        ledger,
        totals: sums,
        zone,
        currency: CURRENCY,
        readingAt,
        late: readingAt === null ? null : now - readingAt > usage.late_after_hours * HOUR_MS,
        updatedAt,
      };
    },
  };
}

/** Days asked for so far, and in all, of a history that is being read; `null` once it is complete. */
export function historyProgress(
  { ledger }: Meter,
  today: Day,
): { daysRead: number; daysTotal: number } | null {
  if (ledger.complete) return null;
  return {
    daysRead: daysBetween(ledger.origin, ledger.readTo),
    daysTotal: daysBetween(ledger.origin, addDays(today, 1)),
  };
}

const defaultOrigin = (today: Day): Day => `${Number(today.slice(0, 4)) - 2}-01-01`;

function newestReceipt(ledger: Ledger): number | null {
  let newest: number | null = null;
  for (const { receivedAt } of ledger.days.values()) newest = Math.max(newest ?? 0, receivedAt);
  return newest;
}
