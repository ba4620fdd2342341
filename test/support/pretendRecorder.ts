// The long-term statistics of a pretend Home Assistant, kept by Home Assistant's rules.
import type { Fields } from './fields.ts';

/** By the type of the question: the result. What is thrown is told as the error. */
export type Answers = Readonly<Record<string, (question: Fields) => unknown>>;

export function refuse(code: string): never {
  throw { code };
}

interface Row {
  readonly state: number;
  readonly sum: number;
}

const HOUR_MS = 3_600_000;
const PERIODS: readonly unknown[] = ['hour', 'month'];
/** With an offset. */
const ON_THE_HOUR = /T\d\d:00:00[+-]\d\d:\d\d$/;

export class PretendRecorder {
  /** By statistic id: rows by epoch milliseconds. */
  readonly series = new Map<string, Map<number, Row>>();
  readonly metadata = new Map<string, Fields>();
  /** By entity id: °C, whatever the unit; `null`: no row for the hour that begins then, epoch milliseconds. */
  readonly sensors = new Map<string, { unit: string | null; mean: (start: number) => number | null }>();
  readonly #queue: Fields[] = [];
  readonly #switches: { readonly slow: boolean; readonly isAdmin: boolean };

  constructor(switches: { readonly slow: boolean; readonly isAdmin: boolean }) {
    this.#switches = switches;
  }

  /** Takes what was imported into the database. */
  commit(): void {
    for (const { metadata, stats } of this.#queue.splice(0)) {
      const { statistic_id: id } = metadata as { statistic_id: string };
      this.metadata.set(id, metadata as Fields);
      const rows = this.series.get(id) ?? new Map<number, Row>();
      this.series.set(id, rows);
      for (const { start, state, sum } of stats as (Row & { start: string })[])
        rows.set(Date.parse(start), { state, sum });
    }
  }

  /** The rows of a series, oldest first. */
  rows(id: string) {
    return this.#stored(id).map(
      ({ start, state, sum }) => [new Date(start).toISOString(), state, sum] as const,
    );
  }

  answers(): Answers {
    return {
      'recorder/info': () => ({
        backlog: this.#queue.length,
        thread_running: true,
        migration_in_progress: false,
      }),
      'recorder/get_statistics_metadata': ({ statistic_ids }) =>
        (statistic_ids as string[]).flatMap((id) => this.#described(id)),
      'recorder/statistics_during_period': (question) => this.#inPeriod(question),
      'recorder/import_statistics': (question) => this.#import(question),
    };
  }

  #import(question: Fields): null {
    if (!this.#switches.isAdmin) refuse('unauthorized');
    const rows = question.stats as readonly { readonly start: string }[];
    if (!rows.every(({ start }) => ON_THE_HOUR.test(start))) refuse('invalid_format');
    this.#queue.push(question);
    if (!this.#switches.slow) this.commit();
    return null;
  }

  #inPeriod({ types, start_time, end_time, statistic_ids, period, units }: Fields): Fields {
    const areMeans = String(types) === 'mean';
    const { energy, temperature } = Object(units);
    if (!PERIODS.includes(period) || (areMeans ? temperature !== '°C' : energy !== 'kWh'))
      refuse('invalid_format');
    const from = Date.parse(String(start_time));
    const to = end_time === undefined ? undefined : Date.parse(String(end_time));
    const answer: Record<string, Fields[]> = {};
    for (const id of statistic_ids as string[]) {
      const hours = areMeans ? this.#means(id, from, to ?? from) : this.#stored(id, from, to);
      if (hours.length > 0) answer[id] = period === 'hour' ? hours : monthsOf(hours);
    }
    return answer;
  }

  /** Oldest first. */
  #stored(id: string, from = 0, to = Number.POSITIVE_INFINITY) {
    return [...(this.series.get(id) ?? [])]
      .filter(([start]) => start >= from && start < to)
      .sort(([a], [b]) => a - b)
      .map(([start, row]) => ({ start, end: start + HOUR_MS, ...row }));
  }

  #means(id: string, from: number, to: number): Fields[] {
    const means: Fields[] = [];
    for (let start = Math.ceil(from / HOUR_MS) * HOUR_MS; start < to; start += HOUR_MS) {
      const mean = this.sensors.get(id)?.mean(start) ?? null;
      if (mean !== null) means.push({ start, end: start + HOUR_MS, mean });
    }
    return means;
  }

  #described(id: string): Fields[] {
    const measured = { source: 'recorder', has_mean: true, mean_type: 1, has_sum: false, name: null };
    const sensor = this.sensors.get(id);
    if (sensor) return [{ statistic_id: id, ...measured, statistics_unit_of_measurement: sensor.unit }];
    const imported = this.metadata.get(id);
    if (!imported) return [];
    const { unit_of_measurement: unit, ...rest } = imported;
    return [{ ...rest, statistics_unit_of_measurement: unit, display_unit_of_measurement: unit }];
  }
}

/** The last row of each month of UTC. */
function monthsOf(rows: readonly Fields[]): Fields[] {
  const months = rows.map((row): [number, Fields] => {
    const at = new Date(Number(row.start));
    const monthAt = (further: number) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + further, 1);
    return [monthAt(0), { ...row, start: monthAt(0), end: monthAt(1) }];
  });
  return [...new Map(months).values()];
}
