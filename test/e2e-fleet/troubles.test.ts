// What must not bring a fleet down, nor pass unseen: a damaged row, a database that is gone or wrong, a pooler, a pause.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { freePort } from '../e2e/mosquitto.ts';
import { ME } from '../e2e/program.ts';
import { startChild } from '../support/child.ts';
import { tooMany } from '../support/faults.ts';
import { STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { openFlat } from './flat.ts';

type Flat = Awaited<ReturnType<typeof openFlat>>;

const rowOf = async ({ postgres }: Flat, id: string) =>
  (
    await postgres.query(
      `SELECT *, due_at > now() + interval '20 s' AS rests FROM heat2mqtt.account WHERE id = $1`,
      [id],
    )
  )[0];

const untilRow = (flat: Flat, id: string, what: string, is: (row: Record<string, unknown>) => boolean) =>
  waitFor(`${id} to be ${what}`, async () => is((await rowOf(flat, id)) ?? {}));

const isRead = (row: Record<string, unknown>) => row.last_success_at !== null && row.failures === 0;

test('a damaged row, and a login of another row: counted, told, never used for another account, mended by an import; so are documents', async () => {
  const flat = await openFlat();
  const { command, logins, postgres, simulator } = flat;
  const rows = ['flat-1', 'flat-2', 'flat-3'].map((id) => [id, ME.username, ME.password]);
  await command('accounts', 'import', await logins(...rows));
  await postgres.query(`UPDATE heat2mqtt.account SET login = 'damaged' WHERE id = 'flat-1'`);
  await postgres.query(`UPDATE heat2mqtt.account SET login = (SELECT login FROM heat2mqtt.account WHERE id = 'flat-3')
    WHERE id = 'flat-2'`);
  flat.process();
  for (const id of ['flat-1', 'flat-2']) {
    await untilRow(flat, id, 'failing', (row) => row.failures === 1);
    expect(await rowOf(flat, id)).toMatchObject({ last_error: 'damaged_login', rests: true });
  }
  await untilRow(flat, 'flat-3', 'read', isRead);
  const { output } = await command('accounts', 'list', '--failing');
  expect(output).toMatch(/flat-1 .*damaged_login .*accounts import/);
  expect(output).not.toContain('flat-3');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });

  expect((await command('accounts', 'import', '--dry-run', await logins(...rows))).output).toBe(
    [
      'would be imported 0, changed 2, unchanged 1',
      '  another login or history_since, or damaged: flat-1',
      '  another login or history_since, or damaged: flat-2',
      '',
    ].join('\n'),
  );
  expect((await command('accounts', 'import', await logins(...rows))).output).toBe(
    'imported 0, changed 2, unchanged 1\n',
  );
  for (const id of ['flat-1', 'flat-2']) await untilRow(flat, id, 'read', isRead);

  // The lowest id reads the meter as soon as no other run has it.
  await command('accounts', 'resume', 'flat-1');
  await waitFor('flat-1 to read the meter', async () => {
    const [series] = await postgres.query('SELECT account FROM heat2mqtt.series');
    return series?.account === 'flat-1';
  });
  await untilRow(flat, 'flat-1', 'at rest', (row) => row.wanted === 0 && row.rests === true);

  // So it is with documents, sealed ones and others, and with a ledger.
  await postgres.query(
    `UPDATE heat2mqtt.document SET sealed = 'damaged' WHERE account = 'flat-2' AND name = 'tokens'`,
  );
  await postgres.query(
    `UPDATE heat2mqtt.document SET json = '{"version":1}' WHERE account = 'flat-3' AND name = 'journal'`,
  );
  await postgres.query(`UPDATE heat2mqtt.series SET ledger = '{"version":1}' WHERE account = 'flat-1'`);
  await command('accounts', 'resume', ...rows.map(([id = '']) => id));
  for (const [id = ''] of rows) {
    await untilRow(flat, id, 'failing again', (row) => row.failures === 1);
    expect(await rowOf(flat, id)).toMatchObject({ last_error: 'damaged_document', rests: true });
  }
  const failing = (await command('accounts', 'list', '--failing')).output;
  expect(failing.match(/damaged_document .*accounts import/g)).toHaveLength(3);
  expect((await command('accounts', 'import', await logins(...rows))).output).toBe(
    'imported 0, changed 3, unchanged 0\n',
  );
  for (const [id = ''] of rows) await untilRow(flat, id, 'read again', isRead);
  expect(await postgres.query('SELECT count(*)::int AS days FROM heat2mqtt_views.reading')).toEqual([
    { days: simulator.truth(512_001).size },
  ]);
});

