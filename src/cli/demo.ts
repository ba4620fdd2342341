// heat2mqtt demo: simulated provider, embedded broker and the real daemon in one process.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { systemClock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import { createScrubber, LogTail } from '../foundation/log.ts';
import { Connection } from '../mqtt/connection.ts';
import type { Simulator } from '../simulator/provider.ts';
import type { Command, Io } from './command.ts';
import { meterSentence, NO_READING, sentenceOn, timeWords } from './demoWords.ts';
import { freePort, portFrom } from './ports.ts';
import { reportOf, startRealDaemon } from './run.ts';
import { openLog, untilInterrupted } from './settings.ts';

const BASE = 'heat2mqtt';
const PAGE_PORT = 8099;
const LONGEST_WAIT_MS = 20_000;

export const demo: Command = async (given, io) => {
  const wanted = portFrom(given.options.port);
  // Loaded here, since hardly any other command needs it.
  const { startSimulator } = await import('../simulator/provider.ts');
  const { demoAccounts } = await import('../simulator/accounts.ts');
  const estimate = { until: Number.POSITIVE_INFINITY };
  const accounts = demoAccounts(1, { estimate });
  const simulator = await startSimulator({ clock: systemClock, accounts });
  // Tokens that expire soon, so that a refresh before expiry can be watched.
  simulator.switches.token.accessSeconds = 60;
  simulator.switches.token.refreshSeconds = 90;
  const stateDir = await mkdtemp(join(tmpdir(), 'heat2mqtt-demo-'));
  try {
    const daemon = await start(await freePort(wanted, 1883), simulator, stateDir, io);
    const watcher = await watch(daemon.brokerUrl, io);
    const sentence = await watcher.sentence;
    const addresses = whereToLook(daemon, simulator);
    io.out(
      `${sentence}\nLook at it: http://127.0.0.1:${daemon.httpPort}/\n\n${WHAT_THIS_IS}\n${addresses}\n${WHAT_COMES}\n`,
    );
    watcher.tell();
    // Something is to happen: the next poll finds a corrected day.
    estimate.until = systemClock.now();
    await untilInterrupted(io);
    await daemon.stop();
    await watcher.close();
    io.out(`\nThat was the demo. Until now it was here:\n${addresses}${WHAT_NEXT}\n`);
  } finally {
    await simulator.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
  return EXIT.fine;
};

async function start(port: number, simulator: Simulator, stateDir: string, io: Io): Promise<Daemon> {
  const scrubber = createScrubber();
  const text = JSON.stringify({
    provider: { issuer: simulator.urls.issuer, api_url: simulator.urls.api, client_id: 'self-care' },
    accounts: [{ username: 'me@example.org', password: 'demo' }],
    usage: { schedule: '* * * * *', allow_fast_schedule: true, jitter_seconds: 0 },
    constituencies: { base_url: simulator.urls.constituencies },
    mqtt: { embedded: { port, host: '127.0.0.1' }, base_topic: BASE },
    http: { listen: `127.0.0.1:${await freePort(null, PAGE_PORT)}` },
    state_dir: stateDir,
    log: { format: 'pretty' },
  });
  const readFile = async () => text;
  const loaded = await loadConfig({ path: 'demo', readFile, env: {}, now: Date.now, scrubber });
  const { config } = loaded;
  const logTail = new LogTail();
  // The page has all lines; the terminal is for the sentences.
  const isTrouble = (line: string) => !line.includes('"level":"info"');
  const log = await openLog(config.log, scrubber, io, logTail, isTrouble);
  return startRealDaemon({
    config,
    log,
    scrubber,
    logTail,
    report: reportOf({ ...loaded, scrubber }, io),
    ingress: null,
  });
}

/** Sees what every subscriber would see. */
async function watch(url: string, io: Io) {
  let isTelling = false;
  let health = '';
  let onSentence = (_sentence: string) => {};
  const sentence = new Promise<string>((resolve) => {
    onSentence = resolve;
  });
  const hear = ({ topic, payload }: { topic: string; payload: Buffer }) => {
    // bridge/state is plain text.
    if (!payload.toString('utf8').startsWith('{')) return;
    const said = JSON.parse(payload.toString('utf8'));
    const name = topic.slice(BASE.length + 1);
    if (/^meter\/[^/]+\/state$/.test(name)) onSentence(meterSentence(said));
    const line = sentenceOn(name, said);
    // Health is published with each poll, and told when it has changed.
    if (line === null || (name === 'bridge/health' && line === health)) return;
    if (name === 'bridge/health') health = line;
    if (isTelling) io.out(`${timeWords(new Date())}  ${line}  [${topic}]\n`);
  };
  const connection = await Connection.open(
    { url, versions: [4], clientId: 'heat2mqtt_demo_watcher', tls: { rejectUnauthorized: true } },
    systemClock,
    { onMessage: hear },
  );
  await connection.subscribe([`${BASE}/#`]);
  const patience = systemClock.sleep(LONGEST_WAIT_MS, io.interrupted).then(() => NO_READING);
  return {
    /** On the meter; after a while that there is none yet. */
    sentence: Promise.race([sentence, patience]),
    /** From now on each publication that matters is told. */
    tell() {
      isTelling = true;
    },
    close: () => connection.close(200),
  };
}

const WHAT_THIS_IS =
  'A simulated flat with a heat meter. Nothing leaves this machine, and Ctrl-C ends it. Where to look:';

const WHAT_COMES = 'The provider is asked every minute. What is new is told here:';

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

const WHAT_NEXT = 'With your own meter: heat2mqtt setup (in a clone: npx heat2mqtt setup)';
