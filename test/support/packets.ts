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

const CLEAN = 0x02;
const WITH_LOGIN = 0xc0;

/** A CONNECT with keep alive off. */
export function connectPacket(
  clientId: string,
  login?: { readonly username: string; readonly password: string },
): Buffer {
  const head = [text('MQTT'), Buffer.of(4, CLEAN | (login ? WITH_LOGIN : 0), 0, 0), text(clientId)];
  const last = login ? [text(login.username), text(login.password)] : [];
  return written({ type: 0x10, body: Buffer.concat([...head, ...last]) });
}

export const subscribePacket = (filter: string): Buffer =>
  written({ type: 0x82, body: Buffer.concat([Buffer.of(0, 1), text(filter), Buffer.of(0)]) });

/** A PUBLISH with QoS 0 that is so long, header and all. */
export function publishPacket(topic: string, bytes: number): Buffer {
  const head = text(topic);
  const frame = 1 + writtenLength(bytes).length;
  return written({ type: 0x30, body: Buffer.concat([head, Buffer.alloc(bytes - frame - head.length, 'x')]) });
}
