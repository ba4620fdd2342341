// One property while the daemon runs: its ledger in memory and on disk, and how a poll takes new readings in.
import type { Config } from '../../config/schema.ts';
import { type Change, type Ledger, markRead, merge, questions } from '../../domain/ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, type Zone } from '../../domain/period.ts';
import type { Property } from '../../domain/reading.ts';
import type { Remembered } from '../../domain/recovery.ts';
import { forecastMonth } from '../../domain/tariff/forecast.ts';
import type { TariffChange } from '../../domain/tariff/tariff.ts';
import { totals } from '../../domain/totals.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import { readUsage } from '../../provider/usageReport.ts';
import type { MeterView } from '../../publication/views.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import { type LedgerKeeper, openLedgerKeeper } from './meterLedger.ts';
import type { Upstream } from './upstream.ts';

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
  /** What is known of it beside the usage. */
  readonly beside: () => Pick<MeterView, 'currency' | 'register'>;
  /** The account's last good poll, which restarts do not forget; epoch milliseconds. */
  readonly lastSuccessAt: () => number | null;
  /** Called after each answered question while the history is read for the first time. */
  readonly onProgress: () => void;
}

/** Worth an event. */
export type MeterChange = Change | TariffChange;

export interface Meter extends Pick<LedgerKeeper, 'ledger' | 'memory' | 'isNew' | 'remember'> {
  readonly name: string;
  readonly property: Property;
  /** Reads what the provider has; resolves to the changes. Rejects with the provider's failures. */
  poll(
    upstream: Pick<Upstream, 'ask' | 'dialect'>,
    signal: AbortSignal,
    span?: DaySpan,
  ): Promise<readonly MeterChange[]>;
  /** The history is complete: it has a view. */
  readonly isTold: boolean;
  view(): MeterView | null;
  /** Part of its view, at a fraction of the price. */
  reading(): Pick<MeterView, 'meter' | 'readingAt' | 'late'> | null;
}

interface Summed extends Pick<MeterView, 'ledger' | 'totals' | 'tariff' | 'monthForecast'> {
  readonly today: Day;
}

const HOUR_MS = 3_600_000;

export async function openMeter(parts: MeterParts): Promise<Meter> {
  const { account, property, usage, zone, state, clock } = parts;
  const log = parts.log.child({ meter: parts.name });
  const file = `accounts/${account}/ledger-${encodeURIComponent(property.propertyCustomerId)}`;
  return new OpenMeter(parts, log, await openLedgerKeeper({ file, usage, zone, state, clock, log }));
}

class OpenMeter implements Meter {
  readonly #parts: MeterParts;
  readonly #log: Log;
  readonly #keeper: LedgerKeeper;
  #updatedAt: number | null;
  #summed: Summed | null = null;

  constructor(parts: MeterParts, log: Log, keeper: LedgerKeeper) {
    this.#parts = parts;
    this.#log = log;
    this.#keeper = keeper;
    this.#updatedAt = newestReceipt(keeper.ledger);
  }

  get name(): string {
    return this.#parts.name;
  }

  get property(): Property {
    return this.#parts.property;
  }

  get ledger(): Ledger {
    return this.#keeper.ledger;
  }

  get memory(): Remembered {
    return this.#keeper.memory;
  }

  get isNew(): boolean {
    return this.#keeper.isNew;
  }

  get isTold(): boolean {
    return this.#keeper.kept.complete;
  }

  remember(found: Remembered | null): Promise<void> {
    return this.#keeper.remember(found);
  }

  async poll(
    upstream: Pick<Upstream, 'ask' | 'dialect'>,
    signal: AbortSignal,
    again?: DaySpan,
  ): Promise<readonly MeterChange[]> {
    const { property, usage, zone, clock, onProgress } = this.#parts;
    const keeper = this.#keeper;
    keeper.begin();
    const { origin } = keeper.ledger;
    const today = zone.dayAt(clock.now());
    const events: MeterChange[] = [];
    for (const span of questions(keeper.ledger, today, usage.reread_days, again)) {
      const question = {
        propertyCustomerId: property.propertyCustomerId,
        span,
        interval: 'day',
        zone,
        readingCloses: usage.reading_closes,
        signal,
      } as const;
      const buckets = await readUsage(upstream.ask, question, upstream.dialect, this.#log);
      // What the broker remembers has opened the ledger anew meanwhile.
      if (keeper.ledger.origin !== origin) return this.poll(upstream, signal, again);
      const firstTime = !keeper.ledger.complete;
      const { ledger, changes, heldBack } = merge(keeper.ledger, buckets, clock.now(), span);
      const tariffChange = await keeper.keep(markRead(ledger, span, today));
      this.#updatedAt = clock.now();
      if (heldBack.length > 0) this.#log.warn({ days: heldBack }, 'implausible readings held back');
      if (firstTime) {
        const days = { from: span.from, to: addDays(span.to, -1), days: buckets.length };
        this.#log.info(days, 'history read');
        onProgress();
      } else events.push(...changes, ...(tariffChange ? [tariffChange] : []));
    }
    return events;
  }

  view(): MeterView | null {
    const newest = this.reading();
    if (newest === null) return null;
    const { account, property, zone, usage, clock, beside, lastSuccessAt } = this.#parts;
    const { today: _, ...sums } = this.#sumsOf(this.#keeper.kept, zone.dayAt(clock.now()));
    return {
      ...newest,
      ...sums,
      account,
      identifiers: property.meterIdentifiers,
      zone,
      readingCloses: usage.reading_closes,
      updatedAt: Math.max(this.#updatedAt ?? 0, lastSuccessAt() ?? 0) || null,
      ...beside(),
    };
  }

  reading(): Pick<MeterView, 'meter' | 'readingAt' | 'late'> | null {
    const { name, zone, usage, clock } = this.#parts;
    const ledger = this.#keeper.kept;
    if (!ledger.complete) return null;
    const now = clock.now();
    const { newestDay } = this.#sumsOf(ledger, zone.dayAt(now)).totals;
    const readingAt = newestDay === null ? null : zone.startOf(addDays(newestDay, 1));
    const late = readingAt === null ? null : now - readingAt > usage.late_after_hours * HOUR_MS;
    return { meter: name, readingAt, late };
  }

  /** What follows from a ledger and a day: a view is looked at far more often than either changes. */
  #sumsOf(ledger: Ledger, today: Day): Summed {
    const known = this.#summed;
    if (known?.ledger === ledger && known.today === today) return known;
    const tariff = this.#keeper.tariffOf(ledger);
    const monthForecast = forecastMonth(ledger, today, tariff);
    const summed = { ledger, today, totals: totals(ledger, today), tariff, monthForecast };
    this.#summed = summed;
    return summed;
  }
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

function newestReceipt(ledger: Ledger): number | null {
  let newest: number | null = null;
  for (const { receivedAt } of ledger.days.values()) newest = Math.max(newest ?? 0, receivedAt);
  return newest;
}
