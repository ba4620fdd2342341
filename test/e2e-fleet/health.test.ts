// bridge/health of a fleet, as the database counts it.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { readHealth } from '../../src/fleet/members/status.ts';
import { createLog, createScrubber } from '../../src/foundation/log.ts';
import { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrations.ts';
import { openStack } from '../support/stack.ts';
import { startPostgres } from './postgres.ts';

test('a paused account that failed before it was paused counts as paused only', async () => {
  const stack = openStack();
  const postgres = stack.use(await startPostgres());
  const log = createLog({ level: 'fatal', scrubber: createScrubber(), write: () => undefined });
  const database = new Database(postgres.urlAs('heat2mqtt'), 5_000, log);
  stack.defer(() => database.close());
  await migrate(database);
  await database.query(`INSERT INTO heat2mqtt.account (id, login, failures, last_error, paused)
    VALUES ('well', '', 0, NULL, false), ('empty-flat', '', 9, 'bad_credentials_or_locked', true)`);
  expect(
    await readHealth(database, { claimSeconds: 60, zone: zone('Europe/Dublin'), now: Date.now() }),
  ).toMatchObject({
    isSomeAccountWell: true,
    failuresInARow: 0,
    reasons: [],
    fleet: { accounts: 2, paused: 1, failing: 0 },
  });
});
