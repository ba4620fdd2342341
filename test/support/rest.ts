// Waiting until everything in this process is at rest: what was sent has arrived, and no file is being written.
import { createHook } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { nextTurn, waitFor } from './waitFor.ts';

// Whoever talks to somebody in a story lives in this process: what one socket has written, another one has to read.
const peers = new Map<Socket, Socket | null>();
const keep = (message: unknown) => {
  const { socket } = message as { socket: Socket };
  peers.set(socket, null);
  // A small second packet would wait 40 ms for the acknowledgement of the first one, in real time.
  socket.setNoDelay(true);
  socket.once('close', () => peers.delete(socket));
};
subscribe('net.client.socket', keep);
subscribe('net.server.socket', keep);

// What has arrived is worked on for some turns of the event loop. How long a turn takes does not matter.
const TURNS = 16;
// The kernel and other threads are done within some turns more, unless the processor has to be left to them.
const PATIENT_TURNS = 50;
const LONGEST_MS = 30_000;
// A message that goes through a wire and a broker, and comes back, is there within so many turns.
const ROUND_TRIP_TURNS = 40;

/** Time stands still in a story: what is at rest stays so until the test goes on. */
export async function untilAtRest(): Promise<void> {
  const end = performance.now() + LONGEST_MS;
  let last = -1;
  for (let calm = 0, waited = 0; calm < TURNS; ) {
    await nextTurn();
    const moved = bytesMoved();
    if (typeof moved === 'number') {
      calm = moved === last ? calm + 1 : 0;
      last = moved;
      continue;
    }
    calm = 0;
    if (performance.now() > end) throw new Error(`no rest within ${LONGEST_MS} ms: ${moved}`);
    waited += 1;
    if (waited > PATIENT_TURNS) await new Promise<void>((resolve) => setTimeout(resolve, 1));
  }
}

/** Lets what was sent between sockets of this process arrive and be answered, where some of it is never read. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < ROUND_TRIP_TURNS; turns += 1) await nextTurn();
}

/** Looks only when everything is at rest: what is seen then does not change behind the test's back. */
export const untilTrue: typeof waitFor = (description, probe, waiting) =>
  waitFor(description, () => untilAtRest().then(probe), waiting);

// From Node 26 on, files that are read or written whole are not among the active resources.
const wholeFiles = new Set<number>();
const [major = ''] = process.versions.node.split('.');
if (Number(major) >= 26) {
  const isOver = (id: number) => void wholeFiles.delete(id);
  createHook({
    init: (id, type) => type === 'FSREQCALLBACK' && void wholeFiles.add(id),
    after: isOver,
    destroy: isOver,
  }).enable();
}

/** How much was written and read so far by all sockets together, or in words what is under way. */
function bytesMoved(): number | string {
  if (wholeFiles.size > 0) return 'a file is read or written';
  const atWork = process.getActiveResourcesInfo().find((name) => OF_OTHER_THREADS.has(name));
  if (atWork !== undefined) return atWork;
  let sum = peers.size;
  for (const socket of peers.keys()) {
    const peer = peerOf(socket);
    // Before a connection is accepted, and after its other end is gone.
    if (peer === null) return `half a connection ${wireOf(socket)}`;
    const { bytesWritten } = socket;
    const bytes = bytesWritten - peer.bytesRead;
    if (bytes !== 0) return `${bytes} bytes ${wireOf(socket)}`;
    sum += bytesWritten;
  }
  return sum;
}

const wireOf = ({ localPort, remotePort }: Socket) => `from port ${localPort} to ${remotePort}`;

function peerOf(socket: Socket): Socket | null {
  const peer = peers.get(socket);
  if (peer && peers.has(peer)) return peer;
  const { localPort, remotePort } = socket;
  for (const other of peers.keys()) {
    if (other.localPort !== remotePort || other.remotePort !== localPort || localPort === undefined) continue;
    peers.set(socket, other);
    return other;
  }
  return null;
}

// As Node calls what the file system and the resolver have under way; the last one closes a file handle.
const OF_OTHER_THREADS = new Set(
  'FSReqCallback FSReqPromise FileHandle FileHandleCloseReq CloseReq GetAddrInfoReqWrap'.split(' '),
);
