// The byte stream to a broker over TCP, TLS or WebSocket. Of a packet that is too large only the beginning comes through.
import { connect, isIP } from 'node:net';
import { Duplex, finished } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { EXIT, type Failure, failure } from '../foundation/failure.ts';
import { beforeTls, tlsTrouble } from '../foundation/tlsTrouble.ts';

export interface BrokerTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly passphrase?: string;
  readonly rejectUnauthorized: boolean;
}

/** Header and all. Also announced to a broker that speaks MQTT 5: larger messages it keeps to itself. */
export const LARGEST_PACKET_BYTES = 1024 * 1024;
// A WebSocket hands over whole messages only, each as a rule one packet: a larger one ends the connection.
const LARGEST_WEBSOCKET_MESSAGE_BYTES = 16 * 1024 * 1024;

const PORTS = { 'mqtt:': 1883, 'mqtts:': 8883, 'ws:': 80, 'wss:': 443 } as const;

/** What connects when it is called. Faults, also those of the certificate, come as errors of the stream. */
export async function streamBuilder(url: string, tls: BrokerTls): Promise<() => Duplex> {
  const place = new URL(url);
  const scheme = place.protocol as keyof typeof PORTS;
  const port = Number(place.port || PORTS[scheme]);
  // A certificate of our own is of no use without TLS, whatever the scheme says.
  const isSecure = scheme === 'mqtts:' || scheme === 'wss:' || (tls.cert && tls.key);
  if (scheme === 'ws:' || scheme === 'wss:') {
    const { createWebSocketStream, WebSocket } = await import('ws');
    if (isSecure) place.protocol = 'wss:';
    place.port = String(port);
    const options = { ...tls, maxPayload: LARGEST_WEBSOCKET_MESSAGE_BYTES, perMessageDeflate: false };
    return () => withoutOversized(createWebSocketStream(new WebSocket(place, ['mqtt'], options)));
  }
  const host = place.hostname.replace(/^\[|\]$/g, '');
  if (!isSecure) return () => withoutOversized(connect({ host, port }));
  // Without a server name, a broker with several certificates shows the wrong one.
  const named = isIP(host) === 0 ? { servername: host } : {};
  return () => {
    const socket = connectTls({ host, port, ...named, ...tls });
    let isEncrypted = false;
    socket.once('secureConnect', () => {
      isEncrypted = true;
    });
    return withoutOversized(socket, (err) => (isEncrypted ? err : beforeTls(err)));
  };
}

/** What an error of the stream says about TLS; `null`: it is about something else. */
export function notEncrypted(fault: Error | undefined, { ca }: BrokerTls, now: number): Failure | null {
  const place = {
    address: 'mqtt.url',
    authorities: { key: 'mqtt.ca_file', isGiven: ca !== undefined, alone: true },
    ownCertificate: 'mqtt.cert_file and mqtt.key_file',
  };
  const trouble = tlsTrouble(fault, 'the broker', place, now);
  if (trouble === null) return null;
  const { isDistrust, message, hint } = trouble;
  const options = { exit: EXIT.broker, retry: 'soon', hint, cause: fault } as const;
  return failure(isDistrust ? 'broker_not_trusted' : 'broker_unreachable', message, options);
}

/** To a broker. */
export class BrokerStream extends Duplex {
  bytesReceived = 0;
}

/** The same stream, of whose packets too large ones are cut. `meant`: what an error of it says. */
function withoutOversized(socket: Duplex, meant: (err: Error) => Error = (err) => err): BrokerStream {
  const cut = packetCutter();
  // What has ended the socket tells more than that it has ended.
  const told = (done: (err?: Error | null) => void) => (err?: Error | null) =>
    done(err && meant(socket.errored ?? err));
  const stream = new BrokerStream({
    allowHalfOpen: false,
    read: () => void socket.resume(),
    // One write for all that waits: in pieces, each of them would be a segment of its own.
    writev: (waiting, done) =>
      void socket.write(Buffer.concat(waiting.map(({ chunk }) => chunk)), told(done)),
    final: (done) => void socket.end(told(done)),
    destroy(err, done) {
      socket.destroy();
      done(err);
    },
  });
  socket.on('data', (bytes: Buffer) => {
    stream.bytesReceived += bytes.length;
    for (const part of cut(bytes)) if (!stream.push(part)) socket.pause();
  });
  finished(socket, { writable: false }, (err) => (err ? stream.destroy(meant(err)) : stream.push(null)));
  return stream;
}

const CONTINUES = 0x80;
const LONGEST_LENGTH = 4;

/**
 * Gives back what goes on of each piece that comes in. A PUBLISH that is cut short keeps its topic and its id, so it
 * can be acknowledged and refused; nothing waits in memory for the rest. What is not MQTT passes: the parser refuses it.
 */
export function packetCutter(largest = LARGEST_PACKET_BYTES): (bytes: Buffer) => Buffer[] {
  const longest = largest - 1 - LONGEST_LENGTH;
  /** Type and length of the next packet, as far as they have come. */
  let head: number[] = [];
  let passing = 0;
  let dropping = 0;

  return (bytes) => {
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      if (passing > 0) {
        const body = bytes.subarray(at, at + passing);
        parts.push(body);
        passing -= body.length;
        at += body.length;
      } else if (dropping > 0) {
        const dropped = Math.min(dropping, bytes.length - at);
        dropping -= dropped;
        at += dropped;
      } else {
        const byte = bytes[at] ?? 0;
        head.push(byte);
        at += 1;
        const isWhole = head.length > 1 && (byte < CONTINUES || head.length > LONGEST_LENGTH);
        if (!isWhole) continue;
        const length = lengthOf(head);
        passing = Math.min(length, longest);
        dropping = length - passing;
        parts.push(Buffer.from(dropping > 0 ? [head[0] ?? 0, ...written(passing)] : head));
        head = [];
      }
    }
    return parts;
  };
}

/** Of what follows the header of a packet, which is given byte by byte. */
export function lengthOf([, ...digits]: readonly number[]): number {
  return digits.reduce((sum, digit, at) => sum + (digit & 0x7f) * 0x80 ** at, 0);
}

/** A length as MQTT writes it: seven bits at a time, the lowest first. */
function written(length: number): number[] {
  const digits: number[] = [];
  for (let left = length; left > 0 || digits.length === 0; left = Math.floor(left / 0x80)) {
    digits.push((left % 0x80) + (left >= 0x80 ? CONTINUES : 0));
  }
  return digits;
}
