// A real Mosquitto from the PATH on a free port of this machine.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../support/waitFor.ts';

export interface Mosquitto {
  readonly port: number;
  readonly url: string;
  /** Ends it as a power cut would, and starts it anew; with `forget` it has lost everything retained. */
  restart(options?: { readonly forget?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

/** Further lines of its configuration; they follow the listener's. */
export async function startMosquitto(
  lines: readonly string[] = ['allow_anonymous true'],
): Promise<Mosquitto> {
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-mosquitto-'));
  const port = await freePort();
  const config = join(folder, 'mosquitto.conf');
  const store = join(folder, 'store');
  const text = [
    'user root',
    'persistence true',
    `persistence_file ${store}`,
    'persistence_location /',
    'autosave_interval 1',
    'autosave_on_changes true',
    `listener ${port} 127.0.0.1`,
    ...lines,
  ];
  await writeFile(config, `${text.join('\n')}\n`);
  let child: ChildProcess;
  let output = '';

  async function start(): Promise<void> {
    const { PATH } = process.env;
    child = spawn('mosquitto', ['-c', config], {
      env: { PATH: `${PATH}:/usr/sbin:/usr/local/sbin` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.on('error', (err) => {
      output += err.message;
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (bytes) => (output += String(bytes)));
    await waitFor('Mosquitto', () => /mosquitto version .* running/.test(output), { diagnose: () => output });
    output = '';
  }
  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  await start();
  return {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    async restart({ forget = false } = {}) {
      await end(forget ? 'SIGKILL' : 'SIGTERM');
      if (forget) await rm(store, { force: true });
      await start();
    },
    async stop() {
      await end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
