// PostgreSQL's wire between it and a process of the fleet, on which the process dies before or after a statement that it wrote.
import { connect, createServer, type Socket } from 'node:net';
import { listening } from '../support/listening.ts';

/** `after`: the database has it, and the process never hears of that. */
export type Moment = 'before' | 'after';

interface Trap {
  /** Which statement, from 1 on, of those that count. */
  readonly at: number;
  readonly moment: Moment;
  readonly kill: () => void;
}

const HEADER_BYTES = 5;
const [READY, SYNC] = ['Z', 'S'].map((letter) => letter.charCodeAt(0));

/** `counts`: whether the statement is one of those on which the process may die. */
export async function openDeadlyWire(toPort: number, counts: (text: string) => boolean) {
  let trap: Trap | null = null;
  let seen = 0;
  /** With its values. */
  let last = Buffer.alloc(0);
  const sockets = new Set<Socket>();

  function serve(near: Socket): void {
    const far = connect(toPort, '127.0.0.1');
    let isDead = false;
    /** The statement under way is the last one. */
    let isLast = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    function die(kill: () => void): void {
      isDead = true;
      kill();
      near.destroy();
    }
    const asked = framesOf(true, (frame) => {
      if (isDead) return;
      const text = textOf(frame);
      if (trap !== null && text !== null && counts(text)) {
        seen += 1;
        isLast = seen === trap.at;
      }
      if (isLast) last = Buffer.concat([last, frame]);
      const isHeldBack = isLast && trap?.moment === 'before';
      if (!isHeldBack) far.write(frame);
      else if (frame[0] === SYNC) die(trap?.kill ?? (() => undefined));
    });
    const answered = framesOf(false, (frame) => {
      if (!isLast) near.write(frame);
      else if (frame[0] === READY && trap !== null) die(trap.kill);
    });
    near.on('data', asked);
    far.on('data', answered);
  }

  const server = createServer(serve);
  const port = await listening(server);
  return {
    port,
    /** The statement on which the process died. */
    get last() {
      return last.toString();
    },
    /** `null`: from now on nothing happens. */
    set(next: Trap | null): void {
      trap = next;
      seen = 0;
      last = Buffer.alloc(0);
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Calls back with each whole message of PostgreSQL's protocol. The first one of a client has no letter. */
function framesOf(isClient: boolean, take: (frame: Buffer) => void): (bytes: Buffer) => void {
  let waiting = Buffer.alloc(0);
  let hasLetter = !isClient;
  return (bytes) => {
    waiting = Buffer.concat([waiting, bytes]);
    for (;;) {
      const at = hasLetter ? 1 : 0;
      if (waiting.length < HEADER_BYTES) return;
      const length = at + waiting.readInt32BE(at);
      if (waiting.length < length) return;
      const frame = waiting.subarray(0, length);
      waiting = waiting.subarray(length);
      hasLetter = true;
      take(frame);
    }
  };
}

/** The statement of a message that begins one; `null`: it is another message. */
function textOf(frame: Buffer): string | null {
  const letter = String.fromCharCode(frame[0] ?? 0);
  const words = frame.toString('utf8', HEADER_BYTES).split('\0');
  if (letter === 'P') return words[1] ?? '';
  return letter === 'Q' ? (words[0] ?? '') : null;
}
