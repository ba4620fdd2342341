// The door of the embedded broker. Until it has logged in, a connection costs a few kilobytes and some seconds; afterwards no packet is
// larger than one that the daemon itself takes.
import type { Socket } from 'node:net';
import { Duplex, finished } from 'node:stream';
import type { Clock } from '../foundation/clock.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import { LARGEST_PACKET_BYTES, lengthOf } from './stream.ts';

const LARGEST_CONNECT_BYTES = 16 * 1024;
const CONNECT_WITHIN_MS = 5_000;
/** A client is one for some milliseconds only. */
const MOST_STRANGERS = 64;

interface AdmissionParts {
  /** Gives the broker a connection whose CONNECT has come whole. */
  readonly handle: (stream: Duplex) => void;
  readonly clock: Clock;
  readonly log?: Log;
}

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #throttledLog: ThrottledLog;
  /** The oldest first; each with the end of its deadline. */
  readonly #strangers = new Map<Socket, () => void>();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#throttledLog = new ThrottledLog(parts.clock);
  }

  /** To be called with each new connection. */
  knock(socket: Socket): void {
    const [oldest] = this.#strangers.keys();
    if (oldest && this.#strangers.size >= MOST_STRANGERS) oldest.destroy();
    // A connection that breaks has nothing to tell, and an error without a listener would end the process.
    socket.on('error', () => undefined);
    this.#strangers.set(
      socket,
      this.#parts.clock.after(CONNECT_WITHIN_MS, () => socket.destroy()),
    );
    socket.once('close', () => this.#forget(socket));
    this.#readConnect(socket);
  }

  /** The broker has taken the login of this connection. */
  accepted(stream: unknown): void {
    if (!(stream instanceof GuardedStream)) return;
    this.#forget(stream.socket);
    stream.open();
  }

  #forget(socket: Socket): void {
    this.#strangers.get(socket)?.();
    this.#strangers.delete(socket);
  }

  /** Nothing reaches the broker before the first packet is whole, and nothing behind it before the login is taken. */
  #readConnect(socket: Socket): void {
    let heard = Buffer.alloc(0);
    const onData = (bytes: Buffer) => {
      heard = Buffer.concat([heard, bytes]);
      const length = connectLength(heard);
      if (length === 'refused') return void socket.destroy();
      if (length === 'unknown' || heard.length < length) return;
      socket.off('data', onData);
      socket.pause();
      if (heard.length > length) socket.unshift(heard.subarray(length));
      const onOversized = () => this.#tellOversized();
      this.#parts.handle(new GuardedStream(socket, heard.subarray(0, length), onOversized));
    };
    socket.on('data', onData);
  }

  #tellOversized(): void {
    const hint = 'Nothing that belongs on this broker is that large; find the program that publishes it.';
    this.#throttledLog.write('oversized', (more) =>
      this.#parts.log?.warn(
        { hint, ...more },
        'a client of the embedded broker sent a packet of more than 1 MiB, and its connection was closed',
      ),
    );
  }
}

const CONNECT = 0x10;
const CONTINUES = 0x80;
const LONGEST_HEAD = 5;

/** Of the first packet, header and all; `unknown` while its header is not whole, `refused` where it is no CONNECT or too large. */
function connectLength(bytes: Buffer): number | 'unknown' | 'refused' {
  if (bytes[0] !== CONNECT) return 'refused';
  const last = bytes.subarray(1, LONGEST_HEAD).findIndex((digit) => digit < CONTINUES);
  if (last === -1) return bytes.length < LONGEST_HEAD ? 'unknown' : 'refused';
  const head = bytes.subarray(0, last + 2);
  const length = head.length + lengthOf([...head]);
  return length > LARGEST_CONNECT_BYTES ? 'refused' : length;
}

/** What the broker reads of a connection: its CONNECT, and once that is taken whatever follows, packets of any length apart. */
class GuardedStream extends Duplex {
  readonly socket: Socket;
  #isOpen = false;

  constructor(socket: Socket, connect: Buffer, onOversized: () => void) {
    super({ allowHalfOpen: false });
    this.socket = socket;
    this.push(connect);
    const hasOversized = oversizedIn(LARGEST_PACKET_BYTES);
    socket.on('data', (bytes: Buffer) => {
      if (hasOversized(bytes)) {
        onOversized();
        this.destroy();
      } else if (!this.push(bytes)) socket.pause();
    });
    finished(socket, { writable: false }, (err) => (err ? this.destroy() : this.push(null)));
  }

  open(): void {
    this.#isOpen = true;
    this.socket.resume();
  }

  override _read(): void {
    if (this.#isOpen) this.socket.resume();
  }

  // One write for all that waits: in pieces, each of them would be a segment of its own.
  override _writev(waiting: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.socket.write(Buffer.concat(waiting.map(({ chunk }) => chunk)), done);
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.socket.destroy();
    done(err);
  }
}

/** Looks at the bytes of a connection piece by piece: whether one has the header of a packet above the limit in it. */
function oversizedIn(largest: number): (bytes: Buffer) => boolean {
  let head: number[] = [];
  let passing = 0;
  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      const passed = Math.min(passing, bytes.length - at);
      passing -= passed;
      at += passed;
      const byte = bytes[at];
      if (byte === undefined) return false;
      head.push(byte);
      at += 1;
      // Five digits are no length: the parser of the broker refuses it.
      const isWhole = head.length > 1 && (byte < CONTINUES || head.length === LONGEST_HEAD);
      if (!isWhole) continue;
      passing = lengthOf(head);
      if (head.length + passing > largest) return true;
      head = [];
    }
    return false;
  };
}
