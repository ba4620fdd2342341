// The statements of a fleet on a database of 50,000 accounts: time, blocks and WAL of each, by what is due. PostgreSQL counts them
// itself (pg_stat_statements), as the program sends them.
import { randomUUID } from 'node:crypto';
import { zone as zoneOf } from '../../src/domain/period.ts';
import { FleetCounts } from '../../src/fleet/health.ts';
import { listMeters } from '../../src/fleet/keeper.ts';
import { listAccounts, resealAll, sealLogin } from '../../src/fleet/roster.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { createLog, createScrubber } from '../../src/foundation/log.ts';
import type { Claim } from '../../src/store/database/claim.ts';
import { type Claims, openClaims } from '../../src/store/database/claims.ts';
import { type Database, openDatabase } from '../../src/store/database/database.ts';
import { prepareTables } from '../../src/store/database/schema.ts';
import { PLACES, Seal } from '../../src/store/database/seal.ts';
import type { Codec } from '../../src/store/stateStore.ts';
import { type Postgres, startPostgres } from '../e2e-fleet/postgres.ts';
import { table } from './numbers.ts';

const CLAIM_SECONDS = 60;
const AT_ONCE = 16;
const FIRST_HISTORIES = 4;
const DAYS = 60;
/** So many accounts have three years of days, which came day by day, each between those of the others. */
const LONG_ACCOUNTS = 320;
const LONG_DAYS = 1_095;
const BATCH = 5_000;
const ROUNDS = 20;
const FOREIGN_ROUNDS = 500;
const LOOKS = 5;
const LATER_MS = 6 * 3_600_000;
const LONGEST_STATEMENT_MS = 600_000;

const zone = zoneOf('Europe/Dublin');
const asItIs: Codec<object> = { encode: (value) => value, decode: (json) => Object(json) };

interface Parts {
  readonly postgres: Postgres;
  readonly database: Database;
  readonly claims: Claims;
  readonly seal: Seal;
}

export async function benchStatements(accounts: number): Promise<string> {
  const postgres = await startPostgres({
    isLasting: true,
    settings: ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track_planning=on'],
  });
  const log = createLog({ level: 'silent', scrubber: createScrubber(), write: () => {} });
  const database = openDatabase(postgres.urlAs('heat2mqtt'), LONGEST_STATEMENT_MS, log);
  try {
    await postgres.run('CREATE EXTENSION pg_stat_statements');
    await prepareTables(database);
    const seal = new Seal([Buffer.alloc(32, 7)]);
    seal.markKey = 'bench';
    await fill(postgres, seal, accounts);
    const claims = openClaims({ database, seal, clock: systemClock }, randomUUID(), CLAIM_SECONDS);
    return await measureAll({ postgres, database, claims, seal });
  } finally {
    await database.close();
    await postgres.stop();
  }
}

async function measureAll(parts: Parts): Promise<string> {
  const { postgres, claims } = parts;
  const lines: string[][] = [];
  const measure = async (situation: string, step: () => Promise<unknown>) => {
    await postgres.run('SELECT pg_stat_statements_reset()');
    await step();
    lines.push(...(await counted(postgres, situation)));
  };
  const due = async (which: string) => {
    await postgres.run(`UPDATE heat2mqtt.account SET due_at = now() + CASE WHEN ${which}
      THEN -random() * interval '1 h' ELSE interval '6 h' END`);
    await postgres.run('VACUUM ANALYZE heat2mqtt.account');
  };
  await due('true');
  await measure('all due', () => rounds(claims, ROUNDS, nothingNew));
  await measure('all due, a new day', () => rounds(claims, ROUNDS, newDay));
  await due(`id < 'a2' AND id >= 'a19'`);
  await measure('few due', () => rounds(claims, ROUNDS, nothingNew));
  await due(`id LIKE 'long%'`);
  await measure('three years, as rows', () => rounds(claims, ROUNDS, nothingNew));
  await due(`id LIKE 'long%'`);
  await measure('three years, a day that packs them', () => rounds(claims, ROUNDS, newDay));
  await due(`id LIKE 'long%'`);
  await measure('three years', () => rounds(claims, ROUNDS, nothingNew));
  await due(`id LIKE 'long%'`);
  await measure('three years, a new day', () => rounds(claims, ROUNDS, newDay));
  await measure('of all', () => looks(parts));
  await due('true');
  const release = await holdSnapshot(postgres);
  await rounds(claims, FOREIGN_ROUNDS, nothingNew);
  await measure('a foreign snapshot', () => rounds(claims, ROUNDS, nothingNew));
  await release();
  return table(['situation', 'calls', 'ms', 'planning, ms', 'blocks', 'WAL, kB', 'statement'], lines);
}

