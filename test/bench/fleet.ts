// Several processes on one PostgreSQL, with all accounts due at once: time, memory, rows, WAL, and what a day of 50,000 costs.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Postgres, startPostgres } from '../e2e-fleet/postgres.ts';
import {
  type Child,
  cpuMs,
  PROGRAM,
  type Provider,
  residentMb,
  start,
  startProvider,
  TICK_MS,
  wait,
} from './children.ts';
import { type Bench, isStateBelow, monthsAgo } from './home.ts';
import { table } from './numbers.ts';

/** How long the history of each account is. */
const { HEAT2MQTT_BENCH_MONTHS: MONTHS = '1' } = process.env;
const PROCESSES = 3;
const CONCURRENCY = 16;
const BASE = 'fleet';
/** Shorter than the time between two of the phases, so that each poll signs in again, as polls that are hours apart do. */
const TOKEN_SECONDS = 5;
/** Of accounts that need no login: so many that the code is compiled, as it is in a process that has run for an hour. */
const SIGNED_IN_ROUNDS = 30;
const LONGEST_MS = 3_600_000;
const A_DAY = { accounts: 50_000, polls: 6, newDays: 1 };
const DAY_SECONDS = 86_400;

interface Phase {
  readonly seconds: number;
  readonly requests: number;
  readonly rows: number;
  readonly walBytes: number;
  readonly transactions: number;
  readonly cpu: number;
  readonly databaseCpu: number;
}

export async function benchFleet({ folder, broker }: Bench, accounts: number): Promise<string> {
  const provider = await startProvider({ TOKEN_SECONDS: String(TOKEN_SECONDS), NEWEST_DAYS_AGO: '2' });
  const postgres = await startPostgres({ isLasting: true });
  const workers: Child[] = [];
  try {
    const config = await configure(join(folder, BASE), { provider, postgres, broker: broker.url });
    const importedIn = await importAccounts(join(folder, BASE), config, accounts);
    const run = async (phase: Promise<unknown>) => measure(postgres, provider, workers, phase);
    const lastState = broker.heard(isStateBelow(BASE), accounts);
    for (let n = 0; n < PROCESSES; n += 1) workers.push(command(['run', '--config', config]));
    const first = await run(Promise.all([lastState, untilPolled(postgres, 'epoch')]));
    const polled = async (rounds = 1) => {
      await wait(2 * TOKEN_SECONDS * 1000);
      await provider.counts();
      return run(dueAtOnce(postgres, rounds));
    };
    const quiet = await polled();
    await provider.book();
    const newDay = await polled();
    await provider.lengthenTokens();
    await polled();
    const signedIn = await polled(SIGNED_IN_ROUNDS);
    const resident = workers.map(({ pid }) => residentMb(pid));
    const [size] = await postgres.query<{ mb: number }>(
      'SELECT pg_database_size(current_database()) / 1e6 AS mb',
    );
    const rows = Object.entries({ 'the first history': first, 'nothing new': quiet, 'one new day': newDay });
    const lines = [
      ...rows.map(([name, phase]) => lineOf(name, phase, accounts)),
      lineOf('nothing new, the session still good', signedIn, accounts * SIGNED_IN_ROUNDS),
    ];
    return [
      `${accounts} accounts on ${PROCESSES} processes; imported in ${importedIn.toFixed(1)} s; ` +
        `resident ${resident.map((mb) => mb.toFixed(0)).join(', ')} MB; database ${Number(size?.mb).toFixed(0)} MB`,
      table(HEAD, lines),
      ofADay(quiet, newDay, accounts),
    ].join('\n\n');
  } finally {
    await Promise.all(workers.map((worker) => worker.kill('SIGTERM')));
    provider.stop();
    await postgres.stop();
  }
}

const HEAD = [
  ...['all accounts due at once', 's', 'polls/s', 'requests', 'rows written/s', 'rows for each poll'],
  ...['transactions for each poll', 'WAL for each poll, kB', 'CPU for each poll, ms', 'of PostgreSQL, ms'],
];

function lineOf(name: string, phase: Phase, accounts: number): string[] {
  const { seconds, requests, rows, walBytes, transactions, cpu, databaseCpu } = phase;
  return [
    ...[name, seconds.toFixed(1), (accounts / seconds).toFixed(0), String(requests)],
    ...[(rows / seconds).toFixed(0), (rows / accounts).toFixed(1), (transactions / accounts).toFixed(1)],
    ...[
      (walBytes / accounts / 1000).toFixed(1),
      (cpu / accounts).toFixed(2),
      (databaseCpu / accounts).toFixed(2),
    ],
  ];
}

