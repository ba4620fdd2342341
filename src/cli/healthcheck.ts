// heat2mqtt healthcheck: asks the running daemon over HTTP. And how a fleet is, which its database tells.
import type { Config, Fleet } from '../config/schema.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Command } from './command.ts';
import { loadSettings, type Settings } from './settings.ts';

const TIMEOUT_MS = 4_000;

export const healthcheck: Command = async (given, io) => {
  const { config } = await loadSettings(given, io);
  const { isHealthy, words } = await askHealth(config);
  const say = isHealthy ? io.out : io.err;
  say(`${words}\n`);
  return isHealthy ? EXIT.fine : EXIT.unexpected;
};

/** What the running daemon says of itself, or why it cannot be asked. Never rejects. */
export async function askHealth({ http }: Config): Promise<{ isHealthy: boolean; words: string }> {
  if (http === false)
    return { isHealthy: false, words: 'The daemon serves no HTTP (http: false), so it cannot be asked.' };
  // What listens on all addresses listens on this one.
  const address = http.listen.replace(/^(0\.0\.0\.0|\[::\])(?=:\d+$)/, '127.0.0.1');
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`http://${address}/healthz`, { signal });
    return { isHealthy: response.ok, words: (await response.text()).trimEnd() };
  } catch {
    return { isHealthy: false, words: `No daemon answers at ${address}.` };
  }
}

/** How the fleet is, and the shapes of replies that its processes share. Rejects with a Failure. */
export async function lookAtFleet(fleet: Fleet, { log, zone }: Settings) {
  // Only a fleet loads what it needs of PostgreSQL.
  const { openFleet } = await import('../fleet/open.ts');
  const { readHealth } = await import('../fleet/health.ts');
  const { database, replies, close } = await openFleet(fleet, log);
  try {
    const { health } = await readHealth(database, fleet.claim_seconds, zone);
    return { health, replies: await replies.read() };
  } finally {
    await close();
  }
}
