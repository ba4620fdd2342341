// The tables of a fleet in a real PostgreSQL, without any process: for what one statement does.
import { createLog, createScrubber } from '../../src/foundation/log.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import { prepareTables } from '../../src/store/database/schema.ts';
import { openStack } from '../support/stack.ts';
import { startPostgres } from './postgres.ts';

export const silent = createLog({ level: 'fatal', scrubber: createScrubber(), write: () => undefined });

/** To be called from within a test. */
export async function openTables() {
  const stack = openStack();
  const postgres = stack.use(await startPostgres());
  const open = (port = postgres.port) => {
    const database = openDatabase(postgres.urlAs('heat2mqtt', port), 5_000, silent);
    stack.defer(() => database.close());
    return database;
  };
  const database = open();
  await prepareTables(database);
  return { stack, postgres, database, open };
}
