// A real PostgreSQL of this machine, in a folder and on a port of its own; as root it runs as the user `postgres`.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../e2e/mosquitto.ts';
import { waitFor } from '../support/waitFor.ts';

export type Postgres = Awaited<ReturnType<typeof startPostgres>>;

const DEBIAN = '/usr/lib/postgresql';
const OWNER = 'heat2mqtt';
const FAST = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'];
const STARTED_MS = 60_000;

/** `isLasting`: it writes as a real one does; otherwise a crash of the machine may lose what it said it had kept. */
export async function startPostgres({ isLasting = false, settings: more = [] as readonly string[] } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-postgres-'));
  const user = systemUser();
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  await promisify(execFile)(program('initdb'), ['-D', data, '-U', OWNER, '-A', 'trust', '-E', 'UTF8', '-N'], {
    ...user,
    cwd: folder,
  });
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'max_connections=200'];
  const args = [...settings, ...more, ...(isLasting ? [] : FAST)].flatMap((one) => ['-c', one]);
  const urlAs = (role: string, at = port) => `postgresql://${role}@127.0.0.1:${at}/postgres`;

  async function start() {
    let said = '';
    const child = spawn(program('postgres'), ['-D', data, '-p', String(port), ...args], {
      ...user,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.on('data', (bytes) => (said = (said + String(bytes)).slice(-4_000)));
    const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
    await waitFor('PostgreSQL', () => /ready to accept connections/.test(said), {
      timeoutMs: STARTED_MS,
      diagnose: () => said,
    });
    const pool = new pg.Pool({ connectionString: urlAs(OWNER), max: 2, application_name: 'proof' });
    pool.on('error', () => undefined);
    return {
      pool,
      pid: child.pid ?? 0,
      /** SIGINT ends all connections; SIGQUIT is a crash. */
      async end(signal: 'SIGINT' | 'SIGQUIT') {
        await pool.end();
        child.kill(signal);
        await exited;
      },
    };
  }

  let server: Awaited<ReturnType<typeof start>> | null = await start();
  return {
    port,
    folder,
    urlAs,
    /** As its owner. */
    async query<R extends object = Record<string, unknown>>(text: string, values: readonly unknown[] = []) {
      if (server === null) throw new Error('PostgreSQL is stopped');
      return (await server.pool.query<R>(text, [...values])).rows;
    },
    /** A connection of its own, for what a transaction holds. */
    async connect(role = OWNER): Promise<pg.Client> {
      const client = new pg.Client({ connectionString: urlAs(role), application_name: 'held' });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    },
    /** Several statements in one text. */
    async run(text: string): Promise<void> {
      await server?.pool.query(text);
    },
    get isRunning() {
      return server !== null;
    },
    get pid(): number {
      return server?.pid ?? 0;
    },
    async pause(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
      const running = server;
      server = null;
      await running?.end(signal);
    },
    async resume(): Promise<void> {
      server = await start();
    },
    /** Everything that is in it, as a backup has it. */
    async dump(): Promise<string> {
      const { stdout } = await promisify(execFile)(program('pg_dump'), [urlAs(OWNER)], {
        maxBuffer: 2 ** 31,
        cwd: folder,
      });
      return stdout;
    },
    /** The tables and rows alone, as statements that any later version of PostgreSQL takes. */
    async dumpStatements(): Promise<string> {
      const options = ['--no-owner', '--no-privileges', '--rows-per-insert=400', '--schema=heat2mqtt*'];
      const { stdout } = await promisify(execFile)(program('pg_dump'), [...options, urlAs(OWNER)], {
        maxBuffer: 2 ** 31,
        cwd: folder,
      });
      // What only psql understands, and what only some versions know.
      return stdout.replace(/^(\\|SET transaction_timeout).*\n/gm, '');
    },
    /** Into an empty database. */
    async restore(statements: string): Promise<void> {
      const client = new pg.Client({ connectionString: urlAs(OWNER) });
      await client.connect();
      await client.query(statements).finally(() => client.end());
    },
    async stop(): Promise<void> {
      await server?.end('SIGQUIT');
      server = null;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Debian keeps the programs of each version in a folder that is not on the PATH. */
function program(name: string): string {
  if (!existsSync(DEBIAN)) return name;
  const [newest = ''] = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return join(DEBIAN, newest, 'bin', name);
}

/** The server refuses to run as root. */
function systemUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (option: string) => Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}
