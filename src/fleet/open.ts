// Opens the database of a fleet, for its processes and for commands: tables, key, and what all of them share.
import { randomBytes } from 'node:crypto';
import type { Fleet } from '../config/schema.ts';
import { keysIn } from '../config/secret.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { Database } from '../store/database/database.ts';
import { prepareTables } from '../store/database/schema.ts';
import { PLACES, Seal } from '../store/database/seal.ts';
import type { StateStore } from '../store/stateStore.ts';

export type OpenFleet = Awaited<ReturnType<typeof openFleet>>;

// A network that swallows everything has to be noticed in time to tell it within a minute.
const LONGEST_STATEMENT_MS = 10_000;

/** Rejects with a Failure. */
export async function openFleet(fleet: Fleet, log: Log) {
  const patienceMs = Math.min(LONGEST_STATEMENT_MS, (fleet.claim_seconds * 1000) / 2);
  const database = new Database(await fleet.database_url.read(), patienceMs, log);
  const keys = async () => keysIn(await fleet.key.read());
  try {
    await prepareTables(database);
    const seal = new Seal(await keys());
    return {
      database,
      seal,
      /** Drawn once for the fleet: its client ids at the broker begin with it. */
      installation: await readInstallation(database, seal),
      shared: sharedDocuments(database),
      /** Takes another password or key from its file. Rejects with a Failure. */
      async readSecretsAgain(): Promise<void> {
        database.moveTo(await fleet.database_url.read());
        seal.use(await keys());
      },
      close: () => database.close(),
    };
  } catch (err) {
    await database.close();
    throw err;
  }
}

/** The first process leaves something sealed, by which the others know that they have the same key. */
async function readInstallation(database: Database, seal: Seal): Promise<string> {
  const drawn = seal.close(PLACES.markKey, randomBytes(32).toString('base64'));
  await database.query('UPDATE heat2mqtt.fleet SET mark_key = $1 WHERE mark_key IS NULL', [drawn]);
  const [row] = await database.query<{ mark_key: Buffer; installation: string }>(
    'SELECT mark_key, installation FROM heat2mqtt.fleet',
  );
  const markKey = row && seal.open(PLACES.markKey, row.mark_key);
  if (row === undefined || markKey === undefined)
    throw failure('other_key', 'fleet.key is not the key that this database was sealed with.', {
      exit: EXIT.config,
      retry: 'never',
      hint: 'Use the key file of the other processes, or the one kept with the backup.',
    });
  seal.markKey = String(markKey);
  return row.installation;
}

/** Documents that all processes share, and that belong to no account: the last one written counts. */
const sharedDocuments = (database: Database): Pick<StateStore, 'document'> => ({
  document(name, codec) {
    const put = async (json: unknown) => {
      const text = `INSERT INTO heat2mqtt.shared_document (name, json) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET json = excluded.json`;
      await database.query(text, [name, JSON.stringify(json)]);
    };
    return {
      async read() {
        const text = 'SELECT json FROM heat2mqtt.shared_document WHERE name = $1';
        const [row] = await database.query<{ json: unknown }>(text, [name]);
        return row?.json ? codec.decode(row.json) : null;
      },
      write: (value) => put(codec.encode(value)),
      remove: () => put(null),
    };
  },
});
