// The port of a server that a command starts: the one that was asked for, else the usual one, else any that is free.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { wrongOption, wrongUsage } from './command.ts';

/** `null`: none was asked for. Throws wrong_usage. */
export function portFrom(option: unknown): number | null {
  if (option === undefined) return null;
  const port = Number(option);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw wrongOption('--port', option, 'a port from 0 to 65535');
}

/** A port that was asked for must be free: otherwise it rejects with wrong_usage. `0` stands for any. */
export async function freePort(wanted: number | null, usual: number): Promise<number> {
  if (await isFree(wanted ?? usual)) return wanted ?? usual;
  if (wanted !== null) throw wrongUsage(`--port: ${wanted} is taken; allowed: a free port.`);
  return 0;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  }
}
