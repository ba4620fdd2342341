// What must not bring a fleet down, nor pass unseen: a damaged row, a database that is gone or wrong, a pooler, another key.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { freePort } from '../e2e/mosquitto.ts';
import { BRIDGE, hasDynamicSecurity, OWNER, startDynamicSecurity } from '../e2e/otherBrokers.ts';
import { startChild } from '../support/child.ts';
import { PROPERTY, STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { isRead, openFlat } from './flat.ts';

/** Half of what a process waits for an answer, and a second for a busy machine. */
const LONGEST_WAIT_SECONDS = 3.5;

test('a damaged row, and a login of another row: counted, told, never used for another account, mended by an import; so is a ledger', async () => {
  const flat = await openFlat();
  const { command, postgres, simulator } = flat;
  const ids = ['flat-1', 'flat-2', 'flat-3'];
  await flat.import(...ids);
  await postgres.query(`UPDATE heat2mqtt.account SET login = 'damaged' WHERE id = 'flat-1'`);
  await postgres.query(`UPDATE heat2mqtt.account SET login = (SELECT login FROM heat2mqtt.account WHERE id = 'flat-3')
    WHERE id = 'flat-2'`);
  flat.process();
  await flat.untilRow('flat-3', 'read', isRead);
  await postgres.query(`UPDATE heat2mqtt.series SET ledger = '{"version":1}' WHERE account = 'flat-3'`);
  await command('accounts', 'resume', 'flat-3');
  for (const [id, last_error] of [
    ['flat-1', 'damaged_login'],
    ['flat-2', 'damaged_login'],
    ['flat-3', 'damaged_document'],
  ] as const) {
    await flat.untilRow(id, 'failing', (row) => Number(row.failures) > 0);
    expect(await flat.row(id)).toMatchObject({ last_error });
  }
  const { output } = await command('accounts', 'list', '--failing');
  expect(output.match(/damaged_(login|document) .*accounts import/g)).toHaveLength(3);
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });

  const dry = await command('accounts', 'import', '--dry-run', await flat.logins(...ids));
  expect(dry.output).toMatch(
    /^would be imported 0, changed 3, unchanged 0\n {2}another login or history_since, or damaged: flat-1\n/,
  );
  expect((await flat.import(...ids)).output).toBe('imported 0, changed 3, unchanged 0\n');
  for (const id of ids) await flat.untilRow(id, 'read', isRead);
  expect(await flat.days()).toBe(simulator.truth(PROPERTY).size);
});

test('an error of PostgreSQL that quotes a person is told by its code, and nothing of its text', async () => {
  const flat = await openFlat();
  const person = 'Órla Canarywood, 4711083599';
  await flat.configure({ fleet: flat.fleet, log: { level: 'trace' } });
  const probe = await flat.listen();
  await flat.import('home');
  const beside = ['DETAIL', 'HINT', 'TABLE', 'CONSTRAINT'].map((field) => `${field} = '${person}'`);
  await flat.postgres.run(`CREATE FUNCTION public.quote() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'Dear ${person}' USING ERRCODE = 'P0001', ${beside}; END $$;
    CREATE TRIGGER quote BEFORE UPDATE ON heat2mqtt.account FOR EACH ROW EXECUTE FUNCTION public.quote()`);
  const program = flat.process();
  await program.says(/The database of the fleet cannot be used \(P0001\)/);
  const listed = await flat.command('accounts', 'list');
  const said = [program.output, program.errors, listed.output, listed.errors];
  const heard = probe.heard.map(({ payload }) => payload);
  expect([...said, ...heard].join('\n')).not.toMatch(/canary|4711083599/i);
});

