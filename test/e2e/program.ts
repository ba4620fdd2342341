// The built program as a child process, and the home it runs in: a folder, a configuration, a simulated provider.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/foundation/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { home, METER, PROPERTY, person, quiet } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { ROOT } from '../support/sources.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { freePort, startMosquitto } from './mosquitto.ts';

export const { HEAT2MQTT_PROGRAM: ENTRY = join(ROOT, 'dist/heat2mqtt.js') } = process.env;

export interface Program {
  readonly output: string;
  readonly errors: string;
  /** Resolves to the exit code, `null` after a signal that was not handled. */
  readonly exited: Promise<number | null>;
  says(text: string | RegExp): Promise<void>;
  /** Sends the signal, and resolves to exit code and milliseconds. */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<{ code: number | null; ms: number }>;
  stop(): Promise<void>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Another one than the built one. */
  readonly entry?: string;
}

export function run(
  args: readonly string[],
  { env = {}, cwd = tmpdir(), entry = ENTRY }: RunOptions = {},
): Program {
  const { PATH = '', HOME = '/' } = process.env;
  const child = spawn(process.execPath, [entry, ...args], {
    cwd,
    env: { PATH, HOME, ...env },
    stdio: 'pipe',
  });
  let output = '';
  let errors = '';
  child.stdin.end();
  child.stdout.on('data', (bytes) => (output += String(bytes)));
  child.stderr.on('data', (bytes) => (errors += String(bytes)));
  let isGone = false;
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      isGone = true;
      resolve(code);
    });
  });
  async function end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL') {
    const began = performance.now();
    child.kill(signal);
    return { code: await exited, ms: performance.now() - began };
  }
  return {
    get output() {
      return output;
    },
    get errors() {
      return errors;
    },
    exited,
    async says(text) {
      await waitFor(`the program to say ${text}`, () => output.match(text) !== null, {
        diagnose: () => ({ output: output.slice(-2_000), errors: errors.slice(-2_000) }),
      });
    },
    end,
    async stop() {
      if (!isGone) await end('SIGKILL');
    },
  };
}

/** Runs to the end. */
export async function outcome(args: readonly string[], options?: RunOptions) {
  const program = run(args, options);
  const code = await program.exited;
  return { code, output: program.output, errors: program.errors };
}

const SINCE = `${new Date().getFullYear() - 1}-11-01`;
export const ME = person('me', [home(METER, quiet({ since: SINCE }), PROPERTY)]);

export interface Home {
  readonly stack: Stack;
  readonly folder: string;
  readonly simulator: Simulator;
  readonly httpPort: number;
  /** Writes the configuration, `over` laid over the usual one, and gives its path. */
  configure(over: Readonly<Record<string, unknown>>): Promise<string>;
}

/** To be called from within a test. `me`: who lives there, under ME's name and password. */
export async function openHome(httpPort: number, me = ME): Promise<Home> {
  const stack = openStack();
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-e2e-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const simulator = stack.use(await startSimulator({ clock: systemClock, accounts: [me] }));
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, `${ME.password}\n`);
  return {
    stack,
    folder,
    simulator,
    httpPort,
    async configure(over) {
      const path = join(folder, 'config.yaml');
      const { issuer, api } = simulator.urls;
      const usual = {
        version: 1,
        provider: { issuer, api_url: api, client_id: 'self-care' },
        accounts: [{ username: ME.username, password_file: passwordFile }],
        usage: { history_since: SINCE },
        http: { listen: `127.0.0.1:${httpPort}` },
        state_dir: join(folder, 'state'),
      };
      // JSON is YAML.
      await writeFile(path, JSON.stringify({ ...usual, ...over }));
      return path;
    },
  };
}

/** `openHome` beside a Mosquitto, whose configuration has these lines. */
export async function openHomeWithBroker({
  me,
  lines,
}: {
  readonly me?: typeof ME;
  readonly lines?: readonly string[];
} = {}) {
  const home = await openHome(await freePort(), me);
  const broker = home.stack.use(await startMosquitto(lines));
  return {
    ...home,
    broker,
    configure: (over: Readonly<Record<string, unknown>> = {}) =>
      home.configure({ mqtt: { url: broker.url }, ...over }),
    listen: async () => home.stack.use(await startProbe(broker.url, { protocolVersion: 5 })),
    start: (config: string, env = {}) => home.stack.use(run(['run', '--config', config], { env })),
  };
}
