// Packets of MQTT, byte by byte: what no client library would send, and what a client has sent.

export interface Packet {
  /** Type and flags. */
  readonly type: number;
  readonly body: Buffer;
}

/** A length as MQTT writes it: seven bits at a time, the lowest first. */
export function writtenLength(length: number): Buffer {
  const digits: number[] = [];
  for (let left = length; digits.length === 0 || left > 0; left >>= 7) {
    digits.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  }
  return Buffer.from(digits);
}

export const written = ({ type, body }: Packet): Buffer =>
  Buffer.concat([Buffer.of(type), writtenLength(body.length), body]);

/** Collects the bytes of a connection. */
export class PacketsHeard {
  #bytes = Buffer.alloc(0);

  /** The packets that are whole by now. */
  *take(more: Buffer): Generator<Packet> {
    this.#bytes = Buffer.concat([this.#bytes, more]);
    for (let packet = this.#next(); packet; packet = this.#next()) yield packet;
  }

  #next(): Packet | null {
    let length = 0;
    for (const [at, digit] of this.#bytes.subarray(1).entries()) {
      length += (digit & 0x7f) * 128 ** at;
      if (digit > 0x7f) continue;
      const end = at + 2 + length;
      if (end > this.#bytes.length) return null;
      const packet = { type: this.#bytes.readUInt8(0), body: this.#bytes.subarray(at + 2, end) };
      this.#bytes = this.#bytes.subarray(end);
      return packet;
    }
    return null;
  }
}

export function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
