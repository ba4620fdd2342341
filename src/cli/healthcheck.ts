// heat2mqtt healthcheck: asks the running daemon over HTTP.
import { splitHostAndPort } from '../config/fields.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Command } from './command.ts';
import { loadSettings } from './settings.ts';

const PATIENCE_MS = 4_000;

export const healthcheck: Command = async (given, io) => {
  const { config } = await loadSettings(given, io);
  const address = config.http === false ? undefined : splitHostAndPort(config.http.listen);
  if (!address) {
    io.err('The daemon serves no HTTP (http: false), so it cannot be asked.\n');
    return EXIT.unexpected;
  }
  const anywhere = address.host === '0.0.0.0' || address.host === '::';
  const host = anywhere ? '127.0.0.1' : address.host.includes(':') ? `[${address.host}]` : address.host;
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(`http://${host}:${address.port}/healthz`, { signal });
    io.out(await response.text());
    return response.ok ? EXIT.fine : EXIT.unexpected;
  } catch {
    io.err(`No daemon answers at ${host}:${address.port}.\n`);
    return EXIT.unexpected;
  }
};
