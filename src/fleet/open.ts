// Opens the database of a fleet, for its processes and for commands: tables, key, and what all of them share.
import type { Fleet } from '../config/schema.ts';
import { keysIn } from '../config/secretForms.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { Database } from '../store/database/database.ts';
import { DocumentForm } from '../store/database/documents.ts';
import { prepareTables } from '../store/database/schema.ts';
import { newMarkKey, PLACES, Seal } from '../store/database/seal.ts';
import { sharedDocuments } from '../store/database/sharedDocuments.ts';
import type { StateStore } from '../store/stateStore.ts';

export interface OpenFleet {
  readonly database: Database;
  readonly seal: Seal;
  readonly form: DocumentForm;
  readonly shared: Pick<StateStore, 'document'>;
  /** Drawn once for the fleet: its client ids at the broker begin with it. */
  readonly installation: string;
  /** Takes another password or key from its file. Rejects with a Failure. */
  readSecretsAgain(): Promise<void>;
  close(): Promise<void>;
}

// A network that swallows everything has to be noticed in time to tell it within a minute.
const LONGEST_STATEMENT_MS = 10_000;

/** Rejects with a Failure. */
export async function openFleet(fleet: Fleet, log: Log): Promise<OpenFleet> {
  const patienceMs = Math.min(LONGEST_STATEMENT_MS, (fleet.claim_seconds * 1000) / 2);
  const database = new Database(await fleet.database_url.read(), patienceMs, log);
  const keys = async () => keysIn(await fleet.key.read());
  try {
    await prepareTables(database);
    const seal = new Seal(await keys());
    const { markKey, installation } = await readFleetRow(database, seal);
    return {
      database,
      seal,
      form: new DocumentForm(seal, markKey),
      shared: sharedDocuments(database),
      installation,
      async readSecretsAgain() {
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
async function readFleetRow(database: Database, seal: Seal) {
  await database.query('UPDATE heat2mqtt.fleet SET mark_key = $1 WHERE mark_key IS NULL', [
    seal.close(PLACES.markKey, newMarkKey()),
  ]);
  const [row] = await database.query<{ mark_key: Buffer; installation: string }>(
    'SELECT mark_key, installation FROM heat2mqtt.fleet',
  );
  try {
    const markKey = String(seal.open(PLACES.markKey, row?.mark_key ?? Buffer.alloc(0)));
    return { markKey, installation: row?.installation ?? '' };
  } catch {
    throw failure('other_key', 'fleet.key is not the key that this database was sealed with.', {
      exit: EXIT.config,
      retry: 'never',
      hint: 'Use the key file of the other processes, or the one kept with the backup.',
    });
  }
}
