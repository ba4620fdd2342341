// The recorder of a pretend Home Assistant: keeps imported statistics by Home Assistant's rules, at once or when told to.
export type Fields = Readonly<Record<string, unknown>>;

export interface KeptRow {
  readonly state: number;
  readonly sum: number;
}

/** A sensor whose hourly means are kept. */
export interface PretendSensor {
  readonly unit: string | null;
  /** In its unit; `null`: no row for the hour that begins then, epoch milliseconds. */
  readonly mean: (start: number) => number | null;
}

const HOUR_MS = 3_600_000;
/** Into °C, which is all that anybody here asks for. */
const CELSIUS: Readonly<Record<string, (value: number) => number>> = {
  '°C': (value) => value,
  '°F': (value) => (value - 32) / 1.8,
  K: (value) => value - 273.15,
};

/** `isSlow`: what is imported waits for `commit()`. */
export function openPretendRecorder(isSlow: () => boolean) {
  /** By statistic id: rows by epoch milliseconds. */
  const series = new Map<string, Map<number, KeptRow>>();
  const metadata = new Map<string, Fields>();
  const sensors = new Map<string, PretendSensor>();
  const queue: Fields[] = [];

  /** Takes what was imported into the database. */
  function commit(): void {
    for (const { metadata: described, stats } of queue.splice(0)) {
      const { statistic_id: id } = described as { statistic_id: string };
      metadata.set(id, described as Fields);
      const rows = series.get(id) ?? new Map();
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

  function meansOf(id: string, from: number, to: number): Fields[] {
    const { unit, mean } = sensors.get(id) ?? { unit: null, mean: () => null };
    const inCelsius = CELSIUS[unit ?? ''] ?? ((value) => value);
    const starts = Array.from(
      { length: Math.max(0, Math.ceil((to - from) / HOUR_MS)) },
      (_, at) => (Math.ceil(from / HOUR_MS) + at) * HOUR_MS,
    );
    return starts.flatMap((start) => {
      const value = mean(start);
      return value === null || start >= to ? [] : [{ start, end: start + HOUR_MS, mean: inCelsius(value) }];
    });
  }

  function inPeriod({ types, ...question }: Fields): Fields {
    const { start_time: start, end_time: end, statistic_ids: ids, period, units } = question;
    if (String(types) === 'mean') {
      if (period !== 'hour' || (units as Fields)?.temperature !== '°C') throw { code: 'invalid_format' };
      const [from, to] = [Date.parse(String(start)), Date.parse(String(end))];
      const rows = (ids as string[]).map((id) => [id, meansOf(id, from, to)] as const);
      return Object.fromEntries(rows.filter(([, found]) => found.length > 0));
    }
    if (period !== 'hour' || (units as Fields)?.energy !== 'kWh') throw { code: 'invalid_format' };
    const to = end === undefined ? Number.POSITIVE_INFINITY : Date.parse(String(end));
    const found = (ids as string[]).map((id) => [id, within(id, Date.parse(String(start)), to)] as const);
    return Object.fromEntries(found.filter(([, rows]) => rows.length > 0));
  }

  function described({ statistic_ids: ids }: Fields): Fields[] {
    const known = (ids as string[]).map((id) => metadata.get(id)).filter((one) => one !== undefined);
    const measured = (ids as string[]).flatMap((id) => {
      const unit = sensors.get(id)?.unit;
      const described = {
        statistic_id: id,
        source: 'recorder',
        has_mean: true,
        mean_type: 1,
        has_sum: false,
      };
      return unit === undefined ? [] : [{ ...described, name: null, statistics_unit_of_measurement: unit }];
    });
    const imported = known.map(({ unit_of_measurement: unit, ...rest }) => ({
      ...rest,
      statistics_unit_of_measurement: unit,
      display_unit_of_measurement: unit,
    }));
    return [...imported, ...measured];
  }

  return {
    series,
    metadata,
    /** By entity id. */
    sensors,
    commit,
    /** The rows of a series, oldest first. */
    rows: (id: string) =>
      within(id, 0, Number.POSITIVE_INFINITY).map(
        ({ start, state, sum }): [start: string, state: number, sum: number] => [
          new Date(start).toISOString(),
          state,
          sum,
        ],
      ),
    /** The result of a `recorder/…` question; throws what Home Assistant answers as its error. */
    answer(question: Fields): unknown {
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

interface Refusal {
  readonly code: string;
  readonly message: string;
}

const METADATA = 'mean_type has_sum name source statistic_id unit_class unit_of_measurement'.split(' ');
const ROW = ['start', 'state', 'sum', 'mean', 'min', 'max', 'last_reset'];
const EXTERNAL_ID = /^(?!.+__)(?!_)[\da-z_]+(?<!_):(?!_)[\da-z_]+(?<!_)$/;
const ENERGY_UNITS = ['Wh', 'kWh', 'MWh', 'GJ'];

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** What Home Assistant's recorder refuses, in the order in which it looks; `null`: it is taken in. */
function importRefusal(message: Fields): Refusal | null {
  const { id: _, type: __, metadata, stats, ...more } = message;
  const invalid = (text: string): Refusal => ({ code: 'invalid_format', message: text });
  if (Object.keys(more).length > 0) return invalid(`extra keys: ${Object.keys(more)}`);
  if (!isFields(metadata) || !Array.isArray(stats)) return invalid('metadata and stats');
  const strange = Object.keys(metadata).find((key) => !METADATA.includes(key));
  const missing = METADATA.find((key) => !(key in metadata));
  if (strange || missing) return invalid(`metadata: ${strange ?? missing}`);
  if (metadata.mean_type !== 0 || metadata.has_sum !== true) return invalid('mean_type or has_sum');
  for (const row of stats) {
    if (!isFields(row) || Object.keys(row).some((key) => !ROW.includes(key))) return invalid('a row');
    if (typeof row.state !== 'number' || typeof row.sum !== 'number') return invalid('state or sum');
    if (typeof row.start !== 'string' || Number.isNaN(Date.parse(row.start))) return invalid('start');
  }
  const refused = (text: string): Refusal => ({ code: 'home_assistant_error', message: text });
  const { statistic_id: id, source, unit_class: unitClass, unit_of_measurement: unit } = metadata;
  if (!EXTERNAL_ID.test(String(id))) return refused('Invalid statistic_id');
  if (source !== String(id).split(':')[0]) return refused('Invalid source');
  if (unitClass !== null && (unitClass !== 'energy' || !ENERGY_UNITS.includes(String(unit))))
    return refused('unit_class');
  if (typeof unit !== 'string') return refused('unit_of_measurement');
  for (const { start } of stats) {
    if (!/[+-]\d\d:\d\d$/.test(start)) return refused('Naive timestamp');
    if (!/T\d\d:00:00[+-]/.test(start)) return refused('Invalid timestamp: not on the hour');
  }
  return null;
}
