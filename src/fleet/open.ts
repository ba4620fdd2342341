// Opens the database of a fleet, for its processes and for commands: tables, key, and the jobs of the accounts.

import type { Fleet } from '../config/schema.ts';
import { keyBytes } from '../config/sections/fleetSection.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { Database } from '../store/database/database.ts';
import { grantRights, migrate } from '../store/database/migrations.ts';
import { Seal } from '../store/database/seal.ts';
import { Jobs } from './work/jobs.ts';

export interface OpenFleet {
  readonly database: Database;
  readonly seal: Seal;
  readonly jobs: Jobs;
  /** Drawn once for the fleet: its client ids at the broker begin with it. */
  readonly installation: string;
  close(): Promise<void>;
}

class OtherKey extends Failure {
  readonly code = 'other_key';
  readonly exitCode = EXIT.config;

  constructor() {
    super('fleet.key is not the key that this database was sealed with.', {
      retry: 'never',
      hint: 'Use the key file of the other processes, or the one kept with the backup.',
    });
  }
}

class NodeTooOld extends Failure {
  readonly code = 'node_too_old';
  readonly exitCode = EXIT.config;

  constructor(version: string) {
    super(`A fleet needs Node 22.12 or newer; this is ${version}.`, { retry: 'never' });
  }
}

const CHECK_PLACE = 'fleet key_check';

/** `supervise`: for a process that works, not for a command. Rejects with a Failure. */
export async function openFleet(
  fleet: Fleet,
  nodeVersion: string,
  supervise: boolean,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<OpenFleet> {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 12)) throw new NodeTooOld(nodeVersion);
  const { claim_seconds: claimSeconds } = fleet;
  const database = new Database(await fleet.database_url.read(), (claimSeconds * 1000) / 2, log);
  try {
    const isOwner = await migrate(database);
    const seal = new Seal(keyBytes(await fleet.key.read()));
    const installation = await checkKey(database, seal);
    const jobs = await Jobs.open(database, { claimSeconds, supervise, isOwner }, { clock, log });
    if (isOwner) await grantRights(database);
    const close = async () => {
      await jobs.stop();
      await database.close();
    };
    return { database, seal, jobs, installation, close };
  } catch (err) {
    await database.close();
    throw err;
  }
}

/** The first process leaves a mark by which the others know that they have the same key. */
async function checkKey(database: Database, seal: Seal): Promise<string> {
  await database.query('UPDATE heat2mqtt.fleet SET key_check = $1 WHERE key_check IS NULL', [
    seal.close(CHECK_PLACE, 'heat2mqtt'),
  ]);
  const [row] = await database.query<{ key_check: Buffer; installation: string }>(
    'SELECT key_check, installation FROM heat2mqtt.fleet',
  );
  try {
    seal.open(CHECK_PLACE, row?.key_check ?? Buffer.alloc(0));
  } catch {
    throw new OtherKey();
  }
  return row?.installation ?? '';
}
