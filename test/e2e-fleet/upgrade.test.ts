// Tables that an earlier version made: they are brought along, and processes of before write beside those of now.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { listMeters } from '../../src/fleet/keeper.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { openClaims } from '../../src/store/database/claims.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import { prepareTables } from '../../src/store/database/schema.ts';
import { Seal } from '../../src/store/database/seal.ts';
import type { DayRow } from '../../src/store/ledgerDocument.ts';
import type { Codec } from '../../src/store/stateStore.ts';
import { logLines } from '../support/logLines.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { startPostgres } from './postgres.ts';

const TABLES = join(ROOT, 'test/fixtures/fleet/tables-5.sql');
const LEDGER = { complete: true, readingCloses: 'previous_day', currency: 'EUR', friendlyName: 'Flat 3' };
const DAYS = 60;
const FIRST_DAY = '2026-08-01';
const RECEIVED_AT = Date.UTC(2026, 9, 1);
const dayRow = (at: number, energy = at, revision = 0): DayRow => [
  addDays(FIRST_DAY, at),
  energy,
  null,
  revision,
  RECEIVED_AT,
];
const rows = (count: number) => Array.from({ length: count }, (_, at) => dayRow(at));
const asItIs: Codec<{ readonly days: readonly DayRow[] }> = {
  encode: (value) => value,
  decode: (json) => Object(json),
};
const END = { dueAt: new Date(0), isPolled: true, isPublished: true };

/** One account with one meter, as a process of before has written them. */
async function openTablesOfBefore() {
  const stack = openStack();
  const postgres = stack.use(await startPostgres());
  await postgres.run(await readFile(TABLES, 'utf8'));
  await postgres.run(`CREATE ROLE heat2mqtt_worker LOGIN; GRANT USAGE ON SCHEMA heat2mqtt TO heat2mqtt_worker;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA heat2mqtt TO heat2mqtt_worker`);
  const databaseOf = (role: string) => {
    const database = openDatabase(postgres.urlAs(role), 10_000, logLines().log);
    stack.defer(() => database.close());
    return database;
  };
  const owner = databaseOf('heat2mqtt');
  const seal = new Seal([Buffer.alloc(32, 7)]);
  await postgres.run(`INSERT INTO heat2mqtt.account (id, login) VALUES ('home', '')`);
  await postgres.query(
    `INSERT INTO heat2mqtt.series (account, mark, name, ledger) VALUES ('home', $1, 'heat', $2)`,
    [seal.mark('P1'), LEDGER],
  );
  await postgres.query(
    `INSERT INTO heat2mqtt.reading SELECT s.id, $1::date + n, n, NULL, 0, to_timestamp($2::bigint / 1000.0)
    FROM heat2mqtt.series s, generate_series(0, $3::int - 1) n`,
    [FIRST_DAY, RECEIVED_AT, DAYS],
  );
  const claims = openClaims({ database: owner, seal, clock: systemClock }, randomUUID(), 10);
  /** One run of a process of now: gives what it reads, and writes what is made of that. */
  async function run(change: (days: readonly DayRow[]) => readonly DayRow[] = (days) => days) {
    const [claim] = await claims.take(1, 1);
    if (claim === undefined) throw new Error('there was nothing to claim');
    await claim.open();
    const document = claim.stored.document('ledger-P1', asItIs);
    const before = await document.read();
    const days = change(before?.days ?? []);
    if (days !== before?.days) await document.write({ ...LEDGER, days });
    await claim.write({}, END);
    return before?.days;
  }
  return { stack, postgres, owner, worker: databaseOf('heat2mqtt_worker'), run };
}

