// What single statements promise, on a real PostgreSQL: claims, the fence, and writes that come late or twice.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { FleetCounts } from '../../src/fleet/health.ts';
import { listMeters } from '../../src/fleet/keeper.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { Claim } from '../../src/store/database/claim.ts';
import { type Claims, openClaims } from '../../src/store/database/claims.ts';
import { type Database, openDatabase } from '../../src/store/database/database.ts';
import { prepareTables } from '../../src/store/database/schema.ts';
import { Seal } from '../../src/store/database/seal.ts';
import { readStored } from '../../src/store/database/storedAccount.ts';
import { tokensCodec } from '../../src/store/documents.ts';
import type { Codec } from '../../src/store/stateStore.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { startPostgres } from './postgres.ts';

type Row = Readonly<Record<string, unknown>>;

const SECONDS = 10;
const seal = new Seal([Buffer.alloc(32, 7)]);
const END = { dueAt: new Date(), isPolled: true, isPublished: true };
/** As a run keeps what is to be published. */
const published: Codec<object> = { encode: (value) => value, decode: (json) => Object(json) };
const EVENTS = [{ topic: 'x/event', payload: '{}' }];

const TOKENS = {
  owner: 'home',
  value: { accessToken: 'a', refreshToken: 'b', obtainedAt: 1, accessExpiresAt: 2, refreshExpiresAt: 3 },
};

async function openAccount(ids: readonly string[] = ['home']) {
  const stack = openStack();
  const postgres = stack.use(await startPostgres());
  const database = openDatabase(postgres.urlAs('heat2mqtt'), 5_000, logLines().log);
  stack.defer(() => database.close());
  await prepareTables(database);
  await database.query(
    `INSERT INTO heat2mqtt.account (id, login) SELECT id, $2 FROM unnest($1::text[]) AS id`,
    [ids, Buffer.alloc(100)],
  );
  const tools = { database, seal, clock: systemClock };
  const claims = (on: Database = database) => openClaims({ ...tools, database: on }, randomUUID(), SECONDS);
  /** The same claim, with what is kept by now, of a process that has not noticed that it may be over. */
  const stateOf = async ({ row }: Claim) => {
    const endsAt = systemClock.monotonic() + 60_000;
    const state = new Claim(row, endsAt, () => readStored(row.id, tools), tools);
    await state.open();
    return state;
  };
  const expire = () => database.query(`UPDATE heat2mqtt.account SET claimed_until = 'epoch'`);
  return { stack, postgres, database, claims, stateOf, expire };
}

const take = async (claims: Claims): Promise<Claim> => {
  const [claim] = await claims.take(1, 1);
  if (claim === undefined) throw new Error('there was nothing to claim');
  return claim;
};

test('a process that has lost an account writes nothing any more: no token, no result, and no release', async () => {
  const { database, claims, stateOf, expire } = await openAccount();
  const late = await take(claims());
  const lateState = await stateOf(late);
  await expire();
  const present = await take(claims());
  await (await stateOf(present)).stored.document('tokens', tokensCodec).write(TOKENS);

  const stolen = { ...TOKENS, owner: 'late' };
  await expect(lateState.stored.document('tokens', tokensCodec).write(stolen)).rejects.toMatchObject({
    code: 'fence_lost',
  });
  for (const end of [undefined, END]) {
    const unaware = await stateOf(late);
    await unaware.stored.document('published', published).write({ events: EVENTS });
    await expect(unaware.write({ failures: 9 }, end)).rejects.toMatchObject({ code: 'fence_lost' });
  }
  const [row] = await database.query<{ failures: number; claimed: boolean }>(
    'SELECT failures, claimed_until > now() AS claimed FROM heat2mqtt.account',
  );
  expect(row).toEqual({ failures: 0, claimed: true });
  expect(await database.query(`SELECT json FROM heat2mqtt.document WHERE name = 'published'`)).toEqual([]);
  const kept = await (await stateOf(present)).stored.document('tokens', tokensCodec).read();
  expect(kept?.owner).toBe('home');
});

