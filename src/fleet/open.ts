// Opens the database of a fleet, for its processes and for commands: tables, key, and what all of them share.
import { randomBytes } from 'node:crypto';
import type { Fleet } from '../config/schema.ts';
import { keysIn } from '../config/secret.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { type Database, openDatabase } from '../store/database/database.ts';
import { prepareTables } from '../store/database/schema.ts';
import { PLACES, Seal } from '../store/database/seal.ts';
import { type Replies, repliesCodec } from '../store/documents.ts';

export type OpenFleet = Awaited<ReturnType<typeof openFleet>>;

// A network that swallows everything has to be noticed in time to tell it within a minute.
const LONGEST_STATEMENT_MS = 10_000;

/** Rejects with a Failure. */
export async function openFleet(fleet: Fleet, log: Log) {
  const patienceMs = Math.min(LONGEST_STATEMENT_MS, (fleet.claim_seconds * 1000) / 2);
  const database = openDatabase(await fleet.database_url.read(), patienceMs, log);
  const keys = async () => keysIn(await fleet.key.read());
  try {
    await prepareTables(database);
    const seal = new Seal(await keys());
    return {
      database,
      seal,
      /** Drawn once for the fleet: its client ids at the broker begin with it. */
      installation: await readInstallation(database, seal),
      replies: repliesIn(database),
      /** Takes another password or key from its file. Rejects with a Failure. */
      async readSecretsAgain(): Promise<void> {
        database.moveTo(await fleet.database_url.read());
        seal.keys = await keys();
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
  const [row] = await database.query<{ mark_key: Buffer; installation: string }>(
    'UPDATE heat2mqtt.fleet SET mark_key = coalesce(mark_key, $1) RETURNING mark_key, installation',
    [drawn],
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

/** The shapes of replies that any process has seen: the last ones written count, and some may be lost with the database. */
const repliesIn = (database: Database) => ({
  async read() {
    const [row] = await database.query<{ replies: unknown }>('SELECT replies FROM heat2mqtt.fleet');
    return row?.replies ? repliesCodec.decode(row.replies) : null;
  },
  async write(value: Replies): Promise<boolean> {
    const json = JSON.stringify(repliesCodec.encode(value));
    const written = database.query('UPDATE heat2mqtt.fleet SET replies = $1 RETURNING id', [json]);
    return (await written.catch(() => [])).length > 0;
  },
});