test('the owner brings tables of before along, a worker tells who has to', async () => {
  const { postgres, owner, worker } = await openTablesOfBefore();
  await expect(prepareTables(worker)).rejects.toMatchObject({
    code: 'other_tables',
    message: expect.stringContaining('those of an earlier heat2mqtt'),
    hint: expect.stringContaining('accounts list'),
  });
  await prepareTables(owner);
  await prepareTables(owner);
  await prepareTables(worker);
  // Processes of before find the version that they know.
  expect(await postgres.query('SELECT version FROM heat2mqtt.version')).toEqual([{ version: 5 }]);
  const listed = { meter: 'heat', identifiers: ['heat'], account: 'home', readingCloses: 'previous_day' };
  expect(await listMeters(worker)).toEqual([listed]);
  const [reading] = await postgres.query('SELECT currency, meter_name FROM heat2mqtt_views.reading LIMIT 1');
  expect(reading).toEqual({ currency: 'EUR', meter_name: 'Flat 3' });
  // What follows from a ledger is right whoever writes it.
  await postgres.query('UPDATE heat2mqtt.series SET ledger = $1', [{ complete: false }]);
  expect(await listMeters(worker)).toEqual([]);
});

test('tables that somebody holds are left as they are, with a sentence, and the others do not wait for long', async () => {
  const { postgres, owner, stack } = await openTablesOfBefore();
  const dump = await postgres.connect();
  stack.defer(() => dump.end());
  await dump.query('BEGIN; LOCK TABLE heat2mqtt.series IN ACCESS SHARE MODE');
  await expect(prepareTables(owner)).rejects.toMatchObject({
    code: 'database_trouble',
    message: 'Something else holds rows or tables of the fleet in the database.',
  });
  await dump.query('COMMIT');
  await prepareTables(owner);
});

test('days are read as they were last written, by a process of before or of now', async () => {
  const { postgres, owner, run } = await openTablesOfBefore();
  await prepareTables(owner);
  const hasBlock = async () =>
    (
      await postgres.query(
        `SELECT FROM heat2mqtt.series WHERE block IS NOT NULL AND ledger ->> 'blockTo' > '2026-09-01'`,
      )
    ).length === 1;
  expect(await run((days) => [...days, dayRow(DAYS)])).toEqual(rows(DAYS));
  expect(await hasBlock()).toBe(true);
  const newest = DAYS + 1;
  expect(await run((days) => [...days, dayRow(newest)])).toEqual(rows(DAYS + 1));
  expect(await run()).toEqual(rows(DAYS + 2));

  // A process of before corrects a day within the block, loses another, and reads a new one: it claims, writes and ends its claim.
  await postgres.query('UPDATE heat2mqtt.account SET fence = fence + 2');
  await postgres.query('UPDATE heat2mqtt.reading SET energy = 999, revision = 1 WHERE day = $1', [
    dayRow(3)[0],
  ]);
  await postgres.query('DELETE FROM heat2mqtt.reading WHERE day = $1', [dayRow(5)[0]]);
  await postgres.query(
    `INSERT INTO heat2mqtt.reading SELECT series, day + 1, $1, cost, revision, received_at FROM heat2mqtt.reading
    ORDER BY day DESC LIMIT 1`,
    [newest + 1],
  );
  await postgres.query('UPDATE heat2mqtt.series SET ledger = $1', [LEDGER]);
  const corrected = rows(DAYS + 3)
    .map((row, at) => (at === 3 ? dayRow(3, 999, 1) : row))
    .filter((_, at) => at !== 5);
  expect(await run()).toEqual(corrected);
  expect(await hasBlock()).toBe(false);
  expect(await run((days) => [...days, dayRow(newest + 2)])).toEqual(corrected);
  expect(await hasBlock()).toBe(true);
  expect(await run()).toEqual([...corrected, dayRow(newest + 2)]);

  // All days are rows as well: views and processes of before read these.
  const [sum] = await postgres.query(
    'SELECT count(*)::int AS days, sum(energy)::int AS energy FROM heat2mqtt.reading',
  );
  const energies = [...corrected, dayRow(newest + 2)].map(([, energy]) => energy ?? 0);
  expect(sum).toEqual({ days: energies.length, energy: energies.reduce((one, other) => one + other) });
});