test('a renewal that cannot see a claim yet does not end it: a slow commit costs no claim', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `flat-${n}`);
  const { database, claims } = await openAccount(ids);
  // As a disk that is slow to sync: each statement that claims ends 100 ms later than its rows are written.
  await database.query(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.fence > OLD.fence THEN PERFORM pg_sleep(0.1); END IF; RETURN NULL; END $$`);
  await database.query(`CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON heat2mqtt.account
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`);
  const own = claims();
  const taken: Claim[] = [];
  let isOver = false;
  const renewing = (async () => {
    for (; !isOver; await turn(1)) await own.renew(taken);
  })();
  while (taken.length < ids.length) taken.push(...(await own.take(4, 4)));
  isOver = true;
  await renewing;
  expect(taken.filter(({ signal }) => signal.aborted)).toEqual([]);
});

test('a claim lasts no longer here than in the database', async () => {
  const { database, claims } = await openAccount();
  const claim = await take(claims());
  const [row] = await database.query<{ left_ms: number }>(
    'SELECT (extract(epoch FROM claimed_until - clock_timestamp()) * 1000)::float8 AS left_ms FROM heat2mqtt.account',
  );
  expect(claim.remainingMs()).toBeLessThanOrEqual(row?.left_ms ?? 0);
});

test('a commit whose answer was lost is carried out once', async () => {
  const { claims, database, stateOf } = await openAccount();
  await database.query('UPDATE heat2mqtt.account SET wanted = 1');
  const claim = await take(claims());
  const [first, second] = [await stateOf(claim), await stateOf(claim)];
  for (const state of [first, second]) {
    await state.stored.document('published', published).write({ events: EVENTS });
    await state.write({ failures: 1 });
  }
  const kept = () =>
    database.query('SELECT json, failures, wanted FROM heat2mqtt.document, heat2mqtt.account');
  expect(await kept()).toEqual([{ json: { events: EVENTS }, failures: 1, wanted: 1 }]);
  await first.stored.document('published', published).write({ events: [] });
  await first.write({}, END);
  await expect(second.write({}, END)).rejects.toMatchObject({ code: 'fence_lost' });
  expect(await kept()).toEqual([{ json: { events: [] }, failures: 1, wanted: 0 }]);
});

test('a wish of meanwhile makes the account due at once', async () => {
  const { claims, database, stateOf } = await openAccount(['one', 'two', 'three']);
  const taken = await claims().take(3, 3);
  await database.query(`UPDATE heat2mqtt.account SET wanted = wanted + 1 WHERE id = 'one'`);
  await database.query(`UPDATE heat2mqtt.account SET republish = republish + 1 WHERE id = 'two'`);
  const later = new Date(Date.now() + 3_600_000);
  for (const claim of taken) await (await stateOf(claim)).write({}, { ...END, dueAt: later });
  const due = await database.query('SELECT id FROM heat2mqtt.account WHERE due_at <= now() ORDER BY id');
  expect(due).toEqual([{ id: 'one' }, { id: 'two' }]);
});

test('while others are overdue, first histories have their share of what is taken', async () => {
  const ids = Array.from({ length: 30 }, (_, n) => `flat-${n}`);
  const { claims, database } = await openAccount(ids);
  await database.query(`UPDATE heat2mqtt.account SET first_history = id IN ('flat-7', 'flat-8', 'flat-9'),
    due_at = now() - CASE WHEN id IN ('flat-7', 'flat-8', 'flat-9') THEN interval '0' ELSE interval '1 hour' END`);
  const own = claims();
  const fresh = (taken: readonly Claim[]) => taken.filter(({ row }) => row.first_history).length;
  const first = await own.take(8, 2);
  expect([first.length, fresh(first)]).toEqual([8, 2]);
  const second = await own.take(8, 0);
  expect([second.length, fresh(second)]).toEqual([8, 0]);
  expect(fresh(await own.take(30, 30))).toBe(1);
});

test('an account is left for a moment to the process that knows what is kept of it, and then to all', async () => {
  const { claims, database, stateOf } = await openAccount();
  const [own, other] = [claims(), claims()];
  const claim = await take(own);
  await claim.open();
  await claim.write({}, END);
  const becomesDue = (ago: string) =>
    database.query(`UPDATE heat2mqtt.account SET first_history = false, due_at = now() - $1::interval`, [
      ago,
    ]);
  await becomesDue('0');
  expect(await other.take(1, 1)).toEqual([]);
  await (await stateOf(await take(own))).write({}, END);
  await becomesDue('3 s');
  expect(await other.take(1, 1)).toHaveLength(1);
});

test('an account that is told to wait is not taken, and told; a paused one counts as paused only', async () => {
  const { database, claims } = await openAccount(['well', 'told']);
  await database.query(`UPDATE heat2mqtt.account SET retry_after = now() + interval '1 h' WHERE id = 'told'`);
  await database.query(`INSERT INTO heat2mqtt.account (id, login, failures, last_error, paused)
    VALUES ('empty-flat', '', 9, 'bad_credentials_or_locked', true)`);
  expect((await claims().take(9, 9)).map(({ id }) => id)).toEqual(['well']);
  expect(
    await new FleetCounts({
      database,
      fleet: { claim_seconds: 60 },
      zone: zone('Europe/Dublin'),
      clock: systemClock,
    }).now(),
  ).toMatchObject({
    health: {
      state: 'degraded',
      failures_in_a_row: 0,
      reasons: [{ code: 'accounts_told_to_wait' }],
      fleet: { accounts: 3, paused: 1, failing: 0, overdue: 0 },
    },
  });
});

test('what a process does with its accounts looks at no row of others, however many are due', async () => {
  const ids = Array.from({ length: 20_000 }, (_, n) => `flat-${n}`);
  const { postgres, database, claims } = await openAccount(ids);
  const marks = ids.map((id) => seal.mark(id));
  await postgres.query(
    `INSERT INTO heat2mqtt.series (account, mark, name, ledger)
    SELECT id, mark, id, $3 FROM unnest($1::text[], $2::text[]) AS s(id, mark)`,
    [ids, marks, { complete: true, filler: 'x'.repeat(500) }],
  );
  await postgres.query(`INSERT INTO heat2mqtt.document SELECT id, 'journal', '{}' FROM heat2mqtt.account`);
  await postgres.query(`INSERT INTO heat2mqtt.reading SELECT id, date '2026-01-01' + n, 1, 1, 0, now()
    FROM heat2mqtt.series, generate_series(1, 10) n`);
  await postgres.run('ANALYZE heat2mqtt.account, heat2mqtt.series, heat2mqtt.document, heat2mqtt.reading');
  /** By table; a connection that has ended has told its statistics. */
  async function seqScans(): Promise<Row[]> {
    await waitFor('connections to end', async () => {
      const open = `SELECT FROM pg_stat_activity WHERE application_name = 'heat2mqtt'`;
      return (await postgres.query(open)).length === 0;
    });
    return postgres.query(`SELECT relname, seq_scan FROM pg_stat_user_tables
      WHERE relname IN ('account', 'document', 'series', 'reading') ORDER BY 1`);
  }
  await database.close();
  const before = await seqScans();
  const own = openDatabase(postgres.urlAs('heat2mqtt'), 5_000, logLines().log);
  const process = claims(own);
  const taken = await process.take(16, 4);
  expect(taken.length).toBe(16);
  await process.renew(taken);
  for (const claim of taken) {
    await claim.open();
    await claim.stored
      .document(`ledger-${claim.id}`, published)
      .write({ days: [['2026-03-03', 1, 1, 0, 5]] });
    await claim.takeSeries([{ propertyCustomerId: `other-${claim.id}`, meterIdentifiers: [] } as never]);
    await claim.write({ failures: 1 }, END);
  }
  await listMeters(own);
  await own.close();
  expect(await seqScans()).toEqual(before);
});

test('a transaction of somebody else that stays open is told once a minute has passed, without rights to look at it', async () => {
  const { stack, postgres } = await openAccount();
  await postgres.run(`CREATE ROLE stranger LOGIN; CREATE ROLE heat2mqtt_worker LOGIN; GRANT USAGE ON SCHEMA heat2mqtt TO stranger;
    GRANT SELECT, UPDATE ON heat2mqtt.account TO stranger`);
  const worker = openDatabase(postgres.urlAs('heat2mqtt_worker'), 5_000, logLines().log);
  stack.defer(() => worker.close());
  const owner = openDatabase(postgres.urlAs('heat2mqtt'), 5_000, logLines().log);
  stack.defer(() => owner.close());
  await prepareTables(owner);
  const clock = handClock('2026-03-10T12:00:00Z');
  const counts = new FleetCounts({
    database: worker,
    fleet: { claim_seconds: 60 },
    zone: zone('Europe/Dublin'),
    clock,
  });
  const told = async () => {
    await counts.look(true);
    return counts.last?.health.reasons.filter(({ code }) => code === 'open_transaction');
  };
  const write = () => postgres.query('UPDATE heat2mqtt.account SET wanted = wanted');
  const begins = [
    'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1',
    'BEGIN; SELECT FROM heat2mqtt.account FOR UPDATE',
  ];
  for (const begin of begins) {
    const held = await postgres.connect('stranger');
    stack.defer(() => held.end());
    await held.query(begin);
    // Number for number: what begins afterwards is younger.
    await postgres.query('SELECT pg_current_xact_id()');
    expect(await told()).toEqual([]);
    clock.advance(60_000);
    if (begin === begins[0]) await write();
    else await postgres.query('SELECT pg_current_xact_id()');
    const [holder] = await postgres.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE usename = 'stranger'`,
    );
    expect(await told()).toMatchObject([{ message: expect.stringContaining(`process ${holder?.pid} `) }]);
    await held.end();
    expect(await told()).toEqual([]);
  }
});
