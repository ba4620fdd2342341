// One connection to a broker, from CONNECT to its end. The only door to mqtt.js.
import { createConnection } from 'node:net';
import type { Duplex } from 'node:stream';
import { type IClientOptions, type IClientPublishOptions, MqttClient, connect as open } from 'mqtt';
import type { Clock } from '../foundation/clock.ts';
import type { Incoming, Message } from './message.ts';
import { cutOversized, LARGEST_PACKET_BYTES } from './oversized.ts';
import { refusal, whatBroke } from './refusal.ts';

/** MQTT 5, or 3.1.1 (which calls itself 4). */
export type ProtocolVersion = 5 | 4;

export interface BrokerAddress {
  readonly url: string;
  readonly clientId: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls: {
    readonly ca?: Buffer;
    readonly cert?: Buffer;
    readonly key?: Buffer;
    readonly passphrase?: string;
    readonly rejectUnauthorized: boolean;
  };
}

const CONNECT_TIMEOUT_MS = 15_000;
const ACKNOWLEDGE_TIMEOUT_MS = 20_000;
const KEEP_ALIVE_SECONDS = 30;
const TAKEN_OVER = 142;

export class Connection {
  readonly version: ProtocolVersion;
  /** Resolves when the connection is gone, with the reason in a few words. */
  readonly ended: Promise<string>;
  readonly #client: MqttClient;
  readonly #clock: Clock;
  // One reaction for the life of the connection: one for each publish would pile up over the years.
  readonly #unsettled = new Set<(err: Error) => void>();

  private constructor(client: MqttClient, version: ProtocolVersion, ended: Promise<string>, clock: Clock) {
    this.#client = client;
    this.version = version;
    this.ended = ended;
    this.#clock = clock;
    void ended.then((why) => {
      for (const settle of this.#unsettled) settle(new Error(why));
    });
  }

  /** Rejects with BrokerUnreachable. */
  static open(
    address: BrokerAddress,
    version: ProtocolVersion,
    will: Message,
    onMessage: (incoming: Incoming) => void,
    clock: Clock,
  ): Promise<Connection> {
    const { url, clientId, username, password, tls } = address;
    const client = clientOf({
      ...placeOf(url),
      clientId,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...tls,
      protocolVersion: version,
      ...(version === 5 ? { properties: { maximumPacketSize: LARGEST_PACKET_BYTES } } : {}),
      manualConnect: true,
      clean: true,
      keepalive: KEEP_ALIVE_SECONDS,
      // A buffer for each number up to 65,535, made at the first packet: 40 ms and 10 MB for nothing.
      writeCache: false,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // The link in front of this decides when to try again, and with which version.
      reconnectPeriod: 0,
      will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1, retain: will.retain },
    } satisfies IClientOptions);

    keepSmall(client);
    client.connect();

    client.on('message', (topic, payload, packet) => {
      const { responseTopic, correlationData } = packet.properties ?? {};
      onMessage({ topic, payload, retained: packet.retain, responseTopic, correlationData });
    });

    return new Promise((resolve, reject) => {
      let fault: Error | undefined;
      let reason: string | undefined;
      const ended = new Promise<string>((settle) => {
        // What the broker said first is worth more than how its socket broke afterwards.
        client.once('close', () => settle(reason ?? (fault ? whatBroke(fault) : 'closed by the broker')));
      });
      client.on('error', (err) => {
        fault = err;
        client.end(true);
      });
      client.on('disconnect', (packet) => {
        if (packet.reasonCode === TAKEN_OVER) reason = 'another client has taken over the client id';
      });
      client.once('connect', () => resolve(new Connection(client, version, ended, clock)));
      client.once('close', () => {
        client.end(true);
        reject(refusal(fault, version));
      });
    });
  }

  /** Resolves with the broker's acknowledgement; rejects when none comes in time or the connection ends. */
  publish({ topic, payload, retain, correlationData }: Message): Promise<void> {
    const options: IClientPublishOptions = { qos: 1, retain };
    if (this.version === 5 && correlationData) options.properties = { correlationData };
    return this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
      this.#client.publish(topic, payload, options, (err) => settle(err ?? null)),
    );
  }

  subscribe(filters: readonly string[]): Promise<void> {
    return this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
      this.#client.subscribe([...filters], { qos: 1 }, (err) => settle(err)),
    );
  }

  unsubscribe(filter: string): Promise<void> {
    return this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
      this.#client.unsubscribe(filter, (err) => settle(err ?? null)),
    );
  }

  /** Closes politely within the deadline (0: not at all), then by force. */
  async close(deadlineMs: number): Promise<void> {
    if (deadlineMs > 0) {
      await this.#within(deadlineMs, (settle) => this.#client.end(false, {}, () => settle(null))).catch(
        () => undefined,
      );
    }
    // mqtt.js ignores a second end() while it waits for acknowledgements; without its socket it ends all the same.
    this.#client.stream.destroy();
    this.#client.end(true);
  }

  // Left alone, a publish without an acknowledgement never settles.
  #within(ms: number, start: (settle: (err: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const clear = this.#clock.after(ms, () => settle(new Error('no acknowledgement in time')));
      const settle = (err: Error | null) => {
        clear();
        this.#unsettled.delete(settle);
        if (err) reject(err);
        else resolve();
      };
      this.#unsettled.add(settle);
      start(settle);
    });
  }
}

// mqtt.js loads TLS and WebSockets for whatever address: 5 ms of a start that a plain socket does without.
function clientOf(options: IClientOptions): MqttClient {
  const { protocol, host, port, cert, key } = options;
  // With a certificate of ours, mqtt.js takes mqtt:// for mqtts://.
  if (protocol !== 'mqtt' || (cert && key)) return open(options);
  return new MqttClient(() => createConnection({ host: host ?? '', port: port ?? PORTS.mqtt }), options);
}

/** mqtt.js takes a packet of any size into memory; what it reads from goes through us. */
function keepSmall(client: MqttClient): void {
  const inside = client as unknown as { streamBuilder: (self: MqttClient) => Duplex };
  const build = inside.streamBuilder;
  inside.streamBuilder = (self) => {
    const stream = build(self);
    const pipe = stream.pipe.bind(stream);
    return Object.assign(stream, {
      pipe: (to: NodeJS.WritableStream) => pipe(cutOversized()).pipe(to),
    });
  };
}

const PORTS = { mqtt: 1883, mqtts: 8883, ws: 80, wss: 443 } as const;

// Given a text, mqtt.js takes it apart with a parser that newer Nodes warn of.
function placeOf(url: string): Pick<IClientOptions, 'protocol' | 'host' | 'port' | 'path'> {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const scheme = protocol.slice(0, -1) as keyof typeof PORTS;
  return {
    protocol: scheme,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? PORTS[scheme] : Number(port),
    ...(scheme.startsWith('ws') ? { path: pathname + search } : {}),
  };
}
