// What single statements promise, on a real PostgreSQL: claims, the fence, and writes that come late or twice.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { readHealth } from '../../src/fleet/health.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { ClaimedAccount } from '../../src/store/database/claimedAccount.ts';
import { type Claims, openClaims } from '../../src/store/database/claims.ts';
import { type Database, openDatabase } from '../../src/store/database/database.ts';
import { readKept } from '../../src/store/database/kept.ts';
import { prepareTables } from '../../src/store/database/schema.ts';
import { Seal } from '../../src/store/database/seal.ts';
import { tokensCodec } from '../../src/store/documents.ts';
import type { Codec } from '../../src/store/stateStore.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { turn } from '../support/waitFor.ts';
import { startPostgres } from './postgres.ts';

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
  for (const id of ids)
    await database.query(`INSERT INTO heat2mqtt.account (id, login) VALUES ($1, '')`, [id]);
  const tools = { database, seal, clock: systemClock };
  const claims = (on: Database = database) => openClaims({ ...tools, database: on }, randomUUID(), SECONDS);
  /** The same claim, with what is kept by now, of a process that has not noticed that it may be over. */
  const stateOf = async ({ row }: ClaimedAccount) => {
    const endsAt = systemClock.monotonic() + 60_000;
    const state = new ClaimedAccount(row, endsAt, readKept(database, [row.id]), tools);
    await state.open();
    return state;
  };
  const expire = () => database.query(`UPDATE heat2mqtt.account SET claimed_until = 'epoch'`);
  return { database, claims, stateOf, expire };
}

const take = async (claims: Claims): Promise<ClaimedAccount> => {
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
  await (await stateOf(present)).document('tokens', tokensCodec).write(TOKENS);

  const stolen = { ...TOKENS, owner: 'late' };
  await expect(lateState.document('tokens', tokensCodec).write(stolen)).rejects.toMatchObject({
    code: 'fence_lost',
  });
  for (const end of [undefined, END]) {
    const unaware = await stateOf(late);
    await unaware.document('published', published).write({ events: EVENTS });
    await expect(unaware.write({ failures: 9 }, end)).rejects.toMatchObject({ code: 'fence_lost' });
  }
  const [row] = await database.query<{ failures: number; claimed: boolean }>(
    'SELECT failures, claimed_until > now() AS claimed FROM heat2mqtt.account',
  );
  expect(row).toEqual({ failures: 0, claimed: true });
  expect(await database.query(`SELECT json FROM heat2mqtt.document WHERE name = 'published'`)).toEqual([]);
  const kept = await (await stateOf(present)).document('tokens', tokensCodec).read();
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
  const taken: ClaimedAccount[] = [];
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
    await state.document('published', published).write({ events: EVENTS });
    await state.write({ failures: 1 });
  }
  const kept = () =>
    database.query('SELECT json, failures, wanted FROM heat2mqtt.document, heat2mqtt.account');
  expect(await kept()).toEqual([{ json: { events: EVENTS }, failures: 1, wanted: 1 }]);
  await first.document('published', published).write({ events: [] });
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
  const fresh = (taken: readonly ClaimedAccount[]) => taken.filter(({ row }) => row.first_history).length;
  const first = await own.take(8, 2);
  expect([first.length, fresh(first)]).toEqual([8, 2]);
  const second = await own.take(8, 0);
  expect([second.length, fresh(second)]).toEqual([8, 0]);
  expect(fresh(await own.take(30, 30))).toBe(1);
});

test('an account that is told to wait is not taken, and told; a paused one counts as paused only', async () => {
  const { database, claims } = await openAccount(['well', 'told']);
  await database.query(`UPDATE heat2mqtt.account SET retry_after = now() + interval '1 h' WHERE id = 'told'`);
  await database.query(`INSERT INTO heat2mqtt.account (id, login, failures, last_error, paused)
    VALUES ('empty-flat', '', 9, 'bad_credentials_or_locked', true)`);
  expect((await claims().take(9, 9)).map(({ id }) => id)).toEqual(['well']);
  expect(await readHealth(database, 60, zone('Europe/Dublin'))).toMatchObject({
    health: {
      state: 'degraded',
      failures_in_a_row: 0,
      reasons: [{ code: 'accounts_told_to_wait' }],
      fleet: { accounts: 3, paused: 1, failing: 0, overdue: 0 },
    },
  });
});
