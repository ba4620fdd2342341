// One daemon for each state directory: it listens on a socket there, where nobody answers once it is dead.
import { once } from 'node:events';
import { chmod, chown, rm, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { makePrivateDirectory, PRIVATE_FILE } from './privateFiles.ts';

export class AlreadyRunning extends Failure {
  readonly code = 'already_running';
  readonly exitCode = EXIT.usage;

  constructor(directory: string) {
    super(`heat2mqtt already runs with this state directory: ${directory}.`, {
      retry: 'never',
      hint: 'Stop the other one first, or give this one a state_dir and an mqtt.base_topic of its own.',
    });
  }
}

// Systems take 104 bytes at least, and older versions of Node cut a longer path off without a word.
const LONGEST_PATH_BYTES = 100;

function socketOf(directory: string): string {
  const file = join(directory, 'daemon.sock');
  if (Buffer.byteLength(file) > LONGEST_PATH_BYTES) throw new RangeError('the path is too long for a socket');
  return file;
}

/** False as well where there can be no socket, such as on a read-only disk. */
export const isDaemonRunning = (directory: string): Promise<boolean> =>
  new Promise<boolean>((resolve, reject) => {
    const socket = connect(socketOf(directory), () => resolve(true)).on('error', reject);
    socket.once('connect', () => socket.destroy());
  }).catch(() => false);

/**
 * Resolves to the function that gives the directory up. Rejects with AlreadyRunning, and never for a daemon that is dead
 * or a socket that cannot be made: then it goes on without.
 */
export async function claimDirectory(directory: string, log: Log): Promise<() => Promise<void>> {
  if (await isDaemonRunning(directory)) throw new AlreadyRunning(directory);
  const without = (err: unknown) => log.debug({ err }, 'a second daemon would not be noticed: no socket');
  const server = createServer((visitor) => visitor.destroy());
  try {
    const file = socketOf(directory);
    await makePrivateDirectory(directory);
    await rm(file, { force: true });
    await once(server.listen(file), 'listening');
    server.on('error', without).unref();
    const { uid, gid } = await stat(directory);
    await chmod(file, PRIVATE_FILE);
    await chown(file, uid, gid);
  } catch (err) {
    without(err);
  }
  return () => new Promise((resolve) => server.close(() => resolve()));
}
