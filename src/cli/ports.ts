// The port of a server that a command starts: the one that was asked for, else the usual one, else any that is free.
import { wrongOption, wrongUsage } from './command.ts';

/** `null`: none was asked for. Throws wrong_usage. */
export function portFrom(option: unknown): number | null {
  if (option === undefined) return null;
  const port = Number(option);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw wrongOption('--port', option, 'a port from 0 to 65535');
}

/** A port that was asked for must be free: otherwise it rejects with wrong_usage. */
export async function onSomePort<T>(
  wanted: number | null,
  usual: number,
  start: (port: number) => Promise<T>,
): Promise<T> {
  try {
    return await start(wanted ?? usual);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw err;
    if (wanted !== null) throw wrongUsage(`--port: ${wanted} is taken; allowed: a free port.`);
    return start(0);
  }
}
