// A fleet of the built program: PostgreSQL, a broker, the provider's simulator, and processes that a test can hurt.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../src/foundation/clock.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { startMosquitto } from '../e2e/mosquitto.ts';
import { ENTRY, outcome } from '../e2e/program.ts';
import { type Child, startChild } from '../support/child.ts';
import { booked } from '../support/homes.ts';
import { openStack } from '../support/stack.ts';
import { laidOver, usualConfig } from '../support/storyRules.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire, type Wire } from '../support/wire.ts';
import { writeKey, writeLogins } from './flat.ts';
import { startListener } from './listener.ts';
import { startPostgres } from './postgres.ts';
import { type Resident, residents, SINCE } from './residents.ts';
import { TokenBook } from './tokenBook.ts';
import { openWitness } from './witness.ts';

export type Fleet = Awaited<ReturnType<typeof openFleet>>;
export type Place = Fleet['places'][number];

export const CLAIM_SECONDS = 10;
const SHIFTED_CLOCK = join(import.meta.dirname, 'shiftedClock.mjs');
const MINUTE_MS = 60_000;
/** What the clocks of the three machines are wrong by. */
const CLOCKS_MS = [0, 7 * MINUTE_MS, -11 * MINUTE_MS];
// By themselves so slow, and so short-lived, that a fault often comes between a refresh and its answer.
const { HEAT2MQTT_FLEET_ANSWER_MS = '120', HEAT2MQTT_FLEET_TOKEN_SECONDS = '15' } = process.env;
/** A program of a version before, which the first of the three machines runs. */
const { HEAT2MQTT_FLEET_BEFORE = ENTRY } = process.env;

interface Options {
  readonly accounts: number;
  readonly seed: number;
  readonly everySeconds: number;
  /** A restart of the broker keeps what is retained, which it writes to the disk at each change. */
  readonly isLasting?: boolean;
}

/** To be called from within a test. Accounts are imported; no process runs yet. */
export async function openFleet({ accounts, seed, everySeconds, isLasting = false }: Options) {
  const stack = openStack();
  const folder = await stack.folder();
  const people = residents(accounts, seed);
  const book = new TokenBook();
  const [postgres, broker, simulator] = await Promise.all([
    startPostgres({ isLasting }),
    startMosquitto(['allow_anonymous true', 'max_queued_messages 0', 'max_inflight_messages 0'], isLasting),
    startSimulator({ clock: systemClock, accounts: people, onReply: book.note }),
  ]);
  for (const part of [postgres, broker, simulator]) stack.use(part);
  simulator.switches.token.accessSeconds = Number(HEAT2MQTT_FLEET_TOKEN_SECONDS);
  simulator.switches.token.refreshSeconds = 6 * 3_600;
  simulator.switches.fault('/', { kind: 'late', ms: Number(HEAT2MQTT_FLEET_ANSWER_MS) });
  await postgres.run('CREATE ROLE heat2mqtt_worker LOGIN; CREATE ROLE heat2mqtt_reader LOGIN;');

  const key_file = await writeKey(folder);
  async function configure(name: string, database_url: string): Promise<string> {
    const path = join(folder, `${name}.yaml`);
    const config = laidOver(usualConfig(simulator.urls, [], broker.url, join(folder, name)), {
      usage: {
        schedule:
          everySeconds < 60 ? `*/${everySeconds} * * * * *` : `*/${Math.round(everySeconds / 60)} * * * *`,
        allow_fast_schedule: true,
        history_since: SINCE,
        concurrency: 16,
      },
      fleet: { database_url, key_file, claim_seconds: CLAIM_SECONDS, requests_per_second: 400 },
      http: false,
    });
    // JSON is YAML.
    await writeFile(path, JSON.stringify(config));
    return path;
  }

  const owner = await configure('owner', postgres.urlAs('heat2mqtt'));
  const places = await Promise.all(
    CLOCKS_MS.map(async (shift, n) => {
      const cable = stack.use(await openWire(postgres.port));
      const program = n === 0 ? HEAT2MQTT_FLEET_BEFORE : ENTRY;
      const machine = { name: `machine-${n}`, shiftMs: shift, cable, program };
      return placeOf(machine, configure, postgres.urlAs('heat2mqtt_worker', cable.port));
    }),
  );
  for (const place of places) stack.use(place);
  return {
    people,
    book,
    postgres,
    broker,
    simulator,
    places,
    /** Their logins, as a housing association has them. */
    async import(which: readonly Resident[] = people): Promise<void> {
      const rows = which.map(({ id, username, password }) => [id, username, password]);
      const file = await writeLogins(folder, rows);
      const { code, output, errors } = await outcome(['accounts', 'import', file, '--config', owner]);
      if (code !== 0) throw new Error(`accounts import: ${output} ${errors}`);
    },
    listen: async () => stack.use(await startListener(broker.url)),
    /** To be called after `import`, before any process. */
    witness: async () => stack.use(await openWitness(postgres, CLAIM_SECONDS)),
    async startAll(): Promise<void> {
      await Promise.all(places.map((place) => place.start()));
    },
    /** Everything that all processes have said so far. */
    said: () => places.map(({ said }) => said()).join(''),
    truthOf: ({ property }: Resident) => booked(simulator, property),
  };
}

interface Machine {
  readonly name: string;
  readonly shiftMs: number;
  readonly cable: Wire;
  readonly program: string;
}

function placeOf(
  { name, shiftMs, cable, program }: Machine,
  configure: (name: string, url: string) => Promise<string>,
  databaseUrl: string,
) {
  const runs: Child[] = [];
  let child: Child | null = null;
  let ownEnds = 0;
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const running = child;
    child = null;
    return (await running?.end(signal))?.code;
  };
  return {
    name,
    cable,
    said: () => runs.map(({ output, errors }) => output + errors).join(''),
    /** How often it ended without being told to. */
    ownEnds: () => ownEnds,
    /** Each run has a name of its own in the database. */
    async start(): Promise<void> {
      const config = await configure(name, `${databaseUrl}?application_name=${name}-${runs.length}`);
      const env = { CLOCK_SHIFT_MS: String(shiftMs) };
      const started = startChild(
        process.execPath,
        ['--import', SHIFTED_CLOCK, program, 'run', '--config', config],
        {
          env,
        },
      );
      child = started;
      runs.push(started);
      void started.exited.then(() => {
        if (child === started) ownEnds += 1;
      });
      await waitFor('the process to work', () => started.output.includes('works for the fleet'), {
        diagnose: () => ({ output: started.output.slice(-2_000), errors: started.errors.slice(-2_000) }),
      });
    },
    kill: () => end('SIGKILL'),
    /** Resolves to the exit code. */
    endGently: () => end('SIGTERM'),
    freeze: () => child?.signal('SIGSTOP'),
    thaw: () => child?.signal('SIGCONT'),
    async stop(): Promise<void> {
      await child?.stop();
    },
  };
}