/** By the figures of a poll that finds nothing new, and of one that finds a day. */
function ofADay(quiet: Phase, newDay: Phase, accounts: number): string {
  const { polls, newDays } = A_DAY;
  const each = (pick: (phase: Phase) => number) =>
    (A_DAY.accounts / accounts) * (newDays * pick(newDay) + (polls - newDays) * pick(quiet));
  const requests = each((phase) => phase.requests);
  const minutes = (pick: (phase: Phase) => number) => (each(pick) / 60_000).toFixed(0);
  return [
    `${A_DAY.accounts} accounts a day, ${polls} polls each of which ${newDays} finds a new day:`,
    `${requests.toFixed(0)} requests (${(requests / DAY_SECONDS).toFixed(1)} a second),`,
    `${(each(({ rows }) => rows) / 1e6).toFixed(1)} million rows written, ${(each(({ walBytes }) => walBytes) / 1e9).toFixed(1)} GB of WAL,`,
    `${minutes(({ cpu }) => cpu)} minutes of CPU of the processes and ${minutes(({ databaseCpu }) => databaseCpu)} of PostgreSQL`,
  ].join(' ');
}

interface Services {
  readonly provider: Provider;
  readonly postgres: Postgres;
  readonly broker: string;
}

async function configure(folder: string, { provider, postgres, broker }: Services): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'config.yaml');
  const settings = {
    version: 1,
    provider: {
      issuer: `${provider.url}/realms/bench`,
      api_url: `${provider.url}/api/v1`,
      client_id: 'bench',
    },
    usage: {
      schedule: '23 3 1 1 *',
      timezone: 'UTC',
      reading_closes: 'same_day',
      history_since: monthsAgo(Number(MONTHS)),
      concurrency: CONCURRENCY,
    },
    extras: { meter_reading: false, balance: false, invoices: false },
    mqtt: { url: broker, base_topic: BASE },
    fleet: {
      database_url: postgres.urlAs('heat2mqtt'),
      key: randomBytes(32).toString('base64'),
      requests_per_second: 10_000,
    },
    http: false,
    state_dir: join(folder, 'state'),
  };
  // JSON is YAML.
  await writeFile(path, JSON.stringify(settings));
  return path;
}

const command = (args: readonly string[]) => start([PROGRAM, ...args], {});

/** Resolves to the seconds that it took. */
async function importAccounts(folder: string, config: string, accounts: number): Promise<number> {
  const file = join(folder, 'accounts.csv');
  const lines = Array.from({ length: accounts }, (_, n) => `a${n},user${n},invented-password-${n}`);
  await writeFile(file, ['id,username,password', ...lines, ''].join('\n'));
  const child = command(['accounts', 'import', file, '--config', config]);
  const code = await new Promise((resolve) => child.process.once('exit', resolve));
  if (code !== 0) throw new Error(`accounts import: ${child.output}`);
  return (performance.now() - child.startedAt) / 1000;
}

/** Resolves when all have been polled since then, and are nobody's any more. */
async function untilPolled(postgres: Postgres, since: string): Promise<void> {
  const end = performance.now() + LONGEST_MS;
  while (performance.now() < end) {
    const [left] = await postgres.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM heat2mqtt.account
      WHERE last_success_at IS NULL OR last_success_at <= $1 OR claimed_until > now()`,
      [since],
    );
    if (left?.count === 0) return;
    await wait(200);
  }
  throw new Error('not all accounts were polled within an hour');
}

/** Resolves when all have been polled so often. */
async function dueAtOnce(postgres: Postgres, rounds: number): Promise<void> {
  for (let n = 0; n < rounds; n += 1) {
    const [now] = await postgres.query<{ at: string }>('SELECT now()::text AS at');
    await postgres.query('UPDATE heat2mqtt.account SET due_at = now(), poll_at = now()');
    await untilPolled(postgres, now?.at ?? 'epoch');
  }
}

async function measure(
  postgres: Postgres,
  provider: Provider,
  workers: readonly Child[],
  phase: Promise<unknown>,
): Promise<Phase> {
  const look = async () => {
    const [row] = await postgres.query<{ wal: number; rows: number; transactions: number }>(
      `SELECT (pg_current_wal_lsn() - '0/0')::float8 AS wal, (tup_inserted + tup_updated + tup_deleted)::float8 AS rows,
        (xact_commit + xact_rollback)::float8 AS transactions
      FROM pg_stat_database WHERE datname = current_database()`,
    );
    return { wal: 0, rows: 0, transactions: 0, ...row };
  };
  const cpuNow = () => workers.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  const before = { ...(await look()), cpu: cpuNow(), databaseCpu: databaseCpuMs(postgres) };
  const began = performance.now();
  await phase;
  const seconds = (performance.now() - began) / 1000;
  const [cpu, databaseCpu] = [cpuNow() - before.cpu, databaseCpuMs(postgres) - before.databaseCpu];
  // PostgreSQL tells its statistics with some delay.
  await wait(1_500);
  const after = await look();
  const { counts } = await provider.counts();
  return {
    seconds,
    requests: Object.values(counts).reduce((sum, count) => sum + count, 0),
    rows: after.rows - before.rows,
    walBytes: after.wal - before.wal,
    transactions: after.transactions - before.transactions,
    cpu,
    databaseCpu,
  };
}

/** User and system time of the server and of all that have served a connection, in milliseconds (Linux). */
function databaseCpuMs({ pid }: Postgres): number {
  const living = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  // With those of its children that have ended.
  const ended = Number(fields[13]) + Number(fields[14]);
  return [pid, ...living.map(Number)].reduce((sum, one) => sum + cpuMs(one), ended * TICK_MS);
}
