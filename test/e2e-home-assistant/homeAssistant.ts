// A real Home Assistant as a child process, in a configuration directory of its own.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { type Child, startChild } from '../support/child.ts';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const STARTED = /Home Assistant initialized in/;
const START_MS = 120_000;

export interface HomeAssistantOptions {
  /** Further sections of configuration.yaml. */
  readonly sections?: Readonly<Record<string, unknown>>;
  /** Further files of the configuration directory, by their path in it. */
  readonly files?: Readonly<Record<string, string>>;
  /** With what a browser shows. */
  readonly frontend?: boolean;
}

// The frontend waits for the list of actions, and that imports camera and voice, which need packages that are not installed.
// Nothing here uses them.
const STAND_INS = `import importlib.util, sys
from unittest.mock import MagicMock
for name in ("numpy", "turbojpeg", "pymicro_vad", "pyspeex_noise"):
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = MagicMock()
`;

export async function startHomeAssistant(stack: Stack, options: HomeAssistantOptions) {
  const { sections = {}, files = {}, frontend = false } = options;
  const port = await portOfItsOwn();
  const folder = await stack.folder();
  const shown = frontend ? { frontend: null } : {};
  await writeConfiguration(folder, port, { ...shown, ...sections });
  // Python runs a file of this name first.
  const standIns = frontend ? { 'stand-ins/sitecustomize.py': STAND_INS } : {};
  for (const [path, text] of Object.entries({ ...standIns, ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }

  async function start(): Promise<Child> {
    // -P: no module is taken from the working directory, where other programs keep files of any name.
    const args = ['-P', '-m', 'homeassistant', '--skip-pip', '--config', folder];
    const env = { HOME: folder, TZ: 'UTC', LANG: 'C.UTF-8', PYTHONPATH: join(folder, 'stand-ins') };
    const child = startChild(inject('python'), args, { env });
    const diagnose = () => told(child).slice(-4_000);
    await waitFor('Home Assistant', () => STARTED.test(told(child)), { timeoutMs: START_MS, diagnose }).catch(
      async (err) => {
        await child.stop();
        throw err;
      },
    );
    return child;
  }

  let child = await start();
  stack.defer(() => child.stop());
  return {
    url: `http://127.0.0.1:${port}`,
    /** What it has logged since the newest start, record by record; a record may have many lines. */
    records: () => told(child).split(/\n(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)/),
    /** Ends politely and starts anew. */
    async restart(): Promise<void> {
      await child.end('SIGTERM');
      child = await start();
    },
  };
}

const told = ({ output, errors }: Child): string => `${output}\n${errors}`;

/** The address was a matter of configuration.yaml up to 2026.7; newer ones keep it in a store of their own. */
async function writeConfiguration(folder: string, port: number, sections: object): Promise<void> {
  const address = { server_host: ['127.0.0.1'], server_port: port };
  const isInStore = isSince(inject('release'), 2026, 8);
  const parts = { api: null, config: null, history: null, logbook: null, energy: null };
  const configuration = {
    ...parts,
    recorder: { commit_interval: 1 },
    logger: { default: 'info' },
    ...(isInStore ? {} : { http: address }),
    ...sections,
  };
  // JSON is YAML.
  await writeFile(join(folder, 'configuration.yaml'), JSON.stringify(configuration));
  if (!isInStore) return;
  const stable = {
    ...address,
    cors_allowed_origins: [],
    login_attempts_threshold: -1,
    ip_ban_enabled: true,
    ssl_profile: 'modern',
    use_x_frame_options: true,
    created_at: '2026-01-01T00:00:00+00:00',
    error: null,
    error_message: null,
  };
  const data = { stable, pending: null, yaml_migration_done: true };
  const store = { version: 2, minor_version: 2, key: 'http', data };
  await mkdir(join(folder, '.storage'));
  await writeFile(join(folder, '.storage/http'), JSON.stringify(store));
}

export function isSince(release: string, year: number, month: number): boolean {
  const [itsYear = 0, itsMonth = 0] = release.split('.').map(Number);
  return itsYear > year || (itsYear === year && itsMonth >= month);
}

/**
 * Below those that the system hands out: it starts seconds after the port was found free, and comes back to it after a
 * restart, when some other connection would have taken one of those.
 */
async function portOfItsOwn(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}
