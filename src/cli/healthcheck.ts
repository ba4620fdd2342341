// heat2mqtt healthcheck: asks the running daemon, over HTTP or on its socket. And how a fleet is, which its database tells.
import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { localAddress } from '../config/listenAddress.ts';
import type { Config, Fleet } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import { askDaemon } from '../store/locks.ts';
import { askIn, canListenIn, HEALTHY, healthWords, PROCESS_SOCKET } from '../store/socket.ts';
import type { Command } from './commands.ts';
import { loadSettings, type Settings } from './settings.ts';

const TIMEOUT_MS = 4_000;

export const healthcheck: Command<'healthcheck'> = async (given, io) => {
  const { config } = await loadSettings(given, io);
  const { isHealthy, words } = await askHealth(config, io.clock);
  const say = isHealthy ? io.out : io.err;
  say(`${words}\n`);
  return isHealthy ? EXIT.fine : EXIT.unexpected;
};

interface DaemonHealth {
  readonly isHealthy: boolean;
  readonly words: string;
  /** heat2mqtt itself has answered there; `null`: nowhere. */
  readonly answersOn: 'http' | 'socket' | null;
}

/** The answer of an app whose options are wrong. */
export const WAITS_FOR_OPTIONS = 'heat2mqtt waits for its options';
const WORDS_OF_OURS = [healthWords(true), healthWords(false), WAITS_FOR_OPTIONS];

/** The running daemon's own health, or why it cannot be asked. Never rejects. */
export async function askHealth(config: Config, clock: Clock): Promise<DaemonHealth> {
  const { http } = config;
  if (http === false) return askOnSocket(config, clock);
  const address = localAddress(http.listen);
  const overHttp = await askOverHttp(address);
  if (overHttp !== null) return overHttp;
  // Its port may be another program's.
  const onSocket = await askOnSocket(config, clock);
  return onSocket.answersOn === null ? silent(`No daemon answers at ${address}.`) : onSocket;
}

/** `null`: no heat2mqtt answers there. */
async function askOverHttp(address: string): Promise<DaemonHealth | null> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`http://${address}/healthz`, { signal });
    const words = (await response.text()).trimEnd();
    return WORDS_OF_OURS.includes(words) ? { isHealthy: response.ok, words, answersOn: 'http' } : null;
  } catch {
    return null;
  }
}

/** The state directory tells if HTTP does not. */
async function askOnSocket({ state_dir, fleet }: Config, clock: Clock): Promise<DaemonHealth> {
  const isHidden = await access(state_dir, constants.R_OK | constants.X_OK).then(
    () => false,
    ({ code }) => code === 'EACCES',
  );
  if (isHidden) return silent(`This user may not look into ${state_dir}, where the daemon could be asked.`);
  const answer = await (fleet ? askProcesses : askDaemon)(state_dir, clock);
  if (answer !== null)
    return {
      isHealthy: answer === HEALTHY,
      words: answer || `What runs with ${state_dir} does not say how it is.`,
      answersOn: WORDS_OF_OURS.includes(answer) ? 'socket' : null,
    };
  if (await canListenIn(state_dir)) return silent(`No daemon runs with ${state_dir}.`);
  // A container would be restarted again and again, and nothing would change.
  const words = `The daemon cannot be asked: HTTP is off, and there can be no socket in ${state_dir}. Set http.listen.`;
  return { ...silent(words), isHealthy: true };
}

const silent = (words: string): DaemonHealth => ({ isHealthy: false, words, answersOn: null });

/** One process that is not well speaks for all that share the directory. `null`: none answers. */
async function askProcesses(directory: string, clock: Clock): Promise<string | null> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => PROCESS_SOCKET.test(name));
  const answers = await Promise.all(names.map((name) => askIn(directory, name, TIMEOUT_MS, clock)));
  const given = answers.filter((words) => words !== null);
  return given.find((words) => words !== HEALTHY) ?? given[0] ?? null;
}

/** The health of the fleet, and the shapes of replies that its processes share. Rejects with a Failure. */
export async function lookAtFleet(fleet: Fleet, { log, zone }: Settings) {
  // Only a fleet loads what it needs of PostgreSQL.
  const { openFleet } = await import('../fleet/open.ts');
  const { countOnce } = await import('../fleet/health.ts');
  const { database, replies, close } = await openFleet(fleet, log);
  try {
    const { health } = await countOnce({ database, fleet, zone });
    return { health, replies: await replies.read() };
  } finally {
    await close();
  }
}