test('a database that is gone is told by everything within a minute, and so is its return', async () => {
  const flat = await openFlat();
  const { postgres, command, logins } = flat;
  const port = await freePort();
  const cable = flat.stack.use(await openWire(postgres.port));
  const fleet = { ...flat.fleet, claim_seconds: 60, database_url: postgres.urlAs('heat2mqtt', cable.port) };
  await flat.configure({ fleet, http: { listen: `127.0.0.1:${port}` } });
  const probe = await flat.listen();
  await command('accounts', 'import', await logins(['home', ME.username, ME.password]));
  flat.process();
  await probe.until(STATE);
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const told = async () => ({
    healthz: (await ask('/healthz')).status,
    readyz: (await ask('/readyz')).status,
    up: /^heat2mqtt_fleet_database_up (\d)$/m.exec((await ask('/metrics')).text)?.[1],
    state: probe.last('heat2mqtt/bridge/state')?.payload.toString(),
    health: JSON.parse(String(probe.last('heat2mqtt/bridge/health')?.payload ?? '{}')).state,
  });
  const fine = { healthz: 200, readyz: 200, up: '1', state: 'online', health: 'ok' };
  const gone = { healthz: 503, readyz: 503, up: '0', state: 'offline', health: 'failing' };
  const untilTold = (what: object) =>
    waitFor(
      `everything to tell ${JSON.stringify(what)}`,
      async () => JSON.stringify(await told()) === JSON.stringify(what),
      {
        timeoutMs: 60_000,
        diagnose: told,
      },
    );
  await untilTold(fine);
  await postgres.pause();
  await untilTold(gone);
  await postgres.resume();
  await untilTold(fine);
  // A network that swallows everything is no better.
  cable.turn('silent');
  await untilTold(gone);
  cable.turn('whole');
  await untilTold(fine);
});

test('a wrong password, a database that is not there or gone, rights that are missing, tables of before or of later: a sentence each', async () => {
  const flat = await openFlat();
  const { postgres, command, fleet } = flat;
  await postgres.run(`CREATE ROLE locked LOGIN PASSWORD 'right'; CREATE ROLE stranger LOGIN;`);
  for (const [name, version] of [
    ['old', 1],
    ['newer', 99],
  ]) {
    await postgres.query(`CREATE DATABASE ${name}`);
    const other = new pg.Client({
      connectionString: postgres.urlAs('heat2mqtt').replace(/postgres$/, String(name)),
    });
    await other.connect();
    await other.query(
      `CREATE SCHEMA heat2mqtt; CREATE TABLE heat2mqtt.version AS SELECT ${version} AS version`,
    );
    await other.end();
  }
  const hba = join(postgres.folder, 'data/pg_hba.conf');
  await writeFile(hba, `host all locked 127.0.0.1/32 scram-sha-256\n${await readFile(hba, 'utf8')}`);
  await postgres.query('SELECT pg_reload_conf()');
  const expectFrom = async (user: string, database: string, code: number, sentence: string) => {
    const database_url = `postgresql://${user}@127.0.0.1:${postgres.port}/${database}`;
    await flat.configure({ fleet: { ...fleet, database_url } });
    const said = await command('accounts', 'list');
    expect(said).toMatchObject({ code, errors: expect.stringContaining(sentence) });
  };
  await expectFrom('locked:wrong', 'postgres', 1, 'PostgreSQL refuses the password of fleet.database_url.');
  await expectFrom('heat2mqtt', 'nowhere', 1, 'PostgreSQL has no database of the name');
  await expectFrom('stranger', 'postgres', 3, 'The tables of the fleet are missing');
  await expectFrom('heat2mqtt', 'old', 3, 'begin with an empty database');
  await expectFrom('heat2mqtt', 'newer', 3, 'The database is of a newer heat2mqtt: version 99');
  await postgres.pause();
  await expectFrom('heat2mqtt', 'postgres', 1, 'The database of the fleet cannot be used (ECONNREFUSED).');
});

const PGBOUNCER = '/usr/sbin/pgbouncer';

