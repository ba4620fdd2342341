// Child processes of a bench: started, looked at through /proc (Linux), and ended.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Child {
  readonly pid: number;
  /** When it was started, as `performance.now()`. */
  readonly startedAt: number;
  readonly output: string;
  readonly process: ChildProcess;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

const { HEAT2MQTT_PROGRAM } = process.env;
export const PROGRAM = HEAT2MQTT_PROGRAM ?? join(process.cwd(), 'dist/heat2mqtt.js');
/** Where scripts/bench.mjs has put the bundled pieces of the bench. */
export const PIECES = import.meta.dirname;

export function start(argv: readonly string[], env: NodeJS.ProcessEnv = {}, cwd?: string): Child {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...argv], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (bytes: Buffer) => {
    output = (output + String(bytes)).slice(-20_000);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    pid: child.pid ?? 0,
    startedAt,
    process: child,
    get output() {
      return output;
    },
    async kill(signal = 'SIGKILL') {
      child.kill(signal);
      await gone;
    },
  };
}

export interface Provider {
  readonly url: string;
  /** Requests by kind since the last call. */
  counts(): Promise<{
    counts: Record<string, number>;
    mostInFlight: number;
    /** Of the provider's own clock, in milliseconds. */
    firstUsageAt: number;
    lastUsageAt: number;
  }>;
  /** Resolves once so many usage reports have been asked for since the last `counts`, or after the longest wait. */
  asked(usage: number, longestMs: number): Promise<void>;
  stop(): void;
}

export async function startProvider(env: NodeJS.ProcessEnv = {}): Promise<Provider> {
  const child = fork(join(PIECES, 'provider.mjs'), { env: { ...process.env, ...env } });
  const { port } = await new Promise<{ port: number }>((resolve) => child.once('message', resolve));
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    counts: async () => (await fetch(`${url}/counts`)).json() as ReturnType<Provider['counts']>,
    async asked(usage, longestMs) {
      const end = performance.now() + longestMs;
      for (;;) {
        const peek = (await (await fetch(`${url}/peek`)).json()) as { usage: number };
        if (peek.usage >= usage || performance.now() > end) return;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    },
    stop: () => child.disconnect(),
  };
}

const TICK_MS = 10;

/** User and system time of a process so far, in milliseconds. */
export function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory in bytes: all, and without what is shared with the file cache (program text). */
export function memoryOf(pid: number): { resident: number; own: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { resident: kilobytes('VmRSS') * 1024, own: kilobytes('RssAnon') * 1024 };
}