test('a database that is gone is told by everything within a minute, and so is its return', async () => {
  const flat = await openFlat();
  const { postgres } = flat;
  const port = await freePort();
  const cable = flat.stack.use(await openWire(postgres.port));
  const fleet = { ...flat.fleet, claim_seconds: 60, database_url: postgres.urlAs('heat2mqtt', cable.port) };
  await flat.configure({ fleet, http: { listen: `127.0.0.1:${port}` } });
  const probe = await flat.listen();
  await flat.import('home');
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
      { timeoutMs: 60_000, diagnose: told },
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

test('leaves no statement waiting in the database when somebody holds a table, and answers a request with the reason', async () => {
  const flat = await openFlat();
  const { postgres, simulator } = flat;
  const probe = await flat.listen();
  await flat.import('home');
  const program = flat.process();
  await flat.untilRow('home', 'read', isRead);
  const held = await postgres.connect();
  await held.query('BEGIN; LOCK TABLE heat2mqtt.account');
  probe.publish('heat2mqtt/bridge/request/refresh', '{"transaction":"1"}');
  const answer = await probe.until('heat2mqtt/bridge/response/refresh');
  expect(answer).toMatchObject({ status: 'error', error: { code: 'database_trouble' } });
  await program.says(/Something else holds rows or tables of the fleet/);
  const [waiting] = await postgres.query(
    `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), 0)::float8 AS seconds FROM pg_stat_activity
    WHERE application_name = 'heat2mqtt' AND wait_event_type = 'Lock'`,
  );
  expect(waiting?.seconds).toBeLessThan(LONGEST_WAIT_SECONDS);
  await held.end();
  const { fence } = await flat.row('home');
  probe.publish('heat2mqtt/bridge/request/refresh', '{"transaction":"2"}');
  await flat.untilRow('home', 'read again', (row) => Number(row.fence) > Number(fence) && isRead(row));
  expect(simulator.counters.passwordGrants.asked).toBe(1);
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
  const { postgres, command, fleet, folder, stack } = flat;
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
  await flat.import('home');
  flat.process();
  await probe.until(STATE);
  await flat.untilRow('home', 'read', isRead);
});

test('keys are changed: a second one joins, all is sealed again, the first one goes', async () => {
  const flat = await openFlat();
  const { command, folder, simulator } = flat;
  await flat.import('home');
  const first = flat.process();
  await flat.untilRow('home', 'read', isRead);
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
  const last = Number((await flat.row('home')).fence);
  flat.process();
  await flat.untilRow('home', 'read again', (row) => Number(row.fence) > last + 1 && isRead(row));
  // With the session of before, which was sealed too.
  expect(simulator.counters.passwordGrants.asked).toBe(1);
  await writeFile(file, `${old}\n`);
  expect((await command('accounts', 'list')).errors).toContain('fleet.key is not the key');
});

test.skipIf(!hasDynamicSecurity)(
  'a broker that lets no process subscribe: everything is published, health and check name what is lost',
  async () => {
    const flat = await openFlat();
    const { url } = await startDynamicSecurity(flat.stack, []);
    await flat.configure({ mqtt: { url, ...BRIDGE } });
    const probe = flat.stack.use(await startProbe(url, { ...OWNER, protocolVersion: 5 }));
    await flat.import('home');
    const program = flat.process();
    await probe.until(STATE);
    const shared = '$share/heat2mqtt/heat2mqtt/bridge/request/+';
    const { state, reasons } = await probe.until('heat2mqtt/bridge/health', (health) =>
      JSON.stringify(health).includes(shared),
    );
    expect(state).toBe('degraded');
    const filters = (reasons as { message: string }[]).map(
      ({ message }) => message.match(/subscription to (\S+): /)?.[1],
    );
    expect(filters.sort()).toEqual([shared, 'heat2mqtt/bridge/info', 'heat2mqtt/bridge/state']);
    const { code, output } = await flat.command('check', '--live');
    expect([code, output]).toEqual([6, expect.stringContaining('$share/heat2mqtt_check/')]);
    expect(program.output.split('"connected to the broker"')).toHaveLength(3);
    expect(program.output).not.toMatch(/connection to the broker lost|"stack"/);
  },
);