/** What looks at all accounts, or is done with all. */
async function looks({ database, seal }: Parts): Promise<void> {
  const counts = new FleetCounts({
    database,
    fleet: { claim_seconds: CLAIM_SECONDS },
    zone,
    clock: systemClock,
  });
  for (let n = 0; n < LOOKS; n += 1) {
    await counts.look(true);
    await counts.look(false);
    await listMeters(database);
    await listAccounts(database, true);
  }
  await resealAll({ database, seal });
}

/** Somebody's transaction that stays open. Resolves to what ends it. */
async function holdSnapshot(postgres: Postgres): Promise<() => Promise<void>> {
  const client = await postgres.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM heat2mqtt.version');
  return () => client.end();
}

async function rounds(claims: Claims, count: number, run: (claim: Claim) => Promise<void>) {
  for (let n = 0; n < count; n += 1) {
    const taken = await claims.take(AT_ONCE, FIRST_HISTORIES);
    await Promise.all(taken.map((claim) => claim.open().then(() => run(claim))));
  }
}

async function nothingNew(claim: Claim): Promise<void> {
  await claim.stored
    .document('journal', asItIs)
    .write({ accounts: { [claim.id]: { polls: [[Date.now(), null]] } } });
  await claim.stored.document('published', asItIs).write(PUBLISHED);
  const now = Date.now();
  const columns = { requests_today: 1, failures: 0, last_poll_at: new Date(now), last_error: null };
  await claim.write(columns, { dueAt: new Date(now + LATER_MS), isPolled: true, isPublished: true });
}

async function newDay(claim: Claim): Promise<void> {
  const ledger = claim.stored.document(`ledger-${claim.id}`, asItIs);
  const before = Object(await ledger.read());
  const day = new Date(Date.parse(before.days.at(-1)[0]) + 86_400_000).toISOString().slice(0, 10);
  await ledger.write({
    ...before,
    readTo: day,
    days: [...before.days, [day, 1_000_000, 100_000, 1, Date.now()]],
  });
  await claim.write({});
  await nothingNew(claim);
}

const PUBLISHED = {
  topics: Object.fromEntries(
    Array.from({ length: 14 }, (_, n) => [`heat2mqtt/meter/x/${n}`, 'f'.repeat(43)]),
  ),
  components: Object.fromEntries(
    Array.from({ length: 2 }, (_, n) => [
      `homeassistant/device/${n}`,
      Object.fromEntries(Array.from({ length: 40 }, (_, key) => [`component_${key}`, 'sensor'])),
    ]),
  ),
  lists: '0.1.0 EUR',
  told: {},
  events: [],
};
const LEDGER = {
  ...{ version: 1, timezone: 'Europe/Dublin', readingCloses: 'previous_day', origin: '2024-01-01' },
  ...{ readTo: '2026-11-01', complete: true, sweptOn: '2026-10-30', held: [], quarantine: [], isNew: false },
  ...{ tariff: null, currency: 'EUR', friendlyName: null },
  readTimes: Array.from({ length: 14 }, (_, n) => [`2026-10-${n + 10}`, 1_760_000_000_000 + n]),
};

