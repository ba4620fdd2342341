// heat2mqtt demo: simulated provider, embedded broker and the real daemon in one process.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { systemClock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import { createScrubber } from '../foundation/log.ts';
import { Connection } from '../mqtt/connection.ts';
import type { Simulator } from '../simulator/provider.ts';
import { type Command, type Io, WrongUsage, wrongOption } from './command.ts';
import { startRealDaemon } from './run.ts';
import { openLog, untilInterrupted } from './settings.ts';

export const demo: Command = async (given, io) => {
  const wanted = portFrom(given.options.port);
  // Loaded here, since no other command needs it.
  const { startSimulator } = await import('../simulator/provider.ts');
  const { demoAccounts } = await import('../simulator/accounts.ts');
  const simulator = await startSimulator({ clock: systemClock, accounts: demoAccounts() });
  // Tokens that expire soon, so that a refresh before expiry can be watched.
  simulator.switches.token.accessSeconds = 60;
  simulator.switches.token.refreshSeconds = 90;
  const stateDir = await mkdtemp(join(tmpdir(), 'heat2mqtt-demo-'));
  try {
    const daemon = await startOnSomePort(wanted, (port) => start(port, simulator, stateDir, io));
    const watcher = await printMessages(daemon.brokerUrl, io);
    io.out(whereToLook(daemon, simulator));
    await untilInterrupted(io);
    await daemon.stop();
    await watcher.close(200);
  } finally {
    await simulator.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
  return EXIT.fine;
};

function portFrom(option: unknown): number | null {
  if (option === undefined) return null;
  const port = Number(option);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw wrongOption('--port', option, 'a port from 0 to 65535');
}

/** On the usual port if it is free, otherwise on any; a port that was asked for must be free. */
async function startOnSomePort(wanted: number | null, start: (port: number) => Promise<Daemon>) {
  try {
    return await start(wanted ?? 1883);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw err;
    if (wanted !== null) throw new WrongUsage(`--port: ${wanted} is taken; allowed: a free port.`);
    return start(0);
  }
}

async function start(port: number, simulator: Simulator, stateDir: string, io: Io): Promise<Daemon> {
  const scrubber = createScrubber();
  const text = JSON.stringify({
    provider: { issuer: simulator.urls.issuer, api_url: simulator.urls.api, client_id: 'self-care' },
    accounts: [{ username: 'me@example.org', password: 'demo' }],
    usage: { schedule: '* * * * *', jitter_seconds: 0 },
    constituencies: { base_url: simulator.urls.constituencies },
    mqtt: { embedded: { port, host: '127.0.0.1' } },
    http: { listen: '127.0.0.1:0' },
    state_dir: stateDir,
    log: { format: 'pretty' },
  });
  const readFile = async () => text;
  const { config } = await loadConfig({ path: 'demo', readFile, env: {}, now: Date.now, scrubber });
  const log = await openLog(config.log, scrubber, io);
  return startRealDaemon(config, log, scrubber);
}

/** Prints what anyone who subscribes would see. */
async function printMessages(url: string, io: Io): Promise<Connection> {
  const print = ({ topic, payload, retained }: { topic: string; payload: Buffer; retained: boolean }) => {
    const line = `${retained ? '(retained) ' : ''}${topic} ${payload.toString('utf8')}`;
    io.out(`${line.length > io.columns ? `${line.slice(0, io.columns - 1)}…` : line}\n`);
  };
  const address = { url, clientId: 'heat2mqtt_demo_watcher', tls: { rejectUnauthorized: true } };
  const will = { topic: 'demo/watcher', payload: '', retain: false };
  const connection = await Connection.open(address, 4, will, print, systemClock);
  await connection.subscribe(['heat2mqtt/#', 'homeassistant/#']);
  return connection;
}

function whereToLook({ brokerUrl, httpPort }: Daemon, { urls }: Simulator): string {
  const { port } = new URL(brokerUrl);
  return `
Everything below is simulated; nothing leaves this machine. Ctrl-C ends it.
  broker       ${brokerUrl}
  watch        mosquitto_sub -h 127.0.0.1 -p ${port} -v -t '#'
  poll now     mosquitto_pub -h 127.0.0.1 -p ${port} -t heat2mqtt/bridge/request/refresh -n
  list         mosquitto_pub -h 127.0.0.1 -p ${port} -t heat2mqtt/bridge/request/constituencies -n
  health       http://127.0.0.1:${httpPort}/healthz  /readyz  /metrics
  provider     ${urls.api} (issuer ${urls.issuer})

`;
}
