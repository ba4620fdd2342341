// The door of the embedded broker. Until it has logged in, a connection costs a few kilobytes and some seconds; afterwards no packet is
// larger than one that the daemon itself takes.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../foundation/clock.ts';
import { ThrottledLog } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import { LARGEST_PACKET_BYTES, PacketReader, PacketStream } from './packets.ts';

const CONNECT = 0x10;
const LARGEST_CONNECT_BYTES = 16 * 1024;
const CONNECT_WITHIN_MS = 5_000;
/** A client is one for some milliseconds only. */
const MOST_STRANGERS = 64;
/** A client has so long to take so much. What it does not take holds up the messages to all others. */
const TAKE_WITHIN_MS = 15_000;
const PART_BYTES = 64 * 1024;

interface AdmissionParts {
  /** Gives the broker a connection whose CONNECT has come whole. */
  readonly handle: (stream: Duplex) => void;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #throttledLog: ThrottledLog;
  /** The oldest first; each with the end of its deadline. */
  readonly #strangers = new Map<Duplex, () => void>();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#throttledLog = new ThrottledLog(parts.clock, parts.log);
  }

  /** The server gives it each new connection. */
  knock(socket: Socket): void {
    const [oldest] = this.#strangers.keys();
    if (oldest && this.#strangers.size >= MOST_STRANGERS) oldest.destroy();
    // A connection that breaks has nothing to tell, and an error without a listener would end the process.
    socket.on('error', () => undefined);
    const endDeadline = this.#parts.clock.after(CONNECT_WITHIN_MS, () => socket.destroy());
    this.#strangers.set(socket, endDeadline);
    socket.once('close', () => this.#forget(socket));
    this.#readConnect(socket);
  }

  /** The broker has taken the login of this connection. */
  accepted(stream: unknown): void {
    if (!(stream instanceof GuardedStream)) return;
    this.#forget(stream.socket);
    stream.open();
  }

  #forget(socket: Duplex): void {
    this.#strangers.get(socket)?.();
    this.#strangers.delete(socket);
  }

  /** Nothing reaches the broker before the first packet is whole, and nothing behind it before the login is taken. */
  #readConnect(socket: Socket): void {
    let heard = Buffer.alloc(0);
    const onData = (bytes: Buffer) => {
      heard = Buffer.concat([heard, bytes]);
      const [header] = new PacketReader().read(heard);
      const length = header ? header.bytes.length + (header.follow ?? 0) : 0;
      if (heard[0] !== CONNECT || length > LARGEST_CONNECT_BYTES) return void socket.destroy();
      if (length === 0 || heard.length < length) return;
      socket.off('data', onData);
      socket.pause();
      if (heard.length > length) socket.unshift(heard.subarray(length));
      const onOversized = () => this.#warnOfOversized();
      const connect = heard.subarray(0, length);
      this.#parts.handle(new GuardedStream(socket, connect, this.#parts.clock, onOversized));
    };
    socket.on('data', onData);
  }

  #warnOfOversized(): void {
    const hint = 'Nothing that belongs on this broker is that large; find the program that publishes it.';
    const words =
      'a client of the embedded broker sent a packet of more than 1 MiB, and its connection was closed';
    this.#throttledLog.write('warn', 'oversized', { hint }, words);
  }
}

/**
 * The broker reads the CONNECT of it, and the rest once that is taken. A packet that is too large ends it, and so does a client that takes
 * nothing.
 */
class GuardedStream extends PacketStream {
  readonly #clock: Clock;
  #isOpen = false;

  constructor(socket: Socket, connect: Buffer, clock: Clock, onOversized: () => void) {
    super(socket, ({ bytes, follow }) => {
      if (follow !== null && bytes.length + follow > LARGEST_PACKET_BYTES) {
        onOversized();
        this.destroy();
      }
      return bytes;
    });
    this.#clock = clock;
    this.push(connect);
  }

  open(): void {
    this.#isOpen = true;
    this.socket.resume();
  }

  /** All that has come. The broker asks once for it, and from version 26 on Node gives one piece of it at a time. */
  override read(size?: number): Buffer | null {
    const pieces: Buffer[] = [];
    for (let piece = super.read(size); piece !== null; piece = super.read(size)) pieces.push(piece);
    return pieces.length === 0 ? null : Buffer.concat(pieces);
  }

  override _read(): void {
    if (this.#isOpen) super._read();
  }

  override _writev(waiting: readonly { readonly chunk: Buffer }[], done: (err?: Error | null) => void): void {
    this.#writeFrom(0, Buffer.concat(waiting.map(({ chunk }) => chunk)), done);
  }

  /** In parts: a slow client needs long for all that waits, and one that stands still takes none of it. */
  #writeFrom(start: number, bytes: Buffer, done: (err?: Error | null) => void): void {
    const end = start + PART_BYTES;
    const cancel = this.#clock.after(TAKE_WITHIN_MS, () => this.destroy());
    super._writev([{ chunk: bytes.subarray(start, end) }], (err) => {
      cancel();
      if (err || end >= bytes.length) done(err);
      else this.#writeFrom(end, bytes, done);
    });
  }
}
