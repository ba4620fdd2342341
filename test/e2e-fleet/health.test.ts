// bridge/health of a fleet, as the database counts it.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { readHealth } from '../../src/fleet/membership.ts';
import { openTables } from './tables.ts';

test('a paused account that failed before it was paused counts as paused only', async () => {
  const { database } = await openTables();
  await database.query(`INSERT INTO heat2mqtt.account (id, login, failures, last_error, paused)
    VALUES ('well', '', 0, NULL, false), ('empty-flat', '', 9, 'bad_credentials_or_locked', true)`);
  expect(await readHealth(database, 60, zone('Europe/Dublin'))).toMatchObject({
    isSomeAccountWell: true,
    failuresInARow: 0,
    reasons: [],
    fleet: { accounts: 2, paused: 1, failing: 0 },
  });
});
