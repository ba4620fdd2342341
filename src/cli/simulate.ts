// heat2mqtt simulate: the simulated provider alone, with a configuration that works with it, and on request a bad day.
// heat2mqtt demo: the same, an embedded broker and the real daemon in one process, with a line for each publication that matters.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commentedConfig } from '../config/commented.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { systemClock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import { LogTail } from '../foundation/log.ts';
import { type AccountOptions, demoAccounts, flatAccounts } from '../simulator/accounts.ts';
import type { MeterOptions } from '../simulator/meter.ts';
import { type Simulator, startSimulator } from '../simulator/provider.ts';
import { type Io, typedAs, wrongUsage } from './command.ts';
import type { Command, ValueOf } from './commands.ts';
import { BASE, watch } from './demoSentences.ts';
import { startHousehold } from './run.ts';
import { openLog, openSettings, untilInterrupted } from './settings.ts';

// Fixed, so that a configuration that was saved works the next time too.
const USUAL_PORT = 8180;
const SLOW_MS = 20_000;
const LATE_DAYS = 4;
const CORRECTED_AFTER_MS = 2 * 60_000;

interface BadDay {
  /** The expected effect, for the person who rehearses it. */
  readonly tells: string;
  readonly heat?: (now: number) => MeterOptions;
  readonly begin?: (simulator: Simulator) => void;
}

const day = (instant: number) => new Date(instant).toISOString().slice(0, 10);

const BAD_DAYS: Readonly<Record<ValueOf<'simulate', 'fault'>, BadDay>> = {
  'wrong-password': {
    tells:
      'The password below is wrong. The bridge tries it four times within a day, then waits for another one.',
    begin({ changePassword, accounts }) {
      for (const { username } of accounts) changePassword(username, 'changed elsewhere');
    },
  },
  down: {
    tells: 'Issuer and API break every connection.',
    begin: ({ switches }) => void switches.fault('/', { kind: 'reset' }),
  },
  slow: {
    tells: `Every answer takes ${SLOW_MS / 1000} seconds.`,
    begin: ({ switches }) => void switches.fault('/', { kind: 'slow', ms: SLOW_MS }),
  },
  late: {
    tells: `The last reading was taken ${LATE_DAYS} days ago.`,
    heat: (now) => ({ until: day(now - LATE_DAYS * 24 * 3_600_000) }),
  },
  correction: {
    tells: 'A recent day is an estimate. Two minutes from now it is corrected: poll before and after.',
    heat: (now) => ({ estimate: { until: now + CORRECTED_AFTER_MS } }),
  },
  html: {
    tells: 'The API answers with a web page, as the login page of a hotel does.',
    begin({ switches }) {
      const body = '<!doctype html><p>Please accept the terms of this network.';
      const headers = { 'content-type': 'text/html' };
      switches.fault('/api/', { kind: 'reply', status: 200, body, headers });
    },
  },
};

export const simulate: Command<'simulate'> = async (given, io) => {
  const { port: wanted, accounts: most = 1, fault } = given.options;
  const badDay = fault === undefined ? null : BAD_DAYS[fault];
  const heat = badDay?.heat?.(io.clock.now());
  const accounts = most === 1 ? demoAccounts(1, heat) : flatAccounts(most, heat);
  const onPort = await freePort(wanted, USUAL_PORT);
  const simulator = await startSimulator({ clock: systemClock, accounts, port: onPort });
  // Other clients of such services send no PKCE challenge.
  simulator.switches.token.pkceRequired = false;
  badDay?.begin?.(simulator);
  try {
    io.out(configurationFor(simulator, accounts, badDay));
    await untilInterrupted(io);
  } finally {
    await simulator.stop();
  }
  return EXIT.fine;
};

/** The sections of a configuration that works with it. */
const sectionsFor = ({ urls }: Simulator, accounts: readonly AccountOptions[]) => ({
  provider: { issuer: urls.issuer, api_url: urls.api, client_id: 'self-care' },
  accounts: accounts.map(({ username, password }) => {
    return { id: accounts.length === 1 ? undefined : username.split('@')[0], username, password };
  }),
  constituencies: { base_url: urls.constituencies },
});

