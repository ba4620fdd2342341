// Child processes of the bench: started, measured through /proc (Linux), and ended.
import { fork, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Child = ReturnType<typeof start>;

export const { HEAT2MQTT_PROGRAM: PROGRAM = join(process.cwd(), 'dist/heat2mqtt.js') } = process.env;
/** Where scripts/bench.mjs has put the bundled pieces of the bench. */
export const PIECES = import.meta.dirname;

export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export function start(
  argv: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd = process.cwd(),
  node = process.execPath,
) {
  const startedAt = performance.now();
  const child = spawn(node, argv, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      output = (output + String(bytes)).slice(-20_000);
    });
  }
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    pid: child.pid ?? 0,
    /** As `performance.now()`. */
    startedAt,
    process: child,
    get output() {
      return output;
    },
    async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
      child.kill(signal);
      await gone;
    },
  };
}

interface Counts {
  readonly counts: Readonly<Record<string, number>>;
  readonly mostInFlight: number;
  /** By the provider's own clock, in milliseconds. */
  readonly firstUsageAt: number;
  readonly lastUsageAt: number;
}

export type Provider = Awaited<ReturnType<typeof startProvider>>;

export async function startProvider(env: NodeJS.ProcessEnv = {}) {
  const child = fork(join(PIECES, 'provider.mjs'), { env: { ...process.env, ...env } });
  const { port } = await new Promise<{ port: number }>((resolve) => child.once('message', resolve));
  const url = `http://127.0.0.1:${port}`;
  const read = async (path: string) => (await (await fetch(`${url}${path}`)).json()) as Counts;
  const LONGEST_MS = 300_000;
  return {
    url,
    /** Requests by kind since the last call. */
    counts: () => read('/counts'),
    /** The readings of one more day are known. */
    book: () => read('/book'),
    /** Further tokens live for a day. */
    lengthenTokens: () => read('/life'),
    /** Resolves to the counts once so many usage reports have been asked for, or after five minutes. */
    async asked(usage: number): Promise<Counts> {
      const end = performance.now() + LONGEST_MS;
      while (((await read('/peek')).counts.usage ?? 0) < usage && performance.now() < end) await wait(200);
      return read('/counts');
    },
    stop: () => child.disconnect(),
  };
}

export const TICK_MS = 10;

/** User and system time of a process so far, in milliseconds. */
export function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory in MB. */
export function residentMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1]) * 1024) / 1_000_000;
}
