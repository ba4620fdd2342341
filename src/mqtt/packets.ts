// MQTT's packets in a stream of bytes: where each begins, how long it is, and a socket of whose packets only a part comes through.
import { Duplex, finished } from 'node:stream';

/** Header and all. Also announced to a broker that speaks MQTT 5: larger messages it keeps to itself. */
export const LARGEST_PACKET_BYTES = 1024 * 1024;
/** The type and the retain flag in the first byte of a packet, and what they are in a retained message. */
const TYPE_AND_RETAIN = 0xf1;
const RETAINED_PUBLISH = 0x31;
const CONTINUES = 0x80;
const LONGEST_LENGTH = 4;

interface Piece {
  readonly bytes: Buffer;
  /** These are the header of a packet, and so many bytes follow it. `null`: these are some of those. */
  readonly follow: number | null;
}

/** Divides a stream whose bytes come in any pieces. What is not MQTT passes: whoever parses it refuses it. */
export class PacketReader {
  /** Bytes of retained messages so far, also of one that is not whole. */
  retainedBytes = 0;
  /** The header, as far as it has come. */
  #header: number[] = [];
  #isRetained = false;
  /** Bytes that are still to follow the last header. */
  #left = 0;

  *read(bytes: Buffer): Generator<Piece> {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + (this.#left || 1));
      at += piece.length;
      if (this.#left > 0) {
        this.#left -= piece.length;
        if (this.#isRetained) this.retainedBytes += piece.length;
        yield { bytes: piece, follow: null };
      } else if (this.#endsHeader(piece[0] ?? 0)) {
        const header = Buffer.from(this.#header);
        this.#header = [];
        this.#left = lengthIn(header);
        yield { bytes: header, follow: this.#left };
      }
    }
  }

  #endsHeader(digit: number): boolean {
    const { length } = this.#header;
    if (length === 0) this.#isRetained = (digit & TYPE_AND_RETAIN) === RETAINED_PUBLISH;
    if (this.#isRetained) this.retainedBytes += 1;
    this.#header.push(digit);
    return length === LONGEST_LENGTH || (length > 0 && digit < CONTINUES);
  }
}

/** Seven bits in each byte after the first, the lowest first. */
function lengthIn(header: Buffer): number {
  return header.subarray(1).reduce((sum, digit, at) => sum + (digit & 0x7f) * 0x80 ** at, 0);
}

function lengthWritten(length: number): number[] {
  if (length < CONTINUES) return [length];
  return [(length % CONTINUES) + CONTINUES, ...lengthWritten(Math.floor(length / CONTINUES))];
}

/**
 * Gives back what goes on of each piece. A PUBLISH that is cut short keeps its topic and its id, so it can be
 * acknowledged and refused; nothing waits in memory for the rest.
 */
export function packetCutter(largest = LARGEST_PACKET_BYTES): (piece: Piece) => Buffer {
  const longest = largest - 1 - LONGEST_LENGTH;
  let room = 0;
  return ({ bytes, follow }) => {
    if (follow === null) {
      const part = bytes.subarray(0, room);
      room -= part.length;
      return part;
    }
    room = Math.min(follow, longest);
    return follow > longest ? Buffer.of(bytes[0] ?? 0, ...lengthWritten(longest)) : bytes;
  };
}

/** A socket of whose incoming packets only what a filter gives back goes on. */
export class PacketStream extends Duplex {
  readonly socket: Duplex;
  readonly #reader = new PacketReader();
  readonly #meaning: (err: Error) => Error;

  /** `meaning`: gives the error that is told in place of one of the socket. */
  constructor(
    socket: Duplex,
    filter: (piece: Piece) => Buffer,
    meaning: (err: Error) => Error = (err) => err,
  ) {
    super({ allowHalfOpen: false });
    this.socket = socket;
    this.#meaning = meaning;
    socket.on('data', (bytes: Buffer) => {
      for (const piece of this.#reader.read(bytes)) {
        const part = filter(piece);
        if (this.destroyed) return;
        if (!this.push(part)) socket.pause();
      }
    });
    finished(socket, { writable: false }, (err) => {
      if (err) this.destroy(meaning(err));
      else this.push(null);
    });
  }

  /** They are counted before the filter drops any. */
  get retainedBytes(): number {
    return this.#reader.retainedBytes;
  }

  override _read(): void {
    this.socket.resume();
  }

  // One write for all that waits: in pieces, each of them would be a segment of its own.
  override _writev(waiting: readonly { readonly chunk: Buffer }[], done: (err?: Error | null) => void): void {
    this.socket.write(Buffer.concat(waiting.map(({ chunk }) => chunk)), (err) => done(this.#reason(err)));
  }

  override _final(done: (err?: Error | null) => void): void {
    this.socket.end((err?: Error | null) => done(this.#reason(err)));
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.socket.destroy();
    done(err);
  }

  /** An error that has ended the socket tells more than that it has ended. */
  #reason(err: Error | null | undefined): Error | null {
    return err ? this.#meaning(this.socket.errored ?? err) : null;
  }
}