/** Rows as a fleet has them after some weeks. */
export async function fill(
  postgres: Pick<Postgres, 'query' | 'run'>,
  seal: Seal,
  accounts: number,
): Promise<void> {
  const ids = Array.from({ length: accounts }, (_, n) => `${n < LONG_ACCOUNTS ? 'long-' : 'a'}${n}`);
  for (let at = 0; at < ids.length; at += BATCH) {
    const some = ids.slice(at, at + BATCH);
    const seals = (name: string, json: object) =>
      some.map((id) => seal.close(PLACES.document(id, name), json));
    await postgres.query(
      `INSERT INTO heat2mqtt.account (id, login, first_history, last_poll_at, last_success_at, auth_state, counted_on)
      SELECT *, false, now(), now(), 'ok', current_date FROM unnest($1::text[], $2::bytea[])`,
      [some, some.map((id) => sealLogin(id, 'resident@example.org', 'an invented password', seal))],
    );
    for (const [name, json] of Object.entries({
      tokens: { owner: 'x', value: { accessToken: 'a'.repeat(1_200), refreshToken: 'b'.repeat(700) } },
      'login-budget': { version: 1, refusals: 0, secretMark: 'c'.repeat(60) },
      context: { owner: 'x', value: { customer: 'd'.repeat(400) } },
    }))
      await postgres.query(
        `INSERT INTO heat2mqtt.document (account, name, sealed) SELECT id, $2, sealed FROM unnest($1::text[], $3::bytea[]) AS d(id, sealed)`,
        [some, name, seals(name, json)],
      );
    for (const [name, json] of Object.entries({ journal: { polls: [] }, published: PUBLISHED }))
      await postgres.query(
        'INSERT INTO heat2mqtt.document (account, name, json) SELECT id, $2, $3 FROM unnest($1::text[]) AS id',
        [some, name, JSON.stringify(json)],
      );
    await postgres.query(
      'INSERT INTO heat2mqtt.series (account, mark, name, ledger) SELECT id, mark, id, $3 FROM unnest($1::text[], $2::text[]) AS s(id, mark)',
      [some, some.map((id) => seal.mark(id)), JSON.stringify(LEDGER)],
    );
  }
  const insert = (days: number, which: string) => `INSERT INTO heat2mqtt.reading
    SELECT s.id, d.day::date, (random() * 3e7)::int, (random() * 5e6)::int, (random() * 1.1)::int,
      date_trunc('milliseconds', d.day + interval '30 h' + random() * interval '6 h') FROM heat2mqtt.series s,
    generate_series(date '2026-11-01' - ${days}, date '2026-10-31', interval '1 day') AS d(day) WHERE ${which} ORDER BY d.day, s.id`;
  await postgres.run(insert(DAYS, `s.name NOT LIKE 'long%'`));
  await postgres.run(insert(LONG_DAYS, `s.name LIKE 'long%'`));
  await postgres.run('VACUUM ANALYZE');
}

async function counted(postgres: Postgres, situation: string): Promise<string[][]> {
  const rows = await postgres.query<
    Record<'calls' | 'ms' | 'planning' | 'blocks' | 'wal', number> & { query: string }
  >(
    `SELECT calls::int, mean_exec_time AS ms, mean_plan_time AS planning,
      ((shared_blks_hit + shared_blks_read) / calls)::int AS blocks, (wal_bytes / calls / 1000)::float8 AS wal, query
    FROM pg_stat_statements WHERE query LIKE '%heat2mqtt.%' AND query NOT LIKE 'VACUUM%' ORDER BY total_exec_time DESC`,
  );
  return rows.map(({ calls, ms, planning, blocks, wal, query }) => [
    ...[situation, String(calls), ms.toFixed(2), planning.toFixed(2), String(blocks), wal.toFixed(1)],
    query.replace(/\s+/g, ' ').slice(0, 100).replaceAll('|', '/'),
  ]);
}
