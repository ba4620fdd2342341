// A visit to Home Assistant: notices of sign-ins, outdoor temperatures, then each series is made equal to its ledger.
import type { Ledger } from '../../domain/ledger.ts';
import { type Day, isSameZone } from '../../domain/period.ts';
import { type Placement, statisticsHour } from '../../domain/statistics.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { bringUpToDate, type Series, seriesOf } from '../../homeassistant/recorder.ts';
import { type HomeAssistantTrouble, ofOneQuestion } from '../../homeassistant/trouble.ts';
import { type Context, metersOf } from '../context.ts';
import type { OutdoorTemperatures } from './outdoorTemperatures.ts';
import { signInNotices } from './signInNotices.ts';

/** `stored` of the `total` rows that are to be sent have been stored and read back. */
export interface SeriesProgress {
  readonly series: string;
  readonly stored: number;
  readonly total: number;
}

/** `rows`: how many were sent. */
export interface SentSeries {
  readonly series: string;
  readonly rows: number;
}

interface VisitOptions {
  readonly signal: AbortSignal;
  /** Send again what starts on this day or later, different or not. */
  readonly from: Day | undefined;
  readonly onProgress: (progress: SeriesProgress) => void;
}

const COMPARE_ALL_EVERY_MS = 24 * 3_600_000;

export class Visits {
  readonly notices: ReturnType<typeof signInNotices>;
  readonly outdoor: OutdoorTemperatures;
  readonly #placement: Placement;
  readonly #context: Context;
  /** The last time that all rows of a series were compared, on the monotonic clock. */
  readonly #comparedAt = new Map<string, number>();
  #warnedOfZone: string | null = null;

  constructor(hours: Placement['hours'], outdoor: OutdoorTemperatures, context: Context) {
    this.notices = signInNotices(context);
    this.#placement = { zone: context.zone, hours };
    this.outdoor = outdoor;
    this.#context = context;
  }

  /** `timezone`: of Home Assistant's days. Trouble with one series leaves the others to be brought up to date, and rejects then. */
  async visit(home: HomeAssistant, timezone: string | null, options: VisitOptions): Promise<SentSeries[]> {
    this.#warnOfZone(timezone);
    await this.notices.deliver(home);
    await this.#updateTemperatures(home);
    const sent: SentSeries[] = [];
    let trouble: HomeAssistantTrouble | null = null;
    for (const [series, ledger] of this.#allSeries()) {
      try {
        sent.push({ series: series.id, rows: await this.#bring(home, series, ledger, options) });
      } catch (err) {
        trouble ??= ofOneQuestion(err);
      }
    }
    if (trouble !== null) throw trouble;
    return sent;
  }

  #warnOfZone(timezone: string | null): void {
    const { zone, log } = this.#context;
    if (timezone === null || timezone === this.#warnedOfZone || isSameZone(timezone, zone.name)) return;
    this.#warnedOfZone = timezone;
    log.warn('home assistant cuts its days in another time zone than usage.timezone');
  }

  async #updateTemperatures(home: HomeAssistant): Promise<void> {
    const { accounts, signals } = this.#context;
    const [oldest] = metersOf(this.#context)
      .map(({ ledger }) => ledger.origin)
      .sort();
    if (oldest === undefined || !(await this.outdoor.update(home, oldest))) return;
    for (const { id } of accounts) signals.emit('accountChanged', id);
  }

  /** Energy and cost of each meter whose history is complete. */
  #allSeries(): (readonly [Series, Ledger])[] {
    const { base_topic } = this.#context.config.mqtt;
    const meters = metersOf(this.#context);
    const names = meters.map(({ name }) => name);
    const views = meters.flatMap((meter) => meter.view() ?? []);
    return views.flatMap((view) =>
      seriesOf(base_topic, view, names).map((series) => [series, view.ledger] as const),
    );
  }

  async #bring(
    home: HomeAssistant,
    series: Series,
    ledger: Ledger,
    { signal, from, onProgress }: VisitOptions,
  ): Promise<number> {
    const { clock, log } = this.#context;
    const last = this.#comparedAt.get(series.id);
    const thorough = last === undefined || clock.monotonic() - last >= COMPARE_ALL_EVERY_MS;
    // Not known to be equal until this visit has come to its end.
    this.#comparedAt.delete(series.id);
    const rows = await bringUpToDate(home, series, {
      ledger,
      placement: this.#placement,
      clock,
      signal,
      thorough,
      from: from === undefined ? undefined : statisticsHour(from, this.#placement.zone),
      onProgress(stored, total) {
        const progress = { series: series.id, stored, total };
        if (stored > 0) log.info(progress, 'statistics stored and read back');
        onProgress(progress);
      },
    });
    this.#comparedAt.set(series.id, thorough ? clock.monotonic() : last);
    return rows;
  }
}
