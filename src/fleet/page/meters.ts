// The meters of a fleet that are told by name: so many as a person can look at.
import type { ReadingCloses } from '../../domain/readingCloses.ts';
import type { Database } from '../../store/database/database.ts';

export const MOST_METERS = 500;

export interface FleetMeter {
  readonly meter: string;
  readonly account: string;
  readonly readingCloses: ReadingCloses;
}

/** The first MOST_METERS by name of account and meter. */
export const readMeters = (database: Database): Promise<FleetMeter[]> =>
  database.query<FleetMeter>(
    `SELECT name AS meter, account, reading_closes AS "readingCloses" FROM heat2mqtt.series
    WHERE reading_closes IS NOT NULL ORDER BY account, name LIMIT $1`,
    [MOST_METERS],
  );
