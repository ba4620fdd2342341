// A real Mosquitto from the PATH on a free port of this machine.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '../support/child.ts';
import { listening } from '../support/listening.ts';
import { waitFor } from '../support/waitFor.ts';

/** `lines`: of its configuration, after the listener's. `isLasting`: whether a restart keeps what is retained. */
export async function startMosquitto(lines: readonly string[] = ['allow_anonymous true'], isLasting = true) {
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-mosquitto-'));
  const port = await freePort();
  const config = join(folder, 'mosquitto.conf');
  const store = join(folder, 'store');
  const place = ['persistence true', `persistence_file ${store}`, 'persistence_location /'];
  const lasting = [...place, 'autosave_interval 1', 'autosave_on_changes true'];
  const text = ['user root', ...(isLasting ? lasting : []), `listener ${port} 127.0.0.1`, ...lines];
  await writeFile(config, `${text.join('\n')}\n`);

  const { PATH } = process.env;
  async function start(): Promise<Child> {
    const child = startChild('mosquitto', ['-c', config], {
      env: { PATH: `${PATH}:/usr/sbin:/usr/local/sbin` },
    });
    const diagnose = () => child.errors;
    await waitFor(
      'Mosquitto (apt-get install mosquitto)',
      () => /mosquitto version .* running/.test(child.errors),
      { diagnose },
    );
    return child;
  }

  let child = await start();
  return {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    /** Ends it as a power cut would, and starts it again; with `forget` it has lost everything retained. */
    async restart({ forget = false } = {}): Promise<void> {
      await child.end(forget ? 'SIGKILL' : 'SIGTERM');
      if (forget) await rm(store, { force: true });
      child = await start();
    },
    /** Ends it until `restart()`. */
    async pause(): Promise<void> {
      await child.end('SIGTERM');
    },
    async stop(): Promise<void> {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await once(server.close(), 'close');
  return port;
}
