// MQTT's packets in a stream of bytes: where each begins, how long it is, and a socket of whose packets only a part comes through.
import { Duplex, finished } from 'node:stream';

/** Header and all. Also announced to a broker that speaks MQTT 5: larger messages it keeps to itself. */
export const LARGEST_PACKET_BYTES = 1024 * 1024;
const CONTINUES = 0x80;
const LONGEST_LENGTH = 4;

interface Piece {
  readonly bytes: Buffer;
  /** These are the header of a packet, and so many bytes follow it. `null`: these are some of those. */
  readonly follow: number | null;
}

/** Divides a stream whose bytes come in any pieces. What is not MQTT passes: whoever parses it refuses it. */
export function packetReader(): (bytes: Buffer) => Generator<Piece> {
  let digits: number[] = [];
  let left = 0;
  return function* (bytes) {
    for (let at = 0; at < bytes.length; ) {
      const size = left > 0 ? left : 1;
      const piece = bytes.subarray(at, at + size);
      at += piece.length;
      if (left > 0) {
        left -= piece.length;
        yield { bytes: piece, follow: null };
        continue;
      }
      const [digit = 0] = piece;
      digits.push(digit);
      const isWhole = digits.length > LONGEST_LENGTH || (digits.length > 1 && digit < CONTINUES);
      if (!isWhole) continue;
      const header = Buffer.from(digits);
      digits = [];
      left = lengthIn(header);
      yield { bytes: header, follow: left };
    }
  };
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
 * Gives back what goes on of each piece that comes in. A PUBLISH that is cut short keeps its topic and its id, so it
 * can be acknowledged and refused; nothing waits in memory for the rest.
 */
export function packetCutter(largest = LARGEST_PACKET_BYTES): (bytes: Buffer) => Buffer[] {
  const longest = largest - 1 - LONGEST_LENGTH;
  const read = packetReader();
  let room = 0;
  return (piece) => {
    const parts: Buffer[] = [];
    for (const { bytes, follow } of read(piece)) {
      if (follow === null) {
        if (room > 0) parts.push(bytes.subarray(0, room));
        room -= Math.min(room, bytes.length);
        continue;
      }
      room = Math.min(follow, longest);
      parts.push(follow > longest ? Buffer.of(bytes[0] ?? 0, ...lengthWritten(longest)) : bytes);
    }
    return parts;
  };
}

/** A socket whose incoming bytes go through a filter. */
export class PacketStream extends Duplex {
  readonly socket: Duplex;
  /** Before the filter. */
  bytesReceived = 0;
  readonly #meaning: (err: Error) => Error;

  /** `meaning`: gives the error that is told in place of one of the socket. */
  constructor(
    socket: Duplex,
    filter: (bytes: Buffer) => readonly Buffer[],
    meaning: (err: Error) => Error = (err) => err,
  ) {
    super({ allowHalfOpen: false });
    this.socket = socket;
    this.#meaning = meaning;
    socket.on('data', (bytes: Buffer) => {
      this.bytesReceived += bytes.length;
      for (const part of filter(bytes)) if (!this.push(part)) socket.pause();
    });
    finished(socket, { writable: false }, (err) => {
      if (err) this.destroy(meaning(err));
      else this.push(null);
    });
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