test.skipIf(!existsSync(PGBOUNCER))('a pooler in transaction mode is as good as none', async () => {
  const flat = await openFlat();
  const { postgres, command, logins, fleet, folder, stack } = flat;
  const port = await freePort();
  const config = join(folder, 'pgbouncer.ini');
  await writeFile(join(folder, 'users.txt'), '"heat2mqtt" ""\n');
  await writeFile(
    config,
    [
      '[databases]',
      `postgres = host=127.0.0.1 port=${postgres.port}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      `auth_type = trust\nauth_file = ${join(folder, 'users.txt')}`,
      'pool_mode = transaction\ndefault_pool_size = 2',
      ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
      '',
    ].join('\n'),
  );
  await startChild('chmod', ['-R', 'a+rX', folder]).exited;
  stack.use(startChild(PGBOUNCER, [config]));
  await flat.configure({
    fleet: { ...fleet, database_url: `postgresql://heat2mqtt@127.0.0.1:${port}/postgres` },
  });
  const probe = await flat.listen();
  await waitFor('the pooler', async () => (await command('accounts', 'list')).code === 0);
  await command('accounts', 'import', await logins(['home', ME.username, ME.password]));
  flat.process();
  await probe.until(STATE);
  await untilRow(flat, 'home', 'read', isRead);
});

test('a Retry-After of a week to one account: it waits for half an hour, the others go on, and it is told', async () => {
  const flat = await openFlat();
  const { command, logins, simulator } = flat;
  await command('accounts', 'import', await logins(['told', ME.username, ME.password]));
  simulator.switches.fault('/api/v1/reports/usage', tooMany(604_800), { times: 1 });
  const process = flat.process();
  await untilRow(flat, 'told', 'told to wait', (row) => row.failures === 1);
  const [waiting] = await flat.postgres.query(
    `SELECT extract(epoch FROM retry_after - now())::float8 AS seconds FROM heat2mqtt.account WHERE id = 'told'`,
  );
  expect(Number(waiting?.seconds)).toBeGreaterThan(1_700);
  expect(Number(waiting?.seconds)).toBeLessThan(1_801);
  expect(process.output).toContain('the provider asks this account to wait');
  await command('accounts', 'import', await logins(['other', ME.username, ME.password]));
  await untilRow(flat, 'other', 'read', isRead);
  const probe = await flat.listen();
  await waitFor('health to tell', () =>
    String(probe.last('heat2mqtt/bridge/health')?.payload ?? '').includes('accounts_told_to_wait'),
  );
});

test('keep_alive that is turned off makes no account be taken again and again', async () => {
  const flat = await openFlat();
  const { command, logins, simulator } = flat;
  simulator.switches.token.accessSeconds = 10;
  const { issuer, api } = simulator.urls;
  const provider = { issuer, api_url: api, client_id: 'self-care' };
  await flat.configure({ provider: { ...provider, keep_alive: true } });
  await command('accounts', 'import', await logins(['home', ME.username, ME.password]));
  const before = flat.process();
  await untilRow(flat, 'home', 'refreshed', (row) => Number(row.fence) >= 4);
  await before.end('SIGTERM');
  await flat.configure({ provider });
  flat.process();
  await untilRow(flat, 'home', 'at rest', (row) => row.rests === true);
  const { fence } = (await rowOf(flat, 'home')) ?? {};
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  expect((await rowOf(flat, 'home'))?.fence).toBe(fence);
});

test('keys are changed: a second one joins, all is sealed again, the first one goes', async () => {
  const flat = await openFlat();
  const { command, logins, folder, simulator } = flat;
  await command('accounts', 'import', await logins(['home', ME.username, ME.password]));
  const first = flat.process();
  await untilRow(flat, 'home', 'read', isRead);
  await first.end('SIGTERM');
  const file = join(folder, 'key');
  const old = (await readFile(file, 'utf8')).trim();
  const next = Buffer.alloc(32, 5).toString('base64');
  await writeFile(file, `${next}\n${old}\n`);
  const resealed = await command('accounts', 'reseal');
  expect(resealed).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^sealed again with the first key: [5-9]\n$/),
  });
  expect((await command('accounts', 'reseal')).output).toBe('sealed again with the first key: 0\n');
  await writeFile(file, `${next}\n`);
  await command('accounts', 'resume', 'home');
  const last = Number((await rowOf(flat, 'home'))?.fence);
  flat.process();
  await untilRow(flat, 'home', 'read again', (row) => Number(row.fence) > last + 1 && isRead(row));
  // With the session of before, which was sealed too.
  expect(simulator.counters.passwordGrants.asked).toBe(1);
  await writeFile(file, `${old}\n`);
  expect((await command('accounts', 'list')).errors).toContain('fleet.key is not the key');
});