/** All of it is YAML, so that it can be written to a file as it is. */
function configurationFor(
  simulator: Simulator,
  accounts: readonly AccountOptions[],
  badDay: BadDay | null,
): string {
  const { provider, ...sections } = sectionsFor(simulator, accounts);
  const [redirect_uri] = simulator.switches.token.redirectUris;
  return `# A simulated heat provider runs on this machine until Ctrl-C. This is a configuration that works with it.
# Save it as simulated.yaml. Then, in another terminal: heat2mqtt check --live --config simulated.yaml
# and: heat2mqtt run --config simulated.yaml
# For a broker of your own write its url, as mqtt://192.0.2.7:1883, in place of embedded: true.
${badDay === null ? '' : `# It has a bad day. ${badDay.tells}\n`}${commentedConfig({
  version: 1,
  provider: { ...provider, redirect_uri },
  ...sections,
  // Topics of their own, beside those of real meters.
  mqtt: { embedded: true, base_topic: 'heat2mqtt-simulated' },
  state_dir: './state-simulated',
})}`;
}

/** The wanted port, which must be free (wrong_usage), else the usual one, else `0`, which stands for any. */
export async function freePort(wanted: number | undefined, usual: number): Promise<number> {
  const server = createServer();
  const isFree = await once(server.listen(wanted ?? usual, '127.0.0.1'), 'listening').then(
    () => true,
    () => false,
  );
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  if (isFree) return wanted ?? usual;
  if (wanted !== undefined) throw wrongUsage(`--port: ${wanted} is taken; allowed: a free port.`);
  return 0;
}

const PAGE_PORT = 8099;

export const demo: Command<'demo'> = async (given, io) => {
  const estimate = { until: Number.POSITIVE_INFINITY };
  const simulator = await startSimulator({ clock: systemClock, accounts: demoAccounts(1, { estimate }) });
  // Tokens that expire soon, so that a refresh before expiry can be watched.
  Object.assign(simulator.switches.token, { accessSeconds: 60, refreshSeconds: 90 });
  const stateDir = await mkdtemp(join(tmpdir(), 'heat2mqtt-demo-'));
  try {
    const daemon = await start(await freePort(given.options.port, 1883), simulator, stateDir, io);
    const watcher = await watch(daemon.brokerUrl, io);
    const sentence = await watcher.sentence;
    const addresses = whereToLook(daemon, simulator);
    io.out(`${sentence}
Look at it: http://127.0.0.1:${daemon.httpPort}/

A simulated flat with a heat meter. Nothing leaves this machine, and Ctrl-C ends it. Where to look:
${addresses}
The provider is asked every minute. What is new is told here:
`);
    watcher.tell((line) => io.out(line));
    // Something is to happen: the next poll finds a corrected day.
    estimate.until = systemClock.now();
    await untilInterrupted(io);
    await daemon.stop();
    await watcher.close();
    io.out(`
That was the demo. Until now it was here:
${addresses}With your own meter: ${typedAs(process.argv[1])} setup
`);
  } finally {
    await simulator.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
  return EXIT.fine;
};

async function start(port: number, simulator: Simulator, stateDir: string, io: Io): Promise<Daemon> {
  const text = JSON.stringify({
    ...sectionsFor(simulator, demoAccounts()),
    usage: { schedule: '* * * * *', allow_fast_schedule: true, jitter_seconds: 0 },
    mqtt: { embedded: { port, host: '127.0.0.1' }, base_topic: BASE },
    http: { listen: `127.0.0.1:${await freePort(undefined, PAGE_PORT)}` },
    state_dir: stateDir,
    log: { format: 'pretty' },
  });
  const settings = await openSettings({ path: 'demo', readFile: async () => text }, { ...io, env: {} });
  const logTail = new LogTail();
  // The page has all lines; the terminal is for the sentences.
  const log = await openLog(settings, io, logTail, (line) => !line.includes('"level":"info"'));
  return startHousehold(settings, { log, logTail, ingress: null }, io);
}

function whereToLook({ brokerUrl, httpPort }: Daemon, { urls }: Simulator): string {
  const { port } = new URL(brokerUrl);
  const request = `mosquitto_pub -h 127.0.0.1 -p ${port} -t ${BASE}/bridge/request`;
  return `  broker       ${brokerUrl}
  watch        mosquitto_sub -h 127.0.0.1 -p ${port} -v -t '#'
  poll now     ${request}/refresh -n
  list         ${request}/constituencies -n
  health       http://127.0.0.1:${httpPort}/healthz  /readyz  /metrics
  provider     ${urls.api} (issuer ${urls.issuer})
`;
}
