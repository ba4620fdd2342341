// One run over all statistics: signs in at Home Assistant, and brings the series of every meter up to date.
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Day, Zone } from '../../domain/period.ts';
import { statisticsHour } from '../../domain/statistics.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { bringUpToDate } from '../../homeassistant/importer.ts';
import { type Series, seriesOf } from '../../homeassistant/series.ts';
import { HomeAssistantTrouble, type TroubleKind } from '../../homeassistant/trouble.ts';
import type { MeterView } from '../../publication/views.ts';
import { visitHomeAssistant } from './homeAssistant.ts';

/** How many rows of a series have been stored and read back, of those that were to be sent. */
export interface Stored {
  readonly series: string;
  readonly stored: number;
  readonly total: number;
}

export interface Sent {
  readonly series: string;
  readonly rows: number;
}

export interface Errand {
  /** Send again what starts on this day or later, different or not. */
  readonly from?: Day;
  readonly onProgress: (progress: Stored) => void;
}

export interface StatisticsRunParts {
  readonly homeAssistant: Section;
  readonly baseTopic: string;
  readonly zone: Zone;
  /** Meters whose history is complete. */
  readonly meters: () => readonly MeterView[];
  /** The names of all of them. */
  readonly names: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Rejects with HomeAssistantTrouble. */
export type StatisticsRun = (token: string, errand: Errand, signal: AbortSignal) => Promise<readonly Sent[]>;

const THOROUGH_EVERY_MS = 24 * 3_600_000;
/** Trouble of one series, which leaves the others to be tried. */
const OF_ONE_SERIES: readonly TroubleKind[] = ['refused', 'not_stored', 'strange'];

export function openStatisticsRun(parts: StatisticsRunParts): StatisticsRun {
  const { zone, clock, log } = parts;
  const comparedAt = new Map<string, number>();
  let otherZone: string | null = null;

  async function everySeries(home: HomeAssistant, errand: Errand, signal: AbortSignal): Promise<Sent[]> {
    const sent: Sent[] = [];
    let trouble: unknown = null;
    for (const view of parts.meters()) {
      for (const series of seriesOf(parts.baseTopic, view.meter, view.currency, parts.names())) {
        try {
          sent.push({ series: series.id, rows: await oneSeries(home, series, view, errand, signal) });
        } catch (err) {
          if (!(err instanceof HomeAssistantTrouble) || !OF_ONE_SERIES.includes(err.kind)) throw err;
          trouble ??= err;
        }
      }
    }
    if (trouble !== null) throw trouble;
    return sent;
  }

  async function oneSeries(
    home: HomeAssistant,
    series: Series,
    { ledger }: MeterView,
    { from, onProgress }: Errand,
    signal: AbortSignal,
  ): Promise<number> {
    const last = comparedAt.get(series.id);
    const thorough = last === undefined || clock.monotonic() - last >= THOROUGH_EVERY_MS;
    // Not known to be equal until it has come to its end.
    comparedAt.delete(series.id);
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
        onProgress(progress);
      },
    });
    comparedAt.set(series.id, last === undefined || thorough ? clock.monotonic() : last);
    return rows;
  }

  function compareZones(timezone: string | null): void {
    if (timezone === null || timezone === zone.name || timezone === otherZone) return;
    otherZone = timezone;
    log.warn('home assistant cuts its days in another time zone than usage.timezone');
  }

  return (token, errand, signal) => {
    const work = (home: HomeAssistant, { timezone }: { readonly timezone: string | null }) => {
      compareZones(timezone);
      return everySeries(home, errand, signal);
    };
    return visitHomeAssistant(parts.homeAssistant, token, clock, work, signal);
  };
}
