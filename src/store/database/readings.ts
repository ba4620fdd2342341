// The days of ledgers as rows: what SQL can be asked about, and what a poll rewrites only where it has changed.
import type { Statements } from './database.ts';

/** As a ledger's document has it; amounts in millionths, the time in epoch milliseconds. */
export type StoredDay = readonly [
  day: string,
  energy: number | null,
  cost: number | null,
  revision: number,
  receivedAt: number,
];

export interface Series {
  readonly id: number;
  /** As its meter is called in topics. */
  readonly name: string;
  days: readonly StoredDay[];
}

interface SeriesRow {
  readonly id: number;
  readonly name: string;
  readonly mark: string;
  readonly days: StoredDay[] | null;
}

/** By the mark of the property. */
export async function readSeries(sql: Statements, account: string): Promise<Map<string, Series>> {
  const rows = await sql.query<SeriesRow>(
    `SELECT s.id, s.mark, s.name, (
      SELECT json_agg(json_build_array(r.day, r.energy, r.cost, r.revision,
        (extract(epoch FROM r.received_at) * 1000)::bigint) ORDER BY r.day)
      FROM heat2mqtt.reading r WHERE r.series = s.id) AS days
    FROM heat2mqtt.series s WHERE s.account = $1`,
    [account],
  );
  return new Map(rows.map(({ id, mark, name, days }) => [mark, { id, name, days: days ?? [] }]));
}

/** Within a transaction that holds the account. */
export async function writeDays(sql: Statements, series: Series, days: readonly StoredDay[]): Promise<void> {
  const before = new Map(series.days.map((day) => [day[0], day.join()]));
  const changed = days.filter((day) => before.get(day[0]) !== day.join());
  const now = new Set(days.map(([day]) => day));
  const gone = [...before.keys()].filter((day) => !now.has(day));
  const column = (at: number) => changed.map((day) => day[at]);
  if (changed.length > 0)
    await sql.query(
      `INSERT INTO heat2mqtt.reading (series, day, energy, cost, revision, received_at)
      SELECT $1, day, energy, cost, revision, to_timestamp(received / 1000.0)
      FROM unnest($2::date[], $3::bigint[], $4::bigint[], $5::int[], $6::bigint[])
        AS changed(day, energy, cost, revision, received)
      ON CONFLICT (series, day) DO UPDATE SET energy = excluded.energy, cost = excluded.cost,
        revision = excluded.revision, received_at = excluded.received_at`,
      [series.id, column(0), column(1), column(2), column(3), column(4)],
    );
  if (gone.length > 0)
    await sql.query('DELETE FROM heat2mqtt.reading WHERE series = $1 AND day = ANY($2::date[])', [
      series.id,
      gone,
    ]);
}
