// The recorder of a pretend Home Assistant: keeps imported statistics by Home Assistant's rules, at once or when told to.
import { importRefusal } from './recorderRules.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface KeptRow {
  readonly state: number;
  readonly sum: number;
}

export interface PretendRecorder {
  /** By statistic id: rows by epoch milliseconds. */
  readonly series: Map<string, Map<number, KeptRow>>;
  readonly metadata: Map<string, Fields>;
  /** The rows of a series as `start state sum`, oldest first. */
  rows(id: string): [start: string, state: number, sum: number][];
  /** Takes what was imported into the database. */
  commit(): void;
  /** The result of a `recorder/…` question; throws what Home Assistant answers as its error. */
  answer(question: Fields): unknown;
}

/** `isSlow`: what is imported waits for `commit()`. */
export function openPretendRecorder(isSlow: () => boolean): PretendRecorder {
  const series = new Map<string, Map<number, KeptRow>>();
  const metadata = new Map<string, Fields>();
  const queue: Fields[] = [];

  function commit(): void {
    for (const { metadata: described, stats } of queue.splice(0)) {
      const { statistic_id: id } = described as { statistic_id: string };
      metadata.set(id, described as Fields);
      const rows = series.get(id) ?? new Map<number, KeptRow>();
      series.set(id, rows);
      for (const { start, state, sum } of stats as { start: string; state: number; sum: number }[]) {
        rows.set(Date.parse(start), { state, sum });
      }
    }
  }

  function within(id: string, from: number, to: number) {
    return [...(series.get(id) ?? [])]
      .filter(([start]) => start >= from && start < to)
      .sort(([a], [b]) => a - b)
      .map(([start, row]) => ({ start, end: start + 3_600_000, ...row }));
  }

  function inPeriod({ start_time: start, end_time: end, statistic_ids: ids, period, units }: Fields): Fields {
    if (period !== 'hour' || (units as Fields)?.energy !== 'kWh') throw { code: 'invalid_format' };
    const to = end === undefined ? Number.POSITIVE_INFINITY : Date.parse(String(end));
    const found = (ids as string[]).map((id) => [id, within(id, Date.parse(String(start)), to)] as const);
    return Object.fromEntries(found.filter(([, rows]) => rows.length > 0));
  }

  function described({ statistic_ids: ids }: Fields): Fields[] {
    const known = (ids as string[]).map((id) => metadata.get(id)).filter((one) => one !== undefined);
    return known.map(({ unit_of_measurement: unit, ...rest }) => ({
      ...rest,
      statistics_unit_of_measurement: unit,
      display_unit_of_measurement: unit,
    }));
  }

  return {
    series,
    metadata,
    commit,
    rows: (id) =>
      within(id, 0, Number.POSITIVE_INFINITY).map(({ start, state, sum }) => [
        new Date(start).toISOString(),
        state,
        sum,
      ]),
    answer(question) {
      switch (question.type) {
        case 'recorder/info':
          return { backlog: queue.length, thread_running: true, migration_in_progress: false };
        case 'recorder/get_statistics_metadata':
          return described(question);
        case 'recorder/statistics_during_period':
          return inPeriod(question);
        case 'recorder/import_statistics': {
          const refusal = importRefusal(question);
          if (refusal) throw refusal;
          queue.push(question);
          if (!isSlow()) commit();
          return null;
        }
        default:
          throw { code: 'unknown_command' };
      }
    },
  };
}
