// The byte stream to a broker over TCP, TLS or WebSocket. Of a packet that is too large only the beginning comes through.
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { EXIT, type Failure } from '../foundation/failure.ts';
import { beforeTls, tlsTrouble } from '../foundation/tlsTrouble.ts';
import { PacketStream, packetCutter } from './packets.ts';

export interface BrokerTls {
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly passphrase?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

// A WebSocket hands over whole messages only, each as a rule one packet: a larger one ends the connection.
const LARGEST_WEBSOCKET_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Shorter than what a broker gets for its answer. */
const CONNECT_MS = 14_000;
const PORTS = { 'mqtt:': 1883, 'mqtts:': 8883, 'ws:': 80, 'wss:': 443 } as const;

/** Gives a function that connects. Faults, also those of the certificate, come as errors of the stream. */
export async function streamBuilder(url: string, tls: BrokerTls): Promise<() => PacketStream> {
  const place = new URL(url);
  const scheme = place.protocol as keyof typeof PORTS;
  const port = Number(place.port || PORTS[scheme]);
  // A certificate of our own is of no use without TLS, whatever the scheme says.
  const isSecure = scheme === 'mqtts:' || scheme === 'wss:' || (tls.cert && tls.key);
  if (scheme === 'ws:' || scheme === 'wss:') {
    const { createWebSocketStream, WebSocket } = await import('ws');
    if (isSecure) place.protocol = 'wss:';
    place.port = String(port);
    const maxPayload = LARGEST_WEBSOCKET_MESSAGE_BYTES;
    const options = { ...tls, maxPayload, perMessageDeflate: false, handshakeTimeout: CONNECT_MS };
    return () =>
      new PacketStream(createWebSocketStream(new WebSocket(place, ['mqtt'], options)), packetCutter());
  }
  const host = place.hostname.replace(/^\[|\]$/g, '');
  if (!isSecure)
    return () => new PacketStream(inTime(connect({ host, port, timeout: CONNECT_MS })), packetCutter());
  // Without a server name, a broker with several certificates shows the wrong one.
  const named = isIP(host) === 0 ? { servername: host } : {};
  return () => {
    const socket = inTime(connectTls({ host, port, timeout: CONNECT_MS, ...named, ...tls }));
    let isEncrypted = false;
    socket.once('secureConnect', () => {
      isEncrypted = true;
    });
    return new PacketStream(socket, packetCutter(), (err) => (isEncrypted ? err : beforeTls(err)));
  };
}

/** A firewall that drops everything leaves no connection whose answer could be waited for. */
function inTime<S extends Socket>(socket: S): S {
  return socket.once('timeout', () => {
    if (socket.connecting)
      socket.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
  });
}

/** Says what an error of the stream means for TLS; `null`: it is about something else. */
export const notEncrypted = (fault: Error | undefined, { ca }: BrokerTls, now: number): Failure | null =>
  tlsTrouble(
    fault,
    {
      who: 'the broker',
      code: 'broker',
      exit: EXIT.broker,
      retry: 'soon',
      address: 'mqtt.url',
      authorities: { key: 'mqtt.ca_file', isGiven: ca !== undefined, alone: true },
      ownCertificate: 'mqtt.cert_file and mqtt.key_file',
    },
    now,
  );
