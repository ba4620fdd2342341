// Sockets in the state directory, by which processes on this machine find one another: a daemon has one, and says on it how it is.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, open, rename, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { type Clock, withDeadline } from '../foundation/clock.ts';
import { makePrivateDirectory, PRIVATE_FILE, setAside } from './privateFiles.ts';

// Systems take 104 bytes at least, and older versions of Node cut a longer path off without a word.
const LONGEST_PATH_BYTES = 100;

interface Address {
  readonly path: string;
  /** Resolves when nobody listens or connects there any more. */
  readonly close: () => Promise<void>;
}

/** However long its path is, a directory that is open has a short one below /proc, where the system has that. */
async function addressOf(directory: string, name: string): Promise<Address> {
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= LONGEST_PATH_BYTES) return { path, close: async () => undefined };
  const folder = await open(directory, 'r');
  return { path: `/proc/self/fd/${folder.fd}/${name}`, close: () => folder.close() };
}

/** The words of a process on its socket. */
export const healthWords = (isHealthy: boolean): string => (isHealthy ? HEALTHY : `not ${HEALTHY}`);
export const HEALTHY = 'healthy';

/** The socket of a process of a fleet, by its number: several may share a directory. */
export const processSocket = (number: number): string => `process-${number}.sock`;
export const PROCESS_SOCKET = /^process-\d+\.sock$/;

const drawnName = () => `${randomUUID().slice(0, 6)}.sock`;

/**
 * Whoever connects is told these words. It takes the place of a socket of this name, and does not keep the process alive. Resolves
 * to the function that ends it; rejects with the system's error where there can be no socket.
 */
export async function listenIn(
  directory: string,
  name: string,
  words: () => string,
): Promise<() => Promise<void>> {
  await makePrivateDirectory(directory);
  // A server removes the path that it was told when it ends, whoever listens there by then.
  const temporary = drawnName();
  const server = createServer((visitor) => {
    // A visitor may break off, or never leave.
    visitor.on('error', () => undefined).end(words(), () => visitor.destroy());
  });
  const { path, close } = await addressOf(directory, temporary);
  const end = () => new Promise<void>((resolve) => server.close(() => resolve())).finally(close);
  try {
    await once(server.listen(path), 'listening');
    server.on('error', () => undefined).unref();
    const isOurs = await putInPlace(directory, temporary, name);
    return async () => {
      if (await isOurs()) await rm(join(directory, name), { force: true }).catch(() => undefined);
      await end();
    };
  } catch (err) {
    await end();
    throw err;
  }
}

/** Resolves to a function that tells whether it is still there. */
async function putInPlace(directory: string, temporary: string, name: string) {
  const file = join(directory, name);
  const { uid, gid } = await stat(directory);
  await chmod(join(directory, temporary), PRIVATE_FILE).catch(() => undefined);
  await chown(join(directory, temporary), uid, gid).catch(() => undefined);
  await rm(file, { force: true }).catch(() => setAside(file, 'damaged'));
  await rename(join(directory, temporary), file);
  const identity = () =>
    stat(file).then(
      ({ dev, ino }) => `${dev} ${ino}`,
      () => null,
    );
  const placed = await identity();
  return async () => placed === (await identity());
}

/** `null`: nobody listens there. */
export async function connectIn(directory: string, name: string): Promise<Socket | null> {
  const address = await addressOf(directory, name).catch(() => null);
  if (address === null) return null;
  try {
    const socket = connect(address.path);
    await once(socket, 'connect');
    return socket.on('error', () => undefined);
  } catch {
    return null;
  } finally {
    await address.close();
  }
}

/** Resolves to the words of whoever listens there, which are empty when none come in time; `null`: nobody listens. */
export async function askIn(
  directory: string,
  name: string,
  timeoutMs: number,
  clock: Clock,
): Promise<string | null> {
  const socket = await connectIn(directory, name);
  if (socket === null) return null;
  let words = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    words += text;
  });
  await withDeadline(clock, timeoutMs, undefined, (signal) => {
    signal.addEventListener('abort', () => socket.destroy());
    return once(socket, 'close');
  });
  return words;
}

/** There can be a socket in the directory, or in the nearest one above it if it is not there yet. */
export async function canListenIn(directory: string): Promise<boolean> {
  const isMissing = await stat(directory).then(
    () => false,
    ({ code }) => code === 'ENOENT',
  );
  if (isMissing && dirname(directory) !== directory) return canListenIn(dirname(directory));
  return listenIn(directory, drawnName(), () => '').then(
    (end) => end().then(() => true),
    () => false,
  );
}
