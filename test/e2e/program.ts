// The built program as a child process, and the home it runs in: a folder, a configuration, a simulated provider.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../src/foundation/clock.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { type Child, type ChildOptions, startChild } from '../support/child.ts';
import { home, METER, PROPERTY, person, quiet } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { freePort, startMosquitto } from './mosquitto.ts';

export const { HEAT2MQTT_PROGRAM: ENTRY = join(ROOT, 'dist/heat2mqtt.js') } = process.env;

export interface RunOptions extends ChildOptions {
  /** Another one than the built one. */
  readonly entry?: string;
}

export const run = (args: readonly string[], { entry = ENTRY, ...options }: RunOptions = {}): Child =>
  startChild(process.execPath, [entry, ...args], options);

/** Runs to the end. */
export async function outcome(args: readonly string[], options?: RunOptions) {
  const program = run(args, options);
  const code = await program.exited;
  return { code, output: program.output, errors: program.errors };
}

export const SINCE = `${new Date().getFullYear() - 1}-11-01`;
export const ME = person('me', [home(METER, quiet({ since: SINCE }), PROPERTY)]);

/** To be called from within a test. `me`: who lives there, under ME's name and password. */
export async function openHome(me = ME) {
  const stack = openStack();
  const folder = await stack.folder();
  const httpPort = await freePort();
  const simulator = stack.use(await startSimulator({ clock: systemClock, accounts: [me] }));
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, `${ME.password}\n`);
  return {
    stack,
    folder,
    simulator,
    httpPort,
    /** Writes the configuration, `over` laid over the usual one, and gives its path. */
    async configure(over: Readonly<Record<string, unknown>>): Promise<string> {
      const path = join(folder, 'config.yaml');
      const { issuer, api } = simulator.urls;
      const usual = {
        version: 1,
        provider: { issuer, api_url: api, client_id: 'self-care' },
        accounts: [{ username: ME.username, password_file: passwordFile }],
        usage: { history_since: SINCE, reading_closes: 'same_day' },
        http: { listen: `127.0.0.1:${httpPort}` },
        state_dir: join(folder, 'state'),
      };
      // JSON is YAML.
      await writeFile(path, JSON.stringify({ ...usual, ...over }));
      return path;
    },
    start: (config: string, env = {}) => stack.use(run(['run', '--config', config], { env })),
  };
}

/** `openHome` beside a Mosquitto. */
export async function openHomeWithBroker(me = ME) {
  const home = await openHome(me);
  const broker = home.stack.use(await startMosquitto());
  return {
    ...home,
    broker,
    configure: (over: Readonly<Record<string, unknown>> = {}) =>
      home.configure({ mqtt: { url: broker.url }, ...over }),
    listen: async () => home.stack.use(await startProbe(broker.url, { protocolVersion: 5 })),
  };
}
