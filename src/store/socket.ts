// Sockets in the state directory, by which processes on this machine find one another: a daemon has one, and says on it how it is.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, readdir, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { type Clock, deadline } from '../foundation/clock.ts';
import { makePrivateDirectory, PRIVATE_FILE, setAside } from './privateFiles.ts';

// Systems take 104 bytes at least, and older versions of Node cut a longer path off without a word.
const LONGEST_PATH_BYTES = 100;

function pathOf(directory: string, name: string): string {
  const file = join(directory, name);
  if (Buffer.byteLength(file) > LONGEST_PATH_BYTES) throw new RangeError('the path is too long for a socket');
  return file;
}

/** What a process says on its socket. */
export const healthWords = (isHealthy: boolean): string => (isHealthy ? HEALTHY : `not ${HEALTHY}`);
export const HEALTHY = 'healthy';

/** The socket of a process of a fleet, by its number: several may share a directory. */
export const processSocket = (number: number): string => `process-${number}.sock`;
export const PROCESS_SOCKET = /^process-\d+\.sock$/;

/**
 * Whoever connects is told these words. It takes the place of a socket of this name, and does not keep the process alive. Resolves
 * to the function that ends it; rejects with the system's error where there can be no socket.
 */
export async function listenIn(
  directory: string,
  name: string,
  words: () => string,
): Promise<() => Promise<void>> {
  const file = pathOf(directory, name);
  await makePrivateDirectory(directory);
  await rm(file, { force: true }).catch(() => setAside(file, 'damaged'));
  const server = createServer((visitor) => {
    // A visitor may break off, or never leave.
    visitor.on('error', () => undefined).end(words(), () => visitor.destroy());
  });
  await once(server.listen(file), 'listening');
  server.on('error', () => undefined).unref();
  const { uid, gid } = await stat(directory);
  await chmod(file, PRIVATE_FILE).catch(() => undefined);
  await chown(file, uid, gid).catch(() => undefined);
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** `null`: nobody listens there. */
export async function connectIn(directory: string, name: string): Promise<Socket | null> {
  try {
    const socket = connect(pathOf(directory, name));
    await once(socket, 'connect');
    return socket.on('error', () => undefined);
  } catch {
    return null;
  }
}

/** What whoever listens there says; `null`: nobody does. Nothing, where nothing comes in time. */
export async function askIn(
  directory: string,
  name: string,
  timeoutMs: number,
  clock: Clock,
): Promise<string | null> {
  const socket = await connectIn(directory, name);
  if (socket === null) return null;
  const { signal, clear } = deadline(clock, timeoutMs);
  signal.addEventListener('abort', () => socket.destroy());
  let said = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(socket, 'close');
  clear();
  return said;
}

/** Whether there can be a socket in the directory, or in the nearest one above it where it is not there yet. */
export async function canListenIn(directory: string): Promise<boolean> {
  const entries = await readdir(directory).catch(() => null);
  if (entries === null && dirname(directory) !== directory) return canListenIn(dirname(directory));
  return listenIn(directory, `${randomUUID().slice(0, 8)}.sock`, () => '').then(
    (end) => end().then(() => true),
    () => false,
  );
}
