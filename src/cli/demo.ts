// heat2mqtt demo: simulated provider, embedded broker and the real daemon in one process. One sentence tells what the meter
// says, and each publication that matters has a line.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Daemon } from '../daemon/daemon.ts';
import { systemClock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import { LogTail } from '../foundation/log.ts';
import { Connection } from '../mqtt/connection.ts';
import { demoAccounts } from '../simulator/accounts.ts';
import { type Simulator, startSimulator } from '../simulator/provider.ts';
import type { Command, Io } from './command.ts';
import { startHousehold } from './run.ts';
import { openLog, openSettings, untilInterrupted } from './settings.ts';
import { freePort, portFrom } from './simulate.ts';

const BASE = 'heat2mqtt';
const PAGE_PORT = 8099;
const LONGEST_WAIT_MS = 20_000;
const NO_READING = 'There is no reading yet.';

export const demo: Command = async (given, io) => {
  const wanted = portFrom(given.options.port);
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
    io.out(`${sentence}
Look at it: http://127.0.0.1:${daemon.httpPort}/

A simulated flat with a heat meter. Nothing leaves this machine, and Ctrl-C ends it. Where to look:
${addresses}
The provider is asked every minute. What is new is told here:
`);
    watcher.tell();
    // Something is to happen: the next poll finds a corrected day.
    estimate.until = systemClock.now();
    await untilInterrupted(io);
    await daemon.stop();
    await watcher.close();
    io.out(`
That was the demo. Until now it was here:
${addresses}With your own meter: heat2mqtt setup (in a clone: npx heat2mqtt setup)
`);
  } finally {
    await simulator.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
  return EXIT.fine;
};

async function start(port: number, { urls }: Simulator, stateDir: string, io: Io): Promise<Daemon> {
  const text = JSON.stringify({
    provider: { issuer: urls.issuer, api_url: urls.api, client_id: 'self-care' },
    accounts: [{ username: 'me@example.org', password: 'demo' }],
    usage: { schedule: '* * * * *', allow_fast_schedule: true, jitter_seconds: 0 },
    constituencies: { base_url: urls.constituencies },
    mqtt: { embedded: { port, host: '127.0.0.1' }, base_topic: BASE },
    http: { listen: `127.0.0.1:${await freePort(null, PAGE_PORT)}` },
    state_dir: stateDir,
    log: { format: 'pretty' },
  });
  const settings = await openSettings({ path: 'demo', readFile: async () => text }, { ...io, env: {} });
  const logTail = new LogTail();
  // The page has all lines; the terminal is for the sentences.
  const log = await openLog(settings, io, logTail, (line) => !line.includes('"level":"info"'));
  return startHousehold(settings, { log, logTail, ingress: null }, io);
}

/** Sees what every subscriber would see. */
async function watch(url: string, io: Io) {
  let tellFirst = (_sentence: string) => {};
  const first = new Promise<string>((resolve) => {
    tellFirst = resolve;
  });
  let isTelling = false;
  let health = '';
  const hear = ({ topic, payload }: { topic: string; payload: Buffer }) => {
    // bridge/state is plain text.
    if (!payload.toString('utf8').startsWith('{')) return;
    const said = JSON.parse(payload.toString('utf8'));
    const name = topic.slice(BASE.length + 1);
    if (/^meter\/[^/]+\/state$/.test(name)) tellFirst(meterSentence(said));
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
    sentence: Promise.race([first, patience]),
    /** From now on each publication that matters is told. */
    tell() {
      isTelling = true;
    },
    close: () => connection.close(200),
  };
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

type Said = Readonly<Record<string, unknown>>;

/** On the state of a meter: its newest day, and its month. */
export function meterSentence(state: Said): string {
  if (typeof state.day !== 'string') return NO_READING;
  const month = amounts(state.energy_month, state.cost_month);
  const forecast = amounts(null, state.cost_month_forecast);
  return [
    `${dayWords(state.day)}: ${amounts(state.energy_day, state.cost_day)}.`,
    ...(month === '' ? [] : [`This month so far: ${month}.`]),
    ...(forecast === '' ? [] : [`About ${forecast} by its end.`]),
  ].join(' ');
}

/** On a message, by its topic below the base topic; `null` where it is nothing to tell. */
export function sentenceOn(name: string, said: Said): string | null {
  if (name === 'bridge/health') {
    const [reason] = Array.isArray(said.reasons) ? said.reasons : [];
    return `Health: ${said.state}.${reason ? ` ${Object(reason).message}` : ''}`;
  }
  if (name.endsWith('/event')) return eventSentence(said);
  const [, request] = /^bridge\/response\/(.*)/.exec(name) ?? [];
  return request === undefined ? null : answerSentence(request, said);
}

const HAPPENED: Readonly<Record<string, string>> = {
  corrected: 'A day was corrected',
  new_day: 'A new day has come',
};

function eventSentence(event: Said): string {
  if (typeof event.message === 'string') return event.message;
  const type = String(event.event_type);
  const day = event.day ? `: ${dayWords(event.day)}` : '';
  const now = amounts(event.energy_kwh, event.cost_eur);
  const before = amounts(event.old_energy_kwh, event.old_cost_eur);
  const words = `${HAPPENED[type] ?? `Event ${type.replaceAll('_', ' ')}`}${day}`;
  return `${words}${now && `, ${now}`}${before && `, before that ${before}`}.`;
}

function answerSentence(request: string, { status, data, error }: Said): string {
  const { topic, count, next_at } = Object(data);
  const words = [
    status,
    ...(typeof topic === 'string' ? [`${count} on ${topic}`] : []),
    ...(next_at ? [`possible again at ${timeWords(next_at)}`] : []),
    ...(error ? [Object(error).message] : []),
  ].join(', ');
  return `Answer to the request ${request}: ${words.replace(/\.$/, '')}.`;
}

/** `11.0 kWh, 2.06 EUR`, or as much of it as is known. */
const amounts = (kwh: unknown, eur: unknown): string =>
  [typeof kwh === 'number' && `${kwh.toFixed(1)} kWh`, typeof eur === 'number' && `${eur.toFixed(2)} EUR`]
    .filter(Boolean)
    .join(', ');

/** `Friday 20 November`. */
function dayWords(day: unknown): string {
  const at = new Date(`${day}T00:00:00Z`);
  const word = (options: Intl.DateTimeFormatOptions) =>
    at.toLocaleDateString('en', { ...options, timeZone: 'UTC' });
  return `${word({ weekday: 'long' })} ${at.getUTCDate()} ${word({ month: 'long' })}`;
}

/** The time of day here. */
export const timeWords = (at: unknown): string => new Date(String(at)).toTimeString().slice(0, 8);
