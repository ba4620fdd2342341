// One run over all statistics: signs in at Home Assistant, and brings the series of every meter up to date.
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Day } from '../../domain/period.ts';
import { statisticsHour } from '../../domain/statistics.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { bringUpToDate } from '../../homeassistant/importer.ts';
import { type Series, seriesOf } from '../../homeassistant/series.ts';
import { HomeAssistantTrouble, type TroubleKind } from '../../homeassistant/trouble.ts';
import type { MeterView } from '../../publication/views.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';
import { visitHomeAssistant } from './homeAssistant.ts';

/** How many rows of a series have been stored and read back, of those that are to be sent. */
export interface SeriesProgress {
  readonly series: string;
  readonly stored: number;
  readonly total: number;
}

export interface SeriesSent {
  readonly series: string;
  readonly rows: number;
}

export interface RunOptions {
  /** Send again what starts on this day or later, different or not. */
  readonly from?: Day;
  readonly onProgress?: (progress: SeriesProgress) => void;
}

const COMPARE_ALL_EVERY_MS = 24 * 3_600_000;
/** Trouble with one series, which leaves the others to be tried. */
const OF_ONE_SERIES: readonly TroubleKind[] = ['refused', 'not_stored', 'strange'];

export class StatisticsRun {
  readonly #section: Section;
  readonly #accounts: readonly Account[];
  readonly #context: Context;
  /** By series, when all its rows were compared last; on the monotonic clock. */
  readonly #comparedAt = new Map<string, number>();
  #warnedOfZone: string | null = null;

  constructor(section: Section, accounts: readonly Account[], context: Context) {
    this.#section = section;
    this.#accounts = accounts;
    this.#context = context;
  }

  /** Rejects with HomeAssistantTrouble. */
  run(token: string, options: RunOptions, signal: AbortSignal): Promise<readonly SeriesSent[]> {
    return visitHomeAssistant(
      this.#section,
      token,
      this.#context.clock,
      (home, { timezone }) => {
        this.#compareZone(timezone);
        return this.#everySeries(home, options, signal);
      },
      signal,
    );
  }

  async #everySeries(home: HomeAssistant, options: RunOptions, signal: AbortSignal): Promise<SeriesSent[]> {
    const meters = this.#accounts.flatMap((account) => account.meters ?? []);
    const names = meters.map(({ name }) => name);
    const sent: SeriesSent[] = [];
    let trouble: unknown = null;
    for (const view of meters.flatMap((meter) => meter.view() ?? [])) {
      for (const series of seriesOf(this.#context.config.mqtt.base_topic, view.meter, view.currency, names)) {
        try {
          sent.push({ series: series.id, rows: await this.#oneSeries(home, series, view, options, signal) });
        } catch (err) {
          if (!(err instanceof HomeAssistantTrouble) || !OF_ONE_SERIES.includes(err.kind)) throw err;
          trouble ??= err;
        }
      }
    }
    if (trouble !== null) throw trouble;
    return sent;
  }

  async #oneSeries(
    home: HomeAssistant,
    series: Series,
    { ledger }: MeterView,
    { from, onProgress }: RunOptions,
    signal: AbortSignal,
  ): Promise<number> {
    const { zone, clock, log } = this.#context;
    const last = this.#comparedAt.get(series.id);
    const thorough = last === undefined || clock.monotonic() - last >= COMPARE_ALL_EVERY_MS;
    // Not known to be equal until this run has come to its end.
    this.#comparedAt.delete(series.id);
    const rows = await bringUpToDate(home, series, {
      ledger,
      zone,
      clock,
      signal,
      thorough,
      from: from === undefined ? undefined : statisticsHour(from, zone),
      onProgress(stored, total) {
        const progress = { series: series.id, stored, total };
        if (stored > 0) log.info(progress, 'statistics stored and read back');
        onProgress?.(progress);
      },
    });
    this.#comparedAt.set(series.id, thorough ? clock.monotonic() : last);
    return rows;
  }

  #compareZone(timezone: string | null): void {
    const { zone, log } = this.#context;
    if (timezone === null || timezone === zone.name || timezone === this.#warnedOfZone) return;
    this.#warnedOfZone = timezone;
    log.warn('home assistant cuts its days in another time zone than usage.timezone');
  }
}
