// heat2mqtt healthcheck: asks the running daemon over HTTP.

import { splitHostAndPort } from '../config/listenAddress.ts';
import type { Config } from '../config/schema.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Command } from './command.ts';
import { loadSettings } from './settings.ts';

const TIMEOUT_MS = 4_000;

export const healthcheck: Command = async (given, io) => {
  const { config } = await loadSettings(given, io);
  const { isHealthy, words } = await askHealth(config);
  if (isHealthy) io.out(`${words}\n`);
  else io.err(`${words}\n`);
  return isHealthy ? EXIT.fine : EXIT.unexpected;
};

/** What the running daemon says of itself, or why it cannot be asked. Never rejects. */
export async function askHealth({ http }: Config): Promise<{ isHealthy: boolean; words: string }> {
  const address = http === false ? undefined : splitHostAndPort(http.listen);
  if (!address)
    return { isHealthy: false, words: 'The daemon serves no HTTP (http: false), so it cannot be asked.' };
  const anywhere = address.host === '0.0.0.0' || address.host === '::';
  const host = anywhere ? '127.0.0.1' : address.host.includes(':') ? `[${address.host}]` : address.host;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`http://${host}:${address.port}/healthz`, { signal });
    return { isHealthy: response.ok, words: (await response.text()).trimEnd() };
  } catch {
    return { isHealthy: false, words: `No daemon answers at ${host}:${address.port}.` };
  }
}
